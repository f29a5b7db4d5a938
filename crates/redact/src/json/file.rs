//! Files inside of JSON: the base64 in the protocol's members for it, which must stay base64, or whoever gets the
//! result refuses all of it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

use crate::hits::{Hit, replaced};
use crate::search::Search;
use crate::vocabulary::{Holds, Vocabulary};

/// Stands for digits that say something of a secret.
const BLANK: u8 = b'A';

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// Some write it in lines, without padding, or with the digits for addresses; whoever reads it may not care.
static ALPHABETS: [GeneralPurpose; 2] =
    [GeneralPurpose::new(&alphabet::STANDARD, LENIENT), GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT)];

/// What is in the file; nothing if the value of this member is none.
pub(super) fn decoded(vocabulary: &Vocabulary, name: Option<&[u8]>, value: &[u8]) -> Option<Vec<u8>> {
    if vocabulary.holds(name?) != Some(Holds::Bytes) || value.is_empty() {
        return None;
    }
    let digits: Cow<'_, [u8]> = match value.iter().any(u8::is_ascii_whitespace) {
        false => Cow::Borrowed(value),
        true => value.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect(),
    };
    ALPHABETS.iter().find_map(|alphabet| alphabet.decode(&digits).ok())
}

/// Digits of the same file, whose content is `decoded`, without secrets: those of known values are struck out of what
/// is in it, and digits that look like a secret themselves, as `hits` has them, are blanked.
pub(super) fn strike(digits: &[u8], decoded: Vec<u8>, hits: &[Hit], search: &Search) -> Vec<u8> {
    let mut digits = match replaced(&decoded, search.values(&decoded)) {
        Some((clean, _)) => STANDARD.encode(clean).into_bytes(),
        None => {
            let mut digits = digits.to_vec();
            blank(&mut digits, hits);
            digits
        }
    };
    // A value may be of such digits itself, and what is encoded anew holds others.
    let left = search.values(&digits);
    blank(&mut digits, &left);
    digits
}

fn blank(digits: &mut [u8], hits: &[Hit]) {
    for hit in hits {
        digits[hit.start..hit.end]
            .iter_mut()
            .filter(|digit| **digit != b'=' && !digit.is_ascii_whitespace())
            .for_each(|digit| *digit = BLANK);
    }
}
