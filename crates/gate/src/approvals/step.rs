//! The step: a call that the checks have questions about passes with a person's permission or not at all.

use std::sync::Arc;
use std::time::Duration;

use audit::{Approved, Hash};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use tool_api::{Input, Outcome, Payload, Progress, ToolError};

use super::answer::{has_person_at_client, holds_roles};
use super::approval_store::Standing;
use super::call::ExactCall;
use super::fault::AnswerFault;
use super::record::{Approval, Through};
use super::{Approvals, Config, LOOK_EVERY, SIGN_EVERY, form};
use crate::entry::Entry;
use crate::failure::{Awaited, Failure, Internal, Refusal};
use crate::pending::Pending;
use crate::rounds::Round;
use crate::ruleset::Ruleset;
use crate::seal::STATE_SEALED_MAX;
use crate::{Call, Gate};

/// The step's name in records.
pub(crate) const STEP: &str = "approval";

/// How much later than by the clock of the store a question is looked at that has ended.
const ENDED_BY: Duration = Duration::from_millis(20);

/// A permission that a call has got, for its further rounds: they are the same call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Carried {
    id: Arc<str>,
    by: Arc<str>,
    through: Through,
    /// The exact call.
    call: Hash,
    /// The rules whose questions are answered.
    rules: Vec<Arc<str>>,
}

/// What the client keeps while it asks its user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// The approval.
    id: String,
    /// What the client had brought for the tool.
    responses: Option<String>,
    /// What the tool had wanted back.
    state: Option<String>,
}

/// What the step says.
pub(crate) enum Admitted {
    /// The call runs; with the permission for its further rounds, if it needed one.
    Yes(Option<Carried>),
    /// The client is asked first.
    AskClient(Outcome),
}

impl Gate {
    /// Lets a call pass that nobody need be asked about, or that a person has allowed.
    ///
    /// # Errors
    /// It is not allowed, or not yet.
    pub(crate) async fn approve(
        &self,
        pending: &Pending<'_>,
        call: &Call<'_>,
        round: &mut Round,
        ruleset: &Ruleset,
        entry: &mut Entry<'_>,
    ) -> Result<Admitted, Failure> {
        if pending.questions.is_empty() {
            // A client may have asked its user for what a change of the rules has allowed since.
            return Ok(Admitted::Yes(round.carried.take()));
        }
        let asking = Asking { gate: self, pending, call, config: &ruleset.approvals };
        // Boxed, so that calls which nobody is asked about hold no room for it.
        let admitted = Box::pin(asking.settle(round, entry)).await;
        match &admitted {
            Ok(Admitted::Yes(_)) => entry.verdict(STEP, Ok(()))?,
            Ok(Admitted::AskClient(_)) => entry.asks(STEP),
            Err(Failure::Refused(refusal)) => entry.verdict(STEP, Err(refusal.clone()))?,
            Err(Failure::Tool(_) | Failure::Internal(_)) => {}
        }
        admitted
    }
}

struct Asking<'a> {
    gate: &'a Gate,
    pending: &'a Pending<'a>,
    call: &'a Call<'a>,
    config: &'a Config,
}

