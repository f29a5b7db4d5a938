//! The record of one call, from its arrival to its end.
//!
//! An entry that is dropped without being closed belongs to a call whose future was dropped: its caller
//! went away. That is noted, too, so there is no way out without a record.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use audit::{Book, Hash, JournalMark, Opening, Record};
use tool_api::{CallId, Definition, Effect, Outcome};

use crate::failure::{Failure, Refusal};
use crate::{Call, Caller};

/// What the record says of a stage that let the call pass.
const PASS: &str = "pass";

/// What the record says of a stage that did not.
const REFUSE: &str = "refuse";

/// An open record.
pub(crate) struct Entry<'b> {
    book: &'b Book,
    opening: Option<Opening>,
    verdicts: Vec<(&'static str, &'static str)>,
    mark: Option<JournalMark>,
    /// True for a call that must be in the book before it runs.
    has_effect: bool,
    since: Instant,
}

impl<'b> Entry<'b> {
    /// Opens the record of a call that has just come.
    ///
    /// # Errors
    /// A book that cannot be written refuses the call; there is then nothing to close.
    pub(crate) fn open(
        book: &'b Book,
        id: CallId,
        caller: &Caller,
        call: &Call<'_>,
    ) -> Result<Entry<'b>, Refusal> {
        book.ready().map_err(|error| Refusal::NoBook(error.to_string()))?;
        let name = call.target.recorded();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let opening = Opening {
            call_id: id.to_string().into(),
            opened_at_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            caller: caller.id().clone(),
            via: Cow::Borrowed(caller.via().as_str()),
            tool: Arc::from(name.get(..name.floor_char_boundary(audit::TEXT_BYTES_MAX)).unwrap_or("")),
            upstream: None,
            effect: None,
            arguments_sha256: call.arguments.as_deref().map(Hash::of),
            arguments_bytes: call.arguments.as_ref().map_or(0, bytes::Bytes::len) as u64,
        };
        Ok(Entry {
            book,
            opening: Some(opening),
            verdicts: Vec::with_capacity(8),
            mark: None,
            has_effect: false,
            since: Instant::now(),
        })
    }

    /// Notes which tool it is.
    pub(crate) fn found(&mut self, definition: &Definition) {
        self.has_effect = definition.effect > Effect::Reads;
        if let Some(opening) = &mut self.opening {
            opening.tool = definition.name.shared();
            opening.upstream = definition.upstream.clone();
            opening.effect = Some(Cow::Borrowed(definition.effect.name()));
        }
    }

    /// Notes what a stage decided and hands the decision on.
    pub(crate) fn verdict(
        &mut self,
        stage: &'static str,
        verdict: Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.verdicts.push((stage, if verdict.is_ok() { PASS } else { REFUSE }));
        verdict
    }

    /// Writes down, before it runs, a call that may change something.
    ///
    /// # Errors
    /// What cannot be written down does not run.
    pub(crate) fn before_run(&mut self) -> Result<(), Refusal> {
        if let (true, Some(opening)) = (self.has_effect, &self.opening) {
            let mark = self.book.before_run(opening);
            self.mark = Some(mark.map_err(|error| Refusal::NoBook(error.to_string()))?);
        }
        Ok(())
    }

    /// Closes the record with what came of the call.
    pub(crate) fn close(mut self, result: &Result<Outcome, Failure>) {
        let (outcome, code, bytes) = match result {
            Ok(outcome) if outcome.is_error => (audit::Outcome::ToolError, None, outcome.payload.bytes()),
            Ok(outcome) => (audit::Outcome::Result, None, outcome.payload.bytes()),
            Err(failure) => (ending(failure), Some(code(failure)), 0),
        };
        self.write(outcome, code, bytes);
    }

    fn write(&mut self, outcome: audit::Outcome, code: Option<Cow<'static, str>>, result_bytes: usize) {
        let Some(opening) = self.opening.take() else { return };
        let record = Record {
            opening,
            verdicts: Cow::Owned(std::mem::take(&mut self.verdicts)),
            outcome,
            code,
            duration_us: u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX),
            result_bytes: result_bytes as u64,
        };
        self.book.close(record, self.mark.take());
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.write(audit::Outcome::Abandoned, None, 0);
    }
}

fn ending(failure: &Failure) -> audit::Outcome {
    match failure {
        failure if failure.is_cancelled() => audit::Outcome::Cancelled,
        Failure::Refused(_) => audit::Outcome::Refused,
        Failure::Tool(_) => audit::Outcome::ToolError,
        Failure::Internal(_) => audit::Outcome::Internal,
    }
}

fn code(failure: &Failure) -> Cow<'static, str> {
    match failure {
        Failure::Refused(refusal) => Cow::Borrowed(refusal.code()),
        Failure::Tool(error) => error.code().clone(),
        Failure::Internal(_) => Cow::Borrowed("internal"),
    }
}
