//! One call, from its arrival to its end: every step by its name, in order.
//!
//! ```text
//! admit   read the arguments · find the target · look its request id up · headers · the tool in its place · open the round
//!         trip · scope · policy · AI rules · input schema · plan mode · rate · approval · intent · second judgement · begin, for a call
//!         with a request id
//! run     permit, hands, deadline
//! finish  AI rules on the result · size budget · output schema · redaction · cut · seal
//! ```
//!
//! The record is open around all of them.

mod again;
mod dry_first;
mod meant;
mod opening;
mod take;

use std::sync::Arc;

use audit::Hash;
use bytes::Bytes;
use policy::Caller;
use tool_api::{Arguments, ArgumentsFault, CallId, Client, DryRun, Listener, Need, Outcome, ToolError};

use self::dry_first::First;
use super::Gate;
use super::admitting::{Identified, admitted};
use crate::admitted::{Admitted, Ran};
use crate::approvals::{self, Asking, Brought, Carried, ExactCall, Settled};
use crate::candidate::{Candidate, Content, Judgement};
use crate::checks::{self, RATE};
use crate::dry_run::Earnest;
use crate::failure::{Failure, Internal, Refusal};
use crate::find::{self, Found};
use crate::hands::Hands;
use crate::large::INLINE_BYTES_MAX;
use crate::meta::{self, Meta};
use crate::record_scope::{PASS, RecordScope};
use crate::redaction;
use crate::repeats::Ticket;
use crate::request::Call;
use crate::result;
use crate::ruleset::Ruleset;
use crate::run::{self, Live, LookedAfter};
use crate::target::Target;

/// A check that only thinks: a function of what is known of the call, and of the rules in force.
type Check = fn(&mut Candidate, &Ruleset) -> Result<(), Refusal>;

/// The checks, but for the last. Cheap and certain first, what costs the caller something last.
const CHECKS: [(&str, Check); 4] = [
    ("scope", |candidate, _| checks::scope(&candidate.caller, candidate.offered.definition())),
    ("policy", |candidate, ruleset| checks::policy(candidate, &*ruleset.policy)),
    ("ai_rules", |candidate, ruleset| checks::ai_rules(candidate, &ruleset.rules, &*ruleset.policy)),
    ("input_schema", |candidate, _| checks::input_schema(candidate)),
];

/// What the records of most calls say.
const ALL_PASS: [(&str, &str); 5] =
    [(CHECKS[0].0, PASS), (CHECKS[1].0, PASS), (CHECKS[2].0, PASS), (CHECKS[3].0, PASS), (RATE, PASS)];

/// What comes of admission.
enum Admission {
    Run(Box<Admitted>),
    /// The client asks its user first, or a dry run says that it would fail.
    Over(Outcome),
    /// It has run before.
    Repeat(Box<Result<Outcome, Failure>>),
}

