//! Escapes that programs write for single characters: with a backslash as in JSON and in sources, with a percent sign
//! as in addresses, with an ampersand as in HTML.

use std::ops::Range;

use memchr::memchr3_iter;

use super::entities;
use super::view::Piece;

/// Most digits of a character's number, leading zeros included.
const NUMBER_DIGITS_MAX: usize = 8;

/// Which escapes are undone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Families(u8);

impl Families {
    pub(super) const NONE: Families = Families(0);
    pub(super) const BACKSLASH: Families = Families(1);
    pub(super) const PERCENT: Families = Families(2);
    pub(super) const HTML: Families = Families(4);
    pub(super) const ALL: Families = Families(7);

    /// Each of them.
    pub(super) fn each(self) -> impl Iterator<Item = Families> {
        [Families::BACKSLASH, Families::PERCENT, Families::HTML]
            .into_iter()
            .filter(move |family| self.0 & family.0 != 0)
    }

    pub(super) fn are_several(self) -> bool {
        self.0.count_ones() > 1
    }

    pub(super) fn holds(self, others: Families) -> bool {
        self.0 | others.0 == self.0
    }

    fn of(sign: u8) -> Families {
        match sign {
            b'\\' => Families::BACKSLASH,
            b'%' => Families::PERCENT,
            b'&' => Families::HTML,
            _ => Families::NONE,
        }
    }
}

/// Those that stand in `text`.
pub(super) fn families_in(text: &[u8]) -> Families {
    let mut seen = 0;
    for at in memchr3_iter(b'\\', b'%', b'&', text) {
        let family = Families::of(text[at]);
        if seen & family.0 == 0 && escape(text, at).is_some() {
            seen |= family.0;
        }
        if seen == Families::ALL.0 {
            break;
        }
    }
    Families(seen)
}

/// The parts of `text` that have escapes, each with `reach` bytes before its first and behind its last one; escapes that
/// are further apart than that cannot belong to one value.
pub(super) fn islands(text: &[u8], reach: usize) -> Vec<Range<usize>> {
    let mut islands: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for sign in memchr3_iter(b'\\', b'%', b'&', text) {
        let Some(escape) = (sign >= at).then(|| escape(text, sign)).flatten() else { continue };
        at = escape.source.end;
        let end = at.saturating_add(reach).min(text.len());
        match islands.last_mut() {
            Some(last) if last.end >= escape.source.start => last.end = end,
            _ => islands.push(escape.source.start.saturating_sub(reach)..end),
        }
    }
    islands
}

/// The text without escapes of these families, piece by piece.
pub(super) fn pieces(text: &[u8], families: Families) -> impl Iterator<Item = Piece> {
    let mut signs = memchr3_iter(b'\\', b'%', b'&', text);
    let (mut at, mut waiting) = (0, None);
    std::iter::from_fn(move || {
        if let Some(escape) = waiting.take() {
            return Some(escape);
        }
        let found = signs.by_ref().find_map(|sign| {
            let is_wanted = sign >= at && families.0 & Families::of(text[sign]).0 != 0;
            is_wanted.then(|| escape(text, sign)).flatten()
        });
        let before = at..found.as_ref().map_or(text.len(), |escape: &Piece| escape.source.start);
        at = found.as_ref().map_or(text.len(), |escape| escape.source.end);
        if before.is_empty() {
            return found;
        }
        waiting = found;
        Some(Piece { source: before, reads: super::view::Reads::Itself })
    })
}

/// The escape at `at`, if there is a whole one.
fn escape(text: &[u8], at: usize) -> Option<Piece> {
    match text[at] {
        b'\\' => backslash(text, at),
        b'%' => percent(text, at),
        _ => html(text, at),
    }
}

fn backslash(text: &[u8], at: usize) -> Option<Piece> {
    let byte = |byte| Some(Piece::byte(at..at + 2, byte));
    match *text.get(at + 1)? {
        b'b' => byte(8),
        b'f' => byte(12),
        b'n' => byte(b'\n'),
        b'r' => byte(b'\r'),
        b't' => byte(b'\t'),
        b'x' => Some(Piece::byte(at..at + 4, hex_byte(text, at + 2)?)),
        b'u' if text.get(at + 2) == Some(&b'{') => {
            let (number, end) = number(text, at + 3, 16)?;
            let is_closed = text.get(end) == Some(&b'}');
            Some(Piece::character(at..end + 1, char::from_u32(number).filter(|_| is_closed)?))
        }
        b'u' => unit(text, at, b"\\u"),
        sign @ (b'"' | b'\'' | b'`' | b'\\' | b'/' | b'$') => byte(sign),
        _ => None,
    }
}

