//! Lines that a program writes over, such as bars of progress: of each the last state is shown, as on a terminal. Those who hear
//! it as it comes hear the carriage returns, too.

use std::borrow::Cow;

/// A line is waited for as far as this. Of a longer one nothing is left out.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Leaves out what is written over.
#[derive(Debug, Default)]
pub(super) struct Overwritten {
    /// The line that has not ended.
    line: String,
    /// Whether the next text goes over it.
    is_at_start: bool,
    /// Whether its beginning was too long to wait for.
    has_begun: bool,
}

impl Overwritten {
    /// Takes the next piece, and appends the lines that have ended.
    pub(super) fn push(&mut self, text: &str, out: &mut String) {
        if self.is_at_start || text.contains('\r') {
            text.split_inclusive(['\r', '\n']).for_each(|part| self.part(part, out));
        } else {
            // Most output writes over nothing.
            self.write(text, out);
        }
    }

    fn part(&mut self, part: &str, out: &mut String) {
        let text = part.trim_end_matches(['\r', '\n']);
        if !text.is_empty() && std::mem::take(&mut self.is_at_start) {
            self.line.clear();
            if std::mem::take(&mut self.has_begun) {
                out.push('\n');
            }
        }
        if part.ends_with('\r') {
            self.write(text, out);
            self.is_at_start = true;
        } else {
            self.is_at_start &= !part.ends_with('\n');
            self.write(part, out);
        }
    }

    /// Nothing of it is written over yet.
    fn write(&mut self, text: &str, out: &mut String) {
        let ended = text.rfind('\n').map_or(0, |end| end + 1);
        let (lines, rest) = text.split_at(ended);
        if !lines.is_empty() {
            out.push_str(&self.line);
            out.push_str(lines);
            self.line.clear();
            self.has_begun = false;
        }
        self.line.push_str(rest);
        if self.line.len() > LINE_BYTES_MAX {
            out.push_str(&self.line);
            self.line.clear();
            self.has_begun = true;
        }
    }

    /// What is left of the last line.
    pub(super) fn finish(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.line));
    }
}

/// All of a text, with the last state of each line.
pub(super) fn last_states(text: &str) -> String {
    let (mut lines, mut out) = (Overwritten::default(), String::with_capacity(text.len()));
    lines.push(text, &mut out);
    lines.finish(&mut out);
    out
}

/// All of a text, with each state as a line of its own, for whoever follows it.
pub fn each_a_line(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => text.replace("\r\n", "\n").replace('\r', "\n").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_state_of_a_line_is_shown_wherever_the_pieces_end() {
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        for (printed, expected) in [
            ("a\nb", "a\nb"),
            ("10%\r20%\r100%\ndone\n", "100%\ndone\n"),
            ("one\r\ntwo\r\r\n", "one\ntwo\n"),
            ("\r10%\r20%", "20%"),
            ("10%\r", "10%"),
            ("10%\r\n\n20%\r\n", "10%\n\n20%\n"),
            ("", ""),
            (&format!("{long}\rshort\n"), &format!("{long}\nshort\n")),
        ] {
            let whole = [printed];
            let each: Vec<&str> = printed.split("").collect();
            for pieces in [&whole[..], &each] {
                let (mut lines, mut out) = (Overwritten::default(), String::new());
                pieces.iter().for_each(|piece| lines.push(piece, &mut out));
                lines.finish(&mut out);
                assert!(out == expected, "{} bytes in {}", printed.len(), pieces.len());
            }
        }
    }

    #[test]
    fn each_state_is_a_line_for_those_who_want_all() {
        assert_eq!(each_a_line("10%\r20%\r\nx\r\r\n\n"), "10%\n20%\nx\n\n\n");
        assert_eq!(each_a_line("x\n"), "x\n");
    }
}
