//! Takes one HTTP/1.1 response apart: JSON with a length, chunks, or a stream of events in chunks.

use std::borrow::Cow;

use anyhow::{Context as _, bail};

/// A whole response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response<'a> {
    /// The status code.
    pub(crate) status: u16,
    /// `Mcp-Session-Id`.
    pub(crate) session: Option<String>,
    /// Whether the body is a stream of events.
    pub(crate) events: bool,
    /// The body without its framing; borrowed where it was not in chunks, so that a large one costs no copy.
    body: Cow<'a, [u8]>,
    /// Bytes of the connection that the response took.
    pub(crate) length: usize,
}

impl<'a> Response<'a> {
    /// The response at the start of `bytes`; `None` until it has come whole.
    pub(crate) fn parse(bytes: &'a [u8]) -> anyhow::Result<Option<Self>> {
        let Some(head_end) = memchr::memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
        let head = str::from_utf8(&bytes[..head_end]).context("the head of a response is not text")?;
        let (status_line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("not a status line: {status_line}"))?;
        let Some((body, body_length)) = body(headers, &bytes[head_end + 4..])? else { return Ok(None) };
        Ok(Some(Self {
            status,
            session: header(headers, "mcp-session-id").map(str::to_owned),
            events: header(headers, "content-type").is_some_and(|kind| kind.starts_with("text/event-stream")),
            body,
            length: head_end + 4 + body_length,
        }))
    }

    /// The JSON messages in the body, in order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &[u8]> {
        let (whole, stream) =
            if self.events { (None, &self.body[..]) } else { (Some(&self.body[..]), &b""[..]) };
        let data = stream.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b"data: "));
        // An event without a message (a first id to resume from) has empty data.
        whole.into_iter().chain(data.map(<[u8]>::trim_ascii)).filter(|message| !message.is_empty())
    }
}

/// The body and how many bytes of the connection it took.
fn body<'a>(headers: &str, rest: &'a [u8]) -> anyhow::Result<Option<(Cow<'a, [u8]>, usize)>> {
    if header(headers, "transfer-encoding").is_some() {
        let mut joined = Vec::new();
        return Ok(chunks(rest, &mut joined)?.map(|length| (Cow::Owned(joined), length)));
    }
    let length = header(headers, "content-length").map_or(Ok(0), str::parse)?;
    Ok(rest.get(..length).map(|body| (Cow::Borrowed(body), length)))
}

fn header<'a>(headers: &'a str, name: &str) -> Option<&'a str> {
    headers.split("\r\n").find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Joins the chunks and says how many bytes they took; `None` until the last one has come.
fn chunks(bytes: &[u8], body: &mut Vec<u8>) -> anyhow::Result<Option<usize>> {
    let mut at = 0;
    loop {
        let Some(line) = memchr::memmem::find(&bytes[at..], b"\r\n") else { return Ok(None) };
        let digits = str::from_utf8(&bytes[at..at + line])?;
        let size = usize::from_str_radix(digits.split(';').next().unwrap_or("").trim(), 16)
            .with_context(|| format!("not a chunk size: {digits}"))?;
        let start = at + line + 2;
        let Some(chunk) = bytes.get(start..start + size + 2) else { return Ok(None) };
        if !chunk.ends_with(b"\r\n") {
            bail!("a chunk is longer than it says");
        }
        body.extend_from_slice(&chunk[..size]);
        at = start + size + 2;
        if size == 0 {
            return Ok(Some(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wire: &str, status: u16, session: Option<&str>, messages: &[&str]) {
        for cut in 0..wire.len() {
            assert_eq!(Response::parse(&wire.as_bytes()[..cut]).expect("no fault"), None, "cut at {cut}");
        }
        let bytes = format!("{wire}HTTP/1.1 200");
        let response = Response::parse(bytes.as_bytes()).expect("no fault").expect("a whole one");
        assert_eq!((response.status, response.session.as_deref()), (status, session));
        assert_eq!(response.length, wire.len());
        let found: Vec<&str> =
            response.messages().map(|message| str::from_utf8(message).expect("UTF-8")).collect();
        assert_eq!(found, messages);
    }

    #[test]
    fn json_with_a_length() {
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nMcp-Session-Id: s1\r\n\r\n{}",
            200,
            Some("s1"),
            &["{}"],
        );
        check("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", 202, None, &[]);
    }

    #[test]
    fn events_in_chunks() {
        let events = "data: \nid: 0\n\ndata: {\"a\":1}\r\n\r\n";
        let (one, two) = events.split_at(10);
        check(
            &format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n",
                one.len(),
                two.len()
            ),
            200,
            None,
            &["{\"a\":1}"],
        );
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(Response::parse(b"nonsense\r\n\r\n").is_err());
        assert!(Response::parse(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n").is_err());
    }
}
