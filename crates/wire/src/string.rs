//! JSON strings: where they end, what they say, and how to write them.

use std::borrow::Cow;

/// Bytes of a long string that are looked at together; the loop over them has no branch, so it becomes a few vector
/// instructions.
const CHUNK_BYTES: usize = 32;

/// Bytes of a short one: a word of the machine, in which the place is found without a loop. Nearly all strings are short.
const WORD_BYTES: usize = 8;

/// One in each byte of a word.
const ONES: u64 = u64::from_le_bytes([1; WORD_BYTES]);

/// Why a string cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub enum StringFault {
    /// The text ends before the closing quote.
    Unterminated,
    /// A control character or a broken escape at this byte offset.
    Bad(usize),
}

/// The offset just behind the string whose opening quote is at `start`, and whether there is a backslash in it.
pub(crate) fn end_and_escapes(text: &[u8], start: usize) -> Result<(usize, bool), StringFault> {
    let (mut at, mut has_escapes) = (start + 1, false);
    loop {
        at = plain_run(text, at);
        match text.get(at) {
            None => return Err(StringFault::Unterminated),
            Some(b'"') => return Ok((at + 1, has_escapes)),
            Some(b'\\') => at = escape_end(text, at)?,
            Some(_) => return Err(StringFault::Bad(at)),
        }
        has_escapes = true;
    }
}

/// The offset behind a checked string: the next quote that no backslash hides.
pub(crate) fn checked_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        at = near_run(text, at).unwrap_or_else(|far| {
            let rest = text.get(far..).unwrap_or_default();
            memchr::memchr2(b'"', b'\\', rest).map_or(text.len(), |offset| far + offset)
        });
        match text.get(at) {
            None => return text.len(),
            Some(b'\\') => at += 2,
            Some(_) => return at + 1,
        }
    }
}

/// False only if no character in the text is spelt by its number, as any of a word may be.
pub(crate) fn has_unicode_escape(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', text).any(|at| text.get(at + 1) == Some(&b'u'))
}

/// Skips bytes that need no attention: anything but a quote, a backslash or a control character.
fn plain_run(text: &[u8], at: usize) -> usize {
    let mut at = match near_run(text, at) {
        Ok(found) => return found,
        Err(far) => far,
    };
    while let Some(chunk) = text.get(at..at + CHUNK_BYTES) {
        if chunk.iter().fold(false, |any, &byte| any | is_special(byte)) {
            break;
        }
        at += CHUNK_BYTES;
    }
    while let Some(&byte) = text.get(at) {
        if is_special(byte) {
            break;
        }
        at += 1;
    }
    at
}

/// The same by words, for the beginning of a run. `Err` where only such bytes stood this far.
#[inline]
fn near_run(text: &[u8], mut at: usize) -> Result<usize, usize> {
    let far = at + CHUNK_BYTES;
    while at < far {
        let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk::<WORD_BYTES>) else { break };
        let marks = special_in(u64::from_le_bytes(*word));
        if marks != 0 {
            return Ok(at + marks.trailing_zeros() as usize / 8);
        }
        at += WORD_BYTES;
    }
    Err(at)
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// A word whose lowest bit that is set is the highest of the first byte that is special; no bit if there is none. Above
/// that byte anything may be set, since a subtraction borrows from there.
fn special_in(word: u64) -> u64 {
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    let is_quote = is_zero(word ^ (ONES * u64::from(b'"')));
    let is_backslash = is_zero(word ^ (ONES * u64::from(b'\\')));
    (is_control | is_quote | is_backslash) & (ONES * 0x80)
}

fn escape_end(text: &[u8], at: usize) -> Result<usize, StringFault> {
    match text.get(at + 1) {
        None => Err(StringFault::Unterminated),
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match text.get(at + 2..at + 6) {
            None => Err(StringFault::Unterminated),
            Some(hex) if hex.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
            Some(_) => Err(StringFault::Bad(at)),
        },
        Some(_) => Err(StringFault::Bad(at)),
    }
}

