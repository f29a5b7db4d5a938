//! The step: a call that the checks have questions about passes with a person's permission or not at all.

use std::sync::Arc;
use std::time::Duration;

use audit::Approved;
use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use tool_api::{CallId, Cancel, Client, Listener, Progress, ToolError};

use super::answer::{has_person_at_client, holds_roles};
use super::approval_store::Standing;
use super::call::ExactCall;
use super::carried::{Brought, Carried, ClientQuestion};
use super::config::Config;
use super::fault::AnswerFault;
use super::presence::Asker;
use super::record::{Approval, Through};
use super::{Approvals, LOOK_EVERY, SIGN_EVERY, form};
use crate::candidate::Candidate;
use crate::failure::{Awaited, Failure, Internal, Refusal, Ruling};
use crate::seal::STATE_SEALED_MAX;

/// The step's name in records.
pub(crate) const STEP: &str = "approval";

/// How much later than by the clock of the store a question is looked at that has ended.
const ENDED_BY: Duration = Duration::from_millis(20);

/// What the step says of a call.
pub(crate) enum Settled {
    /// It runs; with the permission for its further rounds.
    Allowed(Carried),
    /// The client is asked first: its `inputRequests`, and what it keeps meanwhile.
    AskClient(Bytes, ClientQuestion),
}

/// A call that the checks want a person's consent for, and who waits for it.
pub(crate) struct Asking<'a> {
    pub(crate) approvals: &'a Arc<Approvals>,
    pub(crate) config: &'a Config,
    pub(crate) id: CallId,
    pub(crate) candidate: &'a Candidate,
    pub(crate) client: &'a Client,
    pub(crate) cancel: &'a Cancel,
    pub(crate) listener: Option<&'a Arc<dyn Listener>>,
    pub(crate) askers: &'a Arc<[Asker]>,
}

