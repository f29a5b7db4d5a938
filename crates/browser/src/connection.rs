//! `Connection`: commands go to a browser, and messages come from it. Who waits for which is decided elsewhere.

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::error::BrowserError;
use crate::frame::Frames;
use crate::message::{Message, command};

/// What is read at once, in bytes: as much as a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// Both ends of a browser's pipes.
pub(crate) struct Connection {
    from: Box<dyn AsyncRead + Send + Unpin>,
    to: Box<dyn AsyncWrite + Send + Unpin>,
    frames: Frames,
    piece: Vec<u8>,
    commands: u64,
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
        }
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
        self.to.write_all(&command).await.map_err(gone)?;
        Ok(self.commands)
    }

    /// The next message. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Result<Message, BrowserError> {
        loop {
            if let Some(frame) = self.frames.next()? {
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
}
