//! What an HTTP status other than 200 means for a request.

use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use tokio::time::timeout;
use wire::{Frame, Message, Object};

use super::super::pending::Reply;
use super::body;
use crate::config::shown_url;
use crate::fault::Fault;
use crate::settings::Mask;

/// How much of an error's body is read, in bytes, and for how long.
const BODY_BYTES_MAX: usize = 64 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of an error's body is shown, in bytes.
const SAID_BYTES_MAX: usize = 200;

/// Error codes under which servers say with HTTP 400 that they know no such session, instead of a plain 404.
const SESSION_CODES: [i64; 3] = [-32_000, -32_001, -32_600];

/// By which rules a request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    Legacy,
    Modern,
    /// Modern, to find out whether the server is.
    Probe,
}

impl Rules {
    pub(super) fn of(modern: bool, method: &str) -> Rules {
        match (modern, method) {
            (false, _) => Rules::Legacy,
            (true, "server/discover") => Rules::Probe,
            (true, _) => Rules::Modern,
        }
    }
}

/// What was asked, as far as the meaning of a status depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// The request's number; 0 for a message that wants no answer.
    pub id: u64,
    pub rules: Rules,
    /// True if there is a session that the server may have forgotten.
    pub has_session: bool,
}

/// The answer in `response`, which has another status than 200: an error object, or a fault.
pub(super) async fn answer(
    mut response: Response<Incoming>,
    asked: Asked,
    mask: &Mask,
) -> Result<Reply, Fault> {
    let status = response.status();
    if status.is_redirection() {
        return Err(Fault::Redirect { status: status.as_u16(), to: target(&response, mask) });
    }
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(Fault::Access(status.as_u16()));
    }
    if status.is_success() {
        return Err(Fault::Broken(format!("it answered a request with HTTP status {}", status.as_u16())));
    }
    if status == StatusCode::NOT_FOUND && asked.rules == Rules::Legacy && asked.has_session {
        return Err(forgotten());
    }
    let read = timeout(BODY_TIMEOUT, body::read_up_to(response.body_mut(), BODY_BYTES_MAX)).await;
    let text = read.ok().and_then(Result::ok).unwrap_or_default();
    judge(status, &text, asked, mask)
}

/// Why a stream was refused, in `response`, which has another status than 200.
pub(crate) async fn refused(response: Response<Incoming>, mask: &Mask) -> Fault {
    match answer(response, Asked { id: 0, rules: Rules::Legacy, has_session: false }, mask).await {
        Err(fault) => fault,
        Ok(_) => Fault::Broken("it offers no stream of events".to_owned()),
    }
}

fn judge(status: StatusCode, text: &Bytes, asked: Asked, mask: &Mask) -> Result<Reply, Fault> {
    let plain = |words: &str| {
        Err(Fault::Status { status: status.as_u16(), said: mask.sentence(words, SAID_BYTES_MAX) })
    };
    let Ok(Frame::Single(Message::Response { id: answered, answer: Err(error) })) =
        Frame::parse(text.clone())
    else {
        return plain(&String::from_utf8_lossy(text));
    };
    let object = error.object();
    let message = object.and_then(|object| object.string("message")).unwrap_or_default();
    let is_ours = match answered {
        Some(answered) => answered.as_number() == Some(asked.id),
        // A modern server has nothing else that it could speak of.
        None => asked.rules != Rules::Legacy,
    };
    match asked.rules {
        // A server in trouble has said nothing about its era.
        Rules::Probe if status.is_server_error() => plain(&message),
        // It was refused before any tool has seen it, by a server that has taken the place of the one we met: a
        // modern one answers for its tools with 200.
        Rules::Modern if is_of_session(status, object, &message) => Err(replaced()),
        Rules::Legacy if wants_envelope(status, object, &message) => Err(replaced()),
        // An answer to this very request is the tool's, whatever it speaks of.
        Rules::Legacy | Rules::Modern | Rules::Probe if is_ours => Ok(Err(error)),
        Rules::Legacy if asked.has_session && is_of_session(status, object, &message) => Err(forgotten()),
        Rules::Legacy | Rules::Modern | Rules::Probe => plain(&message),
    }
}

/// True if the error says that the server knows no such session.
fn is_of_session(status: StatusCode, error: Option<Object<'_>>, message: &str) -> bool {
    let code = error.and_then(|object| object.get("code")).and_then(|code| code.parse().ok()).unwrap_or(0);
    let message = message.to_ascii_lowercase();
    let speaks_of_it = message.contains("session") || message.contains("not initialized");
    status == StatusCode::BAD_REQUEST && SESSION_CODES.contains(&code) && speaks_of_it
}

/// True if the error says that a request must be a modern one. With this status it is the transport that speaks:
/// a legacy server answers for its tools with 200.
fn wants_envelope(status: StatusCode, error: Option<Object<'_>>, message: &str) -> bool {
    let code = error.and_then(|object| object.get("code"));
    status == StatusCode::BAD_REQUEST
        && code == Some("-32602")
        && message.contains("io.modelcontextprotocol/")
}

fn replaced() -> Fault {
    Fault::NotSent("it speaks another revision than before".to_owned())
}

fn forgotten() -> Fault {
    Fault::NotSent("it has forgotten the session".to_owned())
}

/// Where a redirect leads, as " to ADDRESS", without what may be secret in it.
fn target(response: &Response<Incoming>, mask: &Mask) -> String {
    match response.headers().get(LOCATION).and_then(|location| location.to_str().ok()) {
        Some(location) if !is_of_the_web(location) => " to something else than a web address".to_owned(),
        Some(location) => format!(" to {}", mask.sentence(&shown_url(location), SAID_BYTES_MAX)),
        None => String::new(),
    }
}

