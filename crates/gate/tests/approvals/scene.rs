//! A state folder with one or more gates over it, as processes share one, and a tool that the default policy asks about.
//! `Process::call` makes a call of it and tells what came of it in one word.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
pub(crate) use std::time::Duration;

pub(crate) use bytes::Bytes;
pub(crate) use futures_util::FutureExt;
pub(crate) use futures_util::future::BoxFuture;
pub(crate) use gate::approvals::State;
pub(crate) use gate::approvals::{
    Answer, Approval, Code, Config, Forgotten, GRANTS_MAX, Grant, Member, PENDING_MAX,
    PENDING_PER_CALLER_MAX, Pattern, Scope, is_question, unanswered,
};
pub(crate) use gate::{
    Approvals, Call, Caller, CallerKind, Cancel, Catalog, Client, Definition, Effect, Failure, Features,
    Gate, Input, Outcome, Parts, Payload, Proof, RateConfig, Redactor, Refusal, Role, Roles, Ruleset, Scopes,
    ToolError, Via,
};
pub(crate) use store::{CellStore, Change, Content, Kind, SqliteStore};
pub(crate) use tool_api::{About, AnyTool, Arguments, BACKGROUND, BASH, Context, Listing};

/// The clock of all scenes: each test runs in a process of its own, or moves it only forwards.
pub(crate) static NOW_MS: AtomicI64 = AtomicI64::new(1_800_000_000_000);

pub(crate) fn now_ms() -> i64 {
    NOW_MS.load(Ordering::SeqCst)
}

const ABOUT: About = About {
    name: "burn",
    title: "Burn",
    summary: "burns",
    effect: Effect::Executes,
    arguments: tool_api::ArgumentRoles { paths: &["path"], writes: &["path"], remarks: &["note"] },
    scopes: &[],
    needs: &[tool_api::Need::Process],
    idempotent: true,
    open_world: false,
    timeout: Duration::from_secs(1),
    examples: &[],
};

/// A tool that counts how often it ran; with `rounds` it asks its client first.
pub(crate) struct Burn(Definition, Arc<AtomicU32>);

impl AnyTool for Burn {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let input = cx.input.clone().unwrap_or_default();
        let payload = if arguments.value()["asks"] == true && input.state.is_none() {
            let requests = Some(Bytes::from_static(br#"{"k":{"method":"roots/list"}}"#));
            Payload::InputRequired { requests, state: Some("inner".into()), hold: None }
        } else {
            self.1.fetch_add(1, Ordering::SeqCst);
            let said = String::from_utf8_lossy(input.responses.as_deref().unwrap_or(b"-")).into_owned();
            Payload::Relayed { result: format!("burnt {said}").into(), structured: None }
        };
        async move { Ok(Outcome::of(payload)) }.boxed()
    }
}

pub(crate) fn burn(description: &str, ran: &Arc<AtomicU32>) -> Arc<dyn AnyTool> {
    burn_of(Some("u"), description, ran)
}

/// A shell, or what types to background tasks: ours, and asked about.
fn shell(name: &str, ran: &Arc<AtomicU32>) -> Arc<dyn AnyTool> {
    let definition = crate::definition::definition(None, name, Effect::Destroys);
    Arc::new(Burn(Definition { listing: Listing::Ours(&ABOUT), ..definition }, ran.clone()))
}

/// The same of a server, or our own.
fn burn_of(upstream: Option<&str>, description: &str, ran: &Arc<AtomicU32>) -> Arc<dyn AnyTool> {
    // Tools of ours that run programs are asked about by nobody.
    let effect = if upstream.is_some() { Effect::Executes } else { Effect::Destroys };
    let definition = Definition {
        description: description.into(),
        marked_destructive: true,
        // So that it says what it writes.
        listing: Listing::Ours(&ABOUT),
        ..crate::definition::definition(upstream, "burn", effect)
    };
    Arc::new(Burn(definition, ran.clone()))
}

/// One process.
pub(crate) struct Process {
    pub(crate) gate: Gate,
    pub(crate) catalog: Arc<Catalog>,
}

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ran: Arc<AtomicU32>,
    pub(crate) config: Config,
}

pub(crate) const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

impl Scene {
    pub(crate) fn new() -> Scene {
        let config = Config { wait: Duration::ZERO, ..Config::default() };
        Scene { folder: tempfile::tempdir().unwrap(), ran: Arc::default(), config }
    }

    pub(crate) fn waiting(seconds: u64) -> Scene {
        let scene = Scene::new();
        Scene { config: Config { wait: Duration::from_secs(seconds), ..scene.config }, ..scene }
    }

    pub(crate) fn process(&self) -> Process {
        self.process_over(Arc::new(SqliteStore::at(&self.folder.path().join("state"))))
    }

    pub(crate) fn process_over(&self, store: Arc<dyn store::Store>) -> Process {
        let catalog = Catalog::new(vec![shell(BASH, &self.ran), shell(BACKGROUND, &self.ran)]);
        catalog.replace("u", vec![burn("burns", &self.ran)], Features::default());
        self.process_of(store, catalog, self.folder.path())
    }

    /// One with a workspace of its own; the tool is ours if it is of no server.
    pub(crate) fn process_in(&self, workspace: &std::path::Path, upstream: Option<&str>) -> Process {
        let store = Arc::new(SqliteStore::at(&self.folder.path().join("state")));
        let tool = burn_of(upstream, "burns", &self.ran);
        let catalog = match upstream {
            None => Catalog::new(vec![tool]),
            Some(upstream) => {
                let catalog = Catalog::new(Vec::new());
                catalog.replace(upstream, vec![tool], Features::default());
                catalog
            }
        };
        self.process_of(store, catalog, workspace)
    }

