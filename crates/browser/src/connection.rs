//! `Connection`: commands go to a browser, and messages come from it. Who waits for which is decided elsewhere.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::error::BrowserError;
use crate::frame::Frames;
use crate::message::{Message, command};

/// What is read at once, in bytes: as much as a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// Messages of one visit. A page of two thousand requests has some ten thousand.
const MESSAGES_MAX: usize = 20_000;

/// The same in bytes.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long the browser may take until it listens to a command.
const SEND_MAX: Duration = Duration::from_secs(5);

/// Both ends of a browser's pipes.
pub(crate) struct Connection {
    from: Box<dyn AsyncRead + Send + Unpin>,
    to: Box<dyn AsyncWrite + Send + Unpin>,
    frames: Frames,
    piece: Vec<u8>,
    commands: u64,
    /// What has come since the visit began.
    messages: usize,
    bytes: usize,
}

impl Connection {
    pub(crate) fn new(
        from: impl AsyncRead + Send + Unpin + 'static,
        to: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Connection {
        let (from, to) = (Box::new(from), Box::new(to));
        Connection {
            from,
            to,
            frames: Frames::default(),
            piece: Vec::with_capacity(PIECE_BYTES),
            commands: 0,
            messages: 0,
            bytes: 0,
        }
    }

    /// A visit begins.
    pub(crate) fn begin(&mut self) {
        (self.messages, self.bytes) = (0, 0);
    }

    /// Whether this is the first command that the browser answers.
    pub(crate) fn is_new(&self) -> bool {
        self.commands <= 1
    }

    /// Sends a command, and says by which id it is answered.
    pub(crate) async fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<u64, BrowserError> {
        self.commands += 1;
        let command = command(self.commands, session, method, params);
        let sent = timeout(SEND_MAX, self.to.write_all(&command)).await;
        sent.map_err(|_| BrowserError::Silent(SEND_MAX))?.map_err(gone)?;
        Ok(self.commands)
    }

    /// The next message. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Result<Message, BrowserError> {
        loop {
            if let Some(frame) = self.frames.next()? {
                self.messages += 1;
                self.bytes += frame.len();
                if self.messages > MESSAGES_MAX || self.bytes > BYTES_MAX {
                    return Err(BrowserError::Unreadable("it says too much of one page"));
                }
                return Message::parse(&frame);
            }
            self.piece.clear();
            if self.from.read_buf(&mut self.piece).await.map_err(gone)? == 0 {
                return Err(BrowserError::Gone(String::new()));
            }
            self.frames.push(&self.piece);
        }
    }
}

fn gone(error: std::io::Error) -> BrowserError {
    BrowserError::Gone(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::duplex;

    #[tokio::test]
    async fn commands_are_numbered_and_messages_come_in_order() {
        let (ours, theirs) = duplex(8);
        let (from, to) = tokio::io::split(ours);
        let mut connection = Connection::new(from, to);
        let browser = tokio::spawn(async move {
            let (mut from, mut to) = tokio::io::split(theirs);
            let mut heard = Vec::new();
            while heard.iter().filter(|&&byte| byte == 0).count() < 2 {
                from.read_buf(&mut heard).await.expect("read");
            }
            // Cut within a message, and two in one piece.
            for piece in [&b"{\"method\":\"A.b\"}\0{\"id\""[..], b":2}\0{\"id\":1}\0"] {
                to.write_all(piece).await.expect("written");
            }
            heard
        });
        assert_eq!(connection.send(None, "A.one", &json!({})).await.expect("sent"), 1);
        assert_eq!(connection.send(Some("s"), "A.two", &json!({})).await.expect("sent"), 2);
        assert!(matches!(connection.next().await, Ok(Message::Event { method, .. }) if method == "A.b"));
        assert!(matches!(connection.next().await, Ok(Message::Answer { id: 2, .. })));
        assert!(matches!(connection.next().await, Ok(Message::Answer { id: 1, .. })));
        assert!(matches!(connection.next().await, Err(BrowserError::Gone(_))));
        assert!(browser.await.expect("no panic").starts_with(b"{\"id\":1,"));
    }

    #[tokio::test]
    async fn one_visit_is_told_only_so_much_of() {
        let (ours, mut theirs) = duplex(1024 * 1024);
        let (from, to) = tokio::io::split(ours);
        let mut connection = Connection::new(from, to);
        theirs.write_all(&b"{\"id\":1}\0".repeat(MESSAGES_MAX + 2)).await.expect("written");
        for _ in 0..MESSAGES_MAX {
            assert!(connection.next().await.is_ok());
        }
        assert!(matches!(connection.next().await, Err(BrowserError::Unreadable(_))));
        connection.begin();
        assert!(connection.next().await.is_ok());
    }
}
