//! Whether bytes are text, in which encoding, and their text as UTF-8.
//!
//! UTF-8 and what says its encoding by a byte order mark are certain. Other encodings are guessed, and only for what
//! has no byte that text has none of: what is no text is left to `media_type`.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

use super::media_type;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Encoding {
    encoding: &'static encoding_rs::Encoding,
    known: Known,
}

/// How an encoding is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// The bytes can hardly be anything else.
    ByItself,
    /// By the byte order mark before it.
    ByMark,
    /// By what the bytes look like.
    Guessed,
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

/// The beginning of UTF-32, which would pass for UTF-16.
const UTF32_LE_MARK: &[u8] = b"\xff\xfe\0\0";

/// Text by the letter, but of no use as such.
const PDF_MAGIC: &[u8] = b"%PDF-";

impl Encoding {
    /// The encoding of a file that begins with `head`; nothing if it is no text.
    pub(super) fn of(head: &[u8], extent: Extent) -> Option<Encoding> {
        let by_mark = encoding_rs::Encoding::for_bom(head).map(|(encoding, _)| encoding);
        if let Some(encoding) = by_mark.filter(|&encoding| encoding != UTF_8) {
            let is_text = !head.starts_with(UTF32_LE_MARK);
            return is_text.then_some(Encoding { encoding, known: Known::ByMark });
        }
        if !is_plain(head) {
            return None;
        }
        match std::str::from_utf8(head) {
            Err(error) if extent == Extent::Whole || error.error_len().is_some() => guess(head, extent),
            Ok(_) | Err(_) => {
                let known = by_mark.map_or(Known::ByItself, |_| Known::ByMark);
                Some(Encoding { encoding: UTF_8, known })
            }
        }
    }

    /// The encoding of a whole file that is valid UTF-8, and how many bytes of it are a byte order mark; nothing if it is no text.
    pub(super) fn of_text(text: &str) -> Option<(Encoding, usize)> {
        let has_mark = text.as_bytes().starts_with(UTF8_MARK);
        let (known, mark_bytes) =
            if has_mark { (Known::ByMark, UTF8_MARK.len()) } else { (Known::ByItself, 0) };
        is_plain(text.as_bytes()).then_some((Encoding { encoding: UTF_8, known }, mark_bytes))
    }

    /// For people.
    pub(super) fn name(self) -> &'static str {
        match self.encoding {
            it if it == UTF_16LE => "UTF-16 (little endian)",
            it if it == UTF_16BE => "UTF-16 (big endian)",
            it => it.name(),
        }
    }

    /// Whether a text is written as the bytes that it has anyway.
    pub(super) fn is_plain(self) -> bool {
        self.encoding == UTF_8 && self.known != Known::ByMark
    }

    /// The text of a whole file, without a byte order mark; nothing if some bytes are none of this encoding.
    pub(super) fn decoded(self, bytes: &[u8]) -> Option<String> {
        let mut decoder = Decoder::new(self);
        let mut text = decoder.feed(bytes).to_vec();
        text.extend_from_slice(decoder.finish());
        String::from_utf8(text).ok()
    }

    /// The bytes of a text, behind the byte order mark that the file had; nothing if a letter has none.
    pub(super) fn encoded(self, text: &str) -> Option<Vec<u8>> {
        let has_mark = self.known == Known::ByMark;
        let mark = if has_mark { "\u{feff}" } else { "" };
        let units = || mark.encode_utf16().chain(text.encode_utf16());
        match self.encoding {
            it if it == UTF_8 => Some([mark.as_bytes(), text.as_bytes()].concat()),
            it if it == UTF_16LE => Some(units().flat_map(u16::to_le_bytes).collect()),
            it if it == UTF_16BE => Some(units().flat_map(u16::to_be_bytes).collect()),
            it => {
                let (bytes, _, has_unmappable) = it.encode(text);
                (!has_unmappable).then(|| bytes.into_owned())
            }
        }
    }

    /// What a reader should know who may write the file again.
    pub(super) fn remark(self) -> Option<String> {
        let name = self.name();
        match self.known {
            Known::ByItself => None,
            Known::ByMark if self.encoding == UTF_8 => {
                Some("[The file begins with a UTF-8 byte order mark, not shown.]".to_owned())
            }
            Known::ByMark => Some(format!("[The file is {name}, shown as UTF-8.]")),
            Known::Guessed => Some(format!(
                "[The file seems to be {name}, shown as UTF-8; written again it would be UTF-8.]"
            )),
        }
    }
}

/// The encoding that bytes which are not UTF-8 look like, if they read as text in it from end to end.
fn guess(head: &[u8], extent: Extent) -> Option<Encoding> {
    if media_type::has_magic(head) {
        return None;
    }
    // ISO-2022-JP has ASCII bytes alone, and so has been UTF-8 by now.
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, extent == Extent::Whole);
    let encoding = Encoding { encoding: detector.guess(None, Utf8Detection::Deny), known: Known::Guessed };
    let mut decoder = Decoder::new(encoding);
    let mut text = String::from_utf8_lossy(decoder.feed(head)).into_owned();
    if extent == Extent::Whole {
        text.push_str(&String::from_utf8_lossy(decoder.finish()));
    }
    let is_text = |letter: char| {
        letter != char::REPLACEMENT_CHARACTER && (!letter.is_control() || "\t\n\r\x0c\x1b".contains(letter))
    };
    text.chars().all(is_text).then_some(encoding)
}

