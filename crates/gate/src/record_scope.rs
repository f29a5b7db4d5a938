//! The record of one call, from its arrival to its end.
//!
//! A scope that is dropped without being closed belongs to a call whose future was dropped: its caller went away. That is
//! noted, too, so there is no way out without a record.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use audit::{Approved, Arguments, AuditLog, Decided, Hash, IntentId, Opening, Plain, Record};
use bytes::Bytes;
use policy::{Caller, CallerKind, Decision, Recorded};
use redact::Redactor;
use sandbox::confine::StartedBy;
use sandbox::egress::Outcome as Reach;
use telemetry::Telemetry;
use tokio_util::task::TaskTracker;
use tool_api::{CallId, Cancel, Effect, Outcome, Sandboxed, ToolError};

use crate::call_span::{self, CallSpan};
use crate::checks::Findings;
use crate::clock::now_ms;
use crate::dry_run::Earnest;
use crate::failure::{Failure, Refusal};
use crate::hands::{Notes, reached};
use crate::kept_name::kept_of;
use crate::late_record::{Closing, LateRecord, note_changed};
use crate::offer::Offered;
use crate::request::Call;

/// What the record says of a check that let the call pass.
pub(crate) const PASS: &str = "pass";

/// What the record says of a check that did not.
const REFUSE: &str = "refuse";

/// What the record says of a check that has the client ask its user.
const ASK: &str = "ask";

/// Whatever closes a record takes it out of its scope, and the scope with it.
const OPEN: &str = "a record is open as long as somebody has its scope";

/// Where figures count a refusal by no check.
const NO_CHECK: &str = "none";

/// Who comes, when, and for what. Written out, since each call makes one.
pub(crate) fn opening(id: CallId, caller: &Caller, tool: Arc<str>) -> Opening {
    // The local user is always the same.
    let granted = caller.kind() != CallerKind::LocalUser;
    Opening {
        call_id: id.shared(),
        opened_at_ms: now_ms(),
        caller: caller.id().clone(),
        caller_kind: Cow::Borrowed(caller.kind().as_str()),
        caller_roles: granted.then(|| caller.roles().words()),
        caller_scopes: granted.then(|| caller.scopes().to_string().into()),
        via: Cow::Borrowed(caller.via().as_str()),
        tool,
        upstream: None,
        effect: None,
        arguments_sha256: None,
        arguments_bytes: 0,
        arguments: None,
        request_id: None,
        claims: None,
        meta_sha256: None,
        definition_sha256: None,
        dry_run: None,
        trace_id: None,
    }
}

/// The record of a call from when it comes to when it is closed or dropped. It is large, so it is opened in a box.
pub(crate) struct RecordScope<'b>(Option<Box<OpenRecord<'b>>>);

/// What is known so far.
pub(crate) struct OpenRecord<'b> {
    audit_log: &'b Arc<AuditLog>,
    /// Where records are closed whose programs go on for a moment.
    late: &'b TaskTracker,
    telemetry: &'b Telemetry,
    redactor: &'b Redactor,
    /// Nobody has waited for the answer of one that is never closed. While its verdicts are borrowed, they are as much of
    /// `all_pass` as there were checks.
    record: Record,
    /// As they came, or as AI rules have left them; the audit log strikes secrets out of them.
    arguments: Option<Bytes>,
    keeps: Arguments,
    /// What the records of most calls say: every check let them pass. They borrow it.
    all_pass: &'static [(&'static str, &'static str)],
    /// The check that did not let the call pass.
    refused_by: Option<&'static str>,
    intent: Option<IntentId>,
    /// True for a call that must be in the audit log before it runs.
    has_effect: bool,
    since: Instant,
    method: &'static str,
    span: CallSpan<'b>,
    /// How the programs of the call run; nothing for a tool that runs none.
    notes: Option<Arc<Notes>>,
    /// The job that the call runs for, or has become by the end.
    job: Option<Arc<OnceLock<Arc<str>>>>,
}

