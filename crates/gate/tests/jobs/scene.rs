//! A state folder with one or more processes over it, each with a gate that serves one workspace, and a tool of each kind.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
pub(crate) use std::time::Duration;

pub(crate) use bytes::Bytes;
pub(crate) use futures_util::FutureExt;
pub(crate) use futures_util::future::BoxFuture;
pub(crate) use gate::jobs::{Answered, Config, Filter, Job, JobEvent, Jobs, State, Wants, Whose};
pub(crate) use gate::{
    Approvals, Block, Call, Caller, CallerKind, Catalog, Client, Definition, Effect, Failure, Features, Gate,
    Outcome, Parts, Payload, Progress, Proof, RateConfig, Redactor, Role, Ruleset, Scopes, ToolError, Via,
};
pub(crate) use store::{Secrets, SqliteJobs, SqliteStore, StoreError};
pub(crate) use tokio::sync::Notify;
pub(crate) use tool_api::{
    About, AnyTool, ArgumentRoles, Arguments, BACKGROUND, Cancel, Context, Hold, JOB_WAIT, Listing, Need,
    Typed,
};

use crate::breaking::Breaking;

/// The longest result that is kept, in bytes.
const RESULT_BYTES_MAX: usize = ::jobs::RESULT_BYTES_MAX;

/// The longest that a test waits for what must happen.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// What a tool of the tests does, by its arguments.
struct Sample(Definition, Arc<AtomicU32>, Arc<Notify>);

