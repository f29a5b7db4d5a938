//! The step: a call that the checks have questions about passes with a person's permission or not at all.

use std::sync::Arc;

use audit::Approved;
use bytes::Bytes;
use tokio::time::sleep;
use tool_api::{CallId, Cancel, Client, Listener, Progress};

use super::approval_store::Standing;
use super::call::ExactCall;
use super::carried::{Brought, Carried, ClientQuestion};
use super::config::Config;
use super::presence::Asker;
use super::record::{Approval, Through};
use super::waiting::{Waiting, may_ask_client};
use super::{Approvals, form};
use crate::candidate::Candidate;
use crate::failure::{Awaited, Failure, Refusal, Ruling};
use crate::seal::STATE_SEALED_MAX;

/// The step's name in records.
pub(crate) const STEP: &str = "approval";

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
        let waiting = self.waiting();
        let asked = brought.question.take();
        if let (Some(question), Some(responses)) = (&asked, &brought.answers) {
            waiting.take_answer(&question.id, responses).await?;
        }
        let known = asked.as_ref().map(|question| question.id.clone());
        // Before the first look, so that no answer falls between the two.
        let changes = self.approvals.changes.subscribe();
        let standing = waiting.stand(&exact, known).await?;
        let Standing::Pending(approval) = standing else { return self.decide(standing, &exact, approved) };
        if asked.is_none() && self.may_ask_client(&approval) && waiting.is_persons_client(self.askers).await?
        {
            let question = ClientQuestion::new(&approval.id, brought.input.as_ref());
            // A client is not asked that would have to keep too much for the tool besides.
            if question.bytes() < STATE_SEALED_MAX {
                let wants_code = waiting.on_disk(Approvals::has_code).await?;
                let wants_code = wants_code.map_err(|error| Refusal::NoApprovals(error.to_string()))?;
                waiting.leave_open(&approval).await?;
                return Ok(Settled::AskClient(form::question(&approval, wants_code), question));
            }
        }
        let standing = if self.config.wait.is_zero() {
            Standing::Pending(approval)
        } else {
            self.report();
            waiting.wait(approval, &exact, changes, sleep(self.config.wait)).await?
        };
        if let Standing::Pending(approval) = &standing {
            waiting.leave_open(approval).await?;
        }
        self.decide(standing, &exact, approved)
    }

    fn may_ask_client(&self, approval: &Approval) -> bool {
        may_ask_client(self.config, &self.candidate.caller, &self.client.capabilities, &approval.approvers())
    }

    fn waiting(&self) -> Waiting<'_> {
        let Asking { approvals, id, cancel, .. } = *self;
        Waiting { approvals, caller: &self.candidate.caller, cancel, id }
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
        if let Some(told) = standing.approved() {
            *approved = Some(told);
        }
        let allow = |id: Arc<str>, answered: (Arc<str>, Through)| {
            Ok(Settled::Allowed(Carried::of(exact, id, answered)))
        };
        let refusal = match standing {
            Standing::Granted(grant) => return allow(grant.id, (grant.by, Through::Grant)),
            Standing::Allowed(approval) => {
                let answered = answered_by(&approval);
                return allow(approval.id, answered);
            }
            Standing::Denied(approval) => {
                let (by, _) = answered_by(&approval);
                let reason = approval.answered.and_then(|answered| answered.note);
                Refusal::ApprovalDenied { tool, by, reason }
            }
            Standing::Expired(_) => Refusal::ApprovalExpired(tool),
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
}

impl Standing {
    /// What a record says of it, once it is settled.
    pub(super) fn approved(&self) -> Option<Approved> {
        let (id, (by, through), answer) = match self {
            Standing::Granted(grant) => (&grant.id, (grant.by.clone(), Through::Grant.as_str()), "approved"),
            Standing::Allowed(approval) => (&approval.id, told_by(approval), "approved"),
            Standing::Denied(approval) => (&approval.id, told_by(approval), "denied"),
            Standing::Expired(approval) => (&approval.id, ("nobody".into(), "none"), "expired"),
            Standing::Pending(_) | Standing::Stranger | Standing::Full { .. } => return None,
        };
        Some(Approved { id: id.clone(), by, through, answer })
    }
}

fn told_by(approval: &Approval) -> (Arc<str>, &'static str) {
    let (by, through) = answered_by(approval);
    (by, through.as_str())
}

fn answered_by(approval: &Approval) -> (Arc<str>, Through) {
    let answered = approval.answered.as_ref().expect("what is approved or denied was answered");
    (answered.by.clone(), answered.through)
}

fn allowed(carried: &Carried) -> Approved {
    let (id, by) = (carried.id.clone(), carried.by.clone());
    Approved { id, by, through: carried.through.as_str(), answer: "approved" }
}
