//! Looking a call up by its request id.

use audit::Hash;
use policy::Caller;

use super::Gate;
use crate::failure::{Failure, Refusal};
use crate::meta::Meta;
use crate::record_scope::RecordScope;
use crate::repeats::{Known, RequestFault, Ticket};
use crate::request::Call;

/// What the record says of a call that has run before.
const STEP: &str = "repeat";

impl Gate {
    /// What is known of a call that bears a request id.
    pub(super) async fn known(
        &self,
        caller: &Caller,
        call: &Call<'_>,
        record: &mut RecordScope<'_>,
    ) -> Result<Known, Failure> {
        let id = call.request_id.as_deref().unwrap_or_default();
        let workspace = self.files.path().to_string_lossy();
        let known = self.repeats.look_up((caller, &workspace), id, hash_of(call, record)).await;
        let known = known.map_err(|fault| refused(fault, record))?;
        if let Known::Answer(_) = known {
            record.verdict(STEP, Ok(()));
        }
        Ok(known)
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
