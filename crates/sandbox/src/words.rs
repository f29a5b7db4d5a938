//! Which characters a person must not be shown as they are: other people's words may come from anywhere.

/// True for characters that drive a terminal, break a line, change the direction of text or cannot be seen: what is read
/// must be what is there. Line breaks and tabs are among them; whoever lays out text keeps them.
pub fn is_hidden(character: char) -> bool {
    // Most text is ASCII.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || matches!(character,
            // A soft hyphen, the marks and isolates of directions, joiners, blanks without width.
            '\u{ad}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            // Blank letters, and marks that nobody sees.
            | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // What chooses the form of the character before it: 256 of them spell bytes.
            | '\u{fe00}'..='\u{fe0f}'
            // Marks of shorthand and music that nobody sees.
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags, which spell ASCII that nobody sees, and the rest of the forms.
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::is_hidden;

    #[test]
    fn what_cannot_be_seen_is_hidden_and_what_can_is_not() {
        for character in
            "\0\u{7}\u{1b}\r\n\t\u{7f}\u{80}\u{9b}\u{9d}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}\u{ad}\
             \u{fe00}\u{fe0f}\u{e0100}\u{e01ef}\u{180b}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{2800}\u{3164}\u{ffa0}"
                .chars()
        {
            assert!(is_hidden(character), "{character:?}");
        }
        for character in " az~\u{a0}äß€中😀\u{301}\u{fffd}".chars() {
            assert!(!is_hidden(character), "{character:?}");
        }
    }
}