fn percent(text: &[u8], at: usize) -> Option<Piece> {
    match text.get(at + 1)? {
        b'u' => unit(text, at, b"%u"),
        _ => Some(Piece::byte(at..at + 3, hex_byte(text, at + 1)?)),
    }
}

/// A unit of UTF-16 behind `sign`, or two of them that are one character.
fn unit(text: &[u8], at: usize, sign: &[u8]) -> Option<Piece> {
    let read = |at: usize| {
        let written = text.get(at..)?.starts_with(sign);
        let (high, low) = (hex_byte(text, at + 2)?, hex_byte(text, at + 4)?);
        written.then_some(u16::from_be_bytes([high, low]))
    };
    let first = read(at)?;
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some(Piece::character(at..at + 6, character));
    }
    let character = char::decode_utf16([first, read(at + 6)?]).next()?.ok()?;
    Some(Piece::character(at..at + 12, character))
}

fn html(text: &[u8], at: usize) -> Option<Piece> {
    let (character, end) = match (text.get(at + 1)?, text.get(at + 2)) {
        (b'#', Some(b'x' | b'X')) => character(number(text, at + 3, 16)?)?,
        (b'#', _) => character(number(text, at + 2, 10)?)?,
        _ => {
            let rest = &text[at + 1..text.len().min(at + 2 + entities::NAME_BYTES_MAX)];
            let length = memchr::memchr(b';', rest)?;
            (entities::named(&rest[..length])?, at + 1 + length)
        }
    };
    (text.get(end) == Some(&b';')).then(|| Piece::character(at..end + 1, character))
}

fn character((number, end): (u32, usize)) -> Option<(char, usize)> {
    Some((char::from_u32(number)?, end))
}

/// A number of some digits that begins at `at`, and where it ends.
fn number(text: &[u8], at: usize, radix: u32) -> Option<(u32, usize)> {
    let digits = text.get(at..)?.iter().take(NUMBER_DIGITS_MAX);
    let (mut number, mut end) = (0_u32, at);
    for digit in digits.map_while(|byte| char::from(*byte).to_digit(radix)) {
        number = number.checked_mul(radix)?.checked_add(digit)?;
        end += 1;
    }
    (end > at).then_some((number, end))
}

fn hex_byte(text: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(at)? << 4 | digit(at + 1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::view::read;
    use super::*;

    #[track_caller]
    fn check(text: &str, families: Families, expected: &str) {
        let read = read(text.as_bytes(), pieces(text.as_bytes(), families));
        assert_eq!(String::from_utf8_lossy(&read), expected, "{text}");
    }

    #[test]
    fn every_escape_reads_as_its_character() {
        for (text, expected) in [
            (r#"a\"\\\/\b\f\n\r\t\'\$\u00e9\uD83D\ude00\x41\u{1F511}"#, "a\"\\/\u{8}\u{c}\n\r\t'$é😀A🔑"),
            ("%41%c3%A9%20+%u0416%uD83D%uDE00", "Aé +Ж😀"),
            ("&lt;&AMP;&quot;&apos;&#39;&#x27;&#X0027;&eacute;&sol;&#128273;", "<&\"''''é/🔑"),
            ("%41\\x42&#67;", "ABC"),
            // What is none stays.
            (r"\d \u12 \ud800 \xg1 \u{} \u{110000}", r"\d \u12 \ud800 \xg1 \u{} \u{110000}"),
            (
                "100% %4 %zz %u12 &; &no; &lt &#; &#x; &#xg; &",
                "100% %4 %zz %u12 &; &no; &lt &#; &#x; &#xg; &",
            ),
            ("\\", "\\"),
        ] {
            check(text, Families::ALL, expected);
        }
        check("%41\\x42&#67;", Families::PERCENT, "A\\x42&#67;");
        check("%41\\x42&#67;", Families::BACKSLASH, "%41B&#67;");
        check("%41\\x42&#67;", Families::HTML, "%41\\x42C");
        assert!(families_in(b"100% & \\d") == Families::NONE);
        assert!(families_in(b"%41 &lt;") == Families(6));
    }
}
