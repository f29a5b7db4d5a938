//! The gate itself: what it is made of, and one call from its arrival to its end.
//!
//! The order of the checks is in `checks.rs`; what runs with a permit, in `run.rs`.

use crate::approvals::Admitted;
use crate::beside::Beside;
use crate::checks::Check;
use crate::entry::Entry;
use crate::pending::Pending;
use crate::refusals::Refusals;
use crate::seal::Sealer;
use crate::seen::Seen;
use crate::tokens::Tokens;
use crate::{
    Action, Approvals, Caller, Cancel, Catalog, Client, Failure, Input, Listener, Offered, Outcome, Redactor,
    Refusal, Ruleset, Target, Telemetry, ToolError,
};
use crate::{approvals, beside, catalog, checks, redaction, result, run};
use arc_swap::ArcSwap;
use audit::AuditLog;
use bytes::Bytes;
use sandbox::Root;
use std::sync::Arc;
use std::time::Instant;
use store::Secrets;
use tool_api::{Arguments, CallId};

/// What a gate is made of.
pub struct Parts {
    /// The tools on offer.
    pub catalog: Arc<Catalog>,
    /// What decides about calls.
    pub ruleset: Ruleset,
    /// What is struck out of all that leaves.
    pub redactor: Redactor,
    /// Where people are asked and answer.
    pub approvals: Arc<Approvals>,
    /// Where every call is noted.
    pub audit_log: Arc<AuditLog>,
    /// The workspace, with all the access any tool may have.
    pub files: Root,
}

/// Admits, runs, cleans and records calls.
pub struct Gate {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) ruleset: ArcSwap<Ruleset>,
    pub(crate) redactor: Redactor,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) checks: Vec<Box<dyn Check>>,
    pub(crate) audit_log: Arc<AuditLog>,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) since: Instant,
    pub(crate) files: Root,
    pub(crate) sealer: Sealer,
    pub(crate) tokens: Tokens,
    pub(crate) refusals: Arc<Refusals>,
}

/// A call as a door hands it in.
pub struct Call<'a> {
    /// What it is for.
    pub target: Target<'a>,
    /// The arguments object as JSON text. For anything but a tool: the parameters of the request without
    /// those that belong to the protocol.
    pub arguments: Option<Bytes>,
    /// What the caller said beside the arguments, as JSON text; only an upstream gets to see it.
    pub meta: Option<Bytes>,
    /// Set by the door when the caller gives up.
    pub cancel: Cancel,
    /// Who hears of progress and log messages, if the caller asked for them.
    pub listener: Option<Arc<dyn Listener>>,
    /// The client at the far end.
    pub client: Client,
    /// What the client sends in a further round, its state as [`Gate::call`] gave it out.
    pub input: Option<Input>,
    /// The processes that it comes from, as far as the door knows.
    pub askers: Arc<[approvals::Asker]>,
}

impl<'a> Call<'a> {
    /// A plain call of a tool by somebody who only waits for its result.
    pub fn tool(name: &'a str, arguments: Option<Bytes>) -> Call<'a> {
        Call {
            target: Target::Tool(name),
            arguments,
            meta: None,
            cancel: Cancel::new(),
            listener: None,
            client: Client::default(),
            input: None,
            askers: Arc::default(),
        }
    }
}

impl Gate {
    /// A gate from its parts.
    ///
    /// # Errors
    /// The system gives no randomness, without which nothing can be sealed.
    pub fn new(parts: Parts) -> Result<Gate, getrandom::Error> {
        let (store, clock) = parts.approvals.store();
        Ok(Gate {
            catalog: parts.catalog,
            checks: checks::counting(parts.approvals.quotas()),
            ruleset: ArcSwap::from_pointee(parts.ruleset),
            redactor: parts.redactor,
            approvals: parts.approvals,
            audit_log: parts.audit_log,
            telemetry: Arc::new(Telemetry::untraced(env!("CARGO_PKG_VERSION"))),
            since: Instant::now(),
            files: parts.files,
            sealer: Sealer::new(store, clock),
            tokens: Tokens::new(),
            refusals: Arc::default(),
        })
    }

    /// The same gate, sealing with keys that all processes share which have these secrets.
    #[must_use]
    pub fn with_secrets(self, secrets: &Arc<Secrets>) -> Gate {
        let sealer = self.sealer.keyed_by(secrets.clone());
        Gate { sealer, tokens: self.tokens.keyed_by(secrets.clone()), ..self }
    }

