//! Writing frames. Each function appends one complete message without a line end.

use crate::error::WireError;
use crate::id::Id;
use crate::object_writer::ObjectWriter;
use crate::string;

/// Appends `{"jsonrpc":"2.0","id":…,"result":` + `result` + `}`; `result` is JSON text.
pub fn result(out: &mut Vec<u8>, id: &Id, result: &[u8]) {
    out.reserve(result.len() + 64);
    result_by(out, id, |out| out.extend_from_slice(result));
}

/// The same for a result that is still to be written: `write` appends its JSON text.
pub fn result_by(out: &mut Vec<u8>, id: &Id, write: impl FnOnce(&mut Vec<u8>)) {
    head(out, id);
    out.extend_from_slice(b",\"result\":");
    write(out);
    out.push(b'}');
}

/// Appends an error answer; without an id it goes out under `null`.
pub fn error(out: &mut Vec<u8>, id: Option<&Id>, error: &WireError) {
    let id = id.map_or("null", Id::text);
    let mut answer = ObjectWriter::begin(out).json("jsonrpc", "\"2.0\"").json("id", id);
    ObjectWriter::begin(answer.member("error"))
        .json("code", &*error.code.number().to_string())
        .string("message", &*error.message)
        .json("data", error.data.as_deref())
        .end();
    answer.end();
}

/// Appends a request of ours; `params` is JSON text.
pub fn request(out: &mut Vec<u8>, id: &Id, method: &str, params: Option<&[u8]>) {
    head(out, id);
    out.push(b',');
    request_head(out, method, params);
}

/// The same under an id of our own, which is a number.
pub fn numbered_request(out: &mut Vec<u8>, id: u64, method: &str, params: Option<&[u8]>) {
    use std::io::Write as _;
    write!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id},").expect("writing to memory cannot fail");
    request_head(out, method, params);
}

/// Appends a notification; `params` is JSON text.
pub fn notification(out: &mut Vec<u8>, method: &str, params: Option<&[u8]>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    request_head(out, method, params);
}

fn head(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.text().as_bytes());
}

fn request_head(out: &mut Vec<u8>, method: &str, params: Option<&[u8]>) {
    out.extend_from_slice(b"\"method\":");
    string::encode(method, out);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::error::Code;
    use crate::message::{Frame, Message};

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("frames are UTF-8")
    }

    #[test]
    fn frames_read_back() {
        let id = Id::number(7);
        let frames = [
            written(|out| result(out, &id, b"{}")),
            written(|out| error(out, Some(&id), &WireError::new(Code::InvalidParams, "a \"b\"\n"))),
            written(|out| request(out, &id, "tools/call", Some(br#"{"name":"x"}"#))),
        ];
        for frame in &frames {
            let parsed = Frame::parse(Bytes::copy_from_slice(frame.as_bytes())).expect("sound");
            let Frame::Single(Message::Request { id: read, .. } | Message::Response { id: Some(read), .. }) =
                parsed
            else {
                panic!("{frame}");
            };
            assert_eq!(read.as_number(), Some(7), "{frame}");
        }
        assert_eq!(
            written(|out| numbered_request(out, 7, "m", Some(b"{}"))),
            written(|out| request(out, &id, "m", Some(b"{}")))
        );
        assert_eq!(written(|out| notification(out, "n", None)), r#"{"jsonrpc":"2.0","method":"n"}"#);
        let nameless = WireError::new(Code::ParseError, "m").with_data("[1]".into());
        assert_eq!(
            written(|out| error(out, None, &nameless)),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[1]}}"#
        );
    }
}
