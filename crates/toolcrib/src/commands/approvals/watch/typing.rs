//! The line that a person is typing, read beside what else goes on.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use gate::approvals::LOOK_EVERY;

use crate::commands::mcp::ask;

/// The line that the person is typing.
#[derive(Default)]
pub(super) struct Typing(Option<Receiver<io::Result<Option<String>>>>);

impl Typing {
    /// The line once it is whole, waited for a moment; in it nothing if there are no more.
    pub(super) fn line(&mut self) -> Option<io::Result<Option<String>>> {
        let coming = self.0.get_or_insert_with(|| {
            let (typed, coming) = mpsc::sync_channel(1);
            // It waits at the terminal as long as the program runs.
            thread::spawn(move || typed.send(ask::line()));
            coming
        });
        let line = match coming.recv_timeout(LOOK_EVERY) {
            Err(RecvTimeoutError::Timeout) => return None,
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        };
        self.0 = None;
        Some(line)
    }
}
