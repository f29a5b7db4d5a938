//! Meeting a program that was started here, or one that listens at a socket and is spoken to alike (MCP 2026-07-28,
//! "stdio", on old servers): it is asked in place. Some old ones say nothing, and some exit, at anything that comes
//! before the handshake.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::discovered;
use super::{Meeting, Met, NoHandshake, met};
use crate::connection::{Era, Reply, ServerIdentity, Transport};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::settings::Mask;

/// How long a program may be silent before it is met with a handshake, too. It may still be starting, so what
/// it says later still counts.
const SILENCE_MAX: Duration = Duration::from_secs(3);

impl Meeting<'_> {
    /// Meets a program, starting it once or twice.
    pub(super) async fn meet_program(&self, known: Option<Era>) -> Result<Met, ConnectError> {
        let line = self.line().await?;
        if known == Some(Era::Legacy) {
            match self.shake(&line).await {
                Ok(identity) => return Ok(met(line, identity)),
                // It has been replaced by another version since.
                Err(NoHandshake::Refused(error)) if discovered::wants_no_handshake(&error) => {}
                Err(why) => return Err(why.into()),
            }
        }
        match self.ask_in_place(&line).await {
            Ok(identity) => Ok(met(line, identity)),
            // It has ended, perhaps because of the question.
            Err(NoHandshake::Failed(Fault::Gone(_) | Fault::NotSent(_))) => {
                // What is left of the first one ends with it.
                line.end().await;
                let line = self.line().await?;
                let identity = self.shake(&line).await?;
                Ok(met(line, identity))
            }
            Err(why) => Err(why.into()),
        }
    }

    /// Asks what only a modern server knows, and shakes hands with one that does not, or says nothing. Whichever it
    /// answers to decides: one that was slow to start reads the question first, and may refuse the handshake because
    /// of it.
    async fn ask_in_place(&self, line: &Arc<Transport>) -> Result<ServerIdentity, NoHandshake> {
        let mut asked = pin!(self.discover(line));
        let answer = tokio::select! {
            answer = &mut asked => Some(answer),
            () = sleep(SILENCE_MAX) => None,
        };
        if let Some(answer) = answer {
            return match judge(answer, self.settings.mask())? {
                Some(identity) => Ok(identity),
                None => self.shake(line).await,
            };
        }
        let mut shaking = pin!(self.shake(line));
        tokio::select! {
            // What it says to the question comes first on the way, so it is looked at first.
            biased;
            answer = &mut asked => match judge(answer, self.settings.mask())? {
                Some(identity) => Ok(identity),
                None => shaking.await,
            },
            shaken = &mut shaking => shaken,
        }
    }
}

fn judge(answer: Result<Reply, Fault>, mask: &Mask) -> Result<Option<ServerIdentity>, NoHandshake> {
    match answer {
        Ok(reply) => discovered::read(&reply, mask).map_err(NoHandshake::Unfit),
        Err(fault @ (Fault::Gone(_) | Fault::NotSent(_))) => Err(NoHandshake::Failed(fault)),
        // Any other answer is an old server's.
        Err(_) => Ok(None),
    }
}
