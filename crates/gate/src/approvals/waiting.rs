//! Waiting for a person: how things stand for what is asked, an answer that a client brings, and the time until there is one.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use policy::{Caller, Roles};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use tool_api::{CallId, Cancel, ToolError, shows_forms};

use super::answer::{has_person_at_client, holds_roles};
use super::approval_store::Standing;
use super::call::ExactCall;
use super::config::Config;
use super::fault::AnswerFault;
use super::presence::Asker;
use super::record::{Approval, Through};
use super::{Approvals, LOOK_EVERY, SIGN_EVERY, form};
use crate::failure::{Failure, Internal, Refusal};

/// How much later than by the clock of the store a question is looked at that has ended.
const ENDED_BY: Duration = Duration::from_millis(20);

/// Only a client whose caller could answer is asked: what its user says counts as the caller's word. And only where no program
/// of the agent's can be that client.
pub(super) fn may_ask_client(
    config: &Config,
    caller: &Caller,
    capabilities: &[u8],
    approvers: &[Roles],
) -> bool {
    config.elicitation
        && holds_roles(caller.roles(), approvers)
        && has_person_at_client(caller)
        && shows_forms(capabilities)
}

/// Whoever waits.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'a> {
    pub(super) approvals: &'a Arc<Approvals>,
    pub(super) caller: &'a Caller,
    pub(super) cancel: &'a Cancel,
    pub(super) id: CallId,
}

impl Waiting<'_> {
    /// Takes the answer that a client brings from its user. One that comes too late, or second, changes nothing: how
    /// things stand is looked at afterwards in any case.
    pub(super) async fn take_answer(&self, id: &str, responses: &Bytes) -> Result<(), Failure> {
        let Some((answer, code)) = form::answer(responses, id) else { return Ok(()) };
        let (id, by) = (id.to_owned(), self.caller.clone());
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

    pub(super) async fn stand(
        &self,
        exact: &Arc<ExactCall>,
        known: Option<String>,
    ) -> Result<Standing, Failure> {
        let (exact, caller) = (exact.clone(), self.caller.clone());
        let standing =
            self.on_disk(move |approvals| approvals.stand(&caller, &exact, known.as_deref())).await?;
        standing.map_err(|error| Refusal::NoApprovals(error.to_string()).into())
    }

    pub(super) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Approvals) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let approvals = self.approvals.clone();
        let done = spawn_blocking(move || work(&approvals)).await;
        done.map_err(|_| Failure::Internal(Internal { call: self.id }))
    }

    /// The client is told of the question and may come back for it.
    pub(super) async fn leave_open(&self, approval: &Approval) -> Result<(), Failure> {
        let id = approval.id.clone();
        let left = self.on_disk(move |approvals| approvals.leave_open(&id)).await?;
        left.map_err(|fault| Refusal::NoApprovals(fault.to_string()).into())
    }

    /// Waits for an answer, from wherever it comes, at most until `until` resolves. It must not be dropped while it is wanted: a
    /// look that finds an answer uses it up.
    pub(super) async fn wait(
        &self,
        approval: Approval,
        exact: &Arc<ExactCall>,
        mut changes: watch::Receiver<u64>,
        until: impl Future<Output = ()>,
    ) -> Result<Standing, Failure> {
        let mut until = pin!(until);
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
                () = &mut until => return self.stand(exact, known).await,
                () = sleep_until(ends) => return self.stand(exact, known).await,
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

    /// Whether the client at these processes is a person's.
    pub(super) async fn is_persons_client(&self, askers: &Arc<[Asker]>) -> Result<bool, Failure> {
        let askers = askers.clone();
        self.on_disk(move |approvals| approvals.may_ask_client(&askers)).await
    }
}