/// The text of a whole file as a reader is shown it; its bytes, if it is none.
pub(crate) fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match Encoding::of(bytes, Extent::Whole) {
        Some(encoding) if encoding.encoding != UTF_8 => {
            encoding.decoded(bytes).map_or(Cow::Borrowed(bytes), |text| Cow::Owned(text.into_bytes()))
        }
        Some(_) | None => Cow::Borrowed(bytes),
    }
}

/// True for bytes that need no further look: no NUL, no PDF.
fn is_plain(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_none() && !bytes.starts_with(PDF_MAGIC)
}

/// True if `text` can be shown as it is.
pub(super) fn is_shown_as_is(text: &str) -> bool {
    is_plain(text.as_bytes()) && !text.as_bytes().starts_with(UTF8_MARK)
}

/// Turns the bytes of a file, which come in pieces, into UTF-8.
pub(super) struct Decoder {
    /// Nothing for UTF-8, which passes as it is: bytes that are none are for the reader to be told of.
    decoder: Option<encoding_rs::Decoder>,
    mark_bytes_left: usize,
    text: String,
}

impl Decoder {
    pub(super) fn new(encoding: Encoding) -> Decoder {
        let is_utf8 = encoding.encoding == UTF_8;
        let mark_bytes_left = if is_utf8 && encoding.known == Known::ByMark { UTF8_MARK.len() } else { 0 };
        let decoder = (!is_utf8).then(|| encoding.encoding.new_decoder_with_bom_removal());
        Decoder { decoder, mark_bytes_left, text: String::new() }
    }

    /// The UTF-8 of the next piece, as far as its characters are complete.
    pub(super) fn feed<'a>(&'a mut self, piece: &'a [u8]) -> &'a [u8] {
        let mark = self.mark_bytes_left.min(piece.len());
        self.mark_bytes_left -= mark;
        if self.decoder.is_some() { self.decoded(piece, false) } else { &piece[mark..] }
    }

    /// The UTF-8 of what was cut off at the end of the file.
    pub(super) fn finish(&mut self) -> &[u8] {
        self.decoded(b"", true)
    }

    fn decoded(&mut self, piece: &[u8], is_last: bool) -> &[u8] {
        self.text.clear();
        if let Some(decoder) = &mut self.decoder {
            self.text.reserve(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(0));
            let (_, read, _) = decoder.decode_to_string(piece, &mut self.text, is_last);
            debug_assert_eq!(read, piece.len(), "there was room");
        }
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], extent: Extent, expected: Option<(&str, Known)>) {
        let found = Encoding::of(bytes, extent).map(|found| (found.encoding.name(), found.known));
        assert_eq!(found, expected, "{bytes:?}");
    }

    #[test]
    fn text_is_told_from_bytes() {
        use Extent::{Head, Whole};
        use Known::{ByItself, ByMark, Guessed};
        check("naïve".as_bytes(), Whole, Some(("UTF-8", ByItself)));
        check(b"\xef\xbb\xbfhi", Whole, Some(("UTF-8", ByMark)));
        check(b"\xff\xfeh\0i\0", Whole, Some(("UTF-16LE", ByMark)));
        check(b"\xfe\xff\0h\0i", Whole, Some(("UTF-16BE", ByMark)));
        check(b"\xff\xfe\0\0h\0\0\0", Whole, None);
        check(b"Gr\xfc\xdfe aus K\xf6ln", Whole, Some(("windows-1252", Guessed)));
        check(b"Gr\xfc\xdfe aus K\xf6ln", Head, Some(("windows-1252", Guessed)));
        check(b"a\0b", Whole, None);
        check(b"na\xefve\x01", Whole, None);
        check(b"\xff\xd8\xff\xe0JFIF", Whole, None);
        check(b"%PDF-1.7\n\xe2\xe3\xcf", Whole, None);
        check(b"%PDF-1.7\n", Whole, None);
        check(b"euro \xe2\x82", Head, Some(("UTF-8", ByItself)));
        // "Привет, мир! Это простой текст." and "日本語のテキストです。"
        check(
            b"\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0! \xdd\xf2\xee \xef\xf0\xee\xf1\xf2\xee\xe9 \xf2\xe5\xea\xf1\xf2.",
            Whole,
            Some(("windows-1251", Guessed)),
        );
        check(
            b"\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B",
            Whole,
            Some(("Shift_JIS", Guessed)),
        );
    }

    fn decode(encoding: &'static encoding_rs::Encoding, bytes: &[u8], piece_bytes: usize) -> String {
        let mut decoder = Decoder::new(Encoding { encoding, known: Known::ByMark });
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
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> =
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        for piece_bytes in 1..8 {
            assert_eq!(decode(UTF_16LE, &le, piece_bytes), text);
            assert_eq!(decode(UTF_16BE, &be, piece_bytes), text);
            assert_eq!(decode(UTF_8, b"\xef\xbb\xbfhi", piece_bytes), "hi");
            assert_eq!(decode(encoding_rs::SHIFT_JIS, b"\x93\xfa\x96{", piece_bytes), "日本");
            // Half a pair, half a unit.
            assert_eq!(decode(UTF_16LE, b"\xff\xfea\0\x00\xd8", piece_bytes), "a\u{fffd}");
            assert_eq!(decode(UTF_16LE, b"\xff\xfe\x00\xd8a\0b", piece_bytes), "\u{fffd}a\u{fffd}");
        }
    }
}
