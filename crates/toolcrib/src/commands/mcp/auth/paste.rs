//! What a person pastes while the browser is waited for: on a remote machine the browser cannot come back by itself.

use std::io;

use tokio::sync::mpsc;

use crate::commands::mcp::ask;

/// Lines from standard input.
pub(super) struct Pasted {
    lines: mpsc::Receiver<String>,
}

impl Pasted {
    /// Reads from now on, on a thread of its own that nobody waits for: a read from a terminal cannot be called off,
    /// and it ends with the process.
    pub(super) fn read() -> Pasted {
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            loop {
                // Locked for one line only: others read, too, when this is over.
                let line = ask::answer(&mut io::stdin().lock());
                let Ok(Some(line)) = line else { return };
                if !line.is_empty() && sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Pasted { lines }
    }

    /// The next line that holds something; waits for ever if there is none to come.
    pub(super) async fn next(&mut self) -> String {
        match self.lines.recv().await {
            Some(line) => line,
            None => std::future::pending().await,
        }
    }
}
