//! `Fault`: why a picture is not shown, in words for the model that asked for it.

use image::ImageError;
use image::error::LimitErrorKind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(
        "it says that it is {width} × {height} pixels of {bytes_each} bytes; such pictures are shown up to {megapixels_max} megapixels, \
         so make a smaller one of it first"
    )]
    Pixels { width: u32, height: u32, bytes_each: u64, megapixels_max: u64 },
    #[error("decoding it takes more than {0} MiB; make a smaller one of it first")]
    Memory(u64),
    #[error("it is damaged or cut short: the file ends before the picture does; write or fetch it anew")]
    CutShort,
    #[error("it is damaged or cut short; write or fetch it anew")]
    Damaged,
    #[error("it is written in a way that is not known here; convert it to PNG")]
    Unknown,
    #[error("it is more than {0} bytes even when written anew; choose a smaller `tools.image_edge`")]
    Bytes(usize),
}

impl Fault {
    /// Of a decoder. Its own words are for who writes decoders, and may hold bytes of the file.
    pub(crate) fn of(error: &ImageError, memory_mib: u64) -> Fault {
        match error {
            ImageError::Limits(limit) if limit.kind() == LimitErrorKind::InsufficientMemory => {
                Fault::Memory(memory_mib)
            }
            ImageError::Unsupported(_) => Fault::Unknown,
            _ => Fault::Damaged,
        }
    }

    /// As programs know it.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Fault::Pixels { .. } | Fault::Memory(_) | Fault::Bytes(_) => "too_large",
            Fault::CutShort | Fault::Damaged => "damaged",
            Fault::Unknown => "unsupported",
        }
    }
}
