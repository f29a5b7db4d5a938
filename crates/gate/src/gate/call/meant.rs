//! Arguments for a tool of ours that do not fit its schema, and can mean one thing alone: what they mean is judged, shown, noted
//! and run, as if it had come so.

use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Arguments, CallId, Origin};

use super::super::Gate;
use crate::candidate::Candidate;
use crate::failure::{Failure, Refusal};
use crate::offer::Offered;
use crate::record_scope::RecordScope;
use crate::ruleset::Ruleset;

impl Gate {
    /// What arguments mean that a check has refused.
    ///
    /// # Errors
    /// The refusal, where it is another one, the tool is not ours, or what is meant is not certain.
    pub(super) async fn meant(
        &self,
        id: CallId,
        refusal: Failure,
        offered: &Arc<Offered>,
        came: &Bytes,
    ) -> Result<Arguments, Failure> {
        let is_ours = offered.definition().origin == Origin::BuiltIn;
        if !is_ours || !matches!(refusal, Failure::Refused(Refusal::InvalidArguments { .. })) {
            return Err(refusal);
        }
        let (bytes, offered, came) = (came.len(), offered.clone(), came.clone());
        let read = move || {
            let arguments = Arguments::parse(Some(came)).ok()?;
            let meant = offered.input_schema().ok()?.meant(arguments.value())?;
            Arguments::parse(Some(meant.to_string().into())).ok()
        };
        self.large.sized(bytes, id, read).await?.ok_or(refusal)
    }

    /// Asks every check from the first on about arguments as they are meant.
    pub(super) async fn ask_checks_anew(
        &self,
        id: CallId,
        candidate: Box<Candidate>,
        ruleset: &Arc<Ruleset>,
        record: &mut RecordScope<'_>,
    ) -> Result<Box<Candidate>, Failure> {
        record.rewritten(candidate.content.arguments.bytes());
        self.ask_checks(id, candidate, ruleset, record).await
    }
}
