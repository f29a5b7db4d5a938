//! How a call begins, whether it runs at once or as a job.

use policy::Caller;
use tool_api::CallId;

use super::{ALL_PASS, Gate};
use crate::call_span::CallSpan;
use crate::checks::RATE;
use crate::failure::Refusal;
use crate::record_scope::RecordScope;
use crate::request::Call;

impl Gate {
    /// Numbers a call that has just come and opens its record.
    ///
    /// # Errors
    /// Its caller is turned away unheard, or it cannot be recorded.
    pub(super) fn open_record(
        &self,
        caller: &Caller,
        call: &Call<'_>,
    ) -> Result<(CallId, RecordScope<'_>), Refusal> {
        if let Some(refusal) = self.refusals.turn_away(caller, &self.audit_log) {
            CallSpan::turned_away(&self.telemetry, RATE, &refusal);
            return Err(refusal);
        }
        let (id, books) = (CallId::next(), (&self.audit_log, &self.late));
        let opening = (id, caller, call);
        let record = RecordScope::open(books, &self.telemetry, &self.redactor, &ALL_PASS, opening)?;
        Ok((id, record))
    }
}
