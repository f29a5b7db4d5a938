//! Digits that are written with something between them: base64 over several lines, hexadecimal in either case and with
//! separators.

use std::ops::Range;

use memchr::memchr2;

use super::view::{Piece, Reads};

/// What may stand between hexadecimal digits, and in `0x` and `\x`.
static IN_HEX: [bool; 256] = table(b"0123456789abcdefABCDEFxX\\ \t\r\n:-,;_");

/// Digits of base64 in both alphabets.
static BASE64: [bool; 256] = table(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_");

/// Most `=` behind base64.
const PADDING_BYTES_MAX: usize = 2;

const fn table(bytes: &[u8]) -> [bool; 256] {
    let (mut table, mut nth) = ([false; 256], 0);
    while nth < bytes.len() {
        table[bytes[nth] as usize] = true;
        nth += 1;
    }
    table
}

/// The places of at least so many hexadecimal digits with nothing but separators between them.
pub(super) fn hex(text: &[u8], digits_min: usize) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            // A run of so many bytes has one at each of these places, so nearly all others are never looked at.
            let probe = from + digits_min.checked_sub(1)?;
            if !IN_HEX[usize::from(*text.get(probe)?)] {
                from = probe + 1;
                continue;
            }
            let part = |byte: &&u8| IN_HEX[usize::from(**byte)];
            let start = probe - text[from..probe].iter().rev().take_while(part).count();
            let end = probe + text[probe..].iter().take_while(part).count();
            from = end;
            let digits = text[start..end].iter().filter(|byte| byte.is_ascii_hexdigit()).take(digits_min);
            if digits.count() == digits_min {
                return Some(start..end);
            }
        }
    })
}

/// The digits of such a place, in small letters. `0x` and `\x` belong to the digit behind them.
pub(super) fn hex_digits(text: &[u8], run: Range<usize>) -> impl Iterator<Item = Piece> {
    let (first, end) = (run.start, run.end);
    // Its `x` is at `at`.
    let is_prefix = move |at: usize| match text.get(at.wrapping_sub(1)) {
        _ if !(first < at && at < end && matches!(text[at], b'x' | b'X')) => false,
        Some(b'\\') => true,
        Some(b'0') => at - 1 == first || !text[at - 2].is_ascii_hexdigit(),
        _ => false,
    };
    run.filter_map(move |at| {
        let start = if at > 0 && is_prefix(at - 1) { at - 2 } else { at };
        let is_digit = text[at].is_ascii_hexdigit() && !is_prefix(at + 1);
        is_digit.then(|| Piece::byte(start..at + 1, text[at].to_ascii_lowercase()))
    })
}

/// The places of at least so many digits of base64 with line breaks between them.
pub(super) fn base64(text: &[u8], digits_min: usize) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let first = from + memchr2(b'\n', b'\r', text.get(from..)?)?;
            let line = digits(text[from..first].iter().rev());
            let (mut end, mut count) = (first, line);
            // Where no digit stands before the break, nothing was broken.
            while let Some(next) = next_line(text, end).filter(|_| line > 0) {
                let line = digits(text[next..].iter());
                if line == 0 {
                    break;
                }
                count += line;
                end = next + line;
            }
            from = end.max(first + 1);
            if end > first && count >= digits_min {
                return Some(first - line..end_of_padding(text, end));
            }
        }
    })
}

/// The lines of such a place.
pub(super) fn base64_lines(text: &[u8], run: Range<usize>) -> impl Iterator<Item = Piece> {
    let mut from = run.start;
    std::iter::from_fn(move || {
        let rest = text.get(from..run.end).filter(|rest| !rest.is_empty())?;
        let line = from..from + memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        from = next_line(text, line.end).filter(|next| *next <= run.end).unwrap_or(run.end);
        Some(Piece { source: line, reads: Reads::Itself })
    })
}

/// Where the padding ends that begins at `at`, in lines of its own perhaps.
pub(super) fn end_of_padding(text: &[u8], at: usize) -> usize {
    (0..PADDING_BYTES_MAX).fold(at, |at, _| {
        let sign = next_line(text, at).unwrap_or(at);
        if text.get(sign) == Some(&b'=') { sign + 1 } else { at }
    })
}

fn digits<'b>(bytes: impl Iterator<Item = &'b u8>) -> usize {
    bytes.take_while(|byte| BASE64[usize::from(**byte)]).count()
}

/// Where the next line begins behind its indentation, if a line ends at `at`.
fn next_line(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let bytes = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => return None,
    };
    Some(at + bytes + rest[bytes..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count())
}

#[cfg(test)]
mod tests {
    use super::super::view::read;
    use super::*;

    /// Each run of at least eight digits, and what it reads as.
    fn all<I: Iterator<Item = Piece>>(
        text: &str,
        runs: impl Iterator<Item = Range<usize>>,
        pieces: impl Fn(Range<usize>) -> I,
    ) -> Vec<String> {
        runs.map(|run| String::from_utf8_lossy(&read(text.as_bytes(), pieces(run))).into_owned()).collect()
    }

    #[test]
    fn hexadecimal_digits_are_read_without_what_is_between_them() {
        for (text, expected) in [
            ("= 61:62-63 64", &["61626364"][..]),
            ("0x61, 0x62, 0x6A,0X4b;", &["61626a4b"]),
            ("(6A6b6C6d)(61626364)", &["6a6b6c6d", "61626364"]),
            ("61\r\n  62 63\n64", &["61626364"]),
            ("x0x10 0x20 0x30 0x40", &["10203040"]),
            ("added a bad", &["addedabad"]),
            ("616263", &[]),
            ("", &[]),
        ] {
            let bytes = text.as_bytes();
            assert_eq!(all(text, hex(bytes, 8), |run| hex_digits(bytes, run)), expected, "{text}");
        }
    }

    #[test]
    fn base64_is_read_without_its_line_breaks() {
        for (text, expected) in [
            ("x: abcd\nefgh=\n", &["abcdefgh="][..]),
            ("abcd\r\n    ef-_\rij==", &["abcdef-_ij=="]),
            ("abcd\nefgh\n==\n=", &["abcdefgh=="]),
            ("(ab+/\nefgh)(abcd\nefgh)", &["ab+/efgh", "abcdefgh"]),
            // A blank line ends it.
            ("abcd\n\nefgh", &[]),
            ("abc\nefgh", &[]),
            ("abcd \nefghefgh", &[]),
            ("abcdefgh", &[]),
            ("\n\n", &[]),
        ] {
            let bytes = text.as_bytes();
            assert_eq!(all(text, base64(bytes, 8), |run| base64_lines(bytes, run)), expected, "{text}");
        }
    }
}
