//! Whether bytes are text, in which encoding, and their text as UTF-8.
//!
//! Text is UTF-8 without NUL, or UTF-16 that says so by its byte order mark. Everything else is left to
//! `media_type`: an encoding that could only be guessed would be written back wrong.

use std::borrow::Cow;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, as nearly all text.
    Utf8,
    /// UTF-8 after a byte order mark.
    Utf8Marked,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
}

/// How much of a file is being judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// Its beginning, which may end within a character.
    Head,
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_LE_MARK: &[u8] = b"\xff\xfe";
const UTF16_BE_MARK: &[u8] = b"\xfe\xff";

/// The beginning of UTF-32, which would pass for UTF-16.
const UTF32_LE_MARK: &[u8] = b"\xff\xfe\0\0";

/// Text by the letter, but of no use as such.
const PDF_MAGIC: &[u8] = b"%PDF-";

impl Encoding {
    /// The encoding of a file that begins with `head`; nothing if it is no text.
    pub(super) fn of(head: &[u8], extent: Extent) -> Option<Encoding> {
        if head.starts_with(UTF16_LE_MARK) && !head.starts_with(UTF32_LE_MARK) {
            return Some(Encoding::Utf16Le);
        }
        if head.starts_with(UTF16_BE_MARK) {
            return Some(Encoding::Utf16Be);
        }
        let valid = match std::str::from_utf8(head) {
            Ok(_) => true,
            Err(error) => extent == Extent::Head && error.error_len().is_none(),
        };
        if !valid || !is_plain(head) {
            return None;
        }
        let marked = head.starts_with(UTF8_MARK);
        Some(if marked { Encoding::Utf8Marked } else { Encoding::Utf8 })
    }

    fn mark(self) -> &'static [u8] {
        match self {
            Encoding::Utf8 => b"",
            Encoding::Utf8Marked => UTF8_MARK,
            Encoding::Utf16Le => UTF16_LE_MARK,
            Encoding::Utf16Be => UTF16_BE_MARK,
        }
    }

    /// What a reader should know who may write the file again.
    pub(super) fn remark(self) -> Option<&'static str> {
        match self {
            Encoding::Utf8 => None,
            Encoding::Utf8Marked => Some("[The file begins with a UTF-8 byte order mark, not shown.]"),
            Encoding::Utf16Le => Some("[The file is UTF-16 (little endian), shown as UTF-8.]"),
            Encoding::Utf16Be => Some("[The file is UTF-16 (big endian), shown as UTF-8.]"),
        }
    }
}

/// The text of a whole file as a reader is shown it; its bytes, if it is none.
pub(super) fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match Encoding::of(bytes, Extent::Whole) {
        Some(encoding @ (Encoding::Utf16Le | Encoding::Utf16Be)) => {
            Cow::Owned(Decoder::new(encoding).feed(bytes).to_vec())
        }
        Some(Encoding::Utf8 | Encoding::Utf8Marked) | None => Cow::Borrowed(bytes),
    }
}

/// True for UTF-8 that needs no further look: not NUL, no PDF.
fn is_plain(utf8: &[u8]) -> bool {
    memchr::memchr(0, utf8).is_none() && !utf8.starts_with(PDF_MAGIC)
}

/// True if `text` can be shown as it is.
pub(super) fn is_shown_as_is(text: &str) -> bool {
    is_plain(text.as_bytes()) && !text.as_bytes().starts_with(UTF8_MARK)
}

/// Turns the bytes of a file, which come in pieces, into UTF-8.
#[derive(Debug)]
pub(super) struct Decoder {
    encoding: Encoding,
    mark_bytes_left: usize,
    /// The beginning of a character whose rest has not come yet: at most one pair and a half.
    waiting: Vec<u8>,
    text: String,
}

impl Decoder {
    pub(super) fn new(encoding: Encoding) -> Decoder {
        let mark_bytes_left = encoding.mark().len();
        Decoder { encoding, mark_bytes_left, waiting: Vec::new(), text: String::new() }
    }

    /// The UTF-8 of the next piece, as far as its characters are complete.
    pub(super) fn feed<'a>(&'a mut self, piece: &'a [u8]) -> &'a [u8] {
        let mark = self.mark_bytes_left.min(piece.len());
        self.mark_bytes_left -= mark;
        let piece = &piece[mark..];
        match self.encoding {
            Encoding::Utf8 | Encoding::Utf8Marked => piece,
            Encoding::Utf16Le => self.utf16(piece, u16::from_le_bytes),
            Encoding::Utf16Be => self.utf16(piece, u16::from_be_bytes),
        }
    }

    /// The UTF-8 of what was cut off at the end of the file.
    pub(super) fn finish(&self) -> &'static [u8] {
        if self.waiting.is_empty() { b"" } else { "\u{fffd}".as_bytes() }
    }

    fn utf16(&mut self, piece: &[u8], unit: fn([u8; 2]) -> u16) -> &[u8] {
        self.waiting.extend_from_slice(piece);
        let (pairs, _) = self.waiting.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|&pair| unit(pair)).collect();
        // The first half of a surrogate pair waits for the second.
        if units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        self.waiting.drain(..units.len() * 2);
        self.text.clear();
        let decoded = char::decode_utf16(units);
        self.text.extend(decoded.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], extent: Extent, expected: Option<Encoding>) {
        assert_eq!(Encoding::of(bytes, extent), expected, "{bytes:?}");
    }

    #[test]
    fn text_is_told_from_bytes() {
        use Extent::{Head, Whole};
        check("naïve".as_bytes(), Whole, Some(Encoding::Utf8));
        check(b"\xef\xbb\xbfhi", Whole, Some(Encoding::Utf8Marked));
        check(b"\xff\xfeh\0i\0", Whole, Some(Encoding::Utf16Le));
        check(b"\xfe\xff\0h\0i", Whole, Some(Encoding::Utf16Be));
        check(b"\xff\xfe\0\0h\0\0\0", Whole, None);
        check(b"na\xefve", Whole, None);
        check(b"na\xefve", Head, None);
        check(b"a\0b", Whole, None);
        check(b"%PDF-1.7\n", Whole, None);
        check(b"euro \xe2\x82", Whole, None);
        check(b"euro \xe2\x82", Head, Some(Encoding::Utf8));
    }

    fn decode(encoding: Encoding, bytes: &[u8], piece_bytes: usize) -> String {
        let mut decoder = Decoder::new(encoding);
        let mut utf8 = Vec::new();
        for piece in bytes.chunks(piece_bytes) {
            utf8.extend_from_slice(decoder.feed(piece));
        }
        utf8.extend_from_slice(decoder.finish());
        String::from_utf8(utf8).expect("UTF-8")
    }

    #[test]
    fn pieces_do_not_matter() {
        let text = "aé€😀\r\n";
        let le: Vec<u8> =
            UTF16_LE_MARK.iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let be: Vec<u8> =
            UTF16_BE_MARK.iter().copied().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
        for piece_bytes in 1..8 {
            assert_eq!(decode(Encoding::Utf16Le, &le, piece_bytes), text);
            assert_eq!(decode(Encoding::Utf16Be, &be, piece_bytes), text);
            assert_eq!(decode(Encoding::Utf8Marked, b"\xef\xbb\xbfhi", piece_bytes), "hi");
            // Half a pair, half a unit.
            assert_eq!(decode(Encoding::Utf16Le, b"\xff\xfea\0\x00\xd8", piece_bytes), "a\u{fffd}");
            assert_eq!(decode(Encoding::Utf16Le, b"\xff\xfe\x00\xd8a\0b", piece_bytes), "\u{fffd}a\u{fffd}");
        }
    }
}
