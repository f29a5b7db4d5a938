//! Arguments for a tool of ours that do not fit its schema, and can mean one thing alone: what they mean is judged, shown, noted
//! and run, as if it had come so.

use std::sync::Arc;

use bytes::Bytes;
use policy::Caller;
use tool_api::{Arguments, CallId};

use super::super::Gate;
use crate::approvals::Brought;
use crate::candidate::Candidate;
use crate::checks;
use crate::failure::{Failure, Refusal};
use crate::find::Found;
use crate::offer::Offered;
use crate::record_scope::RecordScope;
use crate::request::Call;
use crate::ruleset::Ruleset;

impl Gate {
    /// Asks every check about a call, and once more from the first on about what its arguments mean, if they do not fit as they came.
    ///
    /// # Errors
    /// A check refuses it.
    pub(super) async fn judge(
        &self,
        id: CallId,
        (caller, call): (&Caller, &mut Call<'_>),
        (found, arguments): (&Found, Arguments),
        brought: &Brought,
        ruleset: &Arc<Ruleset>,
        record: &mut RecordScope<'_>,
    ) -> Result<Box<Candidate>, Failure> {
        let came = arguments.bytes();
        let candidate = self.candidate((caller, call), found, arguments, brought, ruleset);
        candidate.content.meta.iter().for_each(|meta| record.meta(meta.hash()));
        let refusal = match self.ask_checks(id, candidate, ruleset, record).await {
            Err(Failure::Refused(refusal @ Refusal::InvalidArguments { .. })) => refusal,
            judged => return judged,
        };
        let meant = Box::pin(self.meant(id, &found.offered, came)).await?.ok_or(refusal)?;
        record.rewritten(meant.bytes());
        let candidate = self.candidate((caller, call), found, meant, brought, ruleset);
        Box::pin(self.ask_checks(id, candidate, ruleset, record)).await
    }

    /// What arguments mean that do not fit; nothing if that is not certain.
    async fn meant(
        &self,
        id: CallId,
        offered: &Arc<Offered>,
        came: Bytes,
    ) -> Result<Option<Arguments>, Failure> {
        let (bytes, offered) = (came.len(), offered.clone());
        let read = move || {
            let arguments = Arguments::parse(Some(came)).ok()?;
            let meant = checks::meant(&offered, arguments.value())?;
            Arguments::parse(Some(meant.to_string().into())).ok()
        };
        Ok(self.large.sized(bytes, id, read).await?)
    }
}
