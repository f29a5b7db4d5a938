//! `PlainText`: what programs print, as text for models and for logs. What drives a terminal or hides what a text says is left
//! out, wherever the pieces end in which it comes.

/// The longest that an escape sequence may be before it counts as text again: no program's is longer, and one that never
/// ends must not hide what follows it.
const SEQUENCE_CHARS_MAX: usize = 4096;

/// A stream of it.
#[derive(Debug, Default)]
pub struct PlainText {
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
    at: At,
    /// Characters of the present escape sequence.
    sequence: usize,
    /// Whether carriage returns stay, for whoever shows what they write over.
    keeps_returns: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Text,
    /// Behind a carriage return, which has ended the line already.
    Return,
    Escape,
    /// In a sequence that a letter ends (ECMA-48, 5.4).
    Control,
    /// In one that a bell or `ESC \` ends: titles, links, pictures (ECMA-48, 5.6).
    Command,
    /// At the escape that may end it.
    CommandEscape,
}

impl PlainText {
    /// One in which carriage returns stay as they are, those before the end of a line among them.
    pub fn with_returns() -> PlainText {
        PlainText { keeps_returns: true, ..PlainText::default() }
    }

    /// All of a text.
    pub fn of(bytes: &[u8]) -> String {
        let (mut stream, mut text) = (PlainText::default(), String::new());
        stream.push(bytes, &mut text);
        stream.finish(&mut text);
        text
    }

    /// Takes the next piece, and appends what is to be read of it. What is not UTF-8 becomes U+FFFD.
    pub fn push(&mut self, piece: &[u8], text: &mut String) {
        let joined;
        let mut bytes = match self.begun.is_empty() {
            true => piece,
            false => {
                joined = [&std::mem::take(&mut self.begun), piece].concat();
                &joined
            }
        };
        loop {
            match std::str::from_utf8(bytes) {
                Ok(rest) => return self.characters(rest, text),
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    self.characters(std::str::from_utf8(valid).unwrap_or_default(), text);
                    let Some(invalid) = error.error_len() else {
                        self.begun = rest.to_vec();
                        return;
                    };
                    self.character(char::REPLACEMENT_CHARACTER, text);
                    bytes = &rest[invalid..];
                }
            }
        }
    }

    /// The text has ended.
    pub fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.begun).is_empty() {
            self.character(char::REPLACEMENT_CHARACTER, text);
        }
    }

    fn characters(&mut self, mut rest: &str, text: &mut String) {
        loop {
            if self.at == At::Text {
                // Most output is nothing but this, and is taken as one.
                let plain = rest.bytes().take_while(|byte| is_plain(*byte)).count();
                text.push_str(&rest[..plain]);
                rest = &rest[plain..];
            }
            let mut characters = rest.chars();
            let Some(character) = characters.next() else { return };
            self.character(character, text);
            rest = characters.as_str();
        }
    }

    fn character(&mut self, character: char, text: &mut String) {
        self.sequence += 1;
        self.at = match (self.at, character) {
            (At::Text | At::Return, '\u{1b}') => self.begin(At::Escape),
            (At::Text | At::Return, '\u{9b}') => self.begin(At::Control),
            (At::Text | At::Return, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => self.begin(At::Command),
            (At::Return, '\n') => At::Text,
            (At::Text | At::Return, character) => self.shown(character, text),
            // A line ends what has no end of its own.
            (At::Escape | At::Control | At::Command | At::CommandEscape, '\n') => self.shown('\n', text),
            (At::Escape, '[') => At::Control,
            (At::Escape, ']' | 'P' | 'X' | '^' | '_') => At::Command,
            // One of two characters, or three.
            (At::Escape, '\u{20}'..='\u{2f}') => At::Escape,
            (At::Control, '\u{40}'..='\u{7e}')
            | (At::Command, '\u{7}' | '\u{9c}')
            | (At::CommandEscape, '\\')
            | (At::Escape, _) => At::Text,
            (At::Command | At::CommandEscape, '\u{1b}') => self.within(At::CommandEscape),
            (At::Command | At::CommandEscape, _) => self.within(At::Command),
            (At::Control, _) => self.within(At::Control),
        };
    }

    fn begin(&mut self, at: At) -> At {
        self.sequence = 0;
        at
    }

    fn within(&self, at: At) -> At {
        if self.sequence < SEQUENCE_CHARS_MAX { at } else { At::Text }
    }

    fn shown(&self, character: char, text: &mut String) -> At {
        match character {
            '\r' if self.keeps_returns => text.push('\r'),
            // What a program writes over is read line by line.
            '\r' => {
                text.push('\n');
                return At::Return;
            }
            '\n' | '\t' => text.push(character),
            // Directions and other marks that hide what a text says are no better than controls.
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            character if character.is_control() => {}
            character => text.push(character),
        }
        At::Text
    }
}

/// Whether a byte of UTF-8 is, or belongs to, what is shown as it is. All that is not begins with another byte.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t' | 0x80..) && byte != 0xc2 && byte != 0xe2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_terminals_is_left_out_wherever_the_pieces_end() {
        for (printed, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m\r\nnext\u{7}\u{202e}", "red\nnext"),
            ("10%\r20%\r100%\n", "10%\n20%\n100%\n"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "alink"),
            ("\u{9b}1mbold\u{9b}m \u{1b}(Bascii\u{1b}7\u{1b}c", "bold ascii"),
            ("a\u{1b}]never ends\nb", "a\nb"),
            ("\u{1b}P1$r\u{1b}\u{1b}\\x", "x"),
            ("e\u{301}é中😀\u{200b}\u{a0}", "e\u{301}é中😀\u{a0}"),
            ("nul\0 del\u{7f}", "nul del"),
        ] {
            let bytes = printed.as_bytes();
            assert_eq!(PlainText::of(bytes), expected, "{printed:?}");
            let (mut stream, mut text) = (PlainText::default(), String::new());
            for byte in bytes {
                stream.push(&[*byte], &mut text);
            }
            stream.finish(&mut text);
            assert_eq!(text, expected, "{printed:?} byte by byte");
        }
    }

    #[test]
    fn carriage_returns_stay_for_those_who_want_them() {
        let (mut stream, mut text) = (PlainText::with_returns(), String::new());
        stream.push(b"10%\r\x1b[K20%\r", &mut text);
        stream.push(b"\nnext\r\n", &mut text);
        assert_eq!(text, "10%\r20%\r\nnext\r\n");
    }

    #[test]
    fn what_is_no_utf8_is_told_and_costs_nothing_beside_it() {
        assert_eq!(PlainText::of(b"a\xffb\xe2\x82c"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(PlainText::of(b"cut \xe2\x82"), "cut \u{fffd}");
        let endless = format!("\u{1b}]{}", "x".repeat(SEQUENCE_CHARS_MAX + 10));
        assert!(PlainText::of(endless.as_bytes()).len() < 20);
    }
}