impl Asking<'_> {
    /// Lets a call pass that a person has allowed. `approved` is what the record says of it.
    ///
    /// # Errors
    /// It is not allowed, or not yet.
    pub(crate) async fn settle(
        &self,
        exact: ExactCall,
        brought: &mut Brought,
        approved: &mut Option<Approved>,
    ) -> Result<Settled, Failure> {
        if let Some(carried) = brought.carried.take().filter(|carried| carried.covers(&exact)) {
            *approved = Some(allowed(&carried));
            return Ok(Settled::Allowed(carried));
        }
        let first = self.candidate.judgement.consents.first();
        if let Some(consent) =
            first.filter(|_| exact.question.questions.iter().any(|asked| asked.roles.is_empty()))
        {
            let (rule, why) = (consent.rule.clone(), consent.why.clone());
            return Err(Refusal::NeedsApproval(Ruling { tool: self.candidate.tool_name(), rule, why }).into());
        }
        let exact = Arc::new(exact);
        let asked = brought.question.take();
        if let (Some(question), Some(responses)) = (&asked, &brought.answers) {
            self.take_answer(&question.id, responses).await?;
        }
        let known = asked.as_ref().map(|question| question.id.clone());
        // Before the first look, so that no answer falls between the two.
        let changes = self.approvals.changes.subscribe();
        let standing = self.stand(&exact, known).await?;
        let Standing::Pending(approval) = standing else { return self.decide(standing, &exact, approved) };
        if asked.is_none() && self.may_ask_client(&approval) && self.has_persons_client().await? {
            let question = ClientQuestion::new(&approval.id, brought.input.as_ref());
            // A client is not asked that would have to keep too much for the tool besides.
            if question.bytes() < STATE_SEALED_MAX {
                let wants_code = self.on_disk(Approvals::has_code).await?;
                let wants_code = wants_code.map_err(|error| Refusal::NoApprovals(error.to_string()))?;
                self.leave_open(&approval).await?;
                return Ok(Settled::AskClient(form::question(&approval, wants_code), question));
            }
        }
        let standing = self.wait(approval, &exact, changes).await?;
        if let Standing::Pending(approval) = &standing {
            self.leave_open(approval).await?;
        }
        self.decide(standing, &exact, approved)
    }

    /// Takes the answer that a client brings from its user. One that comes too late, or second, changes nothing: how
    /// things stand is looked at afterwards in any case.
    async fn take_answer(&self, id: &str, responses: &Bytes) -> Result<(), Failure> {
        let Some((answer, code)) = form::answer(responses, id) else { return Ok(()) };
        let (id, by) = (id.to_owned(), self.candidate.caller.clone());
        let taken = self
            .on_disk(move |approvals| -> Result<(), Refusal> {
                match approvals.settle(&id, &answer, &by, (Through::Elicitation, code.as_ref())) {
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
        Ok(taken?)
    }

    async fn stand(&self, exact: &Arc<ExactCall>, known: Option<String>) -> Result<Standing, Failure> {
        let (exact, caller) = (exact.clone(), self.candidate.caller.clone());
        let standing =
            self.on_disk(move |approvals| approvals.stand(&caller, &exact, known.as_deref())).await?;
        standing.map_err(|error| Refusal::NoApprovals(error.to_string()).into())
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Approvals) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let approvals = self.approvals.clone();
        let done = spawn_blocking(move || work(&approvals)).await;
        done.map_err(|_| Failure::Internal(Internal { call: self.id }))
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
        let left_ms = approval.expires_at_ms.saturating_sub(self.approvals.now_ms());
        let ends = Instant::now() + Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)) + ENDED_BY;
        let waiter = self.approvals.await_answer(&approval.id);
        let mut last_sign = Instant::now();
        let mut standing = Standing::Pending(approval);
        while let Standing::Pending(approval) = &standing {
            let known = Some(approval.id.to_string());
            let is_changed = tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    // If nobody else waits for the answer, cancel the question.
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
        if let Some(listener) = self.listener {
            let message = Some("waiting for a person to allow it".to_owned());
            listener.progress(Progress::Step { done: 0.0, total: None, message });
        }
    }

    fn decide(
        &self,
        standing: Standing,
        exact: &ExactCall,
        approved: &mut Option<Approved>,
    ) -> Result<Settled, Failure> {
        let tool = self.candidate.tool_name();
        let mut allow = |id: Arc<str>, answered: (Arc<str>, Through)| {
            let carried = Carried::of(exact, id, answered);
            *approved = Some(allowed(&carried));
            Ok(Settled::Allowed(carried))
        };
        let refusal = match standing {
            Standing::Granted(grant) => return allow(grant.id, (grant.by, Through::Grant)),
            Standing::Allowed(approval) => {
                let answered = answered_by(&approval);
                return allow(approval.id, answered);
            }
            Standing::Denied(approval) => {
                let (by, through) = answered_by(&approval);
                let (id, through) = (approval.id, through.as_str());
                *approved = Some(Approved { id, by: by.clone(), through, answer: "denied" });
                let reason = approval.answered.and_then(|answered| answered.note);
                Refusal::ApprovalDenied { tool, by, reason }
            }
            Standing::Expired(approval) => {
                let (id, by) = (approval.id, Arc::from("nobody"));
                *approved = Some(Approved { id, by, through: "none", answer: "expired" });
                Refusal::ApprovalExpired(tool)
            }
            Standing::Pending(approval) => Refusal::ApprovalPending(Box::new(Awaited {
                why: approval.why(),
                roles: approval.roles(),
                expires_at_ms: approval.expires_at_ms,
                id: approval.id,
            })),
            Standing::Stranger => Refusal::KeyRevoked(tool),
            Standing::Full { max, is_own_share } => Refusal::TooManyApprovals { tool, max, is_own_share },
        };
        Err(refusal.into())
    }

    /// Only a client whose caller could answer is asked: what its user says counts as the caller's word. And only where
    /// no program of the agent's can be that client.
    fn may_ask_client(&self, approval: &Approval) -> bool {
        self.config.elicitation
            && holds_roles(self.candidate.caller.roles(), &approval.approvers())
            && has_person_at_client(&self.candidate.caller)
            && form::is_shown_by(&self.client.capabilities)
    }

    async fn has_persons_client(&self) -> Result<bool, Failure> {
        let askers = self.askers.clone();
        let is_a_persons = move |approvals: &Approvals| approvals.may_ask_client(&askers);
        self.on_disk(is_a_persons).await
    }
}

fn answered_by(approval: &Approval) -> (Arc<str>, Through) {
    let answered = approval.answered.as_ref().expect("what is approved or denied was answered");
    (answered.by.clone(), answered.through)
}

fn allowed(carried: &Carried) -> Approved {
    let (id, by) = (carried.id.clone(), carried.by.clone());
    Approved { id, by, through: carried.through.as_str(), answer: "approved" }
}