impl AnyTool for Sample {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let nth = self.1.fetch_add(1, Ordering::SeqCst) + 1;
        let let_go = self.2.clone();
        async move {
            let does = arguments.value()["does"].as_str().unwrap_or("says").to_owned();
            let text = |text: String| Payload::Ours { blocks: vec![Block::Text(text)], structured: None };
            let input = cx.input.clone().unwrap_or_default();
            Ok(Outcome::of(match does.as_str() {
                "asks and holds" if input.state.is_none() => {
                    let hold = Hold::new(move || let_go.notify_one(), Cancel::new());
                    let requests = Some(Bytes::from_static(br#"{"k":{"method":"roots/list"}}"#));
                    Payload::InputRequired { requests, state: Some("inner".into()), hold: Some(hold) }
                }
                "asks" | "asks and fails once" | "asks and waits" if input.state.is_none() => {
                    let requests = Some(Bytes::from_static(br#"{"k":{"method":"roots/list"}}"#));
                    Payload::InputRequired { requests, state: Some("inner".into()), hold: None }
                }
                "waits" | "asks and waits" => {
                    if let Ok(tasks) = cx.tasks() {
                        tasks.reads(None);
                    }
                    cx.report(Progress::Step {
                        done: 1.0,
                        total: Some(2.0),
                        message: Some("waits".to_owned()),
                    });
                    cx.log(Bytes::from_static(br#"{"level":"info","data":"a line"}"#));
                    cx.cancel.cancelled().await;
                    return Err(ToolError::cancelled());
                }
                "holds" => tokio::select! {
                    () = let_go.notified() => text("let go".to_owned()),
                    () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
                },
                "says much" => text("x".repeat(RESULT_BYTES_MAX + 1)),
                "starts" => {
                    let number = cx.tasks()?.start(r#"{"does":"waits"}"#.to_owned()).await?;
                    text(number.to_string())
                }
                "types" => {
                    let written = cx.tasks()?.write(1, Typed { text: "x", ends: false }).await?;
                    text(format!("{written:?}"))
                }
                "answers" => {
                    let (jobs, job) = (cx.jobs.as_ref().unwrap(), arguments.value()["job"].as_str().unwrap());
                    let Some(asks) = jobs.asked(job).await else {
                        return Ok(Outcome::of(text("nothing".into())));
                    };
                    let another = arguments.value()["another"].as_u64().unwrap();
                    let brings = arguments.value()["brings"].as_str().unwrap().to_owned();
                    jobs.answer(job, asks.number + another, brings.into()).await;
                    text(String::from_utf8(asks.requests.to_vec()).unwrap())
                }
                "fails once" if nth == 1 => return Err(ToolError::new("broken", "it is broken")),
                "fails" => return Err(ToolError::new("broken", "it is broken")),
                "asks and fails once" if nth == 2 => return Err(ToolError::new("broken", "it is broken")),
                "asks and fails once" => text("at last".to_owned()),
                "asks" => text(String::from_utf8(input.responses.unwrap_or_default().to_vec()).unwrap()),
                other => text(format!("{other} {nth}")),
            }))
        }
        .boxed()
    }
}

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ran: Arc<AtomicU32>,
    pub(crate) is_known: Arc<AtomicBool>,
    /// Whether the next process has another definition of `work`.
    pub(crate) is_another: AtomicBool,
    /// Ends a call that `holds`.
    pub(crate) let_go: Arc<Notify>,
    /// Whether the store of jobs can be used.
    pub(crate) is_broken: Arc<AtomicBool>,
    /// Which function of it fails once, and how.
    pub(crate) fails_next: Arc<std::sync::Mutex<Option<(&'static str, StoreError)>>>,
    /// How often it could not.
    pub(crate) failures: Arc<AtomicU32>,
    /// Whoever holds it has new jobs be kept, and nobody hear of it yet.
    pub(crate) is_slow: Arc<tokio::sync::Mutex<()>>,
}

/// What starts background tasks.
const STARTS: About = About {
    name: BACKGROUND,
    title: "",
    summary: "",
    effect: Effect::Executes,
    arguments: ArgumentRoles::NONE,
    scopes: &[],
    needs: &[Need::Tasks],
    idempotent: false,
    open_world: false,
    timeout: SOON,
    examples: &[],
};

/// One process.
pub(crate) struct Process {
    pub(crate) gate: Arc<Gate>,
    pub(crate) jobs: Arc<Jobs>,
    audit_log: Arc<audit::AuditLog>,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        let is_known = Arc::new(AtomicBool::new(true));
        Scene {
            folder: tempfile::tempdir().unwrap(),
            ran: Arc::default(),
            is_known,
            is_another: AtomicBool::new(false),
            let_go: Arc::default(),
            is_broken: Arc::default(),
            fails_next: Arc::default(),
            failures: Arc::default(),
            is_slow: Arc::default(),
        }
    }

    /// A process that serves the workspace. Must be called on a runtime.
    pub(crate) fn process(&self) -> Process {
        let process = self.idle();
        process.jobs.serve(&process.gate);
        process
    }

    /// One that runs no jobs, such as a command.
    pub(crate) fn idle(&self) -> Process {
        let state = self.folder.path().join("state");
        let store = Arc::new(SqliteStore::at(&state));
        let made = |definition| -> Arc<dyn AnyTool> {
            Arc::new(Sample(definition, self.ran.clone(), self.let_go.clone()))
        };
        let starts = crate::definition::definition(None, BACKGROUND, Effect::Executes);
        let starts = Definition { listing: Listing::Ours(&STARTS), timeout: SOON, ..starts };
        let waits = crate::definition::definition(None, JOB_WAIT, Effect::Reads);
        let waits = Definition { listing: Listing::Ours(&STARTS), timeout: SOON, ..waits };
        let catalog = Catalog::new(vec![made(starts), made(waits)]);
        let sample = |name: &str, effect| made(crate::definition::definition(Some("u"), name, effect));
        let works = match self.is_another.load(Ordering::SeqCst) {
            true => Effect::Executes,
            false => Effect::Writes,
        };
        let destroys = Definition {
            marked_destructive: true,
            ..crate::definition::definition(Some("u"), "burn", Effect::Destroys)
        };
        let tools = vec![sample("look", Effect::Reads), sample("work", works), made(destroys)];
        catalog.replace("u", tools, Features::default());
        let approvals = Approvals::new(store.clone());
        let known = self.is_known.clone();
        approvals.ask_after_callers(Box::new(move |caller| {
            Ok(caller.key_id().is_none() || known.load(Ordering::SeqCst))
        }));
        let secrets = Arc::new(Secrets::new(store, &state));
        let store = Breaking {
            jobs: SqliteJobs::at(&state),
            is_broken: self.is_broken.clone(),
            fails_next: self.fails_next.clone(),
            failures: self.failures.clone(),
            is_slow: self.is_slow.clone(),
        };
        let jobs = Jobs::kept_in(Arc::new(store), approvals.clone(), secrets.clone());
        let policy = policy::Policy::new(&policy::Config::default()).unwrap();
        let audit_log = Arc::new(audit::AuditLog::at(&state, || 0));
        let gate = Gate::new(Parts {
            catalog,
            ruleset: Ruleset::new(policy, RateConfig { per_second: 1, burst: 10 }),
            redactor: Redactor::new(&redact::Config::default()),
            approvals,
            audit_log: audit_log.clone(),
            files: tool_api::Root::open(self.folder.path(), tool_api::Access::Read).unwrap(),
        });
        let gate = gate.unwrap().with_secrets(&secrets).with_jobs(jobs.clone(), "/w");
        Process { gate: Arc::new(gate), jobs, audit_log }
    }

    pub(crate) fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }

    /// The last lines of the audit log of a process.
    pub(crate) fn records(&self, process: &Process) -> Vec<serde_json::Value> {
        process.audit_log.flush().unwrap();
        let lines = audit::tail(&self.folder.path().join("state"), 10).unwrap();
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn local() -> Caller {
    Caller::local_user(Via::Stdio)
}

pub(crate) fn holder(name: &str, key: &str) -> Caller {
    let caller = Caller::new(name.into(), CallerKind::Key, Role::Owner.into(), Scopes::all(), Via::Http);
    caller.with_proof(Proof::Key(key.into()))
}

impl Process {
    pub(crate) async fn submit(&self, caller: &Caller, tool: &str, does: &str) -> Result<Job, Failure> {
        self.submit_with(caller, tool, does, Wants::default()).await
    }

    pub(crate) async fn submit_with(
        &self,
        caller: &Caller,
        tool: &str,
        does: &str,
        wants: Wants,
    ) -> Result<Job, Failure> {
        let arguments = serde_json::json!({ "does": does }).to_string();
        self.jobs.submit(&self.gate, caller, Call::tool(tool, Some(arguments.into())), wants).await
    }

    pub(crate) async fn cancel<'a>(
        &self,
        whose: impl Into<Whose<'a>>,
        id: &str,
    ) -> Result<Job, gate::Refusal> {
        self.jobs.cancel(whose, id, (&local(), &self.audit_log)).await.map(|cancelled| cancelled.job)
    }

    /// Waits until a job is in this state.
    pub(crate) async fn until(&self, job: &Job, state: State) -> Job {
        let looking = async {
            loop {
                let found = self.jobs.get(Whose::Anyone, job.id.as_str()).await.unwrap();
                if found.state == state {
                    return found;
                }
                assert!(!found.state.is_final(), "{found:?}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, looking).await.expect("it happens soon")
    }

    /// The job once it is over, and what came of it in a line.
    pub(crate) async fn over(&self, job: &Job) -> (Job, String) {
        let job = self.jobs.wait(Whose::Anyone, job.id.as_str(), SOON).await.unwrap();
        let result = self.jobs.result(Whose::Anyone, job.id.as_str()).await.unwrap();
        let line = match result {
            None => "nothing yet".to_owned(),
            Some(Ok(Outcome { payload: Payload::Ours { blocks, .. }, .. })) => match &blocks[..] {
                [Block::Text(text)] => text.clone(),
                other => format!("{other:?}"),
            },
            Some(Ok(other)) => format!("{:?}", other.payload),
            Some(Err(failure)) => failure.code,
        };
        (job, line)
    }

    /// Waits until a job has this event.
    pub(crate) async fn has_told(&self, job: &Job, event: &str) {
        let looking = async {
            while !self.events(job).await.iter().any(|told| told == event) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, looking).await.expect("it happens soon");
    }

    /// The events of a job, in words.
    pub(crate) async fn events(&self, job: &Job) -> Vec<String> {
        let page = self.jobs.events(Whose::Anyone, job.id.as_str(), 0, Duration::ZERO).await.unwrap();
        let word = |event: &JobEvent| match event {
            JobEvent::Started { attempt } => format!("started {attempt}"),
            JobEvent::Progress { done, .. } => format!("progress {done}"),
            JobEvent::Output { chunk, .. } => format!("output {chunk}"),
            JobEvent::Artifact { name, .. } => format!("artifact {name}"),
            JobEvent::OutputCut {} => "cut".to_owned(),
            JobEvent::State { status, .. } => status.to_string(),
            JobEvent::InputRequired {} => "input".to_owned(),
            JobEvent::Finished { status } => format!("finished {status}"),
        };
        let numbers: Vec<u64> = page.events.iter().map(|event| event.number).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "none is missing or twice");
        page.events.iter().map(|numbered| word(&numbered.event)).collect()
    }
}
