//! Artifacts over HTTP: the bytes of one, whole or a range of them, for its owner. Opening one is a call of `artifact_read`
//! and passes the gate as such.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use gate::{ArtifactReader, Caller, Cancel, Failure};
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Response, StatusCode};
use tokio::task::spawn_blocking;

use super::answer::{self, Answer, Answered};
use super::endpoint::Endpoint;
use super::problem::Problem;
use super::query::Query;
use super::{PATH, named, rest};

/// Where artifacts are, behind the path of their workspace.
const FOLDER: &str = "artifacts";

/// Bytes that are read at once.
const PIECE_BYTES: usize = 256 * 1024;

/// The methods that it is asked by.
pub(super) const METHODS: &str = "GET, HEAD, OPTIONS";

/// The workspace, if it has a name, and the id of the artifact that a path names.
pub(super) fn place(path: &str) -> Option<(Option<&str>, &str)> {
    let (workspace, id) = path.rsplit_once('/')?;
    let workspace = workspace.strip_suffix(FOLDER)?.strip_suffix('/')?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match workspace {
        PATH => is_id.then_some((None, id)),
        workspace => Some((Some(named::name_in(workspace).filter(|_| is_id)?), id)),
    }
}

/// Answers with an artifact.
pub(super) async fn handle(
    endpoint: &Endpoint,
    caller: &Caller,
    (id, query): (&str, Option<&str>),
    method: &Method,
    headers: &HeaderMap,
) -> Answered {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Ok(answer::not_allowed(METHODS));
    }
    Query::read(query, &[])?;
    let cancel = Cancel::new();
    let opened = endpoint.server.gate().artifact(caller, id, cancel).await;
    let reader: Arc<dyn ArtifactReader> = Arc::from(opened.map_err(|failure| refused(&failure))?);
    let artifact = reader.artifact();
    let (bytes, etag) = (artifact.bytes, format!("\"{}\"", artifact.sha256));
    let asked = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    if known.into_iter().any(|tags| names(tags, &etag)) {
        return Ok(with_etag(answer::empty(StatusCode::NOT_MODIFIED), &etag));
    }
    // A range of another version is none of this one, and only a GET has ranges (RFC 9110, 14.2).
    let may_be_part = *method == Method::GET && asked(IF_RANGE).is_none_or(|tag| tag == etag);
    let range = asked(RANGE).filter(|_| may_be_part);
    let (status, from, to) = match range.map(|range| Range::read(range, bytes)) {
        None | Some(Range::Whole) => (StatusCode::OK, 0, bytes),
        Some(Range::Part(from, to)) => (StatusCode::PARTIAL_CONTENT, from, to),
        Some(Range::Beyond) => {
            let mut answer =
                answer::problem(StatusCode::RANGE_NOT_SATISFIABLE, "the artifact has no such range");
            set(answer.headers_mut(), CONTENT_RANGE, &format!("bytes */{bytes}"));
            return Ok(answer);
        }
    };
    let body = match method {
        &Method::HEAD => Either::Left(Full::default()),
        _ => Either::Right(pieces(reader.clone(), from, to)),
    };
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    set(headers, CONTENT_TYPE, &artifact.media_type);
    set(headers, CONTENT_LENGTH, &(to - from).to_string());
    set(headers, ACCEPT_RANGES, "bytes");
    // What a program has printed is no page of ours.
    set(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, CONTENT_DISPOSITION, "attachment");
    if status == StatusCode::PARTIAL_CONTENT {
        set(headers, CONTENT_RANGE, &format!("bytes {from}-{}/{bytes}", to - 1));
    }
    Ok(with_etag(answer, &etag))
}

/// The bytes from one to before another, read as the client takes them. What cannot be read ends the answer early, which its
/// length tells.
fn pieces(reader: Arc<dyn ArtifactReader>, from: u64, to: u64) -> super::events::Events {
    let pieces = stream::unfold((reader, from), move |(reader, at)| async move {
        let most = PIECE_BYTES.min(usize::try_from(to - at).unwrap_or(PIECE_BYTES));
        if most == 0 {
            return None;
        }
        let read = spawn_blocking(move || {
            let mut piece = vec![0; most];
            let count = reader.read_at(at, &mut piece);
            count.map(|count| {
                piece.truncate(count);
                (Bytes::from(piece), reader)
            })
        });
        match read.await {
            Ok(Ok((piece, reader))) if !piece.is_empty() => {
                let next = at + piece.len() as u64;
                Some((Ok(Frame::data(piece)), (reader, next)))
            }
            Ok(Ok(_)) | Err(_) => None,
            Ok(Err(error)) => {
                tracing::warn!(%error, "an artifact cannot be read");
                None
            }
        }
    });
    StreamBody::new(pieces).boxed_unsync()
}

fn with_etag(mut answer: Answer, etag: &str) -> Answer {
    set(answer.headers_mut(), ETAG, etag);
    answer
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // What is no header is left out: a media type that a program has made up.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn refused(failure: &Failure) -> Problem {
    match (failure, failure.code()) {
        (_, "artifact_not_found" | "unknown_tool") => Problem::new(
            StatusCode::NOT_FOUND,
            "there is no artifact of this id for you here; it may be over",
        ),
        (Failure::Refused(_), _) => rest::problem(failure),
        (Failure::Tool(_) | Failure::Internal(_), _) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, failure.to_string())
        }
    }
}

