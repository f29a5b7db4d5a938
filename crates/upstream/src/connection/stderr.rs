//! What a server writes on its stderr: always read, so that a chatty server never stands still, and the
//! end of it kept for people.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::clean;

/// How much of it is kept, in bytes.
pub(crate) const KEPT_BYTES: usize = 64 * 1024;

/// Read at once, in bytes; the buffer is there as long as the server.
const READ_BYTES: usize = 4 * 1024;

/// Longest line that is repeated in an error, in bytes.
const LINE_BYTES_MAX: usize = 300;

/// The end of a server's stderr. Outlives the server, since it is read when the server has gone.
#[derive(Debug, Default)]
pub(crate) struct Stderr {
    kept: Mutex<VecDeque<u8>>,
}

impl Stderr {
    /// Reads `source` to its end.
    pub(crate) async fn drain(&self, mut source: impl AsyncRead + Unpin) {
        let mut piece = [0; READ_BYTES];
        while let Ok(bytes @ 1..) = source.read(&mut piece).await {
            self.push(&piece[..bytes]);
        }
    }

    fn push(&self, piece: &[u8]) {
        let mut kept = self.kept();
        let over = (kept.len() + piece.len()).saturating_sub(KEPT_BYTES);
        kept.drain(..over);
        kept.extend(piece);
    }

    /// Forgets what an earlier run of the server wrote.
    pub(crate) fn clear(&self) {
        self.kept().clear();
    }

    /// What is kept; bytes that are no UTF-8 show as U+FFFD.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.kept().make_contiguous()).into_owned()
    }

    /// The last line that is not blank, fit for a message; empty if there is none.
    pub(crate) fn last_line(&self) -> String {
        let text = self.text();
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        clean::sentence(line.unwrap_or_default(), LINE_BYTES_MAX)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.kept.lock().expect("nothing panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_is_kept_and_its_last_line_found() {
        let stderr = Stderr::default();
        assert_eq!(stderr.last_line(), "");
        let flood = [b"x".repeat(3 * KEPT_BYTES).as_slice(), b"\nlast \x1b[1mwords\n \n"].concat();
        stderr.drain(flood.as_slice()).await;
        assert_eq!(stderr.text().len(), KEPT_BYTES);
        assert_eq!(stderr.last_line(), "last  [1mwords");
        stderr.clear();
        assert_eq!(stderr.text(), "");
    }
}
