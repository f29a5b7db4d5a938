//! Pictures made here, and what is made of each to do harm.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use image::codecs::gif::GifEncoder;
use image::{ExtendedColorType, Frame, ImageEncoder, Rgb, Rgba, RgbaImage};

use super::*;

const FORMATS: [ImageFormat; 6] = [
    ImageFormat::Png,
    ImageFormat::Jpeg,
    ImageFormat::Gif,
    ImageFormat::WebP,
    ImageFormat::Bmp,
    ImageFormat::Tiff,
];

/// No picture may take longer, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(10);

const CUT_SHORT: &str =
    "damaged: it is damaged or cut short: the file ends before the picture does; write or fetch it anew";
const DAMAGED: &str = "damaged: it is damaged or cut short; write or fetch it anew";
const UNKNOWN: &str = "unsupported: it is written in a way that is not known here; convert it to PNG";

const TOO_MUCH: &str = "too_large: decoding it takes more than 512 MiB; make a smaller one of it first";

/// Left half red, right half blue, with some pattern.
fn halves(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let pattern = ((x * 5 + y * 3) % 32) as u8;
        if x < width / 2 { Rgb([220, pattern, pattern]) } else { Rgb([pattern, pattern, 220]) }
    })
}

fn file(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    picture.write_to(&mut file, format).expect("it is written");
    file.into_inner()
}

fn made(format: ImageFormat) -> Vec<u8> {
    file(&DynamicImage::ImageRgb8(halves(64, 48)), format)
}

/// How it is shown in a line, or why it is not.
fn told(file: &[u8], format: ImageFormat, edge: u32) -> String {
    let began = Instant::now();
    let told = match shown(file, format, edge) {
        Ok(Shown { mime, original, shown, bytes }) => {
            let again = image::load_from_memory(&bytes).expect("what is shown can be decoded");
            assert_eq!(again.dimensions(), shown);
            format!("{mime} {original:?} as {shown:?}")
        }
        Err(fault) => format!("{}: {fault}", fault.code()),
    };
    assert!(began.elapsed() < PATIENCE, "{told}: {:?}", began.elapsed());
    told
}

#[test]
fn each_kind_is_shown_whole_and_smaller() {
    for format in FORMATS {
        let mime = if format == ImageFormat::Jpeg { "image/jpeg" } else { "image/png" };
        assert_eq!(told(&made(format), format, 64), format!("{mime} (64, 48) as (64, 48)"), "{format:?}");
        assert_eq!(told(&made(format), format, 32), format!("{mime} (64, 48) as (32, 24)"), "{format:?}");
    }
    let thin = file(&DynamicImage::ImageRgb8(halves(3000, 1)), ImageFormat::Png);
    assert_eq!(told(&thin, ImageFormat::Png, 100), "image/png (3000, 1) as (100, 1)");
}

#[test]
fn every_kind_of_colour_is_shown() {
    let picture = DynamicImage::ImageRgb8(halves(8, 8));
    for picture in [
        DynamicImage::ImageLuma8(picture.to_luma8()),
        DynamicImage::ImageLumaA8(picture.to_luma_alpha8()),
        DynamicImage::ImageRgb16(picture.to_rgb16()),
        DynamicImage::ImageRgba16(picture.to_rgba16()),
    ] {
        assert_eq!(
            told(&file(&picture, ImageFormat::Png), ImageFormat::Png, 4),
            "image/png (8, 8) as (4, 4)"
        );
    }
}

#[test]
fn holes_stay_and_are_white_in_a_jpeg() {
    let picture = RgbaImage::from_fn(8, 8, |x, _| Rgba([10, 20, 30, if x < 4 { 0 } else { 255 }]));
    let png = file(&DynamicImage::ImageRgba8(picture.clone()), ImageFormat::Png);
    let shown = shown(&png, ImageFormat::Png, 8).expect("shown");
    let again = image::load_from_memory(&shown.bytes).expect("a picture").to_rgba8();
    assert_eq!((again.get_pixel(0, 0).0[3], again.get_pixel(7, 7).0), (0, [10, 20, 30, 255]));
    let filled = filled(&DynamicImage::ImageRgba8(picture));
    assert_eq!((filled.get_pixel(0, 0).0, filled.get_pixel(7, 7).0), ([255; 3], [10, 20, 30]));
}

