//! How a value may be written: as it is, line by line, inside JSON, in an address, as hexadecimal digits, and as base64
//! of itself or of something longer.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";
const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// What stays as it is beside letters and digits where a text is percent-encoded: RFC 3986, JavaScript's
/// `encodeURIComponent` and `encodeURI`, paths, forms, parts of a path.
const PLAIN_SETS: [&str; 7] =
    ["-._~", "-_.!~*'()", ";,/?:@&=+$-_.!~*'()#", "-._~/", "*-._", "$&+:=@-._~", ""];

/// The same for JavaScript's `escape`, which writes units of UTF-16.
const ESCAPE_PLAIN: &str = "@*_+-./";

/// What does not stay as it is in the parts of an address, as browsers and Node have them: <https://url.spec.whatwg.org>.
/// Older ones leave `^` in a path.
const PATH: &str = " \"#<>?`{}";
const PATH_CARET: &str = " \"#<>?^`{}";
const QUERY: &str = " \"#<>";
const HTTP_QUERY: &str = " \"#<>'";
const FRAGMENT: &str = " \"<>`";
const USER_INFO: &str = " \"#/:;<=>?@[\\]^`{|}";

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
    all.push(in_escape(value));
    all.extend(in_parts(value));
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

/// As `escape` of JavaScript writes it.
fn in_escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len() * 3);
    for unit in value.encode_utf16() {
        let [high, low] = unit.to_be_bytes();
        if high > 0 {
            out.push_str("%u");
            out.extend([hex(high, HEX_UPPER), hex(low, HEX_UPPER)].concat().into_iter().map(char::from));
        } else if low.is_ascii_alphanumeric() || ESCAPE_PLAIN.as_bytes().contains(&low) {
            out.push(char::from(low));
        } else {
            out.push('%');
            out.extend(hex(low, HEX_UPPER).map(char::from));
        }
    }
    out
}

/// As a part of an address, and as its end, where a sign of the value begins the next part.
fn in_parts(value: &str) -> Vec<String> {
    let sets = [PATH, PATH_CARET, QUERY, HTTP_QUERY, FRAGMENT, USER_INFO];
    let mut all: Vec<String> = sets.iter().map(|escaped| in_part(value, escaped)).collect();
    let (before, fragment) = split(value, '#');
    // It begins with the sign, which stays there.
    let fragment = in_part(fragment, FRAGMENT);
    all.push(in_part(before, HTTP_QUERY) + &fragment);
    let (path, query) = split(before, '?');
    let query = in_part(query, HTTP_QUERY);
    for escaped in [PATH, PATH_CARET] {
        // Browsers read both slashes as one there.
        for path in [path, &path.replace('\\', "/")] {
            all.push([&in_part(path, escaped), &query[..], &fragment].concat());
        }
        all.push(in_part(&value.replace('\\', "/"), escaped));
    }
    all
}

/// What stands before a sign, and the rest with it.
fn split(value: &str, sign: char) -> (&str, &str) {
    value.split_at(value.find(sign).unwrap_or(value.len()))
}

/// With what is in `escaped` percent-encoded, and what is no sign of ASCII.
fn in_part(value: &str, escaped: &str) -> String {
    let mut out = String::with_capacity(value.len() * 3);
    for byte in value.bytes() {
        if byte.is_ascii_graphic() && !escaped.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(hex(byte, HEX_UPPER).map(char::from));
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

    /// What Node 20 prints for `encodeURI`, `encodeURIComponent`, `escape`, `querystring.escape`, `URLSearchParams`, and
    /// for the path, the query, the fragment and the password of `URL`.
    #[test]
    fn knows_what_javascript_writes() {
        for (value, written) in [
            (
                "pa$$w@rd/1 x",
                &[
                    "pa$$w@rd/1%20x",
                    "pa%24%24w%40rd%2F1%20x",
                    "pa%24%24w@rd/1%20x",
                    "pa%24%24w%40rd%2F1+x",
                    "pa$$w%40rd%2F1%20x",
                ][..],
            ),
            (
                "a;b,c/d?e:f@g&h=i+j k#l",
                &[
                    "a;b,c/d?e:f@g&h=i+j%20k#l",
                    "a%3Bb%2Cc%2Fd%3Fe%3Af%40g%26h%3Di%2Bj%20k%23l",
                    "a%3Bb%2Cc/d%3Fe%3Af@g%26h%3Di+j%20k%23l",
                    "a%3Bb%2Cc%2Fd%3Fe%3Af%40g%26h%3Di%2Bj+k%23l",
                    "a%3Bb,c%2Fd%3Fe%3Af%40g&h%3Di+j%20k%23l",
                    "a;b,c/d%3Fe:f@g&h=i+j%20k%23l",
                    "a;b,c/d?e:f@g&h=i+j%20k%23l",
                ][..],
            ),
            (
                "é'(x)|[y]{z}^`~*!\\\"<1>%2",
                &[
                    "%C3%A9'(x)%7C%5By%5D%7Bz%7D%5E%60~*!%5C%22%3C1%3E%252",
                    "%E9%27%28x%29%7C%5By%5D%7Bz%7D%5E%60%7E*%21%5C%22%3C1%3E%252",
                    "%C3%A9%27%28x%29%7C%5By%5D%7Bz%7D%5E%60%7E*%21%5C%22%3C1%3E%252",
                    "%C3%A9'(x)|[y]%7Bz%7D^%60~*!/%22%3C1%3E%2",
                    "%C3%A9%27(x)|[y]{z}^`~*!\\%22%3C1%3E%2",
                    "%C3%A9'(x)|[y]{z}^%60~*!\\%22%3C1%3E%2",
                    "%C3%A9'(x)%7C%5By%5D%7Bz%7D%5E%60~*!%5C%22%3C1%3E%2",
                    "%C3%A9'(x)|[y]{z}^`~*!\\%22%3C1%3E%2",
                ][..],
            ),
            (
                "пароль one",
                &[
                    "%D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C%20one",
                    "%u043F%u0430%u0440%u043E%u043B%u044C%20one",
                    "%D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C+one",
                ][..],
            ),
        ] {
            let all = spellings(value);
            for expected in written {
                assert!(all.iter().any(|one| one == expected.as_bytes()), "{expected} of {value}");
            }
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
