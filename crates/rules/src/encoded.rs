//! Bytes in results: base64 as leniently as anybody reads it, and every way in which bytes may be meant as a text.

use std::borrow::Cow;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};

use crate::token::Kind;

/// What others may take for base64 is.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Members of the protocol's objects that hold bytes in base64. Others call them so, too.
const BYTES: [&str; 2] = ["data", "blob"];

/// Longest name of a media type, in bytes.
const MEDIA_BYTES_MAX: usize = 127;

/// True for a member that may hold bytes in base64.
pub(crate) fn holds_bytes(name: &str) -> bool {
    BYTES.contains(&name)
}

/// The bytes of a base64 text, of either alphabet, with or without its end, and broken into lines.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    let is_plain = !text.contains(|c: char| c.is_ascii_whitespace() || matches!(c, '-' | '_'));
    if is_plain {
        return LENIENT.decode(text).ok();
    }
    let usual = |c: char| match c {
        '-' => '+',
        '_' => '/',
        c => c,
    };
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).map(usual).collect();
    LENIENT.decode(text).ok()
}

/// The base64 text of what is left of bytes.
pub(crate) fn encoded(text: &str) -> String {
    LENIENT.encode(text)
}

/// Shows bytes in every way in which they may be a text, until something is put in their place.
pub(crate) fn read(
    bytes: &[u8],
    shown: &mut impl FnMut(Cow<'_, str>, Kind) -> Option<String>,
) -> Option<String> {
    let text = std::str::from_utf8(bytes);
    let first = match text {
        Ok(text) => shown(Cow::Borrowed(text), Kind::Encoded),
        Err(_) => {
            let latin = || bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
            shown(String::from_utf8_lossy(bytes), Kind::Bytes)
                .or_else(|| shown(Cow::Owned(latin()), Kind::Bytes))
        }
    };
    first.or_else(|| {
        // Text of two or four bytes a letter has a zero in each that Latin letters need.
        let rest: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        let is_other = rest.len() < bytes.len();
        is_other.then(|| shown(String::from_utf8_lossy(&rest), Kind::Bytes)).flatten()
    })
}

/// True for what may be the name of a media type.
pub(crate) fn is_media_type(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let name = text.split(';').next().unwrap_or(text);
    text.len() <= MEDIA_BYTES_MAX
        && name.split_once('/').is_some_and(|(kind, of)| is_name(kind) && is_name(of))
}
