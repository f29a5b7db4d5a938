//! Background tasks: calls of one tool that go on behind their answer, which their caller knows by small numbers. Each is a
//! job that was admitted when it was called, with all that a person was asked, and runs at once: it waits for no turn, since
//! what is started so may last for days.

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::jobs::{Event, Job, JobId, State, TASKS_MAX};
use futures_util::future::BoxFuture;
use policy::Caller;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tool_api::{
    BACKGROUND, BACKGROUND_KILL, BASH, Listener, Outcome, OutputAsked, Payload, Stdin, TaskOutput, TaskSeen,
    ToolError, Typed,
};

use super::inlets::{self, Inlet};
use super::kept_call::KeptCall;
use super::kept_result::KeptResult;
use super::live::{End, Live};
use super::look::unavailable;
use super::of_process::{Filter, Inner, Jobs};
use super::recorder::Recorder;
use super::ring::{RINGS_MAX, RUNNING_OF_CALLER_MAX, Ring};
use super::submit::Wants;
use crate::failure::Refusal;
use crate::request::{Call, OfJob};

/// The tasks of one caller in one workspace.
pub(crate) struct OfTasks {
    jobs: Arc<Jobs>,
    workspace: Arc<str>,
    caller: Caller,
    /// The call that asks, as a task is to be one.
    call: KeptCall,
    /// The task that it runs as, if it does.
    own: Option<JobId>,
}

impl OfTasks {
    /// Of a call that asks after tasks, begins one, or runs as one.
    pub(crate) fn of(jobs: Arc<Jobs>, workspace: Arc<str>, caller: Caller, call: &Call<'_>) -> OfTasks {
        let ttl_ms = jobs.ttl_ms(Wants::default());
        let kept = KeptCall::of(&caller, BACKGROUND, call, ttl_ms);
        let own = call.job.as_ref().filter(|job| job.is_approved).and_then(|job| JobId::parse(job.id.get()?));
        OfTasks { jobs, workspace, caller, call: kept, own }
    }

    async fn begin(&self, arguments: String) -> Result<u32, ToolError> {
        let jobs = &self.jobs;
        let gate = jobs.gate_of(&self.workspace).ok_or_else(not_served)?;
        let offered = gate.find(&self.caller, BACKGROUND).await.map_err(told)?;
        let definition = offered.hash().to_string();
        let mut kept = self.call.clone();
        (kept.arguments, kept.definition) = (Some(arguments), definition);
        let id = JobId::new().map_err(|error| told(Refusal::NoJobs(error.to_string())))?;
        let new = jobs.new_job(&*gate, &self.caller, (id, kept.ttl_ms), &offered, Wants::default());
        let started_at_ms = Some(new.created_at_ms);
        let job = Job { state: State::Running, attempt: 1, started_at_ms, ..new };
        let recorder = Arc::new(Recorder::of_call(None));
        let ring = Arc::new(Ring::before(recorder.clone()));
        let (begun, number) = oneshot::channel();
        let (jobs, caller) = (jobs.clone(), self.caller.clone());
        // By itself: a caller that goes away in between must leave no job that is kept and that nobody runs.
        self.jobs.spawn(async move {
            let kept_as = jobs.numbered(&caller, job, &kept, &ring).await;
            let kept_as = kept_as.map_err(told).and_then(|kept| kept.ok_or_else(too_many));
            let (live, number) = match kept_as {
                Ok(kept) => kept,
                // Who is gone hears of nothing.
                Err(error) => return drop(begun.send(Err(error))),
            };
            jobs.inner().inlets.insert(live.id.clone(), Arc::default());
            if begun.send(Ok(number)).is_err() {
                live.end(End::Cancelled);
            }
            let listener: Arc<dyn Listener> = ring;
            let id = Arc::new(OnceLock::from(live.id.shared()));
            let call = Call {
                cancel: live.cancel.clone(),
                listener: Some(listener),
                job: Some(OfJob { id, was_judged: true, is_approved: true }),
                ..kept.call()
            };
            let result = recorder.beside(&jobs, &live, gate.call(&live.caller, call)).await;
            jobs.settle(&live, result).await;
            // Behind that: of one without an inlet it is true by then that it has ended, or was started without.
            jobs.inner().inlets.remove(&live.id);
        });
        number.await.unwrap_or_else(|_| Err(not_served()))
    }

    async fn tasks(&self) -> Result<Vec<Job>, ToolError> {
        self.jobs.tasks(&self.caller, &self.workspace, &[]).await.map_err(told)
    }

    async fn of_number(&self, number: u32) -> Result<Option<Job>, ToolError> {
        Ok(self.tasks().await?.into_iter().find(|job| job.background == Some(number)))
    }

