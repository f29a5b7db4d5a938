//! What a server writes on its stderr: always read, so that a chatty server never stands still, and the
//! end of it kept for people.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::clean;
use crate::settings::Mask;

/// How much of it is kept, in bytes.
pub(crate) const KEPT_BYTES: usize = 64 * 1024;

/// Read at once, in bytes; the buffer is there as long as the server.
const READ_BYTES: usize = 4 * 1024;

/// Longest line that is repeated in an error, in bytes.
const LINE_BYTES_MAX: usize = 300;

/// The end of a server's stderr. Outlives the server, since it is read when the server has gone.
#[derive(Default)]
pub(crate) struct Stderr {
    kept: Mutex<VecDeque<u8>>,
    /// What nobody else should read.
    mask: Mask,
}

impl Stderr {
    /// Nothing yet, from which nobody will read what `mask` hides.
    pub(crate) fn masking(mask: &Mask) -> Stderr {
        Stderr { mask: mask.clone(), ..Stderr::default() }
    }

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

    /// What is kept, without secrets; bytes that are no UTF-8 show as U+FFFD.
    pub(crate) fn text(&self) -> String {
        let (text, is_cut) = {
            let mut kept = self.kept();
            let is_cut = kept.len() >= KEPT_BYTES;
            (String::from_utf8_lossy(kept.make_contiguous()).into_owned(), is_cut)
        };
        let masked = self.mask.text(&text);
        // What was cut off may have been the beginning of a secret, whose rest is not found.
        let rest = if is_cut { self.mask.rest_bytes_max() } else { 0 };
        let start = (rest..=masked.len()).find(|&at| masked.is_char_boundary(at)).unwrap_or(masked.len());
        masked[start..].to_owned()
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

    #[tokio::test]
    async fn secrets_are_not_kept_for_people() {
        const SECRET: &str = "sk-0123456789";
        let stderr = Stderr::masking(&crate::settings::mask::tests::mask(SECRET));
        let line = format!("{}{SECRET}", "x".repeat(LINE_BYTES_MAX - SECRET.len() + 1));
        stderr.drain(line.as_bytes()).await;
        assert!(stderr.last_line().ends_with("x***"));
        // The beginning of the first is not kept.
        stderr.clear();
        stderr.drain(format!("{SECRET}{}", "y".repeat(KEPT_BYTES - SECRET.len() + 4)).as_bytes()).await;
        assert!(stderr.text().chars().all(|character| character == 'y'));
    }
}