    /// One whose tool is ours, and takes arguments of this schema.
    pub(crate) fn process_that_takes(&self, schema: &'static str) -> Process {
        let ours = burn_of(None, "burns", &self.ran);
        let definition = Definition {
            input_schema: Bytes::from_static(schema.as_bytes()).into(),
            ..ours.definition().clone()
        };
        let store = Arc::new(SqliteStore::at(&self.folder.path().join("state")));
        let catalog = Catalog::new(vec![Arc::new(Burn(definition, self.ran.clone()))]);
        self.process_of(store, catalog, self.folder.path())
    }

    pub(crate) fn process_of(
        &self,
        store: Arc<dyn store::Store>,
        catalog: Arc<Catalog>,
        workspace: &std::path::Path,
    ) -> Process {
        let policy = policy::Policy::new(&policy::Config::default()).unwrap();
        let state = self.folder.path().join("state");
        let gate = Gate::new(Parts {
            catalog: catalog.clone(),
            ruleset: Ruleset {
                approvals: self.config.clone(),
                ..Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 })
            },
            redactor: Redactor::new(&redact::Config::default()),
            approvals: Approvals::with_clock(store.clone(), now_ms),
            audit_log: Arc::new(audit::AuditLog::at(&state, || 0)),
            files: tool_api::Root::open(workspace, tool_api::Access::Read).unwrap(),
        });
        let secrets = Arc::new(store::Secrets::new(store, &state));
        Process { gate: gate.unwrap().with_secrets(&secrets), catalog }
    }

    /// Puts AI rules into the workspace.
    pub(crate) fn rules(&self, rules: &str) {
        std::fs::create_dir_all(self.folder.path().join(".toolcrib")).unwrap();
        let text = format!("version: '1.0'\nrules:\n{rules}");
        std::fs::write(self.folder.path().join(".toolcrib/ai-rules.yaml"), text).unwrap();
    }

    /// What decides by this policy, in TOML, and the AI rules of the workspace.
    pub(crate) fn ruleset(&self, policy: &str) -> Ruleset {
        let policy = policy::Policy::new(&toml::from_str(policy).unwrap()).unwrap();
        let workspace = self.folder.path().canonicalize().unwrap();
        Ruleset {
            rules: Arc::new(rules::Rules::new(rules::Settings { workspace, ..Default::default() })),
            approvals: self.config.clone(),
            ..Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 })
        }
    }

    pub(crate) fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }
}

pub(crate) fn local() -> Caller {
    Caller::local_user(Via::Stdio)
}

pub(crate) fn terminal() -> Caller {
    Caller::local_user(Via::CommandLine)
}

pub(crate) fn holder(id: &str, role: Role) -> Caller {
    Caller::new(id.into(), CallerKind::Key, role.into(), Scopes::all(), Via::Http)
}

/// The same, by a key that was given to a person.
pub(crate) fn person(id: &str, role: Role) -> Caller {
    holder(id, role).as_person()
}

pub(crate) fn once() -> Answer {
    Answer::Approve { scope: Scope::Once, note: None }
}

pub(crate) fn scope(scope: Scope) -> Answer {
    Answer::Approve { scope, note: None }
}

pub(crate) fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: Some(reason.to_owned()) }
}

impl Process {
    pub(crate) async fn make(
        &self,
        caller: &Caller,
        arguments: &str,
        client: Client,
        input: Option<Input>,
    ) -> Result<Outcome, Failure> {
        let arguments = Some(Bytes::copy_from_slice(arguments.as_bytes()));
        self.gate.call(caller, Call { client, input, ..Call::tool("burn", arguments) }).await
    }

    /// Starts a background task or types to one; what comes of it: `ran`, or the id of the question that it waits for.
    pub(crate) async fn types(&self, arguments: &str) -> String {
        let arguments = Some(Bytes::copy_from_slice(arguments.as_bytes()));
        match self.gate.call(&local(), Call::tool(BACKGROUND, arguments)).await {
            Ok(_) => "ran".to_owned(),
            Err(Failure::Refused(Refusal::ApprovalPending(awaited))) => awaited.id.to_string(),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// What comes of a call: `ran`, or the code it was refused with.
    pub(crate) async fn call(&self, caller: &Caller, arguments: &str) -> String {
        match self.make(caller, arguments, Client::default(), None).await {
            Ok(Outcome { payload: Payload::Relayed { .. }, .. }) => "ran".to_owned(),
            Ok(other) => format!("{:?}", other.payload),
            Err(failure) => failure.code().to_owned(),
        }
    }

    /// The id of the question that such a call waits for.
    pub(crate) async fn ask(&self, caller: &Caller, arguments: &str) -> String {
        match self.make(caller, arguments, Client::default(), None).await {
            Err(Failure::Refused(Refusal::ApprovalPending(awaited))) => awaited.id.to_string(),
            other => panic!("{:?}", other.map(|outcome| outcome.payload)),
        }
    }

    /// What comes of an answer: the state, or the code it was refused with.
    pub(crate) fn answer(&self, id: &str, answer: &Answer, by: &Caller) -> String {
        self.answer_with(id, answer, by, None)
    }

    /// The same, with a code.
    pub(crate) fn answer_with(&self, id: &str, answer: &Answer, by: &Caller, code: Option<&str>) -> String {
        match self.gate.approvals().answer(id, answer, by, code.map(Code::new).as_ref()) {
            Ok(approval) => approval.status(now_ms()).as_str().to_owned(),
            Err(fault) => fault.code().to_owned(),
        }
    }

    pub(crate) fn approval(&self, id: &str) -> Approval {
        self.gate.approvals().approval(id, &terminal()).unwrap()
    }
}

pub(crate) fn pass(time: Duration) {
    NOW_MS.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
}