    /// The same gate, counting into these figures and tracing with them.
    #[must_use]
    pub fn with_telemetry(self, telemetry: Arc<Telemetry>) -> Gate {
        Gate { telemetry, ..self }
    }

    /// What the gate counts into.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Why calls would not be served as they should be right now, if so.
    pub fn unready(&self) -> Option<String> {
        if let Err(error) = self.audit_log.takes_changes() {
            return Some(error.to_string());
        }
        // One that is broken must not keep all others from being used.
        let is_waited_for =
            self.since.elapsed() < catalog::REPORT_WAIT_MAX && !self.catalog.offer().is_settled();
        is_waited_for.then(|| "not every upstream has reported yet".to_owned())
    }

    /// Carries one call from its arrival to its end. Every way out of here closes the call's record, even
    /// if the future is dropped.
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function would hold the call twice: as what it was given and as its own"
    )]
    pub fn call<'a>(
        &'a self,
        caller: &'a Caller,
        mut call: Call<'a>,
    ) -> impl Future<Output = Result<Outcome, Failure>> + Send + use<'a> {
        async move {
            if let Some(refusal) = self.refusals.turn_away(caller, &self.audit_log) {
                Seen::turned_away(&self.telemetry, &refusal);
                return Err(refusal.into());
            }
            let id = CallId::next();
            let mut entry = Entry::open(&self.audit_log, &self.telemetry, &self.redactor, id, caller, &call)?;
            let ruleset = self.ruleset.load_full();
            let result = self.pass(id, caller, &mut call, &ruleset, &mut entry).await;
            let (result, struck) = redaction::strike(&self.redactor, result);
            entry.redacted(struck);
            entry.close(&result);
            if let Err(Failure::Refused(_)) = &result {
                self.refusals.note(caller, &ruleset.rates);
            }
            result
        }
    }

    async fn pass(
        &self,
        id: CallId,
        caller: &Caller,
        call: &mut Call<'_>,
        ruleset: &Ruleset,
        entry: &mut Entry<'_>,
    ) -> Result<Outcome, Failure> {
        let found = tokio::select! {
            biased;
            found = self.find_target(caller, call.target) => found?,
            () = call.cancel.cancelled() => return Err(ToolError::cancelled().into()),
        };
        entry.found(&found.offered);
        let name = call.target.name();
        let arguments =
            Arguments::parse(call.arguments.take()).map_err(|fault| Refusal::unreadable(name, &fault))?;
        let mut round = self.open_round(caller, &call.target, &arguments, call.input.take()).await?;

        let action = call.target.action();
        let mut pending = Pending::new(id, caller, found.offered, arguments, round.goes_on, action);
        pending.origin = found.origin;
        pending.files = Some(&self.files);
        pending.answers = round.input.as_ref().and_then(|input| input.responses.clone());
        if pending.definition().upstream.is_some() {
            pending.beside = Beside::of_call(call.meta.as_deref(), ruleset.rules.are_any());
            pending.beside.iter().for_each(|beside| entry.beside(beside.hash()));
        }
        self.ask_checks(&mut pending, ruleset, entry)?;
        if let Some(input) = &mut round.input {
            input.responses = pending.answers.clone();
        }
        round.carried = match self.approve(&pending, call, &mut round, ruleset, entry).await? {
            Admitted::Yes(carried) => carried,
            Admitted::AskClient(outcome) => return Ok(outcome),
        };

        note_before_run(call, entry).await?;
        if entry.has_waited() {
            self.renew(&call.target, &mut pending);
        }
        let is_allowed = !pending.questions.is_empty();
        if is_allowed {
            self.judge_again(&mut pending, ruleset, entry)?;
        }
        round.ran = pending.came.is_some().then(|| pending.arguments.bytes());
        let on_result = pending.on_result.take();
        let on_messages = checks::on_messages(on_result.as_ref());
        let waiting = run::Waiting {
            meta: entry.onward(beside::onward(call.meta.take(), pending.beside.as_ref(), is_allowed)),
            cancel: call.cancel.clone(),
            listener: call
                .listener
                .take()
                .map(|next| checks::listener(&on_messages, redaction::listener(&self.redactor, next))),
            client: Client { caller: caller.id().clone(), ..std::mem::take(&mut call.client) },
            input: round.input.take(),
            key: found.key,
            secrets: redaction::secrets(&self.redactor),
        };
        let (offered, origin) = (pending.offered.clone(), pending.origin.take());
        let successor = self.successor(caller, call.target, &offered);
        let ran = run::run(&self.files, pending, waiting, successor).await.map(|(outcome, _)| outcome);
        entry.step("run", ran.is_ok());
        checks::note_messages(&on_messages, entry);
        let outcome = checks::judge_result(on_result, ran, entry)?;
        let outcome = result::clean(&offered, outcome);
        entry.step("clean", outcome.is_ok());
        let outcome = outcome?;
        self.close_round(caller, (offered.definition(), origin), &call.target, round, outcome, id).await
    }

    /// Asks one check after the other, and notes what each says.
    fn ask_checks(
        &self,
        pending: &mut Pending<'_>,
        ruleset: &Ruleset,
        entry: &mut Entry<'_>,
    ) -> Result<(), Refusal> {
        for check in &self.checks {
            let verdict = check.check(pending, ruleset);
            if std::mem::take(&mut pending.is_rewritten) {
                entry.rewritten(pending.arguments.bytes());
            }
            entry.decided_by(&mut pending.decisions);
            pending.decision.iter().for_each(|decision| entry.obliged(decision));
            entry.verdict(check.name(), verdict)?;
        }
        entry.redacted(pending.struck);
        Ok(())
    }

    /// Judges a call that a person has allowed by what is in force by now.
    fn judge_again(
        &self,
        pending: &mut Pending<'_>,
        then: &Ruleset,
        entry: &mut Entry<'_>,
    ) -> Result<(), Refusal> {
        let judged = checks::judge_again(pending, then, &self.ruleset.load());
        pending.decision.iter().for_each(|decision| entry.obliged(decision));
        let Err((step, refusal)) = judged else { return Ok(()) };
        entry.decided_by(&mut pending.decisions);
        entry.verdict(step, Err(refusal))
    }

    /// While a call waited for a person or the disk, its server may have been exchanged for another one: the call then goes
    /// to that, if its tool is still what was admitted.
    fn renew(&self, target: &Target<'_>, pending: &mut Pending<'_>) {
        let Target::Tool(name) = target else { return };
        let offer = self.catalog.offer();
        if let Some(now) = offer.get(name).filter(|now| now.hash() == pending.offered.hash()) {
            pending.offered = now.clone();
        }
    }

    /// What has taken the place of something that has left, if it is still what was admitted. Waits for it if it has not
    /// reported.
    async fn successor(
        &self,
        caller: &Caller,
        target: Target<'_>,
        left: &Arc<Offered>,
    ) -> Option<Arc<Offered>> {
        let now = Box::pin(self.find_target(caller, target)).await.ok()?.offered;
        (!Arc::ptr_eq(&now, left) && now.hash() == left.hash()).then_some(now)
    }

    /// The tool of this name, if the caller may see it. Waits for sources that have not reported.
    ///
    /// # Errors
    /// There is no such tool, or none for this caller.
    pub async fn find(&self, caller: &Caller, name: &str) -> Result<Arc<Offered>, Refusal> {
        self.find_target(caller, Target::Tool(name)).await.map(|found| found.offered)
    }

    /// Whether a caller may see a tool. The one function behind listing and calling.
    pub fn may_see(&self, caller: &Caller, tool: &Offered) -> bool {
        self.may_do(caller, tool, None)
    }

    /// The same for an action, which rules may tell from a call.
    pub(crate) fn may_do(&self, caller: &Caller, offered: &Offered, action: Option<Action>) -> bool {
        let definition = offered.definition();
        checks::has_scopes(caller, definition)
            && self.ruleset.load().policy.may_see(&checks::facts(caller, definition, action))
    }

    /// Puts other rules in force. Calls that are on their way go by the old ones.
    pub fn govern(&self, ruleset: Ruleset) {
        self.ruleset.store(Arc::new(ruleset));
        self.catalog.revise();
    }

    /// Callers of one class are shown the same things.
    pub fn class(&self, caller: &Caller) -> u64 {
        self.ruleset.load().policy.class(caller)
    }

    /// What people are asked about calls, and how they answer.
    pub fn approvals(&self) -> &Arc<Approvals> {
        &self.approvals
    }

    /// What strikes secrets out of all that leaves.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The tools on offer; what a caller may see of them is for [`Gate::may_see`] to say.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
}

/// Writes down that the call is about to run, if it may change something.
async fn note_before_run(call: &Call<'_>, entry: &mut Entry<'_>) -> Result<(), Failure> {
    if call.cancel.is_cancelled() {
        return Err(ToolError::cancelled().into());
    }
    if entry.has_effect() {
        // What is cancelled while the disk takes its time must not begin; its note is taken back.
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(ToolError::cancelled().into()),
            noted = entry.before_run() => noted?,
        }
    }
    Ok(())
}
