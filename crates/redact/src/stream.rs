//! `Stream`: strikes secrets out of what comes piece by piece and is never there as a whole.

use crate::hits::merge;
use crate::patterns::REACH_BYTES_MAX;
use crate::redactor::Redactor;

/// How much of what is done is looked at again: by what stands before it, a value is known as a secret.
const BEFORE_BYTES: usize = 1024;

/// How much is looked at at once. Each look costs a little, whatever it finds.
const LOOK_BYTES: usize = 256 * 1024;

/// What is struck out of a stream of bytes, wherever the pieces end.
pub struct Stream {
    redactor: Redactor,
    /// What only looks like a secret is struck out as well.
    is_text: bool,
    held: Vec<u8>,
    /// How much of that is done.
    done: usize,
    count: u32,
}

impl Stream {
    /// One at its beginning. Of bytes that are no text only known secrets are struck out: in a picture the rest is chance.
    pub fn new(redactor: Redactor, is_text: bool) -> Stream {
        Stream { redactor, is_text, held: Vec::new(), done: 0, count: 0 }
    }

    /// Takes the next piece, and gives what is certain by now; often nothing.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let unsure = self.redactor.encoding_bytes_max().max(REACH_BYTES_MAX);
        match self.held.len() - self.done >= unsure + LOOK_BYTES.max(unsure) {
            true => self.strike(self.held.len() - unsure),
            false => Vec::new(),
        }
    }

    /// What is left.
    pub fn finish(&mut self) -> Vec<u8> {
        self.strike(self.held.len())
    }

    /// How many places were struck out by now.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Gives what is before `end`, or before the secret that `end` is in.
    fn strike(&mut self, end: usize) -> Vec<u8> {
        let search = self.redactor.search();
        let mut hits = search.values(&self.held);
        if self.is_text {
            search.patterns(&self.held, &mut hits);
        }
        hits.retain(|hit| hit.end > self.done && !search.is_struck(&self.held, hit));
        merge(&mut hits);
        let within = hits.iter().find(|hit| hit.start < end && hit.end > end).map(|hit| hit.start);
        // One that fills all there is has no bound: what is there of it is struck, and the rest looked at anew.
        let end = within.filter(|start| *start > self.done).unwrap_or(end);
        let (mut out, mut kept) = (Vec::with_capacity(end - self.done), self.done);
        for hit in hits.iter().filter(|hit| hit.start < end) {
            out.extend_from_slice(&self.held[kept..hit.start.max(kept)]);
            hit.write(&mut out);
            self.count = self.count.saturating_add(1);
            kept = hit.end.min(end);
        }
        out.extend_from_slice(&self.held[kept..end]);
        let again = end.saturating_sub(BEFORE_BYTES);
        self.held.drain(..again);
        self.done = end - again;
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Known};

    const SECRET: &str = "planted-7f3a9c51e2-value";

    fn redactor() -> Redactor {
        let redactor = Redactor::new(&Config::default());
        redactor.know("test", vec![Known { name: "KEY".into(), value: SECRET.into() }]);
        redactor
    }

    /// What is left of a text that comes in pieces of so many bytes.
    fn streamed(text: &str, piece: usize) -> String {
        let mut stream = Stream::new(redactor(), true);
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            out.extend(stream.push(piece));
            assert!(stream.held.len() < 3 * LOOK_BYTES, "bounded");
        }
        out.extend(stream.finish());
        String::from_utf8(out).expect("whole characters")
    }

    #[test]
    fn pieces_make_no_difference() {
        let line = format!("a line with {SECRET} and ghp_0123456789abcdefghijABCDEFGHIJ012345 in it\n");
        let plain = "nothing to see here, move on\n".repeat(40);
        let text = format!("{plain}{line}").repeat(600);
        let whole = redactor().text(&text).into_owned();
        assert!(!whole.contains(SECRET) && whole.contains("[REDACTED:KEY]"));
        for piece in [1021, 16 * 1024, 300_000, text.len()] {
            let left = streamed(&text, piece);
            assert_eq!(left.len(), whole.len(), "pieces of {piece}");
            assert!(left == whole, "pieces of {piece}");
        }
    }

    #[test]
    fn a_secret_across_each_border_is_struck() {
        let border = LOOK_BYTES;
        for before in (border - SECRET.len() - 2..border + 2).chain(2 * border - 30..2 * border) {
            let text = format!("{}{SECRET}{}", "x".repeat(before), "y".repeat(2 * border));
            let left = streamed(&text, 64 * 1024);
            assert!(left.contains("[REDACTED:KEY]") && !left.contains(&SECRET[8..]), "{before}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_lose_known_values_alone() {
        let mut stream = Stream::new(redactor(), false);
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let mut out = stream.push(format!("{token} {SECRET}").as_bytes());
        out.extend(stream.finish());
        assert_eq!(String::from_utf8(out).expect("text"), format!("{token} [REDACTED:KEY]"));
        assert_eq!(stream.count(), 1);
    }
}