impl<'b> RecordScope<'b> {
    /// Opens the record of a call that has just come.
    ///
    /// # Errors
    /// An audit log that cannot be written refuses the call; there is then nothing to close.
    pub(crate) fn open(
        (audit_log, late): (&'b Arc<AuditLog>, &'b TaskTracker),
        telemetry: &'b Telemetry,
        redactor: &'b Redactor,
        all_pass: &'static [(&'static str, &'static str)],
        (id, caller, call): (CallId, &Caller, &Call<'_>),
    ) -> Result<RecordScope<'b>, Refusal> {
        audit_log.ready().map_err(|error| Refusal::NoAuditLog(error.to_string()))?;
        let parent = call.meta.as_deref().and_then(call_span::trace_parent);
        let span = CallSpan::open(telemetry, parent);
        let mut opening = opening(id, caller, kept_of(call.target.recorded(), redactor));
        opening.request_id = call.request_id.as_deref().map(|id| kept_of(&redactor.text(id), redactor));
        opening.claims = call.claims.as_deref().map(|claims| kept_of(&redactor.text(claims), redactor));
        opening.arguments_bytes = call.arguments.as_ref().map_or(0, Bytes::len) as u64;
        opening.trace_id = span.trace_id().or_else(|| parent.map(|parent| parent.trace_id().into()));
        Ok(RecordScope(Some(Box::new(OpenRecord {
            audit_log,
            late,
            telemetry,
            redactor,
            record: Record::from(opening),
            arguments: call.arguments.clone(),
            keeps: audit_log.arguments(),
            all_pass,
            refused_by: None,
            intent: None,
            has_effect: false,
            since: Instant::now(),
            method: call.target.method(),
            span,
            notes: None,
            job: call.job.as_ref().map(|job| job.id.clone()),
        }))))
    }

    /// Closes the record of a call that was taken as a job.
    pub(crate) fn accepted(mut self) {
        self.0.take().into_iter().for_each(|open| open.end(audit::Outcome::Accepted, None, 0));
    }

    /// Closes the record with what came of the call.
    pub(crate) fn close(mut self, result: &Result<Outcome, Failure>) {
        self.0.take().into_iter().for_each(|open| open.close(result));
    }
}

impl<'b> Deref for RecordScope<'b> {
    type Target = OpenRecord<'b>;

    fn deref(&self) -> &OpenRecord<'b> {
        self.0.as_deref().expect(OPEN)
    }
}

impl DerefMut for RecordScope<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_deref_mut().expect(OPEN)
    }
}