/// What a checked JSON string (quotes included) says. A lone surrogate becomes U+FFFD.
pub fn decode(literal: &str) -> Cow<'_, str> {
    let inner = &literal[1..literal.len() - 1];
    if !has_escape(inner.as_bytes()) {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let (character, used) = unescape(&rest[at..]);
        text.push(character);
        rest = &rest[at + used..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// True if there is a backslash. Keys are short, and for them words beat setting up a vector search.
fn has_escape(inner: &[u8]) -> bool {
    if inner.len() < CHUNK_BYTES {
        // Inside a checked string nothing else needs attention.
        plain_run(inner, 0) < inner.len()
    } else {
        memchr::memchr(b'\\', inner).is_some()
    }
}

/// True if a checked JSON string (quotes included) says `said`.
pub fn says(literal: &str, text: &str) -> bool {
    let inner = &literal[1..literal.len() - 1];
    if inner == text {
        !has_escape(inner.as_bytes())
    } else {
        inner.len() > text.len() && decode(literal) == text
    }
}

/// What a checked JSON value says if it is a string.
pub fn decode_if_string(value: &str) -> Option<Cow<'_, str>> {
    value.starts_with('"').then(|| decode(value))
}

/// The character that a checked escape stands for, and how many bytes spell it.
fn unescape(escape: &str) -> (char, usize) {
    let simple = |character| (character, 2);
    match escape.as_bytes()[1] {
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'u' => unescape_unicode(escape),
        other => simple(char::from(other)),
    }
}

fn unescape_unicode(escape: &str) -> (char, usize) {
    let unit = |at: usize| escape.get(at..at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let Some(first) = unit(2) else { return (char::REPLACEMENT_CHARACTER, 6) };
    let second = if escape.get(6..8) == Some("\\u") { unit(8) } else { None };
    match (char::from_u32(u32::from(first)), second) {
        (Some(character), _) => (character, 6),
        (None, Some(second)) => match char::decode_utf16([first, second]).next() {
            Some(Ok(character)) => (character, 12),
            _ => (char::REPLACEMENT_CHARACTER, 6),
        },
        (None, None) => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// `text` as a JSON string with its quotes.
pub fn literal(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    encode(text, &mut out);
    String::from_utf8(out).expect("an encoded string is UTF-8")
}

/// Appends `said` as a JSON string with its quotes.
pub fn encode(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let plain = plain_run(bytes, at);
        out.extend_from_slice(&bytes[at..plain]);
        let Some(&byte) = bytes.get(plain) else { break };
        encode_special(byte, out);
        at = plain + 1;
    }
    out.push(b'"');
}

fn encode_special(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            let hex = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&hex);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decodes_every_escape() {
        let cases = [
            (r#""plain""#, "plain"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u0041\u00e9""#, "Aé"),
            (r#""\ud83d\ude00!""#, "😀!"),
            (r#""\ud83d!""#, "\u{fffd}!"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        ];
        for (literal, text) in cases {
            assert_eq!(decode(literal), text, "{literal}");
        }
    }

    #[test]
    fn says_the_same_however_it_is_spelt() {
        for (literal, text, same) in [
            (r#""name""#, "name", true),
            (r#""n\u0061me""#, "name", true),
            (r#""name""#, "nam", false),
            (r#""nam""#, "name", false),
            (r#""n\u0061m""#, "name", false),
            (r#""\\""#, "\\", true),
            (r#""\\""#, "\\\\", false),
            (r#""""#, "", true),
        ] {
            assert_eq!(says(literal, text), same, "{literal} {text}");
        }
    }

    #[test]
    fn finds_the_end_at_every_offset_within_a_chunk() {
        let end = |text: &[u8]| end_and_escapes(text, 0).map(|(end, _)| end);
        for length in 0..3 * CHUNK_BYTES {
            let literal = format!("\"{}\" tail", "x".repeat(length));
            assert_eq!(end(literal.as_bytes()), Ok(length + 2));
            let broken = format!("\"{}\u{1}\"", "x".repeat(length));
            assert_eq!(end(broken.as_bytes()), Err(StringFault::Bad(length + 1)));
        }
        for before in 0..3 * CHUNK_BYTES {
            for special in (0..0x20).chain([b'"', b'\\', 0x7f, 0x80, 0xa2, 0xdc, 0xff]) {
                let text = [vec![b' '; before], vec![special], vec![b'"'; 10]].concat();
                let expected = before + usize::from(!is_special(special));
                assert_eq!(plain_run(&text, 0), expected, "{special:#x} behind {before}");
            }
        }
        assert_eq!(end(br#""abc\"#), Err(StringFault::Unterminated));
        assert_eq!(end(br#""\u12"#), Err(StringFault::Unterminated));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(text in "\\PC*|[\\x00-\\x7f]*") {
            let mut out = Vec::new();
            encode(&text, &mut out);
            let literal = String::from_utf8(out).expect("valid UTF-8");
            prop_assert_eq!(serde_json::from_str::<String>(&literal).expect("JSON"), text.clone());
            let (bytes, whole) = (literal.as_bytes(), literal.len());
            prop_assert_eq!(end_and_escapes(bytes, 0), Ok((whole, literal.contains('\\'))));
            prop_assert_eq!(checked_end(bytes, 0), whole);
            prop_assert_eq!(decode(&literal).into_owned(), text);
        }
    }
}