    async fn output(
        &self,
        number: u32,
        asked: OutputAsked<'_>,
    ) -> Result<Option<(TaskSeen, TaskOutput)>, ToolError> {
        let Some(Job { id, .. }) = self.of_number(number).await? else { return Ok(None) };
        let (until, mut looked) = (Instant::now() + asked.within, 0);
        loop {
            let changed = self.jobs.changes(id.as_str());
            let job = self.jobs.get(&self.caller, id.as_str()).await.map_err(told)?;
            let ring = self.jobs.ring(&job).await.map_err(told)?;
            let is_time = job.state.is_final()
                || Instant::now() >= until
                || ring.has_what_is_waited_for(&asked, &mut looked);
            if is_time {
                let artifact = if job.state.is_final() { self.whole(&job).await? } else { None };
                let seen = self.seen(job).await?;
                return Ok(Some((seen, TaskOutput { artifact, ..ring.take(asked.part) })));
            }
            changed.or(until).await;
        }
    }

    /// The artifact with all that a task that is over has put out, which its result names.
    async fn whole(&self, job: &Job) -> Result<Option<String>, ToolError> {
        let result = self.jobs.kept_result(&job.id).await.map_err(|error| told(unavailable(error)))?;
        let Some(Ok(Outcome { payload: Payload::Ours { structured: Some(ran), .. }, .. })) =
            result.map(KeptResult::opened)
        else {
            return Ok(None);
        };
        let ran: Value = serde_json::from_slice(&ran).unwrap_or_default();
        Ok(ran["artifact"].as_str().map(str::to_owned))
    }

    async fn seen(&self, job: Job) -> Result<TaskSeen, ToolError> {
        let kept = self.jobs.kept_call(&job.id).await.map_err(told)?;
        let began = job.started_at_ms.unwrap_or(job.created_at_ms);
        let runtime_ms = job.ended_at_ms.unwrap_or_else(|| self.jobs.now_ms()) - began;
        Ok(TaskSeen {
            number: job.background.unwrap_or_default(),
            status: status(&job),
            is_over: job.state.is_final(),
            runtime: Duration::from_millis(u64::try_from(runtime_ms).unwrap_or_default()),
            arguments: kept.arguments.unwrap_or_default(),
        })
    }
}

impl tool_api::Tasks for OfTasks {
    fn is_one(&self) -> bool {
        self.own.is_some()
    }

    fn start(&self, arguments: String) -> BoxFuture<'_, Result<u32, ToolError>> {
        Box::pin(self.begin(arguments))
    }

    fn reads(&self, stdin: Option<Stdin>) {
        let inlet = self.own.as_ref().and_then(|own| self.jobs.inner().inlets.get(own).cloned());
        if let Some(inlet) = inlet {
            inlet.reads(stdin);
        }
    }

    fn write<'a>(&'a self, number: u32, typed: Typed<'a>) -> BoxFuture<'a, Result<Option<()>, ToolError>> {
        Box::pin(async move {
            let Some(Job { id, .. }) = self.of_number(number).await? else { return Ok(None) };
            let open = self.jobs.open(&id);
            // Looked at behind that, since it may have ended meanwhile.
            let job = self.jobs.get(&self.caller, id.as_str()).await.map_err(told)?;
            if job.state.is_final() {
                let why = format!("background task {number} has ended: {}", status(&job));
                return Err(ToolError::new("task_over", why));
            }
            let (inlet, live) = open.ok_or_else(|| inlets::not_open(number))?;
            inlets::may_type(number, live.caller.scopes(), self.caller.scopes())?;
            inlet.write(number, typed).await.map(Some)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<TaskSeen>, ToolError>> {
        Box::pin(async move {
            let mut seen = Vec::new();
            for job in self.tasks().await? {
                seen.push(self.seen(job).await?);
            }
            Ok(seen)
        })
    }

    fn read<'a>(
        &'a self,
        number: u32,
        asked: OutputAsked<'a>,
    ) -> BoxFuture<'a, Result<Option<(TaskSeen, TaskOutput)>, ToolError>> {
        Box::pin(self.output(number, asked))
    }

    fn end(&self, number: u32) -> BoxFuture<'_, Result<Option<(TaskSeen, bool)>, ToolError>> {
        Box::pin(async move {
            let Some(job) = self.of_number(number).await? else { return Ok(None) };
            let was_over = job.state.is_final();
            let job = if was_over {
                job
            } else {
                self.jobs.cancel_found((&self.caller).into(), job).await.map_err(told)?
            };
            Ok(Some((self.seen(job).await?, was_over)))
        })
    }
}

