//! `Fault`: why a picture is not shown, in words for the model that asked for it.

use image::ImageError;
use image::error::LimitErrorKind;

/// What is quoted of a decoder, in characters.
const QUOTED_CHARS_MAX: usize = 160;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(
        "it says that it is {width} × {height} pixels of {bytes_each} bytes; such pictures are shown up to {megapixels_max} megapixels, \
         so make a smaller one of it first"
    )]
    Pixels { width: u32, height: u32, bytes_each: u64, megapixels_max: u64 },
    #[error("decoding it takes more than {0} MiB; make a smaller one of it first")]
    Memory(u64),
    #[error("it is damaged or cut short: {0}; write or fetch it anew")]
    Damaged(String),
    #[error("its form is not known here: {0}; convert it to PNG")]
    Unknown(String),
    #[error("it is more than {0} bytes even when written anew; choose a smaller `tools.image_edge`")]
    Bytes(usize),
}

impl Fault {
    /// Of a decoder.
    pub(crate) fn of(error: &ImageError, memory_mib: u64) -> Fault {
        match error {
            ImageError::Limits(limit) if limit.kind() == LimitErrorKind::InsufficientMemory => {
                Fault::Memory(memory_mib)
            }
            ImageError::Unsupported(_) => Fault::Unknown(quoted(error)),
            _ => Fault::Damaged(quoted(error)),
        }
    }

    /// As programs know it.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Fault::Pixels { .. } | Fault::Memory(_) | Fault::Bytes(_) => "too_large",
            Fault::Damaged(_) => "damaged",
            Fault::Unknown(_) => "unsupported",
        }
    }
}

/// On one line; it may hold bytes of the file.
fn quoted(error: &ImageError) -> String {
    let said = error.to_string();
    let plain = said.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(QUOTED_CHARS_MAX).collect()
}
