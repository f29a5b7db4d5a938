//! How a value may be written: as it is, line by line, inside JSON, in an address, as hexadecimal digits, and as base64
//! of itself or of something longer.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";
const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// What stays as it is beside letters and digits where a text is percent-encoded: RFC 3986, JavaScript, paths, forms.
const PLAIN_SETS: [&str; 5] = ["-._~", "-_.!~*'()", "-._~/", "*-._", ""];

/// A line of a value of several lines is a secret of its own from this length on, in characters: what shows a key
/// may indent it. Shorter ones are too likely to be ordinary.
const LINE_CHARACTERS_MIN: usize = 16;

/// Fewest digits of base64 that are looked for; as many as the shortest secret leaves at the worst alignment.
const BASE64_DIGITS_MIN: usize = 4;

/// Every spelling of `value`, some of them more than once.
pub(super) fn spellings(value: &str) -> Vec<Vec<u8>> {
    let mut all = of_text(value);
    if value.contains(['\n', '\r']) {
        // The first and the last line of a key are the same for all keys.
        let lines = value.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
        all.extend(lines.filter(|line| line.chars().count() >= LINE_CHARACTERS_MIN).flat_map(of_text));
    }
    all
}

fn of_text(value: &str) -> Vec<Vec<u8>> {
    let mut all: Vec<String> = Vec::new();
    for once in in_json(value) {
        all.extend(in_json(&once));
        all.push(once);
    }
    for plain in PLAIN_SETS {
        for digits in [HEX_LOWER, HEX_UPPER] {
            let encoded = in_address(value, plain, digits);
            all.push(encoded.replace("%20", "+"));
            all.push(encoded);
        }
    }
    for digits in [HEX_LOWER, HEX_UPPER] {
        all.push(
            value.bytes().flat_map(|byte| [b"%", &hex(byte, digits)[..]].concat()).map(char::from).collect(),
        );
        all.push(value.bytes().flat_map(|byte| hex(byte, digits)).map(char::from).collect());
    }
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        all.extend((0..3).map(|before| in_base64(value, before, &engine)));
    }
    // Shorter ones hold another one anyway.
    all.retain(|spelling| spelling.len() >= BASE64_DIGITS_MIN);
    all.push(value.to_owned());
    all.into_iter().map(String::into_bytes).collect()
}

fn hex(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

/// As between the quotes of a JSON string, in the ways that serialisers have.
fn in_json(value: &str) -> Vec<String> {
    let mut all = Vec::with_capacity(6);
    for ascii in [None, Some(HEX_LOWER), Some(HEX_UPPER)] {
        for slash in [false, true] {
            all.push(escaped(value, ascii, slash));
        }
    }
    all
}

/// Escaped for JSON; beyond ASCII, and what some escape for the sake of HTML, too if `ascii` has digits for it.
fn escaped(value: &str, ascii: Option<&[u8; 16]>, slash: bool) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    let mut units = [0; 2];
    for character in value.chars() {
        let simple = match character {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '/' if slash => Some("\\/"),
            _ => None,
        };
        let digits = ascii.unwrap_or(HEX_LOWER);
        match simple {
            Some(simple) => out.push_str(simple),
            None if character < ' '
                || (ascii.is_some() && (!character.is_ascii() || "<>&'".contains(character))) =>
            {
                for unit in character.encode_utf16(&mut units) {
                    let [high, low] = unit.to_be_bytes();
                    out.push_str("\\u");
                    out.extend([hex(high, digits), hex(low, digits)].concat().into_iter().map(char::from));
                }
            }
            None => out.push(character),
        }
    }
    out
}

fn in_address(value: &str, plain: &str, digits: &[u8; 16]) -> String {
    let mut out = String::with_capacity(value.len() * 3);
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(hex(byte, digits).map(char::from));
        }
    }
    out
}

/// The digits that `value` alone settles where it stands behind `before` other bytes (modulo 3).
fn in_base64(value: &str, before: usize, engine: &GeneralPurpose) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    let digits = engine.encode(&bytes);
    let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    digits.get(first..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn knows_every_spelling() {
        let all: BTreeSet<String> = spellings("a\"/é b<")
            .into_iter()
            .map(|spelling| String::from_utf8(spelling).expect("text"))
            .collect();
        for expected in [
            "a\"/é b<",
            r#"a\"/é b<"#,
            r#"a\"\/é b<"#,
            r#"a\\\"/é b<"#,
            r#"a\\\"\\/é b<"#,
            r#"a\"/\u00e9 b\u003c"#,
            r#"a\"\/\u00E9 b\u003C"#,
            r#"a\\\"/\\u00e9 b\\u003c"#,
            "a%22%2F%C3%A9%20b%3C",
            "a%22%2f%c3%a9%20b%3c",
            "a%22/%C3%A9%20b%3C",
            "a%22%2F%C3%A9+b%3C",
            "61222fc3a920623c",
            "61222FC3A920623C",
        ] {
            assert!(all.contains(expected), "{expected} is missing in {all:#?}");
        }
    }

    #[test]
    fn what_surrounds_a_value_does_not_hide_it_in_base64() {
        let value = "s3cr/t?>";
        let all = spellings(value);
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            for (before, behind) in (0..4).flat_map(|before| (0..4).map(move |behind| (before, behind))) {
                let whole = [&[0xff; 4][..before], value.as_bytes(), &[0xff; 4][..behind]].concat();
                let digits = engine.encode(whole).into_bytes();
                let holds =
                    |spelling: &Vec<u8>| digits.windows(spelling.len()).any(|window| window == spelling);
                assert!(all.iter().any(holds), "{before} {behind}");
            }
        }
    }
}