impl Jobs {
    /// Keeps a job that runs as the next of its caller's background tasks in its workspace, with its output, and gives its
    /// number; nothing if too many run.
    pub(super) async fn numbered(
        self: &Arc<Self>,
        caller: &Caller,
        job: Job,
        kept: &KeptCall,
        ring: &Arc<Ring>,
    ) -> Result<Option<(Arc<Live>, u32)>, Refusal> {
        // Two that come at once are numbered one after the other.
        let _turn = self.numbering.lock().await;
        let running = self.tasks(caller, &job.workspace, &[State::Running]).await?.len();
        if running >= TASKS_MAX || !self.has_room_for_output(caller) {
            return Ok(None);
        }
        let before = self.tasks(caller, &job.workspace, &[]).await?;
        let number = 1 + before.iter().filter_map(|job| job.background).max().unwrap_or_default();
        let job = Job { background: Some(number), ..job };
        let live = self.keep(caller, job, kept, true, vec![Event::Started { attempt: 1 }]).await?;
        self.remember(&live.id, ring);
        Ok(Some((live, number)))
    }

    /// The background tasks of a caller that run, and the newest of the others in one of these states, or in any; the newest
    /// first.
    async fn tasks(&self, caller: &Caller, workspace: &str, states: &[State]) -> Result<Vec<Job>, Refusal> {
        let mut tasks = Vec::new();
        for tool in [BACKGROUND, BASH] {
            // Those that run are never too many for a page, and none of them may be missing.
            for states in [&[State::Running][..], states] {
                let filter = Filter {
                    states: states.to_vec(),
                    tool: Some(tool.to_owned()),
                    workspace: Some(workspace.to_owned()),
                    ..Filter::default()
                };
                let page = self.list(caller, &filter).await?;
                tasks.extend(page.jobs.into_iter().filter(|job| job.background.is_some()));
            }
        }
        tasks.sort_by_key(|job| Reverse(job.background));
        tasks.dedup_by_key(|job| job.background);
        Ok(tasks)
    }

    /// The output of a task. Of one that another process has run, what its events hold.
    async fn ring(&self, job: &Job) -> Result<Arc<Ring>, Refusal> {
        if let Some(ring) = self.inner().rings.get(&job.id) {
            return Ok(ring);
        }
        let (mut text, mut after) = (String::new(), 0);
        loop {
            let page = self.events_after(&job.id, after).await.map_err(unavailable)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for numbered in page {
                match numbered.event {
                    Event::Output { chunk, .. } => text.push_str(&chunk),
                    Event::OutputCut {} => text.push_str("\n[What came then is not kept here.]\n"),
                    _ => {}
                }
            }
        }
        let ring = Arc::new(Ring::of(&text));
        if job.state.is_final() {
            self.remember(&job.id, &ring);
        }
        Ok(ring)
    }

    /// Where a task that runs here reads, and who has started it.
    fn open(&self, id: &JobId) -> Option<(Arc<Inlet>, Arc<Live>)> {
        let inner = self.inner();
        inner.inlets.get(id).cloned().zip(inner.live.get(id).cloned())
    }

    fn has_room_for_output(&self, caller: &Caller) -> bool {
        let Inner { rings, live, .. } = &mut *self.inner();
        let own = |id: &JobId| live.get(id).is_some_and(|live| live.caller.id() == caller.id());
        rings.have_room_of(own, |id| live.contains_key(id))
    }

    fn remember(&self, id: &JobId, ring: &Arc<Ring>) {
        let Inner { rings, live, .. } = &mut *self.inner();
        rings.hold(id, ring, |id| live.contains_key(id));
    }
}

/// How a task is doing, in words. What its program has come to, its tool has told last.
fn status(job: &Job) -> String {
    let told = job.progress.as_ref().and_then(|progress| progress.message.clone());
    match (job.state, told, &job.message) {
        (State::Succeeded | State::Failed, Some(told), None) => told,
        (State::Cancelled, ..) => "killed".to_owned(),
        // Why is the same for all of them.
        (State::Interrupted, ..) => State::Interrupted.to_string(),
        (state, _, Some(why)) if state.is_final() => format!("{state}: {why}"),
        (state, ..) => state.to_string(),
    }
}

fn not_served() -> ToolError {
    let why = "this process ends with its call, and nothing goes on behind it; have an agent's or `toolcrib serve` start it, or use Bash";
    ToolError::new("no_tasks", why)
}

fn too_many() -> ToolError {
    let why = format!(
        "{TASKS_MAX} background tasks run already, or {RUNNING_OF_CALLER_MAX} in all workspaces, or {RINGS_MAX} of all callers; \
         end one with {BACKGROUND_KILL} first"
    );
    ToolError::new("too_many_tasks", why)
}

fn told(refusal: Refusal) -> ToolError {
    ToolError::new(refusal.code().to_owned(), refusal.to_string())
}