#[test]
fn what_is_too_large_as_png_becomes_jpeg() {
    let mut random = Random(1);
    let noise = RgbImage::from_fn(1500, 1000, |_, _| Rgb(std::array::from_fn(|_| random.next() as u8)));
    let noise = file(&DynamicImage::ImageRgb8(noise), ImageFormat::Bmp);
    assert_eq!(told(&noise, ImageFormat::Bmp, 1500), "image/jpeg (1500, 1000) as (1500, 1000)");
    let holes = RgbaImage::from_fn(1500, 1000, |x, _| {
        let colour = if x < 100 { 0 } else { random.next() as u8 };
        Rgba([colour, colour.wrapping_mul(7), colour.wrapping_mul(31), if x < 100 { 0 } else { 255 }])
    });
    let holes = file(&DynamicImage::ImageRgba8(holes), ImageFormat::Png);
    let shown = shown(&holes, ImageFormat::Png, 1500).expect("shown");
    let again = image::load_from_memory(&shown.bytes).expect("a picture").to_rgb8();
    assert_eq!((shown.mime, again.get_pixel(2, 2).0), ("image/jpeg", [255; 3]));
}

/// As a camera writes it: an orientation and nothing else.
fn exif(orientation: u8) -> Vec<u8> {
    let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    exif
}

/// Where the red half is.
fn red_half(orientation: u8) -> (String, &'static str) {
    let mut jpeg = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut jpeg, 95);
    encoder.set_exif_metadata(exif(orientation)).expect("it takes some");
    encoder.write_image(&halves(60, 40), 60, 40, ExtendedColorType::Rgb8).expect("it is written");
    let shown = shown(&jpeg, ImageFormat::Jpeg, 30).expect("shown");
    assert!(!shown.bytes.windows(4).any(|four| four == b"Exif"), "metadata is gone");
    let picture = image::load_from_memory(&shown.bytes).expect("a picture").to_rgb8();
    let (right, bottom) = (picture.width() - 2, picture.height() - 2);
    let is_red = |x, y| picture.get_pixel(x, y).0[0] > 128;
    let half = match [is_red(1, 1), is_red(right, 1), is_red(1, bottom), is_red(right, bottom)] {
        [true, false, true, false] => "left",
        [false, true, false, true] => "right",
        [true, true, false, false] => "top",
        [false, false, true, true] => "bottom",
        _ => "nowhere",
    };
    (format!("{:?} as {:?}", shown.original, shown.shown), half)
}

#[test]
fn a_picture_is_turned_as_its_camera_says() {
    let (lying, standing) = ("(60, 40) as (30, 20)", "(40, 60) as (20, 30)");
    for (orientation, size, half) in [
        (0, lying, "left"),
        (1, lying, "left"),
        (2, lying, "right"),
        (3, lying, "right"),
        (4, lying, "left"),
        (5, standing, "top"),
        (6, standing, "top"),
        (7, standing, "bottom"),
        (8, standing, "bottom"),
        (9, lying, "left"),
    ] {
        assert_eq!(red_half(orientation), (size.to_owned(), half), "{orientation}");
    }
}

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).expect("31 bits") % end
    }
}

#[test]
fn one_that_is_cut_short_says_so() {
    let mut random = Random(7);
    for format in FORMATS {
        let whole = made(format);
        for _ in 0..40 {
            // Behind the last pixel there may be an end mark that nobody misses.
            let cut = &whole[..random.below(whole.len() - 64)];
            let told = told(cut, format, 64);
            assert!([CUT_SHORT, DAMAGED, UNKNOWN].contains(&&*told), "{format:?}: {told}");
        }
    }
}

