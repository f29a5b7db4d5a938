//! Taking a call as a job: judged now, kept, and run later; or run now, and made a job if it outlives its request.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::jobs::{Event, Job, JobId, KEEP_MAX, POLL_EVERY, PRIORITY_MAX, RETRIES_MAX, State, TASKS_MAX, Waiting};
use futures_util::FutureExt as _;
use futures_util::future::OptionFuture;
use policy::Caller;
use store::{Enqueued, NewJob};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tool_api::{CallId, Cancel, Listener, Outcome};

use super::change::number;
use super::kept_call::KeptCall;
use super::live::Live;
use super::look::unavailable;
use super::of_process::Jobs;
use super::recorder::Recorder;
use super::relay::{Asked, relay};
use super::ring::Ring;
use super::serving::{Keep, Serving};
use super::vault::Sealed;
use crate::approvals::Forms;
use crate::failure::{Failure, Internal, Refusal};
use crate::is_idempotent::is_idempotent;
use crate::offer::Offered;
use crate::request::{Call, OfJob};
use crate::target::Target;

/// What whoever submits wants of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wants {
    /// How urgent it is among its caller's, from -[`PRIORITY_MAX`] to [`PRIORITY_MAX`].
    pub priority: i8,
    /// How long it is kept once it is over; as long as configured if nothing is said, and never longer.
    pub ttl: Option<Duration>,
    /// How often it is tried again should it fail, at most [`RETRIES_MAX`]; wanted of a tool that may not do the same twice
    /// it is refused.
    pub retries: u32,
    /// Whether it is a background task, should it be taken while it runs: one that its caller knows by a number.
    pub background: bool,
}

impl Wants {
    /// What somebody asks for in numbers of their own.
    ///
    /// # Errors
    /// One of them is out of its range, in a sentence.
    pub fn asked(priority: Option<i64>, retries: Option<u64>) -> Result<Wants, String> {
        let (priority, retries) = (priority.unwrap_or(0), retries.unwrap_or(0));
        let urgency = i8::try_from(priority).ok().filter(|it| (-PRIORITY_MAX..=PRIORITY_MAX).contains(it));
        let urgency = urgency.ok_or_else(|| {
            format!("`priority` must be between -{PRIORITY_MAX} and {PRIORITY_MAX}, not {priority}")
        })?;
        let tries = u32::try_from(retries).ok().filter(|it| *it <= RETRIES_MAX);
        let tries =
            tries.ok_or_else(|| format!("`retries` must be between 0 and {RETRIES_MAX}, not {retries}"))?;
        Ok(Wants { priority: urgency, retries: tries, ..Wants::default() })
    }
}

/// What came of a call that may outlive its request.
#[derive(Debug)]
pub enum Answered {
    /// It has ended in time.
    Done(Result<Outcome, Failure>),
    /// It goes on as a job.
    Job(Box<Job>),
}

