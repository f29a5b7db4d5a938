//! `Stdin`: where a program reads that runs already.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Sender;
use tokio::time::{Instant, timeout_at};

/// How long a program may take to read what it is given. One that reads takes it at once.
const TAKES_MAX: Duration = Duration::from_secs(2);

/// What a terminal takes as the end of what is typed, at the beginning of a line (POSIX, 11.1.9).
const END_OF_FILE: u8 = 0x04;

/// Our end of a program's stdin, while it is open.
#[derive(Debug)]
pub struct Stdin {
    pipe: Option<Sender>,
    is_terminal: bool,
}

impl Stdin {
    pub(crate) fn new(pipe: Sender, is_terminal: bool) -> Stdin {
        Stdin { pipe: Some(pipe), is_terminal }
    }

    /// Writes this, and gives how many bytes of it there was room for. It waits no longer than 2 s for room.
    ///
    /// # Errors
    /// It is closed, on our side or the program's.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let pipe = self.pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let until = Instant::now() + TAKES_MAX;
        let mut taken = 0;
        while let Some(left) = bytes.get(taken..).filter(|left| !left.is_empty()) {
            match timeout_at(until, pipe.write(left)).await {
                Ok(more) => taken += more?,
                Err(_) => break,
            }
        }
        Ok(taken)
    }

    /// Whether it ends behind this: a terminal takes the key for it at the beginning of a line alone.
    pub fn ends_behind(&self, text: &str) -> bool {
        !self.is_terminal || text.is_empty() || text.ends_with(['\n', '\r'])
    }

    /// Ends it: a pipe is closed, and on a terminal the key is pressed that says so. False if there was no room for that.
    ///
    /// # Errors
    /// It is closed already.
    pub async fn end(&mut self) -> io::Result<bool> {
        if self.is_terminal {
            return Ok(self.write(&[END_OF_FILE]).await? == 1);
        }
        self.pipe.take().map(|_| true).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}
