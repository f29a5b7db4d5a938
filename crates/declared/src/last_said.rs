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
            self.strike_from_here();
        }
    }

    /// From now on what is said is shown without secrets, and so is what was said before.
    fn strike_from_here(&mut self) {
        if self.is_cut {
            return;
        }
        self.is_cut = true;
        self.striking = self.secrets.map(|secrets| secrets.striking());
        let all = std::mem::take(&mut self.said);
        self.show(&all);
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
        // Lines are cut as well.
        self.strike_from_here();
        if let Some(mut striking) = self.striking.take() {
            let rest = striking.finish();
            self.show(&rest);
        }
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

    #[test]
    fn of_a_secret_with_more_lines_than_are_repeated_none_is() {
        let key: Vec<String> = (0..LINES_MAX + 5).map(|nth| format!("key line {nth}")).collect();
        let kept = Kept(key.join("\n"));
        for before in [0, BYTES_MAX] {
            let mut said = LastSaid::to(Some(&kept));
            said.push(&b"x\n".repeat(before / 2));
            said.push(format!("{}\nwrong key\n", kept.0).as_bytes());
            let told = said.lines();
            assert!(!told.contains("key line") && told.ends_with("*\nwrong key"), "{told}");
        }
    }

    struct Kept(String);

    impl Secrets for Kept {
        fn placeholder_lines(&self, _: &[u8]) -> Vec<usize> {
            Vec::new()
        }

        fn are_in(&self, _: &[u8]) -> bool {
            true
        }

        fn striking(&self) -> Box<dyn Striking> {
            Box::new(Whole(self.0.clone(), Vec::new()))
        }
    }

    /// Gives all of it at its end.
    struct Whole(String, Vec<u8>);

    impl Striking for Whole {
        fn push(&mut self, piece: &[u8]) -> Vec<u8> {
            self.1.extend_from_slice(piece);
            Vec::new()
        }

        fn finish(&mut self) -> Vec<u8> {
            String::from_utf8_lossy(&self.1).replace(&self.0, "*").into_bytes()
        }
    }
}
