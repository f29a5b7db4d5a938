//! Meeting a server at an address (MCP 2026-07-28, "Streamable HTTP", on old servers).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::discovered;
use super::{Meeting, Met, NoHandshake, met};
use crate::connection::{Era, Reply, ServerIdentity, Transport};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::settings::{Dialect, Mask};

/// How long a server may take to answer a question that it may not know.
const SILENCE_MAX: Duration = Duration::from_secs(10);

impl Meeting<'_> {
    /// Meets a server in the dialect that its table names, or in the newest that it speaks.
    pub(super) async fn meet_address(
        &self,
        dialect: Dialect,
        known: Option<Era>,
    ) -> Result<Met, ConnectError> {
        if dialect == Dialect::Sse {
            return self.meet_legacy(dialect).await;
        }
        let line = self.line().await?;
        if known != Some(Era::Legacy) {
            return self.probe_address(line, dialect).await;
        }
        match self.shake_or_go_back(line, dialect).await {
            Ok(met) => Ok(met),
            Err(NoHandshake::Refused(error)) if discovered::wants_no_handshake(&error) => {
                self.probe_address(self.line().await?, dialect).await
            }
            // It has become another server since, perhaps.
            Err(NoHandshake::Failed(Fault::Status { status: 400..=499, .. })) => {
                self.probe_address(self.line().await?, dialect).await
            }
            Err(why) => Err(why.into()),
        }
    }

    /// Meets a server with a handshake.
    pub(super) async fn meet_legacy(&self, dialect: Dialect) -> Result<Met, ConnectError> {
        match dialect {
            Dialect::Sse => Ok(self.meet_over_sse().await?),
            Dialect::Any | Dialect::Streamable => {
                Ok(self.shake_or_go_back(self.line().await?, dialect).await?)
            }
        }
    }

    async fn probe_address(&self, line: Arc<Transport>, dialect: Dialect) -> Result<Met, ConnectError> {
        let Ok(answer) = timeout(SILENCE_MAX, self.discover(&line)).await else {
            // It hangs on what it does not know; that is an old server if it shakes hands.
            let silent = ConnectError::Request(Fault::Broken(format!(
                "it said nothing for {} s",
                SILENCE_MAX.as_secs()
            )));
            return self.shake_after(line, dialect, silent, true).await;
        };
        match judge(answer, self.settings.mask()) {
            Ok(Some(identity)) => Ok(met(line, identity)),
            Ok(None) => Ok(self.shake_or_go_back(line, dialect).await?),
            // Old servers answer so to what they do not know. If this one shakes hands all the same, it is
            // used, and asked again next time.
            Err(NoHandshake::Failed(fault @ (Fault::Access(_) | Fault::Status { .. }))) => {
                self.shake_after(line, dialect, ConnectError::Request(fault), false).await
            }
            Err(why) => Err(why.into()),
        }
    }

    /// Tries a handshake with a server that failed otherwise, which is the failure that is told if this one
    /// fails too, unless it is for want of a token.
    async fn shake_after(
        &self,
        line: Arc<Transport>,
        dialect: Dialect,
        failure: ConnectError,
        is_certain: bool,
    ) -> Result<Met, ConnectError> {
        match self.shake_or_go_back(line, dialect).await {
            Ok(met) => Ok(Met { is_certain, ..met }),
            Err(NoHandshake::Failed(fault @ (Fault::SignIn(_) | Fault::Scope(_)))) => {
                Err(ConnectError::Request(fault))
            }
            Err(_) => Err(failure),
        }
    }

    /// Shakes hands, in the dialect before this one if there is no other way.
    async fn shake_or_go_back(&self, line: Arc<Transport>, dialect: Dialect) -> Result<Met, NoHandshake> {
        let refused = match self.shake(&line).await {
            Ok(identity) => return Ok(met(line, identity)),
            Err(NoHandshake::Failed(fault)) => fault,
            Err(why) => return Err(why),
        };
        // These are the answers of a server that knows no POST to this address.
        if dialect != Dialect::Any || !matches!(refused, Fault::Status { status: 400 | 404 | 405, .. }) {
            return Err(NoHandshake::Failed(refused));
        }
        // If that is not spoken either, the first refusal says more.
        self.meet_over_sse().await.map_err(|why| match why {
            NoHandshake::Failed(fault @ (Fault::SignIn(_) | Fault::Scope(_))) => NoHandshake::Failed(fault),
            _ => NoHandshake::Failed(refused),
        })
    }

    async fn meet_over_sse(&self) -> Result<Met, NoHandshake> {
        let opened = Transport::open_sse(self.settings, self.world).await;
        let line = opened.map_err(NoHandshake::Failed)?;
        let identity = self.shake(&line).await?;
        Ok(met(line, identity))
    }
}

/// What the answer to `server/discover` says over HTTP (MCP 2026-07-28, "Backward Compatibility"). Only the modern
/// codes are a sign of a modern server: others stand for many things in old servers.
fn judge(answer: Result<Reply, Fault>, mask: &Mask) -> Result<Option<ServerIdentity>, NoHandshake> {
    match answer {
        Ok(reply) => discovered::read(&reply, mask).map_err(NoHandshake::Unfit),
        // It took the request and had nothing to say to it that we understand.
        Err(Fault::Broken(_)) => Ok(None),
        // Not now, and nothing about its revisions.
        Err(fault @ Fault::Status { status: 408 | 425 | 429, .. }) => Err(NoHandshake::Failed(fault)),
        Err(Fault::Status { status: 400..=499, .. }) => Ok(None),
        Err(fault) => Err(NoHandshake::Failed(fault)),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use wire::message::Text;

    use super::*;

    #[track_caller]
    fn check(answer: Result<Result<&str, &str>, Fault>, expected: Expect) {
        let text = |json: &str| Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON");
        let answer = answer.map(|reply| reply.map(text).map_err(text));
        expected.assert_eq(&match judge(answer, &Mask::default()) {
            Ok(Some(_)) => "modern".to_owned(),
            Ok(None) => "legacy".to_owned(),
            Err(NoHandshake::Unfit(error)) => format!("modern, refused: {error}"),
            Err(NoHandshake::Failed(fault)) => format!("unknown: {fault}"),
            Err(NoHandshake::Refused(_)) => panic!("nobody has shaken hands"),
        });
    }

    fn status(status: u16) -> Result<Result<&'static str, &'static str>, Fault> {
        Err(Fault::Status { status, said: String::new() })
    }

    #[test]
    fn only_what_a_modern_server_alone_says_makes_it_one() {
        check(Ok(Ok(r#"{"supportedVersions":["2026-07-28"]}"#)), expect!["modern"]);
        check(
            Ok(Err(r#"{"code":-32022}"#)),
            expect!["modern, refused: it refused `server/discover`:  (code -32022)"],
        );
        check(
            Ok(Err(r#"{"code":-32020}"#)),
            expect!["modern, refused: it refused `server/discover`:  (code -32020)"],
        );
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
        check(Err(Fault::Access(401)), expect!["unknown: it refuses access (HTTP status 401)"]);
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