impl Asking<'_> {
    async fn settle(&self, round: &mut Round, entry: &mut Entry<'_>) -> Result<Admitted, Failure> {
        let client = &self.call.client;
        let conversation = client.over.is_some().then_some(client.conversation);
        let (target, redactor) = (&self.call.target, &self.gate.redactor);
        let exact =
            ExactCall::of(self.pending, target, (conversation, &self.call.askers), redactor, self.config);
        if let Some(carried) = round.carried.take().filter(|carried| carried.covers(&exact)) {
            entry.approved(approved(&carried.id, &carried.by, carried.through.as_str(), "approved"));
            return Ok(Admitted::Yes(Some(carried)));
        }
        if let Some(question) = self.pending.questions.first().filter(|_| self.nobody_may_answer(&exact)) {
            return Err(question.refusal(self.pending.tool_name()).into());
        }
        let exact = Arc::new(exact);
        let asked = round.question.take();
        if let (Some(question), Some(responses)) = (&asked, &round.answers) {
            self.hear(&question.id, responses).await?;
        }
        let known = asked.as_ref().map(|question| question.id.clone());
        // Before the first look, so that no answer falls between the two.
        let changes = self.gate.approvals.changes.subscribe();
        let standing = self.stand(&exact, known).await?;
        let Standing::Pending(approval) = standing else { return self.decided(standing, &exact, entry) };
        if asked.is_none() && self.may_ask_client(&approval) && self.has_persons_client().await? {
            let input = round.input.take();
            if let Some(outcome) = self.ask_client(&approval, input.as_ref(), &round.arguments).await? {
                self.leave_open(&approval).await?;
                return Ok(Admitted::AskClient(outcome));
            }
            round.input = input;
        }
        let standing = self.wait(approval, &exact, changes).await?;
        if let Standing::Pending(approval) = &standing {
            self.leave_open(approval).await?;
        }
        self.decided(standing, &exact, entry)
    }

    fn nobody_may_answer(&self, exact: &ExactCall) -> bool {
        exact.questions.iter().any(|asked| asked.roles.is_empty())
    }

    /// Takes the answer that a client brings from its user. One that comes too late, or second, changes nothing: how
    /// things stand is looked at afterwards in any case.
    async fn hear(&self, id: &str, responses: &Bytes) -> Result<(), Failure> {
        let form::Heard::Answer(answer, code) = form::heard(responses, id) else { return Ok(()) };
        let (id, by) = (id.to_owned(), self.pending.caller.clone());
        let heard = self
            .on_disk(move |approvals| -> Result<(), Refusal> {
                match approvals.answer_in_client(&id, &answer, &by, code.as_ref()) {
                    Err(AnswerFault::Store(error)) => Err(Refusal::NoApprovals(error.to_string())),
                    // The question stays open; a model is not told how near its user was.
                    Err(AnswerFault::Code(fault)) => {
                        tracing::warn!(id, %fault, "an answer in the client was not taken");
                        Ok(())
                    }
                    // The next look tells the call what it is about.
                    Ok(_) | Err(_) => Ok(()),
                }
            })
            .await?;
        Ok(heard?)
    }

    async fn stand(&self, exact: &Arc<ExactCall>, known: Option<String>) -> Result<Standing, Failure> {
        let (exact, caller) = (exact.clone(), self.pending.caller.clone());
        let standing =
            self.on_disk(move |approvals| approvals.stand(&caller, &exact, known.as_deref())).await?;
        standing.map_err(|error| Refusal::NoApprovals(error.to_string()).into())
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Approvals) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let approvals = self.gate.approvals.clone();
        let done = spawn_blocking(move || work(&approvals)).await;
        done.map_err(|_| Failure::Internal(Internal { call: self.pending.id }))
    }

    /// The client is told of the question and may come back for it.
    async fn leave_open(&self, approval: &Approval) -> Result<(), Failure> {
        let id = approval.id.clone();
        let left = self.on_disk(move |approvals| approvals.leave_open(&id)).await?;
        left.map_err(|fault| Refusal::NoApprovals(fault.to_string()).into())
    }

    /// Waits as long as a call may for an answer from elsewhere.
    async fn wait(
        &self,
        approval: Approval,
        exact: &Arc<ExactCall>,
        mut changes: watch::Receiver<u64>,
    ) -> Result<Standing, Failure> {
        if self.config.wait.is_zero() {
            return Ok(Standing::Pending(approval));
        }
        self.report();
        let deadline = Instant::now() + self.config.wait;
        // What is over ends by the clock of the store, which need not go with ours: a moment later it has ended by both.
        let left_ms = approval.expires_at_ms.saturating_sub(self.gate.approvals.now_ms());
        let ends = Instant::now() + Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)) + ENDED_BY;
        let waiter = self.gate.approvals.await_answer(&approval.id);
        let mut last_sign = Instant::now();
        let mut standing = Standing::Pending(approval);
        while let Standing::Pending(approval) = &standing {
            let known = Some(approval.id.to_string());
            let is_changed = tokio::select! {
                biased;
                () = self.call.cancel.cancelled() => {
                    // Nobody is to be asked for an answer that nobody waits for.
                    if waiter.is_alone() {
                        let id = waiter.id.clone();
                        let withdrawn = self.on_disk(move |approvals| approvals.withdraw(&id)).await?;
                        withdrawn.inspect_err(|why| tracing::warn!(%why, "a question is still open")).ok();
                    }
                    return Err(ToolError::cancelled().into());
                }
                changed = changes.changed() => changed.is_ok(),
                () = sleep_until(deadline.min(ends)) => return self.stand(exact, known).await,
                () = sleep(LOOK_EVERY) => false,
            };
            if last_sign.elapsed() >= SIGN_EVERY {
                last_sign = Instant::now();
                let id = waiter.id.clone();
                // What cannot be said just now can be in a moment.
                let _ = self.on_disk(move |approvals| approvals.still_awaited(&id)).await?;
            }
            if is_changed {
                standing = self.stand(exact, known).await?;
            } else {
                self.on_disk(Approvals::look).await?;
            }
        }
        Ok(standing)
    }

    /// Tells a client that wants to hear of progress what it waits for.
    fn report(&self) {
        if let Some(listener) = &self.call.listener {
            let message = Some("waiting for a person to allow it".to_owned());
            listener.progress(Progress::Step { done: 0.0, total: None, message });
        }
    }

    fn decided(
        &self,
        standing: Standing,
        exact: &ExactCall,
        entry: &mut Entry<'_>,
    ) -> Result<Admitted, Failure> {
        let tool = self.pending.tool_name();
        let refusal = match standing {
            Standing::Granted(grant) => {
                let carried = Carried::of(exact, grant.id, (grant.by, Through::Grant));
                entry.approved(approved(&carried.id, &carried.by, carried.through.as_str(), "approved"));
                return Ok(Admitted::Yes(Some(carried)));
            }
            Standing::Allowed(approval) => {
                let answered = answered_by(&approval);
                let carried = Carried::of(exact, approval.id, answered);
                entry.approved(approved(&carried.id, &carried.by, carried.through.as_str(), "approved"));
                return Ok(Admitted::Yes(Some(carried)));
            }
            Standing::Denied(approval) => {
                let (by, through) = answered_by(&approval);
                entry.approved(approved(&approval.id, &by, through.as_str(), "denied"));
                let reason = approval.answered.as_ref().and_then(|answered| answered.note.clone());
                Refusal::ApprovalDenied { tool, by, reason }
            }
            Standing::Expired(approval) => {
                entry.approved(approved(&approval.id, &Arc::from("nobody"), "none", "expired"));
                Refusal::ApprovalExpired { tool }
            }
            Standing::Pending(approval) => Refusal::ApprovalPending(Box::new(Awaited {
                why: approval.why(),
                roles: approval.roles(),
                expires_at_ms: approval.expires_at_ms,
                id: approval.id,
            })),
            Standing::Stranger => Refusal::KeyRevoked { tool },
            Standing::Full { max, is_own_share } => Refusal::TooManyApprovals { tool, max, is_own_share },
        };
        Err(refusal.into())
    }

    /// Only a client whose caller could answer is asked: what its user says counts as the caller's word. And only where
    /// no program of the agent's can be that client.
    fn may_ask_client(&self, approval: &Approval) -> bool {
        self.config.elicitation
            && holds_roles(self.pending.caller.roles(), &approval.approvers())
            && has_person_at_client(self.pending.caller)
            && form::is_shown_by(&self.call.client.capabilities)
    }

    async fn has_persons_client(&self) -> Result<bool, Failure> {
        let askers = self.call.askers.clone();
        let is_a_persons = move |approvals: &Approvals| approvals.may_ask_client(&askers);
        self.on_disk(is_a_persons).await
    }

    /// What has the client ask its user; nothing if it would have to keep too much for the tool besides.
    async fn ask_client(
        &self,
        approval: &Approval,
        input: Option<&Input>,
        arguments: &Bytes,
    ) -> Result<Option<Outcome>, Failure> {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let question = Question {
            id: approval.id.to_string(),
            responses: input.and_then(|input| input.responses.as_ref()).map(text),
            state: input.and_then(|input| input.state.as_deref()).map(str::to_owned),
        };
        let state = question.to_state();
        if state.len() > STATE_SEALED_MAX {
            return Ok(None);
        }
        let (caller, target) = (self.pending.caller, &self.call.target);
        let sealed = self.gate.seal_state(caller, target, arguments, &state).await;
        let sealed = sealed.ok_or(Failure::Internal(Internal { call: self.pending.id }))?;
        let wants_code = self.on_disk(Approvals::has_code).await?;
        let wants_code = wants_code.map_err(|error| Refusal::NoApprovals(error.to_string()))?;
        let requests = Some(form::question(approval, wants_code));
        let payload = Payload::InputRequired { requests, state: Some(sealed), hold: None };
        Ok(Some(Outcome { payload, is_error: false }))
    }
}

