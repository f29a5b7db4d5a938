//! What becomes of a job when its call has ended: it is over, it waits for somebody, or it is tried again.

use std::sync::Arc;

use ::jobs::{Event, Job, MESSAGE_CHARS_MAX, RESULT_BYTES_MAX, State, back_off};
use store::{Hold, StoreError};
use tokio::time::sleep;
use tool_api::{Outcome, Payload};

use super::kept_result::{KeptResult, StoredFailure};
use super::live::{End, Live, With};
use super::of_process::Jobs;
use crate::approvals::asked_for;
use crate::failure::{Failure, Refusal};
use crate::kept_outcome::KeptOutcome;

/// What follows.
enum Next {
    End(State, KeptResult),
    /// A person is asked.
    Approval(Arc<str>, String),
    /// The caller is asked.
    Input(KeptResult),
    /// It is tried again.
    Again(StoredFailure),
    /// It waits for the next process.
    Later,
}

impl Jobs {
    /// Writes what came of a job, and has what follows begin.
    pub(super) async fn settle(self: &Arc<Self>, live: &Arc<Live>, result: Result<Outcome, Failure>) {
        let job = live.job().await;
        let is_ours = self.inner().is_held(live);
        if !is_ours {
            return;
        }
        let hold = match &result {
            Ok(Outcome { payload: Payload::InputRequired { hold, .. }, .. }) => hold.clone(),
            Ok(_) | Err(_) => None,
        };
        // That of the round before is of no use any more, whatever follows.
        let before = {
            let mut inner = self.inner();
            match hold {
                Some(hold) => inner.holds.insert(live.id.clone(), hold),
                None => inner.holds.remove(&live.id),
            }
        };
        drop(before);
        let mut next = next(&job, result, live.ending());
        let mut was_too_large = false;
        for tried in 1.. {
            match self.go_on(live, &job, &next).await {
                Ok(true) => return,
                Ok(false) => {
                    tracing::warn!(job = %live.id, "a job is not kept any more, and what came of it neither");
                    return self.let_go(live);
                }
                // Neither becomes better by itself.
                Err(error @ StoreError::TooLarge { .. }) if !was_too_large => {
                    was_too_large = true;
                    next = failed(State::Failed, StoredFailure::new("result_too_large", error.to_string()));
                }
                Err(error @ (StoreError::TooLarge { .. } | StoreError::OtherVersion { .. })) => {
                    tracing::warn!(%error, job = %live.id, "what came of a job is not kept");
                    return self.let_go(live);
                }
                Err(error) => {
                    tracing::warn!(%error, job = %live.id, "the end of a job is not written yet");
                    // As long as the process lives: the job keeps its place among those that run meanwhile.
                    sleep(back_off(tried)).await;
                }
            }
        }
    }

    /// False if the job is not as this process has it: with its database it may be gone.
    async fn go_on(self: &Arc<Self>, live: &Arc<Live>, job: &Job, next: &Next) -> Result<bool, StoreError> {
        Ok(match next {
            Next::End(state, result) => {
                let (code, message) = result.told();
                let with = With { result: Some(result.clone()), ..With::default() };
                let edit = |job: &mut Job| {
                    if code.as_deref().is_some_and(was_not_allowed) {
                        never_began(job);
                    }
                    (job.code, job.message) = (code, message);
                };
                self.alter(live, *state, with, edit).await?
            }
            Next::Approval(id, why) => {
                let (state, message) = (State::WaitingApproval, Some(shown(why)));
                let events = vec![Event::State { status: state, message: message.clone() }];
                let approval = Some(id.to_string());
                let edit = |job: &mut Job| {
                    (job.message, job.approval) = (message, approval);
                    never_began(job);
                };
                let is_written = self.alter(live, state, With { events, ..With::default() }, edit).await?;
                self.inner().queue.remove(&live.id);
                is_written
            }
            Next::Input(asked) => {
                let with = With {
                    result: Some(asked.clone()),
                    hold: Hold::Release,
                    events: vec![Event::InputRequired {}],
                    ..With::default()
                };
                let message = Some("it wants an answer".to_owned());
                self.alter(live, State::InputRequired, with, |job| job.message = message).await?
            }
            Next::Again(failure) => {
                let wait = back_off(job.failures + 1);
                let message = format!("{}; tried again in {wait:?}", failure.message);
                let message = Some(shown(&message));
                let events = vec![Event::State { status: State::Queued, message: message.clone() }];
                let with = With { events, ..With::default() };
                let edit = |job: &mut Job| {
                    job.message = message;
                    job.failures += 1;
                };
                let is_written = self.alter(live, State::Queued, with, edit).await?;
                if is_written {
                    self.inner().queue.remove(&live.id);
                    let (jobs, live) = (self.clone(), live.clone());
                    self.spawn(async move {
                        sleep(wait).await;
                        jobs.wait_for_turn(&live).await;
                    });
                }
                is_written
            }
            Next::Later => {
                let with = With {
                    hold: Hold::Release,
                    events: vec![Event::State { status: State::Queued, message: None }],
                    ..With::default()
                };
                let is_written = self.alter(live, State::Queued, with, |_| {}).await?;
                self.let_go(live);
                is_written
            }
        })
    }
}

