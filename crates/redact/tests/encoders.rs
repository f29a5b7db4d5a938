//! Whatever promised encoding a secret is written in: all of it goes, and the text around it stays byte for byte.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::collection::vec;
use proptest::prelude::*;
use redact::{Config, Known, Redactor};

/// How a secret may be written as digits, or as it is.
#[derive(Debug, Clone, Copy)]
enum Digits {
    Plain,
    Base64 { engine: usize, line: usize, line_break: &'static str },
    Utf16 { is_big: bool, engine: usize, line: usize },
    Hex { before: &'static str, between: &'static str },
}

/// Which characters are escaped, and how.
#[derive(Debug, Clone, Copy)]
enum Escape {
    None,
    Percent,
    Json,
    Source,
    Named,
    Decimal,
    Hexadecimal,
}

fn base64(engine: usize, bytes: &[u8]) -> String {
    [STANDARD, URL_SAFE, STANDARD_NO_PAD, URL_SAFE_NO_PAD][engine].encode(bytes)
}

fn in_lines(digits: &str, line: usize, line_break: &str) -> String {
    let lines: Vec<&str> =
        digits.as_bytes().chunks(line).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    lines.join(line_break)
}

/// Each `true` of `cases` makes a digit, or an escape's digits, a capital; the last of them goes on.
fn cased(text: &str, cases: &[bool]) -> String {
    let mut cases = cases.iter().cycle();
    let case =
        |digit: char| if *cases.next().expect("it goes on") { digit.to_ascii_uppercase() } else { digit };
    text.chars().map(case).collect()
}

fn digits(secret: &str, digits: Digits, cases: &[bool]) -> String {
    match digits {
        Digits::Plain => secret.to_owned(),
        Digits::Base64 { engine, line, line_break } => {
            in_lines(&base64(engine, secret.as_bytes()), line, line_break)
        }
        Digits::Utf16 { is_big, engine, line } => {
            let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            let bytes: Vec<u8> = secret.encode_utf16().flat_map(bytes).collect();
            in_lines(&base64(engine, &bytes), line, "\n")
        }
        Digits::Hex { before, between } => {
            let bytes = secret.bytes().map(|byte| before.to_owned() + &cased(&format!("{byte:02x}"), cases));
            bytes.collect::<Vec<String>>().join(between)
        }
    }
}

fn named(character: char) -> Option<&'static str> {
    Some(match character {
        '<' => "&lt;",
        '>' => "&gt;",
        '&' => "&amp;",
        '"' => "&quot;",
        '\'' => "&apos;",
        '/' => "&sol;",
        '=' => "&equals;",
        'é' => "&eacute;",
        _ => return None,
    })
}

/// The text with the characters escaped that `which` says, and those that must be. What is escaped already is escaped as
/// programs do it: everything but letters and digits.
fn escaped(text: &str, escape: Escape, which: &[bool], is_first: bool, cases: &[bool]) -> String {
    let mut out = String::new();
    for (character, is_chosen) in text.chars().zip(which.iter().cycle()) {
        let is_due = (if is_first { *is_chosen } else { !character.is_ascii_alphanumeric() })
            || match escape {
                Escape::None => false,
                Escape::Percent => character == '%' || character == ' ',
                Escape::Json | Escape::Source => character < ' ' || "\"\\".contains(character),
                Escape::Named | Escape::Decimal | Escape::Hexadecimal => character == '&',
            };
        let mut units = [0; 2];
        match escape {
            _ if !is_due => out.push(character),
            Escape::None => out.push(character),
            Escape::Percent => character.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                out += &format!("%{}", cased(&format!("{byte:02x}"), cases));
            }),
            Escape::Json => character.encode_utf16(&mut units).iter().for_each(|unit| {
                out += &format!("\\u{}", cased(&format!("{unit:04x}"), cases));
            }),
            Escape::Source => character.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                out += &format!("\\x{}", cased(&format!("{byte:02x}"), cases));
            }),
            Escape::Named => match named(character) {
                Some(name) => out += name,
                None => out.push(character),
            },
            Escape::Decimal => write!(out, "&#{};", u32::from(character)).expect("a string"),
            Escape::Hexadecimal => {
                out += &format!("&#x{};", cased(&format!("{:x}", u32::from(character)), cases));
            }
        }
    }
    out
}

