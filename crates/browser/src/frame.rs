//! `Frames`: what a browser says, cut into messages. Each ends with a NUL.

use crate::error::BrowserError;

/// The longest message, in bytes. The content of a page is the longest that we ask for; pages put whole files into addresses.
pub(crate) const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What has come and is no whole message yet.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    /// Where the next message begins: those before it have been taken.
    start: usize,
    /// Up to here there is no end of it.
    searched: usize,
}

impl Frames {
    pub(crate) fn push(&mut self, piece: &[u8]) {
        // Once for many messages: what is left moves to the beginning.
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(piece);
    }

    /// The next whole message, without its end.
    ///
    /// # Errors
    /// It is longer than any that we wait for.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, BrowserError> {
        let found = self.bytes[self.searched..].iter().position(|&byte| byte == 0);
        let end = found.map_or(self.bytes.len(), |found| self.searched + found);
        if end - self.start > FRAME_BYTES_MAX {
            return Err(BrowserError::Unreadable("a message is too long"));
        }
        if found.is_none() {
            self.searched = end;
            return Ok(None);
        }
        let frame = self.bytes[self.start..end].to_vec();
        (self.start, self.searched) = (end + 1, end + 1);
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages in these pieces, and whether there is an error behind them.
    fn check(pieces: &[&[u8]], expected: &[&str], is_wrong: bool) {
        let (mut frames, mut found, mut failed) = (Frames::default(), Vec::new(), false);
        for piece in pieces {
            frames.push(piece);
            loop {
                match frames.next() {
                    Ok(Some(frame)) => found.push(String::from_utf8(frame).expect("text")),
                    Ok(None) => break,
                    Err(_) => {
                        failed = true;
                        break;
                    }
                }
            }
        }
        assert_eq!(
            (found.iter().map(String::as_str).collect::<Vec<_>>(), failed),
            (expected.to_vec(), is_wrong)
        );
    }

    #[test]
    fn messages_are_found_however_they_are_cut() {
        check(&[b"{}\0"], &["{}"], false);
        check(&[b"{", b"}", b"\0"], &["{}"], false);
        check(&[b"a\0b\0c"], &["a", "b"], false);
        check(&[b"a\0b", b"c\0\0"], &["a", "bc", ""], false);
        check(&[b"a\0b\0c", b"d\0", b"e\0f"], &["a", "b", "cd", "e"], false);
        check(&[b"", b"never ends"], &[], false);
    }

    #[test]
    fn a_message_is_only_so_long() {
        let most = vec![b'x'; FRAME_BYTES_MAX];
        check(&[&most], &[], false);
        check(&[&most, b"x"], &[], true);
        check(&[b"a\0", &most, b"x\0"], &["a"], true);
        let whole = [&most[..], b"\0"].concat();
        let mut frames = Frames::default();
        frames.push(&whole);
        assert_eq!(frames.next().expect("not too long").map(|frame| frame.len()), Some(FRAME_BYTES_MAX));
    }
}