/// Whether `If-None-Match` names this tag; a proxy may have made a weak one of it, which counts here (RFC 9110, 13.1.2).
fn names(tags: &str, etag: &str) -> bool {
    let is_it = |tag: &str| tag.trim().strip_prefix("W/").unwrap_or(tag.trim()) == etag;
    tags.trim() == "*" || tags.split(',').any(is_it)
}

/// What of the bytes is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    /// All of it: also where the request says what we do not know, or several ranges (RFC 9110, 14.2).
    Whole,
    /// From one byte to before another.
    Part(u64, u64),
    /// None that is there.
    Beyond,
}

impl Range {
    fn read(text: &str, bytes: u64) -> Range {
        let Some((unit, range)) = text.split_once('=') else { return Range::Whole };
        let Some((first, last)) =
            range.trim().split_once('-').filter(|_| unit.trim().eq_ignore_ascii_case("bytes"))
        else {
            return Range::Whole;
        };
        let (from, to) = match (position(first), position(last)) {
            (Some(from), Some(last)) if from > last => return Range::Whole,
            (Some(from), Some(last)) => (from, last.saturating_add(1).min(bytes)),
            (Some(from), None) if last.is_empty() => (from, bytes),
            (None, Some(count)) if first.is_empty() => (bytes - count.min(bytes), bytes),
            _ => return Range::Whole,
        };
        if from < to { Range::Part(from, to) } else { Range::Beyond }
    }
}

/// A number of digits alone. One that is too large for us is beyond every end.
fn position(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use gate::{Refusal, Ruling, ToolError};
    use serde_json::json;

    use super::*;

    #[test]
    fn why_there_is_none_is_told_as_of_an_invocation() {
        let ruling = Ruling { tool: "t".into(), rule: "r".into(), why: "is refused".into() };
        let limited = Refusal::RateLimited { retry_after_ms: 90, limit: "limits.rate".into() };
        for (failure, status, code, reason) in [
            (Refusal::UnknownTool("t".into()).into(), 404, "not_found", None),
            (ToolError::new("artifact_not_found", "gone").into(), 404, "not_found", None),
            (Refusal::Denied(ruling).into(), 403, "rule_blocked", Some("policy_denied")),
            (limited.into(), 429, "rate_limited", Some("rate_limited")),
            (Refusal::NoAuditLog("full".into()).into(), 503, "unavailable", Some("book_unavailable")),
            (ToolError::new("artifact_store_unavailable", "down").into(), 503, "service_unavailable", None),
        ] {
            let failure: Failure = failure;
            let told = json!(refused(&failure));
            let expected = json!([status, code, reason]);
            assert_eq!(json!([told["status"], told["code"], told["reason"]]), expected, "{failure:?}");
        }
    }

    #[test]
    fn ranges_are_read() {
        for (text, expected) in [
            ("bytes=0-3", Range::Part(0, 4)),
            ("bytes=4-", Range::Part(4, 10)),
            ("bytes=-3", Range::Part(7, 10)),
            ("bytes=-30", Range::Part(0, 10)),
            ("bytes=8-99", Range::Part(8, 10)),
            ("bytes=0-18446744073709551615", Range::Part(0, 10)),
            ("bytes=10-", Range::Beyond),
            ("bytes=10-12", Range::Beyond),
            ("bytes=-0", Range::Beyond),
            ("bytes=3-2", Range::Whole),
            ("bytes=0-1,3-4", Range::Whole),
            ("Bytes=0-3", Range::Part(0, 4)),
            ("bytes=0-99999999999999999999", Range::Part(0, 10)),
            ("bytes=-99999999999999999999", Range::Part(0, 10)),
            ("bytes=99999999999999999999-", Range::Beyond),
            ("bytes=+0-3", Range::Whole),
            ("bytes=0-+3", Range::Whole),
            ("bytes=--3", Range::Whole),
            ("bytes=-", Range::Whole),
            ("bytes=a-b", Range::Whole),
            ("lines=0-1", Range::Whole),
            ("", Range::Whole),
        ] {
            assert_eq!(Range::read(text, 10), expected, "{text}");
        }
    }

    #[test]
    fn a_tag_is_known_strong_or_weak_and_among_others() {
        for (tags, is_known) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", W/\"a\"", true),
            (" * ", true),
            ("\"b\"", false),
            ("a", false),
            ("", false),
        ] {
            assert_eq!(names(tags, "\"a\""), is_known, "{tags}");
        }
    }

    #[test]
    fn paths_name_a_workspace_and_an_id() {
        for (path, expected) in [
            ("/mcp/artifacts/ab12", Some((None, "ab12"))),
            ("/mcp/review/artifacts/ab12", Some((Some("review"), "ab12"))),
            ("/mcp/artifacts/", None),
            ("/mcp/artifacts", None),
            ("/mcp/artifacts/a%2f", None),
            ("/mcp/a/b/artifacts/ab12", None),
            ("/artifacts/ab12", None),
        ] {
            assert_eq!(place(path), expected, "{path}");
        }
    }
}
