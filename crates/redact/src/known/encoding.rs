//! How a value may be written where nothing is escaped any more: as it is, line by line, as hexadecimal digits, and as
//! base64 of itself or of something longer.
//!
//! Escapes are undone in the text (`escapes.rs`) and in the value alike: one that looks like an escape itself is found
//! by what is left of it, too.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use data_encoding::HEXLOWER;

use super::escapes::{Families, pieces};
use super::view;

/// Shorter values are not looked for, in characters: they would strike out half of every text.
pub(super) const VALUE_CHARACTERS_MIN: usize = 4;

/// How often a text is read without its escapes: JSON inside JSON, in an address, in a page.
pub(super) const LEVELS_MAX: usize = 3;

/// A line of a value of several lines is a secret of its own from this length on, in characters: what shows a key
/// may indent it. Shorter ones are too likely to be ordinary.
const LINE_CHARACTERS_MIN: usize = 16;

/// Fewest bytes of an encoding; as many as the shortest secret leaves at the worst alignment.
const ENCODING_BYTES_MIN: usize = 4;

/// What an encoding is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Hex,
    Base64 {
        /// True if its last bits are in a digit more, which depends on what follows.
        has_rest: bool,
    },
}

/// All ways to write `value`, some of them more than once.
pub(super) fn encodings(value: &str) -> Vec<(Vec<u8>, Form)> {
    let mut encodings = Vec::new();
    add(&mut encodings, value);
    if value.contains(['\n', '\r']) {
        // The first and the last line of a key are the same for all keys.
        let lines = value.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
        lines
            .filter(|line| line.chars().count() >= LINE_CHARACTERS_MIN)
            .for_each(|line| add(&mut encodings, line));
    }
    // Shorter ones hold another one anyway.
    encodings.retain(|(bytes, _)| bytes.len() >= ENCODING_BYTES_MIN);
    encodings
}

fn add(encodings: &mut Vec<(Vec<u8>, Form)>, value: &str) {
    encodings.extend(texts(value).into_iter().map(|text| (text, Form::Text)));
    encodings.push((HEXLOWER.encode(value.as_bytes()).into_bytes(), Form::Hex));
    let little: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = value.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [value.as_bytes(), &little, &big] {
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            encodings.extend((0..3).map(|before| base64(bytes, before, &engine)));
        }
    }
}

/// The digits that `bytes` alone settle where they stand behind `before` other bytes (modulo 3).
fn base64(bytes: &[u8], before: usize, engine: &GeneralPurpose) -> (Vec<u8>, Form) {
    let digits = engine.encode([&[0; 2][..before], bytes].concat());
    let (first, bits) = ((before * 8).div_ceil(6), (before + bytes.len()) * 8);
    let settled = digits.get(first..bits / 6).unwrap_or_default();
    (settled.as_bytes().to_vec(), Form::Base64 { has_rest: bits % 6 > 0 })
}

/// The value, and what is made of it before a text is escaped: `+` for blanks in forms, `/` for `\` in the paths of
/// browsers, single bytes for Latin-1 in JavaScript's `escape`; and each as it reads without its own escapes.
fn texts(value: &str) -> Vec<Vec<u8>> {
    let mut texts = vec![value.as_bytes().to_vec()];
    for (sign, written) in [(' ', "+"), ('\\', "/")] {
        if value.contains(sign) {
            texts.push(value.replace(sign, written).into_bytes());
        }
    }
    if value.chars().any(|character| ('\u{80}'..='\u{ff}').contains(&character)) {
        texts.push(latin(value));
    }
    for nth in 0..texts.len() {
        let mut text = texts[nth].clone();
        for _ in 0..LEVELS_MAX {
            let plain = view::read(&text, pieces(&text, Families::ALL));
            if plain == text || String::from_utf8_lossy(&plain).chars().count() < VALUE_CHARACTERS_MIN {
                break;
            }
            texts.push(plain.clone());
            text = plain;
        }
    }
    texts
}

/// With one byte for each character of Latin-1.
fn latin(value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    for character in value.chars() {
        match u8::try_from(u32::from(character)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}