impl OpenRecord<'_> {
    /// Notes that the call is taken as this job.
    pub(crate) fn of_job(&mut self, id: Arc<str>) {
        self.job = Some(Arc::new(OnceLock::from(id)));
    }

    /// Notes the arguments as they came.
    pub(crate) fn arguments(&mut self, hash: Hash) {
        self.record.opening.arguments_sha256 = Some(hash);
    }

    /// The hash of the arguments as they came, once it is noted.
    pub(crate) fn arguments_hash(&self) -> Option<Hash> {
        self.record.opening.arguments_sha256
    }

    /// Notes that the call changes nothing, or which dry run it follows.
    pub(crate) fn earnest(&mut self, earnest: &Earnest) {
        self.record.opening.dry_run = match earnest {
            Earnest::Real => None,
            Earnest::Dry => Some(Arc::from("true")),
            Earnest::Planned(plan) => Some(kept_of(plan, self.redactor)),
        };
    }

    /// Notes the caller's own `_meta`.
    pub(crate) fn meta(&mut self, hash: Hash) {
        self.record.opening.meta_sha256 = Some(hash);
    }

    /// Notes which tool it is.
    pub(crate) fn found(&mut self, offered: &Offered) {
        self.span.found(offered);
        let definition = offered.definition();
        self.has_effect = definition.effect > Effect::Reads;
        let opening = &mut self.record.opening;
        opening.tool = definition.name.shared();
        opening.upstream = definition.origin.upstream().cloned();
        opening.effect = Some(Cow::Borrowed(definition.effect.name()));
        opening.definition_sha256 = Some(offered.hash());
    }

    /// Notes what a check decided.
    pub(crate) fn verdict(&mut self, check: &'static str, verdict: Result<(), &Refusal>) {
        self.note(check, if verdict.is_ok() { PASS } else { REFUSE });
        self.span.step(check, verdict.is_ok());
        if let Err(refusal) = verdict {
            self.refused_by = Some(check);
            self.span.refused(check, refusal.code());
        }
    }

    /// A step that is no check is over.
    pub(crate) fn step(&mut self, name: &'static str, is_good: bool) {
        self.span.step(name, is_good);
    }

    /// The `_meta` that the tool is sent.
    pub(crate) fn onward(&self, meta: Option<Bytes>) -> Option<Bytes> {
        self.span.onward(meta)
    }

    /// Notes a check whose question the caller's client must answer first.
    pub(crate) fn asks(&mut self, check: &'static str) {
        self.note(check, ASK);
    }

    /// Whether the client is to ask its user; nothing has run then.
    fn ended_with_a_question(&self) -> bool {
        matches!(self.record.verdicts.last(), Some((_, ASK)))
    }

    fn note(&mut self, check: &'static str, word: &'static str) {
        let before = self.record.verdicts.len();
        match (&mut self.record.verdicts, self.all_pass.get(..=before)) {
            (Cow::Borrowed(passed), Some(with_this)) if with_this[before] == (check, word) => {
                *passed = with_this
            }
            (verdicts, _) => verdicts.to_mut().push((check, word)),
        }
    }

    /// Notes what the deciding rule asks of the record.
    pub(crate) fn obliged(&mut self, decision: &Decision) {
        match decision.obligations.arguments {
            Some(Recorded::Redacted) => self.keeps = Arguments::Redacted,
            Some(Recorded::Hash) => self.keeps = Arguments::Hash,
            None => {}
        }
    }

    /// Keeps the arguments as the AI rules have left them; the hash stays that of what came.
    pub(crate) fn rewritten(&mut self, arguments: Bytes) {
        self.arguments = Some(arguments);
    }

    /// Notes what AI rules found in what the call gave.
    pub(crate) fn found_by_rules(&mut self, findings: Findings) {
        self.record.decisions.extend(findings.decided);
        self.redacted(findings.struck);
    }

    /// Takes the rules that had a say out of a list and notes them.
    pub(crate) fn decided_by(&mut self, decisions: &mut Vec<Decided>) {
        let noted = &mut self.record.decisions;
        // What was decided twice was decided.
        decisions.retain(|decided| !noted.contains(decided));
        if noted.is_empty() {
            std::mem::swap(noted, decisions);
        } else {
            noted.append(decisions);
        }
    }

    /// Notes what a person answered.
    pub(crate) fn approved(&mut self, approved: Approved) {
        self.record.approval = Some(approved);
    }

    /// Notes how much was struck out.
    pub(crate) fn redacted(&mut self, count: u32) {
        self.record.redactions = self.record.redactions.saturating_add(count);
        self.span.redacted(count);
    }

    /// Writes down, before it runs, a call that may change something. Waits for the disk, but holds up nobody
    /// else.
    ///
    /// # Errors
    /// What cannot be written down does not run, nor does what is cancelled meanwhile.
    pub(crate) async fn write_intent(&mut self, cancel: &Cancel) -> Result<(), Failure> {
        if !self.has_effect {
            return if cancel.is_cancelled() { Err(ToolError::cancelled().into()) } else { Ok(()) };
        }
        // The intent is withdrawn then.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::cancelled().into()),
            intent = self.audit_log.before_run(&self.record.opening) => {
                self.intent = Some(intent.map_err(|error| Refusal::NoAuditLog(error.to_string()))?);
                Ok(())
            }
        }
    }

    /// Where the hands of the call note how its programs run.
    pub(crate) fn notes(&mut self) -> Arc<Notes> {
        self.notes.get_or_insert_default().clone()
    }

    /// Notes that the tool lives in a program which is confined more weakly than it should be.
    pub(crate) fn lives_in(&mut self, sandboxed: Option<Sandboxed>) {
        if let Some(Sandboxed { profile, launcher, degraded }) = sandboxed {
            self.notes().ran(profile, launcher, &degraded);
        }
    }

    /// What the tool gave, with the artifacts that it has made.
    pub(crate) fn made(&self, result: Result<Outcome, Failure>) -> Result<Outcome, Failure> {
        let Some(notes) = &self.notes else { return result };
        result.map(|outcome| Outcome { artifacts: notes.artifacts(), ..outcome })
    }

    /// What came of the call, with how its programs ran.
    pub(crate) fn told(&self, result: Result<Outcome, Failure>) -> Result<Outcome, Failure> {
        let Some(sandboxed) = self.notes.as_ref().and_then(|notes| notes.sandboxed()) else { return result };
        let sandboxed = Some(Box::new(sandboxed));
        match result {
            Ok(outcome) => Ok(Outcome { sandboxed, ..outcome }),
            Err(Failure::Tool(error)) => Err(error.with_sandboxed(sandboxed).into()),
            Err(failure @ (Failure::Refused(_) | Failure::Internal(_))) => Err(failure),
        }
    }

    fn close(self: Box<Self>, result: &Result<Outcome, Failure>) {
        let (outcome, code, bytes) = match result {
            Ok(outcome) if self.ended_with_a_question() => {
                (audit::Outcome::Asked, None, outcome.payload.bytes())
            }
            Ok(outcome) if outcome.is_error => (audit::Outcome::ToolError, None, outcome.payload.bytes()),
            Ok(outcome) => (audit::Outcome::Result, None, outcome.payload.bytes()),
            Err(failure) => (ending(failure), Some(code_of(failure)), 0),
        };
        if let (Err(Failure::Refused(refusal)), None) = (result, self.refused_by) {
            // Refused where there is no check: it was not found, could not be read, or not be noted.
            self.span.refused(NO_CHECK, refusal.code());
        }
        self.end(outcome, code, bytes);
    }

    fn noted(&mut self, notes: &Notes) {
        if let Some(Sandboxed { profile, launcher, degraded }) = notes.sandboxed() {
            self.record.profile = Some(profile);
            self.record.launcher = Some(launcher).filter(|launcher| *launcher != StartedBy::Own.name());
            self.record.degraded = degraded;
        }
        let hosts = notes.hosts();
        // A program may put a secret into the name of a host.
        let clean = |host: &str| kept_of(&self.redactor.text(host), self.redactor);
        self.record.hosts = hosts
            .iter()
            .take(audit::HOSTS_MAX)
            .map(|(entry, approval)| reached(entry, approval.clone(), clean))
            .collect();
        self.record.folders = notes.folders(clean);
        note_changed(&mut self.record, notes, self.redactor);
        self.record.artifacts = notes.artifact_ids();
        self.redacted(notes.struck_places());
        self.record.hosts_more = u32::try_from(hosts.len() - self.record.hosts.len()).unwrap_or(u32::MAX);
        let blocked = hosts.iter().filter(|(entry, _)| entry.outcome != Reach::Allowed).count();
        self.telemetry.metrics.hosts_blocked(blocked as u64);
    }

    fn end(self: Box<Self>, outcome: audit::Outcome, code: Option<Cow<'static, str>>, result_bytes: usize) {
        let audit_log = self.audit_log;
        let Closing { record, arguments, intent } = self.closing(outcome, code, result_bytes);
        audit_log.close(record, arguments, intent);
    }

    /// What the audit log is given of a call that is over.
    fn closing(
        mut self: Box<Self>,
        outcome: audit::Outcome,
        code: Option<Cow<'static, str>>,
        result_bytes: usize,
    ) -> Closing {
        if let Some(notes) = self.notes.take() {
            self.noted(&notes);
        }
        let OpenRecord { mut record, method, since, mut span, arguments, keeps, intent, job, .. } = *self;
        let names = (method, record.opening.tool.clone(), record.opening.upstream.clone());
        let took = since.elapsed();
        span.close(word(outcome), took, names, code.as_deref());
        record.job = job.and_then(|job| job.get().cloned());
        record.duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        (record.outcome, record.code, record.result_bytes) = (outcome, code, result_bytes as u64);
        let plain = arguments.filter(|_| keeps == Arguments::Redacted);
        let arguments = plain.as_deref().and_then(Plain::of);
        Closing { record, arguments, intent }
    }
}

