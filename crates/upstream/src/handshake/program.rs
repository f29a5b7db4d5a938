//! Meeting a program that was started here, or one that listens at a socket and is spoken to alike (MCP 2026-07-28, "stdio", on old servers): it is asked in place. Some old
//! ones say nothing, and some exit, at anything that comes before the handshake.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::sleep;

use super::discovered::{self, Discovered};
use super::{Line, Meeting, Met, NoHandshake, met};
use crate::connection::{Era, Reply, ServerIdentity};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::settings::Mask;

/// How long a program may be silent before it is met with a handshake, too. It may still be starting, so what
/// it says later still counts.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// What a question to the program ended with.
enum Probed {
    /// It is met.
    Met(ServerIdentity),
    /// It wants a handshake.
    Legacy,
    /// It has ended, perhaps because of the question.
    Ended,
    /// It was met with a handshake, or that failed, after it had said nothing to the question.
    Shaken(Result<ServerIdentity, NoHandshake>),
    /// It cannot be spoken with.
    Failed(ConnectError),
}

impl Meeting<'_> {
    /// Meets a program, starting it once or twice.
    pub(super) async fn meet_program(&self, known: Option<Era>) -> Result<Met, ConnectError> {
        let line = self.line().await?;
        if known == Some(Era::Legacy) {
            match self.shake(&line).await {
                Ok(face) => return Ok(met(line, face)),
                // It has been replaced by another version since.
                Err(NoHandshake::Refused(error)) if discovered::wants_no_handshake(&error) => {}
                Err(why) => return Err(why.into()),
            }
        }
        match self.probe(&line).await {
            Probed::Met(face) | Probed::Shaken(Ok(face)) => Ok(met(line, face)),
            Probed::Legacy => {
                let face = self.shake(&line).await?;
                Ok(met(line, face))
            }
            Probed::Ended | Probed::Shaken(Err(NoHandshake::Failed(Fault::Gone(_) | Fault::NotSent(_)))) => {
                // What is left of the first one ends with it.
                line.transport.end().await;
                let line = self.line().await?;
                let face = self.shake(&line).await?;
                Ok(met(line, face))
            }
            Probed::Shaken(Err(why)) => Err(why.into()),
            Probed::Failed(error) => Err(error),
        }
    }

    async fn probe(&self, line: &Line) -> Probed {
        let mut asked = pin!(self.discover(line));
        let answer = tokio::select! {
            answer = &mut asked => answer,
            () = sleep(SILENCE_MAX) => return self.shake_while_asking(line, asked).await,
        };
        judge(answer, self.settings.mask())
    }

    /// Shakes hands with a program that has said nothing to a question yet. Whichever it answers to decides: one
    /// that was slow to start reads the question first, and may refuse the handshake because of it.
    async fn shake_while_asking(
        &self,
        line: &Line,
        mut asked: Pin<&mut impl Future<Output = Result<Reply, Fault>>>,
    ) -> Probed {
        let mut shaking = pin!(self.shake(line));
        tokio::select! {
            // What it says to the question comes first on the way, so it is looked at first.
            biased;
            answer = &mut asked => match judge(answer, self.settings.mask()) {
                Probed::Legacy => Probed::Shaken(shaking.await),
                probed => probed,
            },
            shaken = &mut shaking => Probed::Shaken(shaken),
        }
    }
}

fn judge(answer: Result<Reply, Fault>, mask: &Mask) -> Probed {
    let discovered = match &answer {
        Ok(Ok(result)) => discovered::read(result, mask),
        Ok(Err(error)) => discovered::read_refusal(error, mask),
        Err(Fault::Gone(_) | Fault::NotSent(_)) => return Probed::Ended,
        Err(_) => None,
    };
    match discovered {
        Some(Discovered::Modern(face)) => Probed::Met(face),
        Some(Discovered::Nothing(error)) => Probed::Failed(error),
        // Any other answer is an old server's.
        Some(Discovered::Legacy) | None => Probed::Legacy,
    }
}
