//! `LastSaid`: the end of what a program prints on stderr, which the sentence of its failure repeats.

use tool_api::{PlainText, Secrets, Striking};

/// How much of it is repeated.
const BYTES_MAX: usize = 2 * 1024;
const LINES_MAX: usize = 20;

/// All of it while that is little, then its end.
pub(crate) struct LastSaid<'s> {
    secrets: Option<&'s dyn Secrets>,
    said: Vec<u8>,
    /// Since something was cut: half a secret is not known as one any more, so they are struck out before.
    striking: Option<Box<dyn Striking>>,
    is_cut: bool,
}

impl<'s> LastSaid<'s> {
    /// Of a caller from whom these are kept.
    pub(crate) fn to(secrets: Option<&'s dyn Secrets>) -> LastSaid<'s> {
        LastSaid { secrets, said: Vec::new(), striking: None, is_cut: false }
    }

    pub(crate) fn push(&mut self, piece: &[u8]) {
        if self.is_cut {
            return self.show(piece);
        }
        self.said.extend_from_slice(piece);
        if self.said.len() > BYTES_MAX {
            self.is_cut = true;
            self.striking = self.secrets.map(|secrets| secrets.striking());
            let all = std::mem::take(&mut self.said);
            self.show(&all);
        }
    }

    fn show(&mut self, piece: &[u8]) {
        match &mut self.striking {
            Some(striking) => self.said.extend(striking.push(piece)),
            None => self.said.extend_from_slice(piece),
        }
        self.said.drain(..self.said.len().saturating_sub(BYTES_MAX));
    }

    /// Its last lines, as plain text: what draws on terminals is left out.
    pub(crate) fn lines(mut self) -> String {
        let rest = self.striking.take().map(|mut striking| striking.finish());
        self.show(&rest.unwrap_or_default());
        let plain = PlainText::of(&self.said);
        let plain = plain.trim_start_matches('\u{fffd}');
        let lines: Vec<&str> = plain.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_lines(stderr: &[u8]) -> String {
        let mut said = LastSaid::to(None);
        stderr.chunks(7).for_each(|piece| said.push(piece));
        said.lines()
    }

    #[test]
    fn what_it_said_last_is_plain_text_of_a_few_lines() {
        for (stderr, expected) in
            [("\u{1b}[31mred\u{1b}[0m\r\nnext\u{7}\u{202e}", "red\nnext"), ("a\n\n\nb\n", "a\nb"), ("", "")]
        {
            assert_eq!(last_lines(stderr.as_bytes()), expected, "{stderr:?}");
        }
        let many: String = (0..100).map(|nth| format!("line {nth}\n")).collect();
        let told = last_lines(many.as_bytes());
        assert!(told.starts_with("line 80\n") && told.ends_with("line 99"), "{told}");
        assert_eq!(last_lines(&[b"\xa9", "é".as_bytes()].concat()), "é");
        let long = last_lines("é".repeat(BYTES_MAX).as_bytes());
        assert_eq!(long, "é".repeat(BYTES_MAX / 2));
    }
}