#[test]
fn one_with_wrong_bytes_or_a_lying_head_is_shown_or_refused() {
    let mut random = Random(42);
    for format in FORMATS {
        let whole = made(format);
        for nth in 0..400 {
            let mut wrong = whole.clone();
            // Half of them lie in the head, where sizes stand.
            let end = if nth % 2 == 0 { 64 } else { wrong.len() };
            for _ in 0..=random.below(4) {
                let at = random.below(end);
                wrong[at] = if random.below(2) == 0 { 0xff } else { random.next() as u8 };
            }
            let told = told(&wrong, format, 64);
            let is_plain = told.starts_with("image/")
                || told.starts_with("too_large: ")
                || [CUT_SHORT, DAMAGED, UNKNOWN].contains(&&*told);
            assert!(is_plain, "{format:?}: {told}");
        }
    }
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let named = [&kind[..], content].concat();
    let length = u32::try_from(content.len()).expect("a short one").to_be_bytes();
    [&length[..], &named, &crc(&named).to_be_bytes()].concat()
}

/// A PNG with a sound checksum everywhere.
fn png(width: u32, height: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &head), &chunks.concat(), &chunk(b"IEND", b"")].concat()
}

/// So many MiB of nothing, in a thousandth of that.
fn swelling(mib: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    (0..mib).for_each(|_| encoder.write_all(&[0; 1 << 20]).expect("memory"));
    encoder.finish().expect("memory")
}

fn too_many(width: u32, height: u32, bytes: u32, max: u32) -> String {
    format!(
        "too_large: it says that it is {width} × {height} pixels of {bytes} bytes; such pictures are shown up to {max} megapixels, so \
         make a smaller one of it first"
    )
}

#[test]
fn bombs_do_not_go_off() {
    let huge = png(60_000, 60_000, &[chunk(b"IDAT", &swelling(1))]);
    assert_eq!(told(&huge, ImageFormat::Png, 64), too_many(60_000, 60_000, 1, 100));
    // Even one line of this is too much.
    let endless = png(u32::MAX >> 1, 1, &[chunk(b"IDAT", &swelling(1))]);
    assert_eq!(told(&endless, ImageFormat::Png, 64), TOO_MUCH);

    // More than the picture needs is not even inflated; nor is what is beside it.
    let swollen = png(1000, 1000, &[chunk(b"IDAT", &swelling(256))]);
    assert_eq!(told(&swollen, ImageFormat::Png, 10), "image/png (1000, 1000) as (10, 10)");
    for kind in [b"zTXt", b"iCCP"] {
        let beside = [&b"a\0\0"[..], &swelling(256)].concat();
        let beside = png(10, 10, &[chunk(kind, &beside), chunk(b"IDAT", &swelling(1))]);
        assert_eq!(told(&beside, ImageFormat::Png, 10), "image/png (10, 10) as (10, 10)");
    }

    let mut many = Vec::new();
    let mut encoder = GifEncoder::new(&mut many);
    let frames = (0..3_000).map(|_| Frame::new(RgbaImage::new(16, 16)));
    encoder.encode_frames(frames).expect("it is written");
    drop(encoder);
    assert_eq!(told(&many, ImageFormat::Gif, 64), "image/png (16, 16) as (16, 16)");
    // The screen of a GIF, and its frame.
    let mut screen = made(ImageFormat::Gif);
    screen[6..10].fill(0xff);
    assert_eq!(told(&screen, ImageFormat::Gif, 64), too_many(65_535, 65_535, 4, 100));

    let mut bmp = made(ImageFormat::Bmp);
    bmp[18..22].copy_from_slice(&60_000_u32.to_le_bytes());
    bmp[22..26].copy_from_slice(&60_000_u32.to_le_bytes());
    assert_eq!(told(&bmp, ImageFormat::Bmp, 64), too_many(60_000, 60_000, 3, 100));
}

#[test]
fn pictures_with_more_bytes_for_a_pixel_may_have_fewer_pixels() {
    let deep = |height: u32| {
        let mut deep = png(9_000, height, &[chunk(b"IDAT", &swelling(1))]);
        // 16 bits each of red, green, blue and alpha.
        deep[24..26].copy_from_slice(&[16, 6]);
        let sum = crc(&deep[12..29]).to_be_bytes();
        deep[29..33].copy_from_slice(&sum);
        told(&deep, ImageFormat::Png, 64)
    };
    assert_eq!(deep(10_000), too_many(9_000, 10_000, 8, 67));
    // Few enough; and there is not even a tenth of it.
    assert!(deep(7_400).starts_with("damaged: "));
}
