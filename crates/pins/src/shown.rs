//! Other people's texts with everything made visible that a screen would hide, move or paint.

/// The text on one line, with hidden characters written out as `<U+200B>`: line breaks and tabs too, or a name could
/// write lines of ours.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_layout(character) || is_hidden(character) {
            true => shown.push_str(&spelled(character)),
            false => shown.push(character),
        }
    }
    shown
}

/// A part of a text on one line, at most about so many bytes long.
pub(crate) fn excerpt(text: &str, bytes_max: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(bytes_max));
    for character in visible(text.trim()).chars() {
        if shown.len() + character.len_utf8() > bytes_max {
            shown.push('…');
            break;
        }
        shown.push(character);
    }
    shown
}

/// A hidden character in letters; those that hide a letter of ASCII with that.
fn spelled(character: char) -> String {
    let code = u32::from(character);
    match code {
        0xe0020..=0xe007e => {
            let letter = char::from(u8::try_from(code - 0xe0000).unwrap_or(b'?'));
            format!("<U+{code:05X} {letter}>")
        }
        _ => format!("<U+{code:04X}>"),
    }
}

/// True for what breaks lines, or moves what follows, where a text has several lines.
pub(crate) fn is_layout(character: char) -> bool {
    matches!(character, '\n' | '\t' | '\r')
}

/// True for a character that nobody sees.
pub(crate) fn is_hidden(character: char) -> bool {
    Hidden::of(character).is_some()
}

/// How a character is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Hidden {
    /// Drives a terminal.
    Escape,
    /// Other control characters.
    Control,
    /// Takes no room.
    ZeroWidth,
    /// Changes the direction in which what follows is read, whatever it is.
    Override,
    /// Hints at a direction.
    Mark,
    /// Copies of ASCII that no font has.
    Tag,
    /// Chooses a form of the character before it.
    Variation,
}

impl Hidden {
    pub(crate) fn of(character: char) -> Option<Hidden> {
        Some(match character {
            _ if is_layout(character) => return None,
            '\u{1b}' | '\u{9b}' => Hidden::Escape,
            '\u{fff9}'..='\u{fffb}' | '\u{2028}' | '\u{2029}' => Hidden::Control,
            _ if character.is_control() => Hidden::Control,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200d}' => {
                Hidden::ZeroWidth
            }
            '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => Hidden::ZeroWidth,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Hidden::Override,
            '\u{61c}' | '\u{200e}' | '\u{200f}' => Hidden::Mark,
            '\u{e0000}'..='\u{e007f}' => Hidden::Tag,
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' | '\u{180f}' => {
                Hidden::Variation
            }
            _ if sandbox::is_hidden(character) => Hidden::ZeroWidth,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_written_out() {
        assert_eq!(visible("a\u{200b}b\n\tc\r"), "a<U+200B>b<U+000A><U+0009>c<U+000D>");
        assert_eq!(visible("\u{2028}\u{fe00}\u{e0100}\u{2800}"), "<U+2028><U+FE00><U+E0100><U+2800>");
        assert_eq!(
            visible("\u{1b}[31m\u{e0041}\u{e007f}\u{fe0f}\u{202e}"),
            "<U+001B>[31m<U+E0041 A><U+E007F><U+FE0F><U+202E>"
        );
        assert_eq!(visible("grün, 漢字, 🦀"), "grün, 漢字, 🦀");
    }

    #[test]
    fn an_excerpt_is_one_line_and_has_an_end() {
        assert_eq!(excerpt(" a\nb\u{0} ", 20), "a<U+000A>b<U+0000>");
        assert_eq!(excerpt("ääää", 5), "ää…");
    }
}