impl Jobs {
    /// Takes a call of a tool as a job: it is judged, and recorded as accepted. Once this returns it survives a crash of the
    /// machine, and runs as soon as it is its turn; in a process that does not serve the workspace, once one does.
    ///
    /// # Errors
    /// It is refused, as [`crate::Gate::call`] would, or there is no room.
    pub async fn submit(
        self: &Arc<Self>,
        gate: &Arc<impl Serving + 'static>,
        caller: &Caller,
        mut call: Call<'_>,
        wants: Wants,
    ) -> Result<Job, Failure> {
        let Target::Tool(tool) = call.target else {
            return Err(Refusal::NotAJob.into());
        };
        let ttl_ms = self.ttl_ms(wants);
        let mut kept = KeptCall::of(caller, tool, &call, ttl_ms);
        let id = JobId::new().map_err(|_| Internal { call: CallId::next() })?;
        let job_id = id.clone();
        let keeping: Keep<'_> = Box::new(move |offered| {
            let keeping = async move {
                if wants.retries > 0 && !is_idempotent(offered.definition()) {
                    return Err(Refusal::NoRetries(offered.definition().name.to_string()));
                }
                kept.definition = offered.hash().to_string();
                let job = self.new_job(&**gate, caller, (job_id, ttl_ms), &offered, wants);
                self.enqueue(caller, job, &kept).await
            };
            keeping.boxed()
        });
        gate.take(caller, &mut call, &id, keeping).await
    }

    pub(super) fn ttl_ms(&self, wants: Wants) -> u64 {
        let keep = self.config().keep;
        let ttl = wants.ttl.map_or(keep, |ttl| ttl.min(keep)).min(KEEP_MAX);
        u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn new_job(
        &self,
        gate: &dyn Serving,
        caller: &Caller,
        (id, ttl_ms): (JobId, u64),
        offered: &Offered,
        wants: Wants,
    ) -> Job {
        let now_ms = self.now_ms();
        let idempotent = is_idempotent(offered.definition());
        Job {
            id,
            tool: offered.definition().name.to_string(),
            caller: caller.id().to_string(),
            key: caller.key_id().map(|id| id.to_string()),
            workspace: gate.workspace().map(|workspace| workspace.to_string()).unwrap_or_default(),
            conversation: None,
            state: State::Queued,
            priority: wants.priority.clamp(-PRIORITY_MAX, PRIORITY_MAX),
            attempt: 0,
            retries: wants.retries.min(RETRIES_MAX),
            failures: 0,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            started_at_ms: None,
            ended_at_ms: None,
            poll_interval_ms: u64::try_from(POLL_EVERY.as_millis()).unwrap_or(u64::MAX),
            ttl_ms,
            progress: None,
            message: None,
            code: None,
            approval: None,
            last_event: 0,
            output_bytes: 0,
            events_lost: 0,
            idempotent,
            background: None,
        }
    }

    /// Keeps a new job, and has it wait for its turn here if this process serves its workspace.
    async fn enqueue(self: &Arc<Self>, caller: &Caller, job: Job, kept: &KeptCall) -> Result<Job, Refusal> {
        let is_held = self.gate_of(&job.workspace).is_some();
        let live = self.keep(caller, job, kept, is_held, Vec::new()).await?;
        let job = live.job().await;
        if is_held {
            self.wait_for_turn(&live).await;
        }
        Ok(job)
    }

    /// Writes a new job.
    pub(super) async fn keep(
        self: &Arc<Self>,
        caller: &Caller,
        mut job: Job,
        kept: &KeptCall,
        is_held: bool,
        events: Vec<Event>,
    ) -> Result<Arc<Live>, Refusal> {
        let (losses, key) = self.key_since().await.map_err(unavailable)?;
        let call = key.seal(&job.id, Sealed::Call, kept.bytes()).map_err(unavailable)?;
        let now_ms = job.created_at_ms;
        let events = number(&mut job, events.into_iter(), now_ms, &key).map_err(unavailable)?;
        let new = NewJob {
            id: job.id.as_str().to_owned(),
            owner: job.caller.clone(),
            place: job.workspace.clone(),
            tool: job.tool.clone(),
            state: job.state.as_str().to_owned(),
            about: job.about(),
            call,
            is_held,
            events,
            losses,
        };
        let room = self.config().room();
        match self.store().enqueue(new, room).await.map_err(unavailable)? {
            Enqueued::Kept(_) => {}
            Enqueued::OwnerFull => {
                return Err(Refusal::TooManyJobs { max: room.of_owner, is_own_share: true });
            }
            Enqueued::Full => return Err(Refusal::TooManyJobs { max: room.in_all, is_own_share: false }),
        }
        let live = Live::new(job, 1, caller.clone());
        if is_held {
            self.inner().live.insert(live.id.clone(), live.clone());
            self.look_after_jobs();
        }
        Ok(live)
    }

    /// Has a job that this process holds wait for its turn.
    pub(super) async fn wait_for_turn(self: &Arc<Self>, live: &Arc<Live>) {
        let waiting = waiting(&live.job().await);
        {
            let mut inner = self.inner();
            if inner.is_held(live) {
                inner.queue.push(waiting);
            }
        }
        self.start_next();
    }

    /// Makes a call of a tool that may outlive its request: what has not ended within `patience` goes on as a job, and is
    /// interrupted if the process ends before it. Until then its client is asked what it asks ([`Call::forms`]).
    ///
    /// # Errors
    /// None of its own: what came of the call is in what it gives.
    pub async fn call(
        self: &Arc<Self>,
        gate: &Arc<impl Serving + 'static>,
        caller: &Caller,
        call: Call<'_>,
        patience: Duration,
        wants: Wants,
    ) -> Answered {
        let Target::Tool(tool) = call.target else {
            return Answered::Done(gate.call(caller, call).await);
        };
        let kept = KeptCall::of(caller, tool, &call, self.ttl_ms(wants));
        let began_ms = self.now_ms();
        let (relay, asked) = call.forms.map(relay).unzip();
        let mark = Arc::new(OnceLock::new());
        let (cancel, listener) = (call.cancel.clone(), call.listener.clone());
        let recorder = Arc::new(Recorder::of_call(listener));
        let ring = wants.background.then(|| Arc::new(Ring::before(recorder.clone())));
        let (client, header_check) = (call.client.clone(), call.header_check.clone());
        let request_id = call.request_id.clone();
        let (gate_of_call, caller_of_call) = (gate.clone(), caller.clone());
        let heard: Arc<dyn Listener> = ring.clone().map_or(recorder.clone() as _, |ring| ring as _);
        let (running, marked, cancelled) = (kept.clone(), mark.clone(), cancel.clone());
        let (done, mut is_done) = oneshot::channel();
        self.spawn(async move {
            let call = Call {
                cancel: cancelled,
                listener: Some(heard),
                client,
                header_check,
                request_id,
                forms: relay.as_ref().map(|relay| relay as &dyn Forms),
                job: Some(OfJob { id: marked, was_judged: false, is_approved: false }),
                ..running.call()
            };
            let result = gate_of_call.call(&caller_of_call, call).await;
            // Whoever waits no more has cancelled it.
            let _ = done.send(result);
        });
        // A caller that goes away before that takes the call with it.
        let mut giving_up = GiveUp(cancel.clone(), true);
        let mut shown = pin!(OptionFuture::from(asked.map(Asked::show)));
        let waited = tokio::select! {
            biased;
            result = &mut is_done => Some(result),
            Some(never) = &mut shown => match never {},
            () = sleep(patience) => None,
        };
        if let Some(result) = waited {
            giving_up.1 = false;
            return Answered::Done(result.unwrap_or_else(|_| Err(Internal { call: CallId::next() }.into())));
        }
        let (told, adopted) = oneshot::channel();
        let (jobs, gate, caller) = (self.clone(), gate.clone(), caller.clone());
        // By itself: a caller that goes away in between cancels the call, and then the job is to end.
        self.spawn(async move {
            match jobs.adopt(&gate, &caller, kept, wants, ring, (mark, cancel, began_ms)).await {
                Ok(live) => {
                    // Who is gone hears of nothing.
                    let _ = told.send(Ok(live.job().await));
                    let result = recorder.beside(&jobs, &live, ended(is_done)).await;
                    jobs.settle(&live, result).await;
                }
                Err(_) => drop(told.send(Err(is_done))),
            }
        });
        // As long as it is no job, its client can be asked.
        let answered = tokio::select! {
            biased;
            answered = become_of(adopted) => answered,
            Some(never) = &mut shown => match never {},
        };
        giving_up.1 = false;
        answered
    }

    /// Makes a job of a call that runs.
    async fn adopt(
        self: &Arc<Self>,
        gate: &Arc<impl Serving + 'static>,
        caller: &Caller,
        mut kept: KeptCall,
        wants: Wants,
        ring: Option<Arc<Ring>>,
        (mark, cancel, began_ms): (Arc<OnceLock<Arc<str>>>, Cancel, i64),
    ) -> Result<Arc<Live>, Refusal> {
        let offered = gate.find(caller, &kept.tool).await?;
        kept.definition = offered.hash().to_string();
        let id = JobId::new().map_err(|error| Refusal::NoJobs(error.to_string()))?;
        let ttl_ms = kept.ttl_ms;
        let job = self.new_job(&**gate, caller, (id, ttl_ms), &offered, wants);
        // It ran before it was a job.
        let job = Job { state: State::Running, attempt: 1, retries: 0, started_at_ms: Some(began_ms), ..job };
        let live = match ring {
            Some(ring) => {
                let too_many = Refusal::TooManyJobs { max: TASKS_MAX, is_own_share: true };
                self.numbered(caller, job, &kept, &ring).await?.ok_or(too_many)?.0
            }
            None => self.keep(caller, job, &kept, true, vec![Event::Started { attempt: 1 }]).await?,
        };
        // Nobody has set it: it is made here.
        let _ = mark.set(live.id.shared());
        let running = waiting(&live.job().await);
        self.inner().queue.runs(running);
        // Cancelling the job cancels the call.
        let linked = live.clone();
        self.spawn(async move {
            let mut changed = linked.changed.subscribe();
            tokio::select! {
                () = linked.cancel.cancelled() => cancel.cancel(),
                () = async { while changed.changed().await.is_ok() && !linked.job().await.state.is_final() {} } => {}
            }
        });
        Ok(live)
    }
}

/// What becomes of a call that is to be a job: one, or what came of it, if it cannot be kept and its caller waits for it.
async fn become_of(
    adopted: oneshot::Receiver<Result<Job, oneshot::Receiver<Result<Outcome, Failure>>>>,
) -> Answered {
    match adopted.await {
        Ok(Ok(job)) => Answered::Job(Box::new(job)),
        Ok(Err(is_done)) => Answered::Done(ended(is_done).await),
        Err(_) => Answered::Done(Err(Internal { call: CallId::next() }.into())),
    }
}

/// What came of a call that runs.
async fn ended(is_done: oneshot::Receiver<Result<Outcome, Failure>>) -> Result<Outcome, Failure> {
    is_done.await.unwrap_or_else(|_| Err(Internal { call: CallId::next() }.into()))
}

/// Cancels a call that nobody waits for any more.
struct GiveUp(Cancel, bool);

impl Drop for GiveUp {
    fn drop(&mut self) {
        if self.1 {
            self.0.cancel();
        }
    }
}

pub(super) fn waiting(job: &Job) -> Waiting {
    Waiting {
        id: job.id.clone(),
        caller: job.caller.as_str().into(),
        tool: job.tool.as_str().into(),
        priority: job.priority,
    }
}
