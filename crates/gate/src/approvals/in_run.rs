//! A person's answer to what a run wants beyond what its call may touch, while it waits. It is a question like that about a
//! call, and answered in the same ways; but it ends with the call, and whoever answers later is told so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use audit::Approved;
use bytes::Bytes;
use redact::Redactor;
use sandbox::egress::Reason;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tool_api::Cancel;

use super::approval_store::Standing;
use super::call::ExactCall;
use super::config::Config;
use super::forms::Forms;
use super::record::Approval;
use super::waiting::{Waiting, may_ask_client};
use super::wish::{Wish, Wishing};
use super::{Approvals, form};
use crate::failure::{Failure, Refusal};

/// Most questions in one run. A program that wants more hosts than a person would read asks for the sake of asking.
pub const RUN_QUESTIONS_MAX: usize = 8;

/// The longest time that a run waits for an answer. Most programs wait longer for a connection; the call's own time goes on.
pub const RUN_WAIT_MAX: Duration = Duration::from_secs(60);

/// Asks about what one run wants.
pub(crate) struct InRun<'a> {
    pub(crate) approvals: &'a Arc<Approvals>,
    pub(crate) config: &'a Config,
    pub(crate) redactor: &'a Redactor,
    /// Shows a form to the client's user, if that can be done while the call runs.
    pub(crate) forms: Option<&'a dyn Forms>,
    /// The client's.
    pub(crate) capabilities: Bytes,
    /// Set when the call is over: what is open then ends, since whoever answers it later would do so for nothing.
    pub(crate) over: Cancel,
    pub(crate) wishing: Wishing,
    /// How often somebody was asked.
    pub(crate) asked: AtomicUsize,
    /// Whether a question ended without an answer: who is not at the client is waited for once in a call.
    pub(crate) is_alone: AtomicBool,
}

/// What came of a wish.
pub(crate) struct Settled {
    /// Whether it is allowed, or why not.
    pub(crate) answer: Result<(), Reason>,
    /// What the record says of it; nothing if nobody was asked.
    pub(crate) approved: Option<Approved>,
}

