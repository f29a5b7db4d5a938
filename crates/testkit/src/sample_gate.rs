//! A gate over a few sample tools, for the tests of what stands before it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use artifacts::Artifacts;
use gate::jobs::Jobs;
use gate::{Approvals, Catalog, Gate, Parts, ProgramSettings, RateConfig, Redactor, Ruleset, approvals};
use sandbox::Client;
use sandbox::confine::Confiner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_api::{
    About, Access, AnyTool, Block, Context, Document, Effect, JOB_WAIT, Progress, Root, Structured, Tool,
    ToolError, builtin,
};

use crate::sample_programs::program_tools;

/// A gate with the tools `echo`, `shout`, `steps`, `wait` and `fail`, and folders that go with it.
pub struct SampleGate {
    /// The gate.
    pub gate: Arc<Gate>,
    audit_log: Arc<audit::AuditLog>,
    folders: [tempfile::TempDir; 2],
}

impl SampleGate {
    /// A gate with an empty audit log, an empty workspace, and no rate limit.
    pub fn new() -> SampleGate {
        SampleGate::with_rate(RateConfig { per_second: 0, burst: 1 })
    }

    /// The same with a rate limit.
    pub fn with_rate(rate: RateConfig) -> SampleGate {
        SampleGate::with(rate, (Arc::default(), nobody()), Vec::new())
    }

    /// The same with the tools that run programs (see [`program_tools`]), which this starts by these settings. No call waits
    /// for a person.
    pub fn with_programs(confiner: Arc<Confiner>, programs: ProgramSettings) -> SampleGate {
        SampleGate::with_people(confiner, programs, nobody())
    }

    /// The same, where people are asked in this way.
    pub fn with_people(
        confiner: Arc<Confiner>,
        programs: ProgramSettings,
        approvals: approvals::Config,
    ) -> SampleGate {
        let rate = RateConfig { per_second: 0, burst: 1 };
        let sample = SampleGate::with(rate, (Arc::new(programs), approvals), program_tools());
        let SampleGate { gate, audit_log, folders } = sample;
        let gate =
            Arc::into_inner(gate).expect("nobody else has it yet").with_sandbox(confiner, Client::new());
        SampleGate { gate: Arc::new(gate), audit_log, folders }
    }

    /// The same, whose tools keep artifacts here.
    #[must_use]
    pub fn keeping(self, artifacts: Arc<artifacts::Artifacts>) -> SampleGate {
        let SampleGate { gate, audit_log, folders } = self;
        let gate = Arc::into_inner(gate).expect("nobody else has it yet").with_artifacts(artifacts);
        SampleGate { gate: Arc::new(gate), audit_log, folders }
    }

    /// The same, whose calls may become jobs by these settings. Must be called on a runtime.
    pub fn with_jobs(config: gate::jobs::Config) -> SampleGate {
        let sample = SampleGate::new().taking_jobs();
        let jobs = sample.gate.jobs().expect("it takes them");
        jobs.govern(config);
        jobs.serve(&sample.gate);
        sample
    }

    /// The same with a tool on offer that is called as the one that waits for jobs, and does nothing. Must be called on a runtime.
    pub fn with_job_tools(config: gate::jobs::Config) -> SampleGate {
        let rate = RateConfig { per_second: 0, burst: 1 };
        let sample = SampleGate::with(rate, (Arc::default(), nobody()), vec![builtin(WaitsForJobs)]);
        let sample = sample.taking_jobs();
        let jobs = sample.gate.jobs().expect("it takes them");
        jobs.govern(config);
        jobs.serve(&sample.gate);
        sample
    }

    fn with(
        rate: RateConfig,
        (programs, approvals): (Arc<ProgramSettings>, approvals::Config),
        more: Vec<Arc<dyn AnyTool>>,
    ) -> SampleGate {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder can be made"));
        let mut tools = vec![builtin(Echo), builtin(Shout), builtin(Steps), builtin(Wait), builtin(Fail)];
        tools.extend(more);
        // A person would be asked about what reaches beyond the machine.
        let policy = policy::Config {
            allow: ["host_ask", "sh_fetch", "web_browse"].map(str::to_owned).to_vec(),
            ..policy::Config::default()
        };
        let audit_log = Arc::new(audit::AuditLog::at(folders[0].path(), || 0));
        let gate = Gate::new(Parts {
            catalog: Catalog::new(tools),
            ruleset: Ruleset {
                approvals,
                programs,
                ..Ruleset::new(policy::Policy::new(&policy).expect("it is sound"), rate)
            },
            redactor: Redactor::new(&redact::Config::default()),
            approvals: Approvals::new(Arc::new(store::SqliteStore::at(folders[0].path()))),
            audit_log: audit_log.clone(),
            files: Root::open(folders[1].path(), Access::ReadWrite).expect("it was just made"),
        })
        .expect("the system gives randomness");
        SampleGate { gate: Arc::new(gate), audit_log, folders }
    }