impl Drop for RecordScope<'_> {
    fn drop(&mut self) {
        let Some(open) = self.0.take() else { return };
        let outcome = audit::Outcome::Abandoned;
        let Some(notes) = open.notes.clone().filter(|notes| notes.has_left()) else {
            return open.end(outcome, None, 0);
        };
        let (audit_log, redactor, late) = (open.audit_log, open.redactor, open.late);
        LateRecord::new(open.closing(outcome, None, 0), notes, audit_log, redactor)
            .close_once_all_are_gone(late);
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

/// The word of the figures for an outcome.
fn word(outcome: audit::Outcome) -> &'static str {
    match outcome {
        audit::Outcome::Result => "result",
        audit::Outcome::ToolError => "tool_error",
        audit::Outcome::Asked => "asked",
        audit::Outcome::Accepted => "accepted",
        audit::Outcome::Refused => "refused",
        audit::Outcome::Cancelled => "cancelled",
        audit::Outcome::Abandoned => "abandoned",
        // The last is written for processes that died, never by a living one.
        audit::Outcome::Internal | audit::Outcome::UnknownAfterCrash => "internal",
    }
}

fn code_of(failure: &Failure) -> Cow<'static, str> {
    match failure {
        Failure::Refused(refusal) => Cow::Borrowed(refusal.code()),
        Failure::Tool(error) => error.code().clone(),
        Failure::Internal(_) => Cow::Borrowed("internal"),
    }
}
