//! What an HTTP status other than 200 means for a request.

use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use tokio::time::timeout;
use wire::{Frame, Message};

use super::super::{Fault, Reply};
use super::body;
use crate::clean;
use crate::config::shown_url;

/// How much of an error's body is read, in bytes, and for how long.
const BODY_BYTES_MAX: usize = 64 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of an error's body is shown, in bytes.
const SAID_BYTES_MAX: usize = 200;

/// Error codes under which servers say with HTTP 400 that they know no such session, instead of a plain 404.
const SESSION_CODES: [i64; 3] = [-32_000, -32_001, -32_600];

/// The answer in `response`, which has another status than 200: an error object under our `id`, or a fault.
pub(super) async fn fault(
    mut response: Response<Incoming>,
    has_session: bool,
    id: u64,
) -> Result<Reply, Fault> {
    let status = response.status();
    if status.is_redirection() {
        return Err(Fault::Redirect { status: status.as_u16(), to: target(&response) });
    }
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(Fault::Access(status.as_u16()));
    }
    if status.is_success() {
        return Err(Fault::Broken(format!("it answered a request with HTTP status {}", status.as_u16())));
    }
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(Fault::NotSent("it has forgotten the session".to_owned()));
    }
    let read = timeout(BODY_TIMEOUT, body::read_up_to(response.body_mut(), BODY_BYTES_MAX)).await;
    let said = read.ok().and_then(Result::ok).unwrap_or_default();
    judge(status, &said, has_session, id)
}

fn judge(status: StatusCode, said: &Bytes, has_session: bool, id: u64) -> Result<Reply, Fault> {
    let plain = |said: &str| {
        Err(Fault::Status { status: status.as_u16(), said: clean::sentence(said, SAID_BYTES_MAX) })
    };
    let Ok(Frame::Single(Message::Response { id: answered, answer: Err(error) })) =
        Frame::parse(said.clone())
    else {
        return plain(&String::from_utf8_lossy(said));
    };
    // An answer to this very request is the tool's, whatever it speaks of.
    if answered.and_then(|answered| answered.as_number()) == Some(id) {
        return Ok(Err(error));
    }
    let object = error.object();
    let code = object.and_then(|object| object.get("code")).and_then(|code| code.parse().ok()).unwrap_or(0);
    let message = object.and_then(|object| object.string("message")).unwrap_or_default();
    let lower = message.to_ascii_lowercase();
    let of_session = lower.contains("session") || lower.contains("not initialized");
    if has_session && status == StatusCode::BAD_REQUEST && SESSION_CODES.contains(&code) && of_session {
        return Err(Fault::NotSent("it has forgotten the session".to_owned()));
    }
    plain(&message)
}

/// Where a redirect leads, as " to ADDRESS", without what may be secret in it.
fn target(response: &Response<Incoming>) -> String {
    match response.headers().get(LOCATION).and_then(|location| location.to_str().ok()) {
        Some(location) => format!(" to {}", clean::sentence(&shown_url(location), SAID_BYTES_MAX)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(status: u16, said: &str, has_session: bool, expected: Expect) {
        let status = StatusCode::from_u16(status).expect("a status");
        let judged = judge(status, &Bytes::copy_from_slice(said.as_bytes()), has_session, 7);
        expected.assert_eq(&match judged {
            Ok(Ok(result)) => format!("result {}", result.as_str()),
            Ok(Err(error)) => format!("error {}", error.as_str()),
            Err(fault) => format!("{fault:?}"),
        });
    }

    #[test]
    fn a_lost_session_has_several_spellings() {
        for error in [
            r#"{"code":-32000,"message":"Bad Request: Server not initialized"}"#,
            r#"{"code":-32600,"message":"Missing session ID"}"#,
            r#"{"code":-32001,"message":"Session not found"}"#,
        ] {
            let said = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#);
            check(400, &said, true, expect![[r#"NotSent("it has forgotten the session")"#]]);
        }
        check(
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}"#,
            false,
            expect![[r#"Status { status: 400, said: "Server not initialized" }"#]],
        );
    }

    #[test]
    fn an_error_under_our_number_is_an_answer() {
        check(
            400,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}"#,
            true,
            expect![[r#"error {"code":-32602,"message":"no"}"#]],
        );
    }

    #[test]
    fn anything_else_is_shown_as_far_as_it_is_short() {
        check(
            502,
            "<html>\r\n<b>Bad Gateway</b>",
            true,
            expect![[r#"Status { status: 502, said: "<html>  <b>Bad Gateway</b>" }"#]],
        );
        check(500, "", true, expect![[r#"Status { status: 500, said: "" }"#]]);
        let long =
            judge(StatusCode::BAD_GATEWAY, &Bytes::from("x".repeat(1000)), true, 7).expect_err("a fault");
        assert_eq!(long, Fault::Status { status: 502, said: format!("{}…", "x".repeat(200)) });
    }
}
