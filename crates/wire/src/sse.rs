//! Server-sent events: writing them, and reading them as they arrive.

use bytes::{Buf, Bytes, BytesMut};

/// Largest event we read, in bytes of data.
pub const EVENT_BYTES_MAX: usize = crate::STDIO_MESSAGE_BYTES_MAX;

/// Longest event id that is remembered, in bytes: it must fit a header to be of use.
pub const ID_BYTES_MAX: usize = 4096;

/// The kind of the event that opens the HTTP+SSE transport.
pub const ENDPOINT: &str = "endpoint";

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

/// Appends one `message` event that holds a JSON message and can be resumed behind by its id, if it has one. Line ends in
/// it, which JSON text has only between its tokens, become blanks: they would end the field.
pub fn write_event(out: &mut Vec<u8>, id: Option<&str>, message: &[u8]) {
    let id = id.map(|id| ("id", id.as_bytes()));
    write_fields(out, id.into_iter().chain([("event", &b"message"[..]), ("data", message)]));
}

/// Appends an event without data: it gives the client an id to resume behind before there is anything to say,
/// and says how long to wait before connecting again (2025-11-25, "Sending Messages to the Server").
pub fn write_priming(out: &mut Vec<u8>, id: &str, retry_ms: Option<u64>) {
    let retry = retry_ms.map(|retry_ms| retry_ms.to_string());
    let retry = retry.as_ref().map(|retry| ("retry", retry.as_bytes()));
    write_fields(out, [("id", id.as_bytes())].into_iter().chain(retry).chain([("data", &b""[..])]));
}

/// Appends a comment: it keeps the connection from looking idle and means nothing.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    write_fields(out, [("", text.as_bytes())]);
}

/// Appends the event that opens the HTTP+SSE transport of 2024-11-05: where to post messages.
pub fn write_endpoint(out: &mut Vec<u8>, uri: &str) {
    write_fields(out, [("event", ENDPOINT.as_bytes()), ("data", uri.as_bytes())]);
}

/// Appends an event.
fn write_fields<'v>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = (&'static str, &'v [u8])>) {
    for (name, value) in fields {
        let start = out.len();
        for part in [name.as_bytes(), b": ", value] {
            out.extend_from_slice(part);
        }
        crate::lines::end_line(out, start);
    }
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
    retry: Option<u64>,
    last_id: Option<String>,
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
                if event.id.is_some() {
                    self.last_id = event.id.clone();
                }
                if std::mem::take(&mut self.has_data) {
                    return Some(event);
                }
            } else {
                self.field(&String::from_utf8_lossy(&line));
            }
        }
        None
    }

    /// How long the other side asks to wait before connecting again, in milliseconds: what it said last, with
    /// or without an event.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// The id to resume behind: that of the last complete event that had one, with or without data. An empty
    /// one takes back the ids before it.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    fn line(&mut self) -> Option<Bytes> {
        // A line feed behind a carriage return ends no second line, even if it comes in the next piece.
        if let Some(&first) = self.buffer.first()
            && std::mem::take(&mut self.after_return)
            && first == b'\n'
        {
            self.buffer.advance(1);
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
            "id" if !value.contains('\0') && value.len() <= ID_BYTES_MAX => {
                self.current.id = Some(value.to_owned());
            }
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                // No digits and more than fit say nothing.
                self.retry = value.parse().ok().or(self.retry);
            }
            // Comments and unknown fields change nothing.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

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
            ("data: 1\r\n\ndata: 2\n\n", vec![event("", "1", None), event("", "2", None)]),
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
        write_event(&mut out, None, b"{\"a\":\r\n\n1}");
        let stream = String::from_utf8(out).expect("UTF-8");
        assert_eq!(read(&stream, 3)[0].data, "{\"a\":   1}");
    }

    #[test]
    fn what_stands_outside_of_events_is_not_lost() {
        let cases = [
            ("retry: 500\n\n", Some(500), None),
            ("id: 7\n\n", None, Some("7")),
            (
                "id: 7\nretry: 5\ndata:\n\nretry: x\nretry: -1\nretry:\nretry: 99999999999999999999\n\n",
                Some(5),
                Some("7"),
            ),
            ("id: 7\ndata: 1\n\ndata: 2\n\n", None, Some("7")),
            ("id: 7\ndata: 1\n\nid: 8\ndata: cut", None, Some("7")),
            ("id: 7\ndata: 1\n\nid: 8\0\n\n", None, Some("7")),
            ("id: 7\ndata: 1\n\nid\n\n", None, None),
        ];
        for (stream, retry, last_id) in cases {
            let mut events = Events::default();
            events.feed(stream.as_bytes()).expect("small");
            while events.next_event().is_some() {}
            assert_eq!((events.retry(), events.last_id()), (retry, last_id), "{stream:?}");
        }
        let long = format!("id: {}\ndata: x\n\n", "i".repeat(ID_BYTES_MAX + 1));
        assert_eq!(read(&long, 1000)[0].id, None);
    }

    #[test]
    fn streams_are_written_as_browsers_read_them() {
        let mut out = Vec::new();
        write_endpoint(&mut out, "/message?session=1");
        write_priming(&mut out, "s-1", Some(500));
        write_priming(&mut out, "s-2", None);
        write_comment(&mut out, "still\nhere");
        write_event(&mut out, Some("s-\n3"), b"{}");
        write_event(&mut out, None, b"[1,\n2]");
        expect![[r#"
            event: endpoint
            data: /message?session=1

            id: s-1
            retry: 500
            data: 

            id: s-2
            data: 

            : still here

            id: s- 3
            event: message
            data: {}

            event: message
            data: [1, 2]

        "#]]
        .assert_eq(std::str::from_utf8(&out).expect("UTF-8"));
        let read = read(std::str::from_utf8(&out).expect("UTF-8"), 7);
        let shown: Vec<_> = read
            .iter()
            .map(|event| (event.kind.as_str(), event.data.as_str(), event.id.as_deref()))
            .collect();
        let expected = [
            (ENDPOINT, "/message?session=1", None),
            ("", "", Some("s-1")),
            ("", "", Some("s-2")),
            ("message", "{}", Some("s- 3")),
            ("message", "[1, 2]", None),
        ];
        assert_eq!(shown, expected);
    }

    proptest! {
        #[test]
        fn events_read_back_however_they_arrive(
            messages in prop::collection::vec((prop::option::of("[a-z0-9-]{1,8}"), "[ -~\u{e9}]{0,12}"), 0..6),
            piece in 1usize..9,
        ) {
            let mut out = Vec::new();
            for (id, message) in &messages {
                write_event(&mut out, id.as_deref(), message.as_bytes());
                write_comment(&mut out, "k");
            }
            let mut events = Events::default();
            let mut found = Vec::new();
            for bytes in out.chunks(piece) {
                events.feed(bytes).expect("small");
                found.extend(std::iter::from_fn(|| events.next_event()).map(|event| (event.id, event.data)));
            }
            prop_assert_eq!(found, messages);
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1024 * 1024];
        let refused = (0..=EVENT_BYTES_MAX / piece.len()).any(|_| events.feed(&piece).is_err());
        assert!(refused);
    }
}
