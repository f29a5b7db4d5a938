//! What the head of a request says: which form the message has, which forms the answer may have, and what
//! stands in a header that may be there but once.

use hyper::StatusCode;
use hyper::header::{
    ACCEPT, AsHeaderName, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use wire::http::{EVENT_STREAM, JSON, PROTOCOL_VERSION};
use wire::param_headers::HeaderText;
use wire::{Code, Revision, WireError};

use super::answer::{self, Answer};

/// Names the revision that a request is written in. Every request is asked for it, so it is not read anew each time.
static REVISION: HeaderName = HeaderName::from_static(PROTOCOL_VERSION);

/// True if the client takes a stream of events as an answer.
pub(super) type TakesEvents = bool;

/// Checks the forms of a POST.
///
/// # Errors
/// The answer to a message that is not JSON, or whose client takes neither JSON nor events.
pub(super) fn forms(headers: &HeaderMap) -> Result<TakesEvents, Box<Answer>> {
    content_is_json(headers)?;
    let takes_events = accepts(headers, EVENT_STREAM);
    let takes_json = || !headers.contains_key(ACCEPT) || accepts(headers, JSON) || accepts(headers, "*/*");
    if takes_events || takes_json() {
        return Ok(takes_events);
    }
    Err(answer::refusal(StatusCode::NOT_ACCEPTABLE, "accept application/json and text/event-stream"))
}

/// Checks that the client takes JSON or a stream of events.
///
/// # Errors
/// The answer to one that takes neither.
pub(super) fn takes_json_or_events(headers: &HeaderMap) -> Result<(), Box<Answer>> {
    let kinds = [JSON, "application/*", "+json"];
    if kinds.iter().any(|kind| accepts(headers, kind)) || takes_stream(headers).is_ok() {
        return Ok(());
    }
    Err(answer::refusal(StatusCode::NOT_ACCEPTABLE, "accept application/json"))
}

/// Checks that the client takes a stream of events; one that says nothing takes anything (RFC 9110, 12.5.1).
///
/// # Errors
/// The answer to one that does not.
pub(super) fn takes_stream(headers: &HeaderMap) -> Result<(), Box<Answer>> {
    let kinds = [EVENT_STREAM, "text/*", "*/*"];
    if !headers.contains_key(ACCEPT) || kinds.iter().any(|kind| accepts(headers, kind)) {
        return Ok(());
    }
    Err(answer::refusal(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream to open a stream"))
}

/// Checks the form of what is posted.
///
/// # Errors
/// The answer to a message that is not JSON.
pub(super) fn content_is_json(headers: &HeaderMap) -> Result<(), Box<Answer>> {
    let is_json = |kind: &HeaderValue| {
        kind == JSON
            || kind
                .to_str()
                .is_ok_and(|kind| kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(JSON))
    };
    let why = match headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        true => "send the message as it is, without a Content-Encoding",
        false if headers.get(CONTENT_TYPE).is_some_and(is_json) => return Ok(()),
        false => "send the message as Content-Type: application/json",
    };
    Err(answer::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
}

/// True if the client says that it takes this media type.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    headers.get_all(ACCEPT).iter().any(|kinds| kinds.to_str().is_ok_and(|kinds| kinds.contains(kind)))
}

/// What stands in a header that may be there but once.
pub(super) fn said(headers: &HeaderMap, name: impl AsHeaderName) -> HeaderText<'_> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderText::Absent,
        (Some(value), None) => value.to_str().map_or(HeaderText::Unreadable, HeaderText::Once),
        (Some(_), Some(_)) => HeaderText::Repeated,
    }
}

/// True if the version header names the modern revision, or one that is later by its date.
pub(super) fn names_modern(headers: &HeaderMap) -> bool {
    let HeaderText::Once(name) = said(headers, &REVISION) else { return false };
    let modern = Revision::MODERN.name();
    let is_date = name.len() == modern.len()
        && name.bytes().zip(modern.bytes()).all(|(byte, like)| match like {
            b'-' => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date && name >= modern
}

/// The revision that a legacy request names.
///
/// # Errors
/// The answer to a request that names one we do not speak (2025-06-18, "Protocol Version Header").
pub(super) fn legacy_revision(headers: &HeaderMap) -> Result<Option<Revision>, Box<Answer>> {
    let known = match said(headers, &REVISION) {
        HeaderText::Absent => return Ok(None),
        HeaderText::Once(name) => Revision::parse(name),
        HeaderText::Repeated | HeaderText::Unreadable => None,
    };
    known.map(Some).ok_or_else(|| {
        let known: Vec<_> = Revision::ALL.iter().map(|revision| revision.name()).collect();
        let why = format!("Bad Request: unsupported MCP-Protocol-Version; supported: {}", known.join(", "));
        answer::bad_request(None, &WireError::new(Code::InvalidRequest, why))
    })
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let line = |&(name, value): &(&str, &str)| {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a sample");
            (name, HeaderValue::from_str(value).expect("a sample"))
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn forms_are_checked() {
        let json = ("content-type", "application/json; charset=utf-8");
        let cases = [
            (&[json][..], Ok(false)),
            (&[json, ("accept", "*/*")], Ok(false)),
            (&[json, ("accept", "application/json, text/event-stream")], Ok(true)),
            (&[json, ("accept", "text/event-stream")], Ok(true)),
            (&[json, ("accept", "text/html")], Err(406)),
            (&[json, ("content-encoding", "identity")], Ok(false)),
            (&[json, ("content-encoding", "gzip")], Err(415)),
            (&[("content-type", "text/plain")], Err(415)),
            (&[], Err(415)),
        ];
        for (lines, expected) in cases {
            let checked = forms(&headers(lines)).map_err(|refusal| refusal.status().as_u16());
            assert_eq!(checked, expected, "{lines:?}");
        }
    }

    #[test]
    fn who_says_nothing_takes_a_stream() {
        for (lines, is_taken) in [
            (&[][..], true),
            (&[("accept", "*/*")], true),
            (&[("accept", "text/event-stream;q=0.9")], true),
            (&[("accept", "application/json")], false),
            (&[("accept", "")], false),
        ] {
            assert_eq!(takes_stream(&headers(lines)).is_ok(), is_taken, "{lines:?}");
        }
    }

    #[test]
    fn versions_are_told_apart() {
        // value, whether modern, whether refused as a legacy one
        let cases = [
            (vec!["2025-11-25"], false, false),
            (vec!["2026-07-28"], true, false),
            (vec!["2027-01-01"], true, true),
            (vec!["2026-07-27"], false, true),
            (vec!["v999.0.0"], false, true),
            (vec!["2026-07-28x"], false, true),
            (vec![""], false, true),
            (vec![], false, false),
            (vec!["2025-11-25", "2025-11-25"], false, true),
        ];
        for (values, modern, refused) in cases {
            let lines: Vec<_> = values.iter().map(|value| (PROTOCOL_VERSION, *value)).collect();
            let headers = headers(&lines);
            assert_eq!(names_modern(&headers), modern, "{values:?}");
            assert_eq!(legacy_revision(&headers).is_err(), refused, "{values:?}");
        }
    }
}