impl InRun<'_> {
    /// Whether somebody could be asked, as far as that can be told without a look at the disk.
    pub(crate) fn is_possible(&self) -> bool {
        let approvers = self.wishing.approvers(self.config);
        !approvers.is_empty() && (!self.config.wait.is_zero() || self.form().is_some())
    }

    /// What a person says of this, or has said before. Refused whatever goes wrong.
    pub(crate) async fn settle(&self, wish: &Wish) -> Settled {
        self.asked(wish).await.unwrap_or_else(|failure| {
            if !failure.is_cancelled() {
                tracing::warn!(%failure, "nobody could be asked about what a program wants");
            }
            Settled::refused()
        })
    }

    async fn asked(&self, wish: &Wish) -> Result<Settled, Failure> {
        let Some(exact) = self.wishing.exact(wish, self.redactor, self.config) else {
            return Ok(Settled::refused());
        };
        let (exact, waiting) = (Arc::new(exact), self.waiting());
        // Before the first look, so that no answer falls between the two.
        let changes = self.approvals.changes.subscribe();
        let (caller, granted) = (self.wishing.caller.clone(), exact.clone());
        let granted = waiting.on_disk(move |approvals| approvals.settled_before(&caller, &granted)).await?;
        if let Some(standing) = granted.map_err(|error| Refusal::NoApprovals(error.to_string()))? {
            return Ok(Settled::of(standing));
        }
        let form = match self.form() {
            Some(form) if waiting.is_persons_client(&self.wishing.askers).await? => Some(form),
            Some(_) | None => None,
        };
        let is_heard = form.is_some() || !self.wait().is_zero();
        if !is_heard || self.asked.fetch_add(1, Ordering::Relaxed) >= RUN_QUESTIONS_MAX {
            return Ok(Settled::refused());
        }
        let standing = match waiting.stand(&exact, None).await? {
            Standing::Pending(approval) => self.answered(form, approval, &exact, changes).await?,
            standing => standing,
        };
        Ok(Settled::of(standing))
    }

    /// What becomes of a question. One that nobody answers in time ends.
    async fn answered(
        &self,
        form: Option<&dyn Forms>,
        approval: Approval,
        exact: &Arc<ExactCall>,
        changes: watch::Receiver<u64>,
    ) -> Result<Standing, Failure> {
        let waiting = self.waiting();
        let elsewhere_max = self.wait();
        let asked = approval.clone();
        let until = async {
            let answered_elsewhere = async {
                if let Some(form) = form {
                    self.show(form, &asked).await;
                }
                sleep(elsewhere_max).await;
            };
            // Whichever ends first.
            let _ = timeout(RUN_WAIT_MAX, answered_elsewhere).await;
        };
        let standing = waiting.wait(approval, exact, changes, until).await?;
        let Standing::Pending(approval) = standing else { return Ok(standing) };
        self.is_alone.store(true, Ordering::Relaxed);
        let id = approval.id.clone();
        let ended = waiting.on_disk(move |approvals| approvals.withdraw(&id)).await?;
        ended.map_err(|fault| Refusal::NoApprovals(fault.to_string()))?;
        // Somebody may have answered at the last moment, and been told that it counts.
        waiting.stand(exact, Some(approval.id.to_string())).await
    }

    /// How long somebody is waited for who is not at the client.
    fn wait(&self) -> Duration {
        if self.is_alone.load(Ordering::Relaxed) {
            Duration::ZERO
        } else {
            self.config.wait.min(RUN_WAIT_MAX)
        }
    }

    /// Has the client ask its user, and puts its answer where the wait finds it.
    async fn show(&self, form: &dyn Forms, approval: &Approval) {
        let shown = async {
            let waiting = self.waiting();
            let wants_code = waiting.on_disk(Approvals::has_code).await?;
            let wants_code = wants_code.map_err(|error| Refusal::NoApprovals(error.to_string()))?;
            match form.ask(form::question(approval, wants_code)).await {
                Some(responses) if !form.is_answered_itself() => {
                    waiting.take_answer(&approval.id, &responses).await
                }
                Some(_) | None => Ok(()),
            }
        };
        // Then others may still answer.
        shown.await.inspect_err(|failure| tracing::warn!(%failure, "a client could not be asked")).ok();
    }

    /// Who shows a form to the client's user, if that one may answer.
    fn form(&self) -> Option<&dyn Forms> {
        let (caller, approvers) = (&self.wishing.caller, [self.wishing.approvers(self.config)]);
        let may_show = |form: &&dyn Forms| {
            form.is_answered_itself() || may_ask_client(self.config, caller, &self.capabilities, &approvers)
        };
        self.forms.filter(|form| form.is_open()).filter(may_show)
    }

    fn waiting(&self) -> Waiting<'_> {
        let Wishing { id, caller, .. } = &self.wishing;
        Waiting { approvals: self.approvals, caller, cancel: &self.over, id: *id }
    }
}

impl Settled {
    pub(crate) fn refused() -> Settled {
        Settled { answer: Err(Reason::NoRule), approved: None }
    }

    fn of(standing: Standing) -> Settled {
        let standing = match standing {
            // It ends with the run.
            Standing::Pending(approval) => Standing::Expired(approval),
            standing => standing,
        };
        let answer = match &standing {
            Standing::Granted(_) | Standing::Allowed(_) => Ok(()),
            Standing::Denied(_) => Err(Reason::Denied),
            Standing::Pending(_) | Standing::Expired(_) => Err(Reason::Unanswered),
            Standing::Stranger | Standing::Full { .. } => Err(Reason::NoRule),
        };
        Settled { answer, approved: standing.approved() }
    }
}