fn answered_by(approval: &Approval) -> (Arc<str>, Through) {
    let answered = approval.answered.as_ref().expect("what is approved or denied was answered");
    (answered.by.clone(), answered.through)
}

fn approved(id: &Arc<str>, by: &Arc<str>, through: &'static str, answer: &'static str) -> Approved {
    Approved { id: id.clone(), by: by.clone(), through, answer }
}

impl Carried {
    fn of(exact: &ExactCall, id: Arc<str>, (by, through): (Arc<str>, Through)) -> Carried {
        let rules = exact.questions.iter().map(|asked| asked.rule.clone()).collect();
        Carried { id, by, through, call: exact.hash, rules }
    }

    fn covers(&self, exact: &ExactCall) -> bool {
        self.call == exact.hash && exact.questions.iter().all(|asked| self.rules.contains(&asked.rule))
    }

    /// As it stands before a tool's state.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("names and a hash can always be written")
    }

    /// Reads that.
    pub(crate) fn parse(text: &str) -> Option<Carried> {
        serde_json::from_str(text).ok()
    }
}

impl Question {
    /// As it stands in a sealed state.
    fn to_state(&self) -> String {
        let text = serde_json::to_string(self).expect("texts can always be written");
        format!("{}{text}", crate::rounds::QUESTION)
    }

    /// Reads what follows the mark, and gives what the client had brought for the tool.
    pub(crate) fn parse(text: &str) -> Option<(Question, Option<Input>)> {
        let mut question: Question = serde_json::from_str(text).ok()?;
        let (responses, state) = (question.responses.take(), question.state.take());
        let is_there = responses.is_some() || state.is_some();
        let input = Input { responses: responses.map(Bytes::from), state: state.map(Arc::from) };
        Some((question, is_there.then_some(input)))
    }
}