/// What follows from how the call of a job has ended.
fn next(job: &Job, result: Result<Outcome, Failure>, ending: Option<End>) -> Next {
    let failure = match result {
        Ok(outcome) if matches!(outcome.payload, Payload::InputRequired { .. }) => {
            // Its client would be asked for an approval. Whoever waits for the job need not be that client, so it is answered
            // as that of any job is.
            if let Some(id) = approval_asked(&outcome) {
                return Next::Approval(id.into(), "a person must allow it first".to_owned());
            }
            return kept(&outcome).map_or_else(|failure| failed(State::Failed, failure), Next::Input);
        }
        Ok(outcome) => {
            let state = if outcome.is_error { State::Failed } else { State::Succeeded };
            if outcome.is_error && may_try_again(job) {
                return Next::Again(StoredFailure::new("tool_failed", "its tool says that it failed"));
            }
            return match kept(&outcome) {
                Ok(result) => Next::End(state, result),
                Err(failure) => failed(State::Failed, failure),
            };
        }
        Err(failure) => failure,
    };
    let stored = StoredFailure::of(&failure);
    match (&failure, ending) {
        (Failure::Refused(Refusal::ApprovalPending(awaited)), None) => {
            Next::Approval(awaited.id.clone(), awaited.why.clone())
        }
        (failure, Some(End::Cancelled)) if failure.is_cancelled() => failed(State::Cancelled, stored),
        (failure, Some(End::Revoked)) if failure.is_cancelled() => {
            let message = format!(
                "`{}` was ended: the key that its job was taken under was revoked while it ran",
                job.tool
            );
            let refused = StoredFailure::from(&Refusal::KeyRevoked(job.tool.clone()));
            failed(State::Failed, StoredFailure { message, ..refused })
        }
        (failure, Some(End::Ending)) if failure.is_cancelled() => match job.idempotent {
            true => Next::Later,
            false => failed(State::Interrupted, interrupted()),
        },
        (Failure::Tool(_), None) if may_try_again(job) => Next::Again(stored),
        (Failure::Tool(error), _) if error.code() == "timeout" => failed(State::TimedOut, stored),
        (failure, _) if failure.is_cancelled() => failed(State::Cancelled, stored),
        (Failure::Refused(_) | Failure::Tool(_) | Failure::Internal(_), _) => failed(State::Failed, stored),
    }
}

/// Which approval a call that became a job meanwhile has its client asked for.
fn approval_asked(outcome: &Outcome) -> Option<String> {
    match &outcome.payload {
        Payload::InputRequired { requests: Some(requests), .. } => asked_for(requests),
        _ => None,
    }
}

fn may_try_again(job: &Job) -> bool {
    job.idempotent && job.failures < job.retries
}

/// A person was asked before its tool began.
fn never_began(job: &mut Job) {
    job.attempt = job.attempt.saturating_sub(1);
}

/// Whether this is said of a job that a person, or nobody in time, has not allowed.
fn was_not_allowed(code: &str) -> bool {
    matches!(code, "approval_denied" | "approval_expired")
}

fn failed(state: State, failure: StoredFailure) -> Next {
    Next::End(state, KeptResult::Failure(failure))
}

/// What is said of a job whose process ended while it ran.
pub(super) fn interrupted() -> StoredFailure {
    let message = "the process that ran it ended before it did; nobody knows what it has done";
    StoredFailure::new("interrupted", message)
}

fn kept(outcome: &Outcome) -> Result<KeptResult, StoredFailure> {
    let bytes = outcome.payload.bytes();
    if bytes > RESULT_BYTES_MAX {
        let message =
            format!("its result of {bytes} bytes is too large to keep; the limit is {RESULT_BYTES_MAX}");
        return Err(StoredFailure::new("result_too_large", message));
    }
    if let Payload::Task { .. } = outcome.payload {
        return Err(StoredFailure::new("goes_on_elsewhere", "it goes on as a task of its server"));
    }
    Ok(KeptResult::Outcome(KeptOutcome::of(outcome)))
}

fn shown(message: &str) -> String {
    message.chars().take(MESSAGE_CHARS_MAX).collect()
}

impl KeptResult {
    /// The code and the sentence that the job shows of it.
    fn told(&self) -> (Option<String>, Option<String>) {
        match self {
            KeptResult::Outcome(_) => (None, None),
            KeptResult::Failure(failure) => (Some(failure.code.clone()), Some(shown(&failure.message))),
        }
    }
}
