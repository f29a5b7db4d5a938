//! A call that a rule wants made dry before a person is asked about it, so that they see what it would change.

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::spawn_blocking;
use tool_api::{CallId, Outcome};

use crate::admitted::{Admitted, Identity};
use crate::approvals::{AnswerFault, Brought, ExactCall, WouldChange};
use crate::candidate::Candidate;
use crate::dry_run::{self, Earnest, PLAN_LASTS};
use crate::failure::{Failure, Internal, Refusal, Ruling};
use crate::gate::Gate;
use crate::plan_fault::PlanFault;
use crate::record_scope::RecordScope;
use crate::request::Call;
use crate::ruleset::Ruleset;

/// What comes of a dry run that a rule wants.
pub(super) enum First {
    /// The question, with what the call would change.
    Ask(Box<ExactCall>),
    /// The tool says that it fails, so there is nothing to ask about.
    Failed(Outcome),
}

impl Gate {
    /// Adds to a question what its call would change, if a rule wants that. What a person was shown stands as long as those files
    /// are as they were, so that an answer counts for a program that never writes the same twice.
    pub(super) async fn dry_first(
        &self,
        candidate: &mut Candidate,
        exact: ExactCall,
        call: &mut Call<'_>,
        (id, original, brought): (CallId, &Bytes, &mut Brought),
        ruleset: &Ruleset,
        record: &mut RecordScope<'_>,
    ) -> Result<First, Failure> {
        let wanted = candidate.judgement.consents.iter().find(|consent| consent.dry_run_first);
        let is_allowed = brought.carried.as_ref().is_some_and(|carried| carried.covers(&exact));
        let Some(rule) = wanted.filter(|_| !is_allowed).map(|consent| consent.rule.clone()) else {
            return Ok(First::Ask(Box::new(exact)));
        };
        let ask = |would_change| Ok(First::Ask(Box::new(exact.clone().showing(would_change, PLAN_LASTS))));
        let belongs_to = dry_run::call_hash_of(&candidate.caller, &candidate.offered, original);
        for (approval, shown) in self.shown(id, &exact).await? {
            match self.follows(id, &shown.plan_hash, belongs_to).await {
                Ok(()) => return ask(shown),
                Err(Failure::Refused(Refusal::NotPlanned(PlanFault::Unavailable(why)))) => {
                    return Err(Refusal::NotPlanned(PlanFault::Unavailable(why)).into());
                }
                // Nobody is to answer for what would not be done.
                Err(_) => self.outdated(id, approval).await?,
            }
        }
        // A client that was asked about something else is asked anew.
        (brought.question, brought.answers) = (None, None);
        let outcome = self.run_dry(candidate, call, (id, original), ruleset, record).await?;
        match &outcome.planned {
            Some(planned) if planned.is_cut => {
                let why =
                    "would change more files than a person can be shown, which they must be before".into();
                Err(Refusal::Denied(Ruling { tool: candidate.tool_name(), rule, why }).into())
            }
            Some(planned) if !outcome.is_error => ask(WouldChange::of(planned)),
            Some(_) | None => Ok(First::Failed(outcome)),
        }
    }

    /// Makes the call dry, as if its caller had asked for that.
    async fn run_dry(
        &self,
        candidate: &mut Candidate,
        call: &mut Call<'_>,
        (id, original): (CallId, &Bytes),
        ruleset: &Ruleset,
        record: &mut RecordScope<'_>,
    ) -> Result<Outcome, Failure> {
        let rewritten = candidate.original.is_some().then(|| candidate.content.arguments.bytes());
        let admitted = Box::new(Admitted {
            identity: Identity {
                id,
                caller: candidate.caller.clone(),
                offered: candidate.offered.clone(),
                action: candidate.action,
                target: candidate.target.clone(),
                origin: None,
                arguments: original.clone(),
                rewritten,
                approval: None,
            },
            key: None,
            arguments: candidate.content.arguments.clone(),
            meta: None,
            input: None,
            plan: candidate.plan.clone(),
            decision: candidate.judgement.decision.clone(),
            obeyed: candidate.judgement.obeyed.clone(),
            // They are asked again before the call itself runs.
            on_result: candidate.judgement.on_result.take(),
        });
        // Its progress is not that of the call.
        let (listener, client) = (call.listener.take(), call.client.clone());
        let earnest = mem::replace(&mut call.earnest, Earnest::Dry);
        let ran = self.run(admitted, call, ruleset, record).await;
        (call.listener, call.client, call.earnest) = (listener, client, earnest);
        self.finish(ran, None, ruleset, record).await
    }

    async fn shown(&self, id: CallId, exact: &ExactCall) -> Result<Vec<(Arc<str>, WouldChange)>, Failure> {
        let (approvals, exact) = (self.approvals.clone(), exact.clone());
        let shown =
            spawn_blocking(move || approvals.shown(&exact)).await.map_err(|_| Internal { call: id })?;
        shown.map_err(|error| Refusal::NoApprovals(error.to_string()).into())
    }

    async fn outdated(&self, id: CallId, approval: Arc<str>) -> Result<(), Failure> {
        let approvals = self.approvals.clone();
        let ended = spawn_blocking(move || approvals.outdated(&approval)).await;
        let ended: Result<(), AnswerFault> = ended.map_err(|_| Internal { call: id })?;
        ended.map_err(|fault| Refusal::NoApprovals(fault.to_string()).into())
    }
}
