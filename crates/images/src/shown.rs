//! A picture as it is shown: decoded within limits, no longer than wanted, turned as its camera says, and written anew, so that
//! nothing is left of what the file told beside it.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{
    DynamicImage, GenericImageView as _, ImageDecoder, ImageFormat, ImageReader, ImageResult, Limits,
    RgbImage,
};

use crate::fault::Fault;
use crate::jpeg;

/// What phones take pictures of today; with three or four bytes for a pixel the largest take 400 MiB decoded.
const MEGAPIXELS_MAX: u64 = 100;

/// A picture decoded, with what its decoder needs beside it: with 16 bits for a colour that is 67 to 89 megapixels. The worker has
/// twice as much.
const DECODED_MIB_MAX: u64 = 512;

/// A picture as it leaves. As base64 it is 5 MiB, and more is refused by model providers.
const BYTES_MAX: usize = 5 * 1024 * 1024 / 4 * 3;

/// Of a photograph, first as good as is seen, then as small as is bearable.
const JPEG_QUALITIES: [u8; 2] = [85, 60];

/// What is behind a picture that is not everywhere.
const BEHIND: u16 = 255;

/// A picture to be shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) mime: &'static str,
    /// Width and height of what is in the file, turned.
    pub(crate) original: (u32, u32),
    /// The same of what is shown.
    pub(crate) shown: (u32, u32),
    pub(crate) bytes: Vec<u8>,
}

/// Shows the first picture in `file`, no edge of it longer than `edge` pixels.
pub(crate) fn shown(file: &[u8], format: ImageFormat, edge: u32) -> Result<Shown, Fault> {
    let (picture, orientation) = decoded(file, format)?;
    let turned = |(width, height)| if swaps(orientation) { (height, width) } else { (width, height) };
    let original = turned(picture.dimensions());
    let mut small = match original.0.max(original.1) > edge {
        true => picture.resize(edge, edge, FilterType::CatmullRom),
        false => picture,
    };
    small.apply_orientation(orientation);
    let (mime, bytes) = written(&small, format).map_err(fault)?.ok_or(Fault::Bytes(BYTES_MAX))?;
    Ok(Shown { mime, original, shown: small.dimensions(), bytes })
}

/// What the file says of its size is not believed before it is bearable.
fn decoded(file: &[u8], format: ImageFormat) -> Result<(DynamicImage, Orientation), Fault> {
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(DECODED_MIB_MAX << 20);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(fault)?;
    let (width, height) = decoder.dimensions();
    let bytes_each = u64::from(decoder.color_type().bytes_per_pixel());
    let megapixels_max = MEGAPIXELS_MAX.min((DECODED_MIB_MAX << 20) / bytes_each / 1_000_000);
    if u64::from(width) * u64::from(height) > megapixels_max * 1_000_000 {
        return Err(Fault::Pixels { width, height, bytes_each, megapixels_max });
    }
    // A picture whose camera is not understood is shown as it lies.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let picture = DynamicImage::from_decoder(decoder).map_err(fault)?;
    if format == ImageFormat::Jpeg && jpeg::ends_early(file) {
        return Err(Fault::CutShort);
    }
    Ok((picture, orientation))
}

fn fault(error: image::ImageError) -> Fault {
    Fault::of(&error, DECODED_MIB_MAX)
}

/// Whether width and height change places.
fn swaps(orientation: Orientation) -> bool {
    match orientation {
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => true,
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => false,
    }
}

/// Text stays sharp in a PNG; photographs, and what is too large for one, become JPEG. Nothing if that is too large as well.
fn written(picture: &DynamicImage, format: ImageFormat) -> ImageResult<Option<(&'static str, Vec<u8>)>> {
    let has_holes = picture.color().has_alpha() && picture.to_rgba8().pixels().any(|pixel| pixel.0[3] < 255);
    if format != ImageFormat::Jpeg {
        let plain = match has_holes {
            true => DynamicImage::ImageRgba8(picture.to_rgba8()),
            false => DynamicImage::ImageRgb8(picture.to_rgb8()),
        };
        let mut png = Vec::new();
        plain.write_with_encoder(PngEncoder::new(&mut png))?;
        if png.len() <= BYTES_MAX {
            return Ok(Some(("image/png", png)));
        }
    }
    let filled = if has_holes { filled(picture) } else { picture.to_rgb8() };
    for quality in JPEG_QUALITIES {
        let mut jpeg = Vec::new();
        filled.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality))?;
        if jpeg.len() <= BYTES_MAX {
            return Ok(Some(("image/jpeg", jpeg)));
        }
    }
    Ok(None)
}

/// On white.
fn filled(picture: &DynamicImage) -> RgbImage {
    let picture = picture.to_rgba8();
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0.map(u16::from);
        let over = |colour: u16| ((colour * alpha + BEHIND * (255 - alpha)) / 255) as u8;
        image::Rgb([over(red), over(green), over(blue)])
    })
}

#[cfg(test)]
mod tests;
