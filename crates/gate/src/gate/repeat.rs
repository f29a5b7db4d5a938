//! Looking a call up by its request id.

use audit::Hash;
use policy::Caller;
use tool_api::{Block, Outcome, Payload};

use super::Gate;
use crate::failure::{Failure, Refusal};
use crate::meta::Meta;
use crate::record_scope::RecordScope;
use crate::repeats::{Known, Ticket};
use crate::request::Call;
use crate::request_fault::RequestFault;

/// What the record says of a call that has run before.
const STEP: &str = "repeat";

impl Gate {
    /// What came of a call that bears a request id, if it has run before; or else its ticket.
    pub(super) async fn known(
        &self,
        caller: &Caller,
        call: &Call<'_>,
        (ticket, record): (&mut Option<Box<Ticket>>, &mut RecordScope<'_>),
    ) -> Result<Option<Box<Result<Outcome, Failure>>>, Failure> {
        let id = call.request_id.as_deref().unwrap_or_default();
        let workspace = self.files.path().to_string_lossy();
        let known = self.repeats.look_up((caller, &workspace), id, hash_of(call, record)).await;
        let known = known.map_err(|fault| refused(fault, record))?;
        match known {
            Known::Nothing(new) => {
                *ticket = Some(new);
                Ok(None)
            }
            Known::Answer(answer) => {
                record.verdict(STEP, Ok(()));
                Ok(Some(answer))
            }
        }
    }

    /// Does `work` once for a request id, such as taking a call as a job, and gives the word that came of it, be it done now
    /// or before. `what` is all that makes it the same. What was refused is not remembered.
    ///
    /// # Errors
    /// That of `work`, or the id cannot be used for it.
    pub async fn once(
        &self,
        caller: &Caller,
        id: &str,
        what: &[&[u8]],
        work: impl AsyncFnOnce() -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let workspace = self.files.path().to_string_lossy();
        let hash = Hash::of_parts(what.iter().copied());
        let known = self.repeats.look_up((caller, &workspace), id, hash).await;
        let mut ticket = match known.map_err(Refusal::Repeated)? {
            Known::Nothing(ticket) => ticket,
            Known::Answer(answer) => {
                let word = answer.as_ref().as_ref().ok().and_then(word_of);
                return Ok(word.ok_or(Refusal::Repeated(RequestFault::NotKept))?);
            }
        };
        self.repeats.begin(&mut ticket).await.map_err(Refusal::Repeated)?;
        let done = work().await;
        match &done {
            Ok(word) => {
                let blocks = vec![Block::Text(word.clone())];
                let outcome = Outcome::of(Payload::Ours { blocks, structured: None });
                self.repeats.end(&ticket, &Ok(outcome)).await;
            }
            Err(_) => self.repeats.forget(&ticket).await,
        }
        done
    }

    /// Keeps that a call begins which bears a request id.
    pub(super) async fn begin(
        &self,
        ticket: &mut Ticket,
        record: &mut RecordScope<'_>,
    ) -> Result<(), Failure> {
        Ok(self.repeats.begin(ticket).await.map_err(|fault| refused(fault, record))?)
    }
}

fn word_of(outcome: &Outcome) -> Option<String> {
    match &outcome.payload {
        Payload::Ours { blocks, .. } => match &blocks[..] {
            [Block::Text(word)] => Some(word.clone()),
            _ => None,
        },
        Payload::Relayed { .. } | Payload::InputRequired { .. } | Payload::Task { .. } => None,
    }
}

fn refused(fault: RequestFault, record: &mut RecordScope<'_>) -> Refusal {
    let refusal = Refusal::Repeated(fault);
    record.verdict(STEP, Err(&refusal));
    refusal
}

/// The hash of all that makes it the same call.
fn hash_of(call: &Call<'_>, record: &RecordScope<'_>) -> Hash {
    let meta = call.meta.as_deref().and_then(|meta| Meta::of_call(Some(meta), false)?.bound());
    // To the byte: whoever sends a call again has it still.
    let arguments = record.arguments_hash().map(|hash| hash.to_string()).unwrap_or_default();
    let meta = meta.as_deref().unwrap_or_default();
    let parts = [call.target.recorded(), call.target.name(), &arguments, meta, call.earnest.word()];
    Hash::of_parts(parts.map(str::as_bytes))
}
