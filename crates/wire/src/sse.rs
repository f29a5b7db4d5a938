//! Server-sent events: writing them, and reading them as they arrive.

use bytes::{Bytes, BytesMut};

/// Largest event we read, in bytes of data.
pub const EVENT_BYTES_MAX: usize = crate::STDIO_MESSAGE_BYTES_MAX;

/// One event as far as MCP uses it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The `event` field; empty means `message`.
    pub kind: String,
    /// The `data` lines, joined by newlines.
    pub data: String,
    /// The `id` field, for resuming.
    pub id: Option<String>,
}

/// Appends one `message` event that holds a JSON message. Line ends in it, which JSON text has only between
/// its tokens, become blanks: they would end the field.
pub fn write(out: &mut Vec<u8>, message: &[u8]) {
    out.extend_from_slice(b"event: message\n");
    let start = out.len();
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(message);
    crate::lines::end_line(out, start);
    out.push(b'\n');
}

/// The stream had an event larger than [`EVENT_BYTES_MAX`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {EVENT_BYTES_MAX} bytes")]
pub struct EventTooLong;

/// Reads events from pieces of a stream (WHATWG HTML, "Server-sent events", section on interpretation).
#[derive(Debug, Default)]
pub struct Events {
    buffer: BytesMut,
    searched: usize,
    current: Event,
    has_data: bool,
    after_return: bool,
}

impl Events {
    /// Takes in the next piece of the stream.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), EventTooLong> {
        if self.buffer.len() + self.current.data.len() + piece.len() > EVENT_BYTES_MAX {
            return Err(EventTooLong);
        }
        self.buffer.extend_from_slice(piece);
        Ok(())
    }

    /// The next complete event.
    pub fn next_event(&mut self) -> Option<Event> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                let event = std::mem::take(&mut self.current);
                if std::mem::take(&mut self.has_data) {
                    return Some(event);
                }
            } else {
                self.field(&String::from_utf8_lossy(&line));
            }
        }
        None
    }

    fn line(&mut self) -> Option<Bytes> {
        if self.after_return && self.buffer.first() == Some(&b'\n') {
            let _ = self.buffer.split_to(1);
        }
        if !self.buffer.is_empty() {
            self.after_return = false;
        }
        let offset = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]);
        let Some(offset) = offset else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + offset + 1);
        self.searched = 0;
        self.after_return = line.last() == Some(&b'\r');
        line.truncate(line.len() - 1);
        Some(line.freeze())
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if self.has_data {
                    self.current.data.push('\n');
                }
                self.has_data = true;
                self.current.data.push_str(value);
            }
            "event" => self.current.kind = value.to_owned(),
            "id" if !value.contains('\0') => self.current.id = Some(value.to_owned()),
            // `retry`, comments and unknown fields change nothing here.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &str, piece: usize) -> Vec<Event> {
        let mut events = Events::default();
        let mut found = Vec::new();
        for bytes in stream.as_bytes().chunks(piece) {
            events.feed(bytes).expect("small");
            found.extend(std::iter::from_fn(|| events.next_event()));
        }
        found
    }

    #[test]
    fn events_come_out_whole_however_they_arrive() {
        let event = |kind: &str, data: &str, id: Option<&str>| Event {
            kind: kind.into(),
            data: data.into(),
            id: id.map(str::to_owned),
        };
        let cases = [
            ("data: {}\n\n", vec![event("", "{}", None)]),
            (
                ": hello\n\nevent: message\nid: 4\ndata:a\ndata: b\n\n",
                vec![event("message", "a\nb", Some("4"))],
            ),
            (
                "data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n",
                vec![event("", "1", None), event("", "2", None), event("", "3", None)],
            ),
            (
                "id: 1\ndata:\n\nretry: 500\n\ndata: x\n\n",
                vec![event("", "", Some("1")), event("", "x", None)],
            ),
            ("data: unfinished\n", vec![]),
        ];
        for (stream, expected) in cases {
            for piece in [1, 2, 5, 1000] {
                assert_eq!(read(stream, piece), expected, "{stream:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut out = Vec::new();
        write(&mut out, b"{\"a\":\r\n\n1}");
        let stream = String::from_utf8(out).expect("UTF-8");
        assert_eq!(read(&stream, 3)[0].data, "{\"a\":   1}");
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1024 * 1024];
        let refused = (0..=EVENT_BYTES_MAX / piece.len()).any(|_| events.feed(&piece).is_err());
        assert!(refused);
    }
}
