//! `Verdict`: what the answer to `server/discover` says about the revisions that a server speaks.

use http::StatusCode;
use wire::Code;
use wire::message::Text;

use super::super::pending::Reply;
use crate::fault::Fault;

/// Which revisions a server speaks, as its answer to a modern request shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The modern one; its `DiscoverResult`.
    Modern(Text),
    /// A modern one, but not like this: the error's code and the error object.
    ModernRefused(i64, Text),
    /// It does not know what was asked: `initialize` is what is left.
    Legacy,
    /// It wants credentials first, and has said nothing about its revisions.
    Auth(u16),
    /// It was not there, or in trouble. Nothing was learnt.
    Unknown(Fault),
}

impl Verdict {
    /// What `answer`, to `server/discover` over HTTP, says (MCP 2026-07-28, "Backward Compatibility"). Only the
    /// modern codes are a sign of a modern server: others stand for many things in old servers.
    pub(crate) fn of(answer: Result<Reply, Fault>) -> Verdict {
        match answer {
            Ok(Ok(result)) if is_discovery(&result) => Verdict::Modern(result),
            Ok(Ok(_)) => Verdict::Legacy,
            Ok(Err(error)) => match modern_code(&error) {
                Some(code) => Verdict::ModernRefused(code, error),
                None => Verdict::Legacy,
            },
            Err(Fault::Access(status)) => Verdict::Auth(status),
            Err(Fault::Status { status, said }) => match StatusCode::from_u16(status) {
                Ok(StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS) => {
                    Verdict::Unknown(Fault::Status { status, said })
                }
                Ok(known) if known.is_client_error() => Verdict::Legacy,
                _ => Verdict::Unknown(Fault::Status { status, said }),
            },
            // It took the request and had nothing to say to it that we understand.
            Err(Fault::Broken(_)) => Verdict::Legacy,
            Err(fault) => Verdict::Unknown(fault),
        }
    }
}

fn is_discovery(result: &Text) -> bool {
    result.object().is_some_and(|object| object.get("supportedVersions").is_some())
}

/// The error's code, if only a modern server has it.
fn modern_code(error: &Text) -> Option<i64> {
    let code = error.object()?.get("code")?.parse().ok()?;
    let modern = [Code::HeaderMismatch, Code::MissingClientCapability, Code::UnsupportedVersion];
    modern.map(Code::number).contains(&code).then_some(code)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(answer: Result<Result<&str, &str>, Fault>, expected: Expect) {
        let text = |json: &str| Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON");
        let shown = match Verdict::of(answer.map(|reply| reply.map(text).map_err(text))) {
            Verdict::Modern(result) => format!("modern {}", result.as_str()),
            Verdict::ModernRefused(code, error) => format!("modern, refused {code} {}", error.as_str()),
            Verdict::Legacy => "legacy".to_owned(),
            Verdict::Auth(status) => format!("auth {status}"),
            Verdict::Unknown(fault) => format!("unknown: {fault}"),
        };
        expected.assert_eq(&shown);
    }

    fn status(status: u16) -> Result<Result<&'static str, &'static str>, Fault> {
        Err(Fault::Status { status, said: String::new() })
    }

    #[test]
    fn only_what_a_modern_server_alone_says_makes_it_one() {
        check(
            Ok(Ok(r#"{"supportedVersions":["2026-07-28"]}"#)),
            expect![[r#"modern {"supportedVersions":["2026-07-28"]}"#]],
        );
        check(Ok(Err(r#"{"code":-32022}"#)), expect![[r#"modern, refused -32022 {"code":-32022}"#]]);
        check(Ok(Err(r#"{"code":-32020}"#)), expect![[r#"modern, refused -32020 {"code":-32020}"#]]);
        for error in
            [r#"{"code":-32000}"#, r#"{"code":-32601}"#, r#"{"code":-32001}"#, r#"{"code":-32603}"#, "5"]
        {
            check(Ok(Err(error)), expect!["legacy"]);
        }
        for result in ["{}", "[]", r#"{"tools":[]}"#] {
            check(Ok(Ok(result)), expect!["legacy"]);
        }
    }

    #[test]
    fn a_refusal_without_a_message_is_an_old_servers_and_trouble_says_nothing() {
        for refusal in [400, 404, 405, 406, 415] {
            check(status(refusal), expect!["legacy"]);
        }
        check(Err(Fault::Broken("it answered with HTML".to_owned())), expect!["legacy"]);
        check(Err(Fault::Access(401)), expect!["auth 401"]);
        let why = "it wants you to sign in".to_owned();
        check(
            Err(Fault::SignIn(oauth::AuthError::NeedsSignIn { why })),
            expect!["unknown: it wants you to sign in"],
        );
        check(status(503), expect!["unknown: it answered with HTTP status 503"]);
        check(status(429), expect!["unknown: it answered with HTTP status 429"]);
        check(Err(Fault::NotSent("nobody there".to_owned())), expect!["unknown: nobody there"]);
        check(Err(Fault::Gone("hung up".to_owned())), expect!["unknown: it hung up"]);
    }
}