/// False for an address of another scheme than http and https. One without a scheme is relative to ours.
fn is_of_the_web(location: &str) -> bool {
    let scheme = location.split(['/', '?', '#']).next().unwrap_or_default().split_once(':');
    scheme.is_none_or(|(scheme, _)| ["http", "https"].iter().any(|web| web.eq_ignore_ascii_case(scheme)))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(status: u16, said: &str, rules: Rules, expected: Expect) {
        let status = StatusCode::from_u16(status).expect("a status");
        let asked = Asked { id: 7, rules, has_session: true };
        let judged = judge(status, &Bytes::copy_from_slice(said.as_bytes()), asked, &Mask::default());
        expected.assert_eq(&match judged {
            Ok(Ok(result)) => format!("result {}", result.as_str()),
            Ok(Err(error)) => format!("error {}", error.as_str()),
            Err(fault) => format!("{fault:?}"),
        });
    }

    #[test]
    fn other_schemes_are_not_of_the_web() {
        for location in ["https://h/x", "HTTP://h", "//h:1/x", "/x:y", "x/y:z", "?a:b"] {
            assert!(is_of_the_web(location), "{location}");
        }
        for location in ["file:///etc/passwd", "gopher://h:70", "javascript:alert(1)", "unix:/run/x"] {
            assert!(!is_of_the_web(location), "{location}");
        }
    }

    #[test]
    fn a_lost_session_has_several_spellings() {
        for error in [
            r#"{"code":-32000,"message":"Bad Request: Server not initialized"}"#,
            r#"{"code":-32600,"message":"Missing session ID"}"#,
            r#"{"code":-32001,"message":"Session not found"}"#,
        ] {
            let said = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#);
            check(400, &said, Rules::Legacy, expect![[r#"NotSent("it has forgotten the session")"#]]);
        }
        let said = Bytes::from_static(
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}"#,
        );
        let asked = Asked { id: 7, rules: Rules::Legacy, has_session: false };
        let fault = judge(StatusCode::BAD_REQUEST, &said, asked, &Mask::default()).expect_err("no answer");
        assert_eq!(fault, Fault::Status { status: 400, said: "Server not initialized".to_owned() });
    }

    #[test]
    fn an_error_under_our_number_is_an_answer() {
        const OURS: &str = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}"#;
        for (status, rules) in
            [(400, Rules::Legacy), (500, Rules::Legacy), (404, Rules::Modern), (400, Rules::Probe)]
        {
            check(status, OURS, rules, expect![[r#"error {"code":-32602,"message":"no"}"#]]);
        }
        check(503, OURS, Rules::Probe, expect![[r#"Status { status: 503, said: "no" }"#]]);
        const ANOTHERS: &str = r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"no"}}"#;
        for rules in [Rules::Legacy, Rules::Modern, Rules::Probe] {
            check(400, ANOTHERS, rules, expect![[r#"Status { status: 400, said: "no" }"#]]);
        }
    }

    #[test]
    fn an_error_without_a_number_is_an_answer_of_a_modern_server() {
        for said in [
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"header"}}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32020,"message":"header"}}"#,
        ] {
            for rules in [Rules::Modern, Rules::Probe] {
                check(400, said, rules, expect![[r#"error {"code":-32020,"message":"header"}"#]]);
            }
            check(400, said, Rules::Legacy, expect![[r#"Status { status: 400, said: "header" }"#]]);
        }
    }

    #[test]
    fn a_server_that_wants_an_envelope_has_been_replaced() {
        let said = |message: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32602,"message":"{message}"}}}}"#)
        };
        let wants = said("_meta must have io.modelcontextprotocol/protocolVersion");
        check(400, &wants, Rules::Legacy, expect![[r#"NotSent("it speaks another revision than before")"#]]);
        check(
            200,
            &wants,
            Rules::Legacy,
            expect![[
                r#"error {"code":-32602,"message":"_meta must have io.modelcontextprotocol/protocolVersion"}"#
            ]],
        );
        check(
            400,
            &said("no such town"),
            Rules::Legacy,
            expect![[r#"error {"code":-32602,"message":"no such town"}"#]],
        );
    }

    #[test]
    fn anything_else_is_shown_as_far_as_it_is_short() {
        check(
            502,
            "<html>\r\n<b>Bad Gateway</b>",
            Rules::Legacy,
            expect![[r#"Status { status: 502, said: "<html>  <b>Bad Gateway</b>" }"#]],
        );
        check(500, "", Rules::Modern, expect![[r#"Status { status: 500, said: "" }"#]]);
        let long = Bytes::from("x".repeat(1000));
        let asked = Asked { id: 7, rules: Rules::Modern, has_session: false };
        let long = judge(StatusCode::BAD_GATEWAY, &long, asked, &Mask::default()).expect_err("a fault");
        assert_eq!(long, Fault::Status { status: 502, said: format!("{}…", "x".repeat(200)) });
    }

    #[test]
    fn secrets_are_masked_before_what_is_said_is_cut() {
        let asked = Asked { id: 7, rules: Rules::Legacy, has_session: false };
        let mask = crate::settings::mask::tests::mask("sk-live-0123456789\nabcdef");
        for said in [
            format!("{}sk-live-0123456789\nabcdef", "x".repeat(196 - 17)),
            format!("{}sk-live-0123456789\\nabcdef", "x".repeat(196 - 17)),
        ] {
            let fault =
                judge(StatusCode::BAD_GATEWAY, &Bytes::from(said), asked, &mask).expect_err("a fault");
            assert_eq!(fault, Fault::Status { status: 502, said: format!("{}***", "x".repeat(179)) });
        }
    }
}