    /// The same, whose calls may become jobs. Whoever has it on a runtime runs them: [`Jobs::serve`].
    #[must_use]
    pub fn taking_jobs(self) -> SampleGate {
        let SampleGate { gate, audit_log, folders } = self;
        let store = Arc::new(store::SqliteJobs::at(folders[0].path()));
        let jobs = Jobs::new(store, gate.approvals().clone());
        let gate = Arc::into_inner(gate).expect("nobody else has it yet").with_jobs(jobs, "sample");
        SampleGate { gate: Arc::new(gate), audit_log, folders }
    }

    /// The same, which keeps artifacts, and what keeps them.
    #[must_use]
    pub fn keeping_artifacts(self) -> (SampleGate, Arc<Artifacts>) {
        let SampleGate { gate, audit_log, folders } = self;
        let state = folders[0].path();
        let store = Arc::new(store::SqliteStore::at(state));
        let kept = Arc::new(Artifacts::new(state, store, artifacts::Limits::default(), || 1_800_000_000_000));
        let gate = Arc::into_inner(gate).expect("nobody else has it yet").with_artifacts(kept.clone());
        (SampleGate { gate: Arc::new(gate), audit_log, folders }, kept)
    }

    /// What the records of the last calls say: of which tool, with which outcome and code.
    pub fn records(&self, calls_max: usize) -> Vec<String> {
        let words = |record: Value| {
            let words = ["tool", "outcome", "code"].map(|key| record[key].as_str().unwrap_or("-").to_owned());
            words.join(" ")
        };
        self.whole_records(calls_max).into_iter().map(words).collect()
    }

    /// The same records, whole.
    pub fn whole_records(&self, calls_max: usize) -> Vec<Value> {
        self.audit_log.flush().expect("the disk has room");
        let lines = audit::tail(self.folders[0].path(), calls_max).expect("it was just written");
        lines.iter().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect()
    }

    /// The folder that its tools work in.
    pub fn workspace(&self) -> &Path {
        self.folders[1].path()
    }

    /// Has the gate know these secrets, in whose place it shows `[REDACTED:PLANTED]`.
    pub fn plant(&self, values: &[&str]) {
        let known = |value: &&str| redact::Known { name: "PLANTED".into(), value: (*value).into() };
        self.gate.redactor().know("test", values.iter().map(known).collect());
    }
}

/// No call waits for a person.
fn nobody() -> approvals::Config {
    approvals::Config { wait: Duration::ZERO, ..approvals::Config::default() }
}

impl Default for SampleGate {
    fn default() -> SampleGate {
        SampleGate::new()
    }
}

const fn about(name: &'static str) -> About {
    About {
        name,
        title: "Sample",
        summary: "a sample",
        effect: Effect::Reads,
        arguments: tool_api::ArgumentRoles { paths: &["path"], ..tool_api::ArgumentRoles::NONE },
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[],
    }
}

/// What the samples take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    text: String,
}

/// What some of them give.
#[derive(Debug, Serialize, JsonSchema)]
struct Heard {
    text: String,
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Gives back text, and a sound.
struct Echo;

impl Tool for Echo {
    const ABOUT: About = about("echo");
    type Input = Said;
    type Output = Document;
    async fn run(&self, said: Said, _: &Context) -> Result<Document, ToolError> {
        let sound = Block::Audio { mime: "audio/wav".into(), bytes: Vec::new() };
        Ok(Document(vec![Block::Text(said.text), sound]))
    }
}

/// Stands where clients look for the tool that waits for jobs.
struct WaitsForJobs;

impl Tool for WaitsForJobs {
    const ABOUT: About = about(JOB_WAIT);
    type Input = Said;
    type Output = Document;
    async fn run(&self, _: Said, _: &Context) -> Result<Document, ToolError> {
        Ok(Document(Vec::new()))
    }
}

/// Gives back facts, larger.
struct Shout;

impl Tool for Shout {
    const ABOUT: About = about("shout");
    type Input = Said;
    type Output = Structured<Heard>;
    async fn run(&self, said: Said, _: &Context) -> Result<Structured<Heard>, ToolError> {
        Ok(Structured(Heard { text: said.text.to_uppercase() }))
    }
}

/// Reports two steps before it is done.
struct Steps;

impl Tool for Steps {
    const ABOUT: About = about("steps");
    type Input = Said;
    type Output = Structured<Heard>;
    async fn run(&self, said: Said, cx: &Context) -> Result<Structured<Heard>, ToolError> {
        for done in [1.0, 2.0] {
            cx.report(Progress::Step { done, total: Some(2.0), message: Some(said.text.clone()) });
        }
        Ok(Structured(Heard { text: "done".to_owned() }))
    }
}

/// Never answers by itself.
struct Wait;

impl Tool for Wait {
    const ABOUT: About = about("wait");
    type Input = Said;
    type Output = Document;
    async fn run(&self, _: Said, _: &Context) -> Result<Document, ToolError> {
        std::future::pending().await
    }
}

/// Fails as asked.
struct Fail;

impl Tool for Fail {
    // It takes no path, so no folder is looked at once it has failed.
    const ABOUT: About = About { arguments: tool_api::ArgumentRoles::NONE, ..about("fail") };
    type Input = Said;
    type Output = Document;
    async fn run(&self, said: Said, _: &Context) -> Result<Document, ToolError> {
        Err(ToolError::new("sample_failure", said.text))
    }
}