impl Gate {
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
            let (id, mut record) = self.open_record(caller, &call)?;
            let ruleset = self.ruleset.load_full();
            let mut ticket = None;
            let admission = self.admit(id, caller, &mut call, (&ruleset, &mut ticket), &mut record).await;
            let result = match admission {
                Ok(Admission::Run(admitted)) => {
                    let ran = self.run(admitted, &mut call, &ruleset, &mut record).await;
                    let result = self.finish(ran, call.listener.take(), &ruleset, &mut record).await;
                    let result = record.told(result);
                    if let Some(ticket) = &ticket {
                        Box::pin(self.repeats.end(ticket, &result)).await;
                    }
                    result
                }
                Ok(Admission::Repeat(result)) => self.redact(*result, &mut record),
                Ok(Admission::Over(outcome)) => self.redact(Ok(outcome), &mut record),
                Err(failure) => self.redact(Err(failure), &mut record),
            };
            record.close(&result);
            if let Err(Failure::Refused(_)) = &result {
                self.refusals.note(caller, &ruleset.rates);
            }
            result
        }
    }

    async fn admit(
        &self,
        id: CallId,
        caller: &Caller,
        call: &mut Call<'_>,
        (ruleset, ticket): (&Arc<Ruleset>, &mut Option<Box<Ticket>>),
        record: &mut RecordScope<'_>,
    ) -> Result<Admission, Failure> {
        let arguments = self.read_arguments(id, call, record).await?;
        let found = self.find_target(caller, call, arguments.as_ref().ok(), ruleset).await?;
        record.found(&found.offered);
        let arguments = arguments.map_err(|fault| Refusal::unreadable(call.target.name(), &fault))?;
        if call.request_id.is_some()
            && call.input.is_none()
            && let Some(answer) = Box::pin(self.known(caller, call, (ticket, record))).await?
        {
            return Ok(Admission::Repeat(answer));
        }
        self.check_headers(id, call, &found, &arguments.bytes()).await?;
        let found = (found, arguments);
        let (found, arguments) = self.what_runs(id, caller, call.target, found, ruleset, record).await?;
        let (target, original) = (call.target.offered_as(&found.offered), arguments.bytes());
        let mut brought = self.round_trips.open(caller, target, &arguments, call.input.take()).await?;

        let sent = (&found, arguments);
        let mut candidate = self.judge(id, (caller, call), sent, &brought, ruleset, record).await?;
        if let Some(input) = &mut brought.input {
            input.responses = candidate.content.answers.clone();
        }
        if self.may_be_planning(&candidate) {
            Box::pin(self.plan_mode(&candidate, record)).await?;
        }
        // A job was counted when it was taken.
        let was_judged = call.job.as_ref().is_some_and(|job| job.was_judged);
        let verdict = if was_judged { Ok(()) } else { self.rate.check(&candidate, &ruleset.rates).await };
        record.verdict(RATE, verdict.as_ref().copied());
        verdict?;
        if call.earnest != Earnest::Real {
            record.earnest(&call.earnest);
            Box::pin(self.check_earnest(id, &call.earnest, &mut candidate, &original)).await?;
        }

        let was_asked = call.job.as_ref().is_some_and(|job| job.is_approved);
        let is_asked = !was_asked && !candidate.judgement.consents.is_empty();
        // A client may have asked its user for what a change of the rules has allowed since.
        let mut approval = brought.carried.clone();
        if is_asked {
            // Boxed, so that calls which nobody is asked about hold no room for it.
            let approving = self.approve(id, candidate, call, (&mut brought, &original), ruleset, record);
            let approved;
            (candidate, approved) = Box::pin(approving).await?;
            approval = match approved {
                Approved::Run(carried) => Some(carried),
                Approved::Over(outcome) => return Ok(Admission::Over(outcome)),
            };
        }
        record.write_intent(&call.cancel).await?;
        if is_asked {
            candidate = Box::pin(self.judge_again(id, candidate, ruleset, record)).await?;
            if self.may_be_planning(&candidate) {
                Box::pin(self.plan_mode(&candidate, record)).await?;
            }
            if call.earnest != Earnest::Real {
                // A person may take their time.
                Box::pin(self.check_earnest(id, &call.earnest, &mut candidate, &original)).await?;
            }
        }
        if let Some(ticket) = ticket {
            Box::pin(self.begin(ticket, record)).await?;
        }

        let meta = record.onward(meta::onward(call.meta.take(), candidate.content.meta.as_ref(), is_asked));
        let (arguments, input) = (Identified { id, original, approval }, brought.input);
        Ok(Admission::Run(admitted(candidate, arguments, (found.key, meta, input))))
    }

    async fn run(
        &self,
        admitted: Box<Admitted>,
        call: &mut Call<'_>,
        ruleset: &Ruleset,
        record: &mut RecordScope<'_>,
    ) -> Ran {
        let identity = &admitted.identity;
        let looked_after = LookedAfter { jobs: self.jobs_of(identity), tasks: self.tasks_of(identity, call) };
        let client = std::mem::take(&mut call.client);
        let live = Live {
            cancel: call.cancel.clone(),
            listener: call.listener.clone(),
            client: Client { caller: admitted.identity.caller.id().clone(), ..client },
        };
        let offered = admitted.identity.offered.clone();
        record.lives_in(offered.tool().sandboxed());
        let needs = offered.definition().listing.needs();
        let notes = needs
            .iter()
            .any(|need| !matches!(need, Need::State | Need::Catalogue | Need::Person))
            .then(|| record.notes());
        let keeper = notes.as_ref().filter(|_| needs.contains(&Need::Artifacts));
        let keeper = keeper.and_then(|_| self.keeper(&admitted.identity, live.listener.clone(), record));
        let may_want = needs.iter().any(|need| need.reaches_out());
        let asking = notes
            .as_ref()
            .filter(|_| may_want)
            .map(|notes| self.in_run(&admitted, (&*call, &live), ruleset, notes));
        let (wishes, answering) = asking.unwrap_or_default();
        let catalogue = match needs.contains(&Need::Catalogue) {
            true => Some(Box::pin(self.seen_by(&admitted.identity.caller)).await),
            false => None,
        };
        let dry_run = (call.earnest == Earnest::Dry).then(Arc::<DryRun>::default);
        let hands = Hands {
            dry_run: dry_run.clone(),
            sandbox: self.sandbox.as_ref(),
            settings: &ruleset.programs,
            files: &self.files,
            rules: &ruleset.rules,
            telemetry: &self.telemetry,
            notes,
            wishes,
            keeper,
            states: &self.states,
            questions: (&self.questions, &call.askers),
            catalogue,
            redactor: &self.redactor,
        };
        let mut ran = run::run(hands, &self.redactor, looked_after, admitted, live, answering).await;
        if let Some(dry_run) = dry_run {
            ran = Box::pin(self.planned(ran, dry_run)).await;
        }
        // Its server may have been started for this call.
        record.lives_in(offered.tool().sandboxed());
        ran
    }

    async fn finish(
        &self,
        ran: Ran,
        listener: Option<Arc<dyn Listener>>,
        ruleset: &Ruleset,
        record: &mut RecordScope<'_>,
    ) -> Result<Outcome, Failure> {
        let Ran { identity, on_result, in_messages, result } = ran;
        record.step("run", result.is_ok());
        record.found_by_rules(in_messages);
        let (offered, redactor) = (identity.offered.clone(), self.redactor.clone());
        let result = record.made(result);
        let bytes = result.as_ref().map_or(0, |outcome| outcome.payload.bytes());
        let clean = move || result::clean(&offered, on_result, &redactor, result);
        let cleaned = self.large.sized(bytes, identity.id, clean).await?;
        record.found_by_rules(cleaned.findings);
        record.redacted(cleaned.redacted);
        record.step("clean", cleaned.is_sound);
        let mut outcome = match (cleaned.result, cleaned.broken) {
            (Err(failure), Some(broken)) => {
                let keeper = self.keeper(&identity, listener, record);
                return Err(Box::pin(self.keeping_broken(identity.id, failure, broken, keeper)).await);
            }
            (result, _) => result?,
        };
        let bytes = outcome.payload.bytes();
        if let Some(cutting) = self.cutting(&identity, bytes, listener, ruleset, record) {
            outcome = self.large.think(identity.id, move || cutting.cut(outcome)).await??;
        }
        self.round_trips.close(&identity, outcome).await
    }

    /// Strikes secrets out of what comes of a call that does not run.
    fn redact(
        &self,
        result: Result<Outcome, Failure>,
        record: &mut RecordScope<'_>,
    ) -> Result<Outcome, Failure> {
        let (result, count) = redaction::strike(&self.redactor, result);
        record.redacted(count);
        result
    }

    /// Hashes the arguments for the record, and parses them.
    async fn read_arguments(
        &self,
        id: CallId,
        call: &mut Call<'_>,
        record: &mut RecordScope<'_>,
    ) -> Result<Result<Arguments, ArgumentsFault>, Failure> {
        let Some(text) = call.arguments.take() else { return Ok(Arguments::parse(None)) };
        let bytes = text.len();
        let read = move || (Hash::of(&text), Arguments::parse(Some(text)));
        let (hash, parsed) = self.large.sized(bytes, id, read).await?;
        record.arguments(hash);
        Ok(parsed)
    }

    async fn find_target(
        &self,
        caller: &Caller,
        call: &Call<'_>,
        arguments: Option<&Arguments>,
        ruleset: &Ruleset,
    ) -> Result<Found, Failure> {
        let task = match call.target {
            Target::Task { token, .. } => self.open_task_token(caller, token).await,
            Target::Tool(_) | Target::Resource { .. } | Target::Prompt { .. } | Target::Extension(_) => None,
        };
        let found = tokio::select! {
            biased;
            found = find::find(&self.catalog, &self.telemetry.metrics, &*ruleset.policy, caller, call.target, task, arguments) => found,
            () = call.cancel.cancelled() => return Err(ToolError::cancelled().into()),
        };
        found.map_err(|refusal| self.with_nearest(refusal, caller).into())
    }

    async fn check_headers(
        &self,
        id: CallId,
        call: &mut Call<'_>,
        found: &Found,
        arguments: &Bytes,
    ) -> Result<(), Failure> {
        let Some(check) = call.header_check.take() else { return Ok(()) };
        let bytes = arguments.len();
        let (offered, arguments) = (found.offered.clone(), arguments.clone());
        let compare = move || check(offered.definition(), &arguments);
        Ok(self.large.sized(bytes, id, compare).await?.map_err(Refusal::HeaderMismatch)?)
    }

    fn candidate(
        &self,
        (caller, call): (&Caller, &Call<'_>),
        found: &Found,
        arguments: Arguments,
        brought: &Brought,
        ruleset: &Ruleset,
    ) -> Box<Candidate> {
        let is_elsewhere = found.offered.definition().upstream().is_some();
        let meta = call.meta.as_deref().filter(|_| is_elsewhere);
        let meta = Meta::of_call(meta, ruleset.rules.are_any());
        let answers = brought.input.as_ref().and_then(|input| input.responses.clone());
        Box::new(Candidate {
            caller: caller.clone(),
            offered: found.offered.clone(),
            target: call.target.shared_name(&found.offered),
            kind: call.target.kind(),
            action: call.target.action(),
            origin: found.origin.clone(),
            goes_on: brought.goes_on,
            files: self.files.clone(),
            plan: None,
            content: Content { arguments, answers, meta },
            original: None,
            judgement: Judgement::default(),
        })
    }

    /// Asks one check after the other, and notes what each says.
    async fn ask_checks(
        &self,
        id: CallId,
        mut candidate: Box<Candidate>,
        ruleset: &Arc<Ruleset>,
        record: &mut RecordScope<'_>,
    ) -> Result<Box<Candidate>, Failure> {
        for (name, check) in CHECKS {
            let verdict = if candidate.bytes() > INLINE_BYTES_MAX {
                let (ruleset, mut large) = (ruleset.clone(), candidate);
                let work = self.large.think(id, move || {
                    let verdict = check(&mut large, &ruleset);
                    (large, verdict)
                });
                let verdict;
                (candidate, verdict) = work.await?;
                verdict
            } else {
                check(&mut candidate, ruleset)
            };
            note(&mut candidate, record);
            record.verdict(name, verdict.as_ref().copied());
            verdict?;
        }
        record.redacted(candidate.judgement.struck);
        Ok(candidate)
    }

    /// Lets a call pass that a person has allowed.
    async fn approve(
        &self,
        id: CallId,
        mut candidate: Box<Candidate>,
        call: &mut Call<'_>,
        (brought, original): (&mut Brought, &Bytes),
        ruleset: &Arc<Ruleset>,
        record: &mut RecordScope<'_>,
    ) -> Result<(Box<Candidate>, Approved), Failure> {
        let plan = Box::pin(self.plan_to_show(id, &candidate)).await?;
        candidate.plan = plan;
        let (mut candidate, exact) = self.exact_call(id, candidate, call, ruleset).await?;
        let shown = (id, original, &mut *brought);
        let first = Box::pin(self.dry_first(&mut candidate, exact, call, shown, ruleset, record));
        let exact = match first.await? {
            First::Ask(exact) => *exact,
            First::Failed(outcome) => return Ok((candidate, Approved::Over(outcome))),
        };
        if let Some(plan) = exact.plan() {
            call.earnest = Earnest::Planned(plan.clone());
            record.earnest(&call.earnest);
        }
        let of_job = call.job.as_ref().filter(|job| job.was_judged);
        let without_waiting = of_job.map(|_| ruleset.approvals.without_waiting());
        let asking = Asking {
            approvals: &self.approvals,
            config: without_waiting.as_ref().unwrap_or(&ruleset.approvals),
            id,
            candidate: &candidate,
            client: &call.client,
            cancel: &call.cancel,
            listener: call.listener.as_ref(),
            askers: &call.askers,
        };
        let mut approved = None;
        let settled = asking.settle(exact, brought, &mut approved).await;
        approved.into_iter().for_each(|approved| record.approved(approved));
        match settled {
            Ok(Settled::Allowed(carried)) => {
                record.verdict(approvals::STEP, Ok(()));
                Ok((candidate, Approved::Run(carried)))
            }
            Ok(Settled::AskClient(requests, question)) => {
                let (caller, question) = (&candidate.caller, (requests, &question));
                let asked = self.round_trips.ask(caller, call.target, original, question).await;
                record.asks(approvals::STEP);
                let asked = asked.ok_or(Internal { call: id })?;
                Ok((candidate, Approved::Over(asked)))
            }
            Err(failure) => {
                if let Failure::Refused(refusal) = &failure {
                    record.verdict(approvals::STEP, Err(refusal));
                }
                Err(failure)
            }
        }
    }

    /// What a person is asked about.
    async fn exact_call(
        &self,
        id: CallId,
        candidate: Box<Candidate>,
        call: &Call<'_>,
        ruleset: &Arc<Ruleset>,
    ) -> Result<(Box<Candidate>, ExactCall), Failure> {
        let bytes = candidate.bytes();
        let conversation = call.client.over.is_some().then_some(call.client.conversation);
        let (askers, ruleset, redactor) = (call.askers.clone(), ruleset.clone(), self.redactor.clone());
        let workspace = self.files.path().to_string_lossy().into_owned();
        let read = move || {
            let from = (conversation, &askers, &*workspace);
            let exact = ExactCall::of(&candidate, from, &redactor, &ruleset.approvals);
            (candidate, exact)
        };
        Ok(self.large.sized(bytes, id, read).await?)
    }
}

/// What a person, or the client for one, says of a call.
enum Approved {
    Run(Carried),
    /// The client is asked first, or a dry run says that the call would fail.
    Over(Outcome),
}

/// Notes what a check has left for the record.
fn note(candidate: &mut Candidate, record: &mut RecordScope<'_>) {
    let judgement = &mut candidate.judgement;
    if std::mem::take(&mut judgement.is_rewritten) {
        record.rewritten(candidate.content.arguments.bytes());
    }
    record.decided_by(&mut judgement.decided);
    judgement.decision.iter().for_each(|decision| record.obliged(decision));
}