fn any_digits() -> impl Strategy<Value = Digits> {
    let lines = (0..4_usize, prop_oneof![4..80_usize, Just(usize::MAX)]);
    let base64 = (lines.clone(), prop::sample::select(vec!["\n", "\r\n", "\n    ", "\r"]));
    let hex = (
        prop::sample::select(vec!["", "0x", "\\x", "0X"]),
        prop::sample::select(vec!["", ":", " ", "-", ", ", ",", ",\n  "]),
    );
    prop_oneof![
        3 => Just(Digits::Plain),
        1 => base64.prop_map(|((engine, line), line_break)| Digits::Base64 { engine, line, line_break }),
        1 => (any::<bool>(), lines).prop_map(|(is_big, (engine, line))| Digits::Utf16 { is_big, engine, line }),
        1 => hex.prop_map(|(before, between)| {
            // Digits that run into the next prefix are no one's spelling.
            let between = if before.starts_with('0') && between.is_empty() { " " } else { between };
            Digits::Hex { before, between }
        }),
    ]
}

fn escapes() -> impl Strategy<Value = Vec<(Escape, Vec<bool>)>> {
    let one = prop::sample::select(vec![
        Escape::None,
        Escape::Percent,
        Escape::Json,
        Escape::Source,
        Escape::Named,
        Escape::Decimal,
        Escape::Hexadecimal,
    ]);
    vec((one, vec(any::<bool>(), 1..9)), 0..3)
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[!-~]{8,40}",
        "[A-Za-z0-9+/_-]{6}[A-Za-z0-9+/=_-]{0,60}",
        "[a-z<>&'\"/%\\\\é😀Жя ]{7,20}[a-z!]",
        "[0-9a-f]{12,40}",
    ]
    .prop_filter("blanks around it are none of it", |secret| secret.trim() == secret && secret.len() >= 8)
}

/// What stands around it: no digit of anything, no half of an escape. A line of letters before it would be one of base64.
fn around() -> impl Strategy<Value = (String, String)> {
    ("(\\PC{0,20}[\"'(=<> .])?", "([\"')<> .]\\PC{0,20})?")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_promised_encoding_goes_and_nothing_else(
        secret in secret(),
        form in any_digits(),
        escapes in escapes(),
        cases in vec(any::<bool>(), 1..9),
        (before, behind) in around(),
    ) {
        let redactor = Redactor::new(&Config { patterns: false, ..Config::default() });
        redactor.know("test", vec![Known { name: "NAME".into(), value: secret.as_str().into() }]);
        prop_assume!(redactor.strike(&format!("{before} {behind}")).is_none());
        let mut written = digits(&secret, form, &cases);
        for (nth, (escape, which)) in escapes.iter().enumerate() {
            let is_first = nth == 0 && !matches!(form, Digits::Hex { before: "\\x", .. });
            written = escaped(&written, *escape, which, is_first, &cases);
        }
        let text = format!("{before}{written}{behind}");
        let expected = format!("{before}[REDACTED:NAME]{behind}");
        prop_assert_eq!(redactor.text(&text), expected.as_str(), "{} in {}", secret, text);
        let json = serde_json::to_string(&text).expect("a text is JSON");
        let struck = redactor.json(json.as_bytes()).expect("it is in there");
        let struck: String = serde_json::from_slice(&struck.bytes).expect("JSON");
        prop_assert_eq!(struck, expected, "{} in {}", secret, json);
    }
}

/// A value that ends in a sign of another escape, before something that this sign would escape.
#[test]
fn a_sign_at_the_end_of_a_value_takes_nothing_with_it() {
    let secret = "!0!A0A!Aa!aA0a0a!\\";
    let redactor = Redactor::new(&Config { patterns: false, ..Config::default() });
    redactor.know("test", vec![Known { name: "NAME".into(), value: secret.into() }]);
    let written = escaped(secret, Escape::Decimal, &[true, false], true, &[false]);
    let written = escaped(&written, Escape::Percent, &[false], false, &[false]);
    assert_eq!(redactor.text(&format!("{written}\"")), "[REDACTED:NAME]\"");
    let json = serde_json::to_string(&written).expect("a text is JSON");
    let struck = redactor.json(json.as_bytes()).expect("it is in there");
    assert_eq!(&*struck.bytes, br#""[REDACTED:NAME]""#);
}
