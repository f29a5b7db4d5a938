//! Meeting a server at an address (MCP 2026-07-28, "Streamable HTTP", on old servers).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::discovered::{self, Discovered};
use super::{Line, Meeting, Met, NoHandshake, met};
use crate::connection::{Era, Transport, Verdict};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::settings::Dialect;

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
            return self.meet_over_sse().await.map_err(ConnectError::from);
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

    async fn probe_address(&self, line: Line, dialect: Dialect) -> Result<Met, ConnectError> {
        let Ok(answer) = timeout(SILENCE_MAX, self.discover(&line)).await else {
            // It hangs on what it does not know; that is an old server if it shakes hands.
            let silent = ConnectError::NotMcp(format!("it said nothing for {} s", SILENCE_MAX.as_secs()));
            return self.shake_after(line, dialect, silent, true).await;
        };
        match Verdict::of(answer) {
            Verdict::Modern(result) => {
                self.go_on(line, dialect, discovered::read(&result, self.settings.mask())).await
            }
            Verdict::ModernRefused(_, error) => {
                self.go_on(line, dialect, discovered::read_refusal(&error, self.settings.mask())).await
            }
            Verdict::Legacy => Ok(self.shake_or_go_back(line, dialect).await?),
            // Old servers answer so to what they do not know. If this one shakes hands all the same, it is
            // used, and asked again next time.
            Verdict::Auth(status) => {
                self.shake_after(line, dialect, ConnectError::Access(status), false).await
            }
            Verdict::Unknown(fault @ Fault::Status { .. }) => {
                self.shake_after(line, dialect, ConnectError::of(fault), false).await
            }
            Verdict::Unknown(fault) => Err(ConnectError::of(fault)),
        }
    }

    async fn go_on(
        &self,
        line: Line,
        dialect: Dialect,
        discovered: Option<Discovered>,
    ) -> Result<Met, ConnectError> {
        match discovered {
            Some(Discovered::Modern(face)) => Ok(met(line, face)),
            Some(Discovered::Nothing(error)) => Err(error),
            Some(Discovered::Legacy) | None => Ok(self.shake_or_go_back(line, dialect).await?),
        }
    }

    /// Tries a handshake with a server that failed otherwise, which is the failure that is told if this one
    /// fails too, unless it is for want of a token.
    async fn shake_after(
        &self,
        line: Line,
        dialect: Dialect,
        failure: ConnectError,
        is_certain: bool,
    ) -> Result<Met, ConnectError> {
        match self.shake_or_go_back(line, dialect).await {
            Ok(met) => Ok(Met { is_certain, ..met }),
            Err(NoHandshake::Failed(fault @ (Fault::SignIn(_) | Fault::Scope(_)))) => {
                Err(ConnectError::of(fault))
            }
            Err(_) => Err(failure),
        }
    }

    /// Shakes hands, in the dialect before this one if there is no other way.
    async fn shake_or_go_back(&self, line: Line, dialect: Dialect) -> Result<Met, NoHandshake> {
        let refused = match self.shake(&line).await {
            Ok(face) => return Ok(met(line, face)),
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
        let (transport, exchange) = opened.map_err(NoHandshake::Failed)?;
        let line = Line { transport: Arc::new(transport), exchange };
        let face = self.shake(&line).await?;
        Ok(met(line, face))
    }
}
