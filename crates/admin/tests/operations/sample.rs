//! An administration with a bit of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use admin::artifacts::ArtifactPart;
use admin::audit_log::AuditPart;
use admin::folders::{Agreement, Declaration, DeclaringFolder, FoldersPart, HeldBack, Line};
use admin::import::{ImportPart, ImportSource, Ourselves, Target};
use admin::jobs::JobsPart;
use admin::keys::{self, Keys};
use admin::policy::{Beside, PolicyPart};
use admin::rules::RulesPart;
use admin::secrets::{self, SecretPart, Value as SecretText};
use admin::servers::{KnownServers, ListedServer, RememberedServer, ServerReport, ServersPart};
use admin::trust::TrustPart;
use admin::{
    Admin, Answered, By, Fault, KnownTools, Operation as _, Refused, Reloaded, Running, Told, Toolcrib, Tools,
};
use artifacts::{About, Artifacts, Limits, Owner};
use gate::jobs::Jobs;
use gate::{Approvals, Redactor};
use pins::PinStore;
use policy::{Case, Policy};
use sandbox::{Access, Root};
use serde_json::{Value, json};
use store::{KeySource, Secrets, SqliteJobs, SqliteStore, wait};
use tempfile::TempDir;
use testkit::SampleGate;

/// One other Toolcrib, which takes everything up but one secret's change.
struct Others;

impl Running for Others {
    fn learn(&self) -> io::Result<Vec<Told>> {
        let told = |pid, ok| Told { pid, ok, answer: None, error: (!ok).then(|| "it hangs".to_owned()) };
        Ok(vec![told(7, true), told(8, false)])
    }

    fn take_up_decisions(&self, server: &str) -> io::Result<Vec<Told>> {
        Ok(vec![Told { pid: 7, ok: true, answer: Some(json!({ "name": server })), error: None }])
    }

    fn reconnect(&self, server: &str) -> io::Result<Vec<Told>> {
        self.take_up_decisions(server)
    }

    fn status(&self) -> io::Result<Vec<Answered<Toolcrib>>> {
        let git = json!({ "name": "git", "state": { "status": "failed", "error": "gone" }, "mood": "fine" });
        let upstreams = vec![ServerReport::of(git)];
        let one =
            Toolcrib { pid: 7, door: "stdio".to_owned(), configuration: Vec::new(), upstreams, health: None };
        Ok(vec![Answered { pid: 7, answer: Ok(one) }, hangs()])
    }

    fn reload(&self) -> io::Result<Vec<Answered<Reloaded>>> {
        let reloaded = Reloaded { added: vec!["new".to_owned()], ..Reloaded::default() };
        let wrong = Refused::Problems(vec!["x.toml:1:1: no".to_owned()]);
        Ok(vec![Answered { pid: 7, answer: Ok(reloaded) }, hangs(), Answered { pid: 9, answer: Err(wrong) }])
    }

    fn stderr(&self, server: &str) -> io::Result<Vec<Answered<String>>> {
        Ok(vec![Answered { pid: 7, answer: Ok(format!("{server} ends")) }, hangs()])
    }
}

fn hangs<T>() -> Answered<T> {
    Answered { pid: 8, answer: Err(Refused::Because("it hangs".to_owned())) }
}

/// Nobody runs.
pub(crate) struct Nobody;

impl Running for Nobody {
    fn status(&self) -> io::Result<Vec<Answered<Toolcrib>>> {
        Ok(Vec::new())
    }

    fn reload(&self) -> io::Result<Vec<Answered<Reloaded>>> {
        Ok(Vec::new())
    }

    fn learn(&self) -> io::Result<Vec<Told>> {
        Ok(Vec::new())
    }

    fn reconnect(&self, _server: &str) -> io::Result<Vec<Told>> {
        Ok(Vec::new())
    }

    fn take_up_decisions(&self, _server: &str) -> io::Result<Vec<Told>> {
        Ok(Vec::new())
    }

    fn stderr(&self, _server: &str) -> io::Result<Vec<Answered<String>>> {
        Ok(Vec::new())
    }
}

/// The servers of the sample, `git` of which is remembered.
struct SampleServers;

impl KnownServers for SampleServers {
    fn configured(&self) -> Result<Vec<ListedServer>, Fault> {
        let one = |name: &str| ListedServer {
            name: name.to_owned(),
            transport: "stdio".to_owned(),
            place: "x".to_owned(),
            enabled: true,
            running: Vec::new(),
            remembered: (name == "git").then_some(RememberedServer { tools: 3, age_ms: 5 }),
            sandbox: None,
            signed_in: None,
            file: None,
        };
        Ok(vec![one("git"), one("new")])
    }

    fn resting(&self) -> Result<Vec<ServerReport>, Fault> {
        let one = |name: &str| ServerReport::of(json!({ "name": name, "state": { "status": "stopped" } }));
        Ok(vec![one("git"), one("new")])
    }
}

/// What the folder `/project` declares; there is no other.
fn look(folder: &Path, store: Arc<SqliteStore>) -> Result<DeclaringFolder, Fault> {
    if folder != Path::new("/project") {
        return Err(Fault::misused("there is no such folder"));
    }
    let (read, held) = (vec![folder.to_owned()], vec![held()]);
    Ok(DeclaringFolder { folder: folder.to_owned(), read, held, notes: Vec::new(), store })
}

/// A server that the folder declares.
pub(crate) fn held() -> HeldBack {
    let line = Line { shown: "sets A to 1".to_owned(), kept: "sets A".to_owned() };
    let declaration = Declaration {
        folder: "/project".into(),
        key: "toolcrib.toml mcp.folder".to_owned(),
        place: "toolcrib.toml:1:6".to_owned(),
        sha256: "ab".to_owned(),
        lines: vec![line],
        secrets: vec!["TOKEN".to_owned()],
    };
    HeldBack { declaration, why: Agreement::Unknown }
}

/// A file that bears every server.
struct File;

impl Target for File {
    fn path(&self) -> &Path {
        Path::new("/crib.toml")
    }

    fn text(&self) -> Result<String, Fault> {
        Ok(String::new())
    }

    fn check(&self, text: &str, _new: &[(&str, &clients::Server)]) -> Result<(String, Vec<String>), Fault> {
        Ok((text.to_owned(), Vec::new()))
    }
}

/// The tools of the sample gate, of which nothing is remembered but what they are.
struct SampleTools;

impl Tools for SampleTools {
    fn known(&self) -> Result<KnownTools, Fault> {
        let folder = tempfile::tempdir().map_err(Fault::because)?;
        let files = Root::open(folder.path(), Access::ReadWrite).map_err(Fault::because)?;
        let offer = SampleGate::new().gate.catalog().offer();
        Ok(KnownTools { offer, files, servers: Vec::new() })
    }
}

/// One case beside the rules, and a policy that denies everything in any other file.
pub(crate) struct SampleBeside;

impl Beside for SampleBeside {
    fn cases(&self) -> Result<Vec<Case>, Fault> {
        let case = json!({ "name": "one", "tool": "echo", "expect": "deny" });
        Ok(vec![serde_json::from_value(case).map_err(Fault::because)?])
    }

    fn policy_of(&self, file: &Path) -> Result<Policy, Fault> {
        let denying = policy::Config { deny: vec!["*".to_owned()], ..policy::Config::default() };
        match file.is_absolute() {
            true => Policy::new(&denying).map_err(Fault::because),
            false => Err(Fault::configuration("there is no such file")),
        }
    }
}

/// A server that nobody starts.
fn server(name: &str) -> upstream::Settings {
    let table = upstream::Config { command: Some("x".to_owned()), ..upstream::Config::default() };
    let nothing = |_: &_| unreachable!("it refers to nothing");
    table.settle(name, Duration::from_secs(1), &nothing).expect("sound")
}

/// What was accepted of `git`: one tool, that has changed since, and another as it was.
fn pins(store: &Arc<SqliteStore>) -> PinStore {
    let pins = PinStore::new(store.clone(), &Redactor::new(&redact::Config::default()));
    let says = |text: &str| {
        let text = json!({ "name": "push", "description": text }).to_string();
        json!({ "hash": pins::Hash::of(&text), "at_ms": 1, "text": text })
    };
    let tools = json!({ "push": { "accepted": says("Pushes."), "shown": says("Pushes and runs a shell command.") },
        "pull": { "accepted": says("Pulls.") } });
    let record = json!({ "version": 1, "first_seen_ms": 0, "seen": ["tool"], "pins": { "tool": tools } });
    let key = server("git").trust_key();
    assert!(wait(pins.replace(&key, None, record.to_string().into())).expect("kept"));
    pins
}

/// A folder with rules for AI, the same for all samples.
pub(crate) static RULES: LazyLock<TempDir> = LazyLock::new(|| {
    let rule = |id: &str, about: Value, does: Value| json!({ "id": id, "match": about, "action": does });
    let rules = [
        rule("shout", json!({ "tools": ["shout"] }), json!({ "on_violation": "block" })),
        rule("keys", json!({ "content_regex": "sk-[a-z]+" }), json!({ "on_violation": "redact" })),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let text = json!({ "version": "1.0", "rules": rules }).to_string();
    std::fs::write(folder.path().join("rules.json"), text).expect("written");
    std::fs::write(folder.path().join("wrong.json"), "{}").expect("written");
    folder
});

/// The id of an artifact that is there.
pub(crate) const ARTIFACT: &str = "0123456789abcdef0123456789abcdef";

/// The ids of all that are there, in the order of the list.
pub(crate) const ARTIFACTS: [&str; 3] =
    [ARTIFACT, "a123456789abcdef0123456789abcdef", "e123456789abcdef0123456789abcdef"];

/// Artifacts, all made in the same moment.
fn kept(state: &Path, store: Arc<SqliteStore>) -> Artifacts {
    let artifacts = Artifacts::new(state, store, Limits::default(), || 1_700_000_000_000);
    for id in ARTIFACTS.iter().rev() {
        let mut draft = artifacts.draft().expect("a draft");
        draft.write(b"one\ntwo\n").expect("written");
        let owner = Owner { caller: "local".into(), key: None, workspace: "/w".into() };
        let about = About { name: "stdout".into(), media_type: "text/plain".into(), tool: "make".into() };
        artifacts.keep(draft, (*id).into(), owner, about).expect("kept");
    }
    artifacts
}

fn audit_log(state: &Path) -> AuditPart {
    let (config, redactor) = (audit::Config::default(), Redactor::new(&redact::Config::default()));
    AuditPart { state: state.to_owned(), config, redactor }
}

/// An administration on a state of its own, with a key `ci` and a secret `TOKEN`.
pub(crate) struct Sample {
    pub(crate) admin: Admin,
    pub(crate) _state: TempDir,
}

pub(crate) fn sample() -> Sample {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(SqliteStore::at(state.path()));
    let approvals = Approvals::new(store.clone());
    let uses = ["TOKEN", "LATER"].map(|name| (name.to_owned(), BTreeSet::from(["mcp.git.env.T".to_owned()])));
    let admin = Admin {
        approvals: approvals.clone(),
        artifacts: ArtifactPart { artifacts: Arc::new(kept(state.path(), store.clone())) },
        keys: Keys { store: store.clone(), approvals: approvals.clone() },
        jobs: JobsPart {
            jobs: Jobs::new(Arc::new(SqliteJobs::at(state.path())), approvals.clone()),
            audit_log: audit_log(state.path()),
        },
        secrets: SecretPart {
            sealed: Secrets::sealed_by(store.clone(), state.path(), KeySource::State),
            source: KeySource::State,
            uses: BTreeMap::from(uses),
            running: Arc::new(Others),
            now_ms: || 1_700_000_000_000,
        },
        audit_log: audit_log(state.path()),
        servers: ServersPart {
            servers: vec![server("git"), server("new")],
            held: vec![held()],
            known: Box::new(SampleServers),
            running: Arc::new(Others),
        },
        folders: FoldersPart {
            store: store.clone(),
            look: Box::new({
                let store = store.clone();
                move |folder| look(folder, store.clone())
            }),
            redactor: Redactor::new(&redact::Config::default()),
            running: Arc::new(Others),
            now_ms: || 1_700_000_000_000,
        },
        import: ImportSource(Box::new(|environment| {
            let variables = environment.unwrap_or_default().into_iter();
            let variables = variables.map(|(name, value)| (name.into(), value.into())).collect();
            Ok(ImportPart {
                surroundings: clients::Surroundings { variables, ..Default::default() },
                configured: BTreeMap::new(),
                ourselves: Ourselves::default(),
                target: Box::new(File),
            })
        })),
        policy: PolicyPart {
            policy: Policy::new(&policy::Config::default()).expect("the default is sound"),
            beside: Box::new(SampleBeside),
            tools: Arc::new(SampleTools),
            state: state.path().to_owned(),
        },
        trust: TrustPart {
            servers: vec![server("git"), server("new")],
            held: vec![held()],
            store: pins(&store),
            own: Vec::new(),
            approvals,
            running: Arc::new(Others),
            now_ms: || 1_700_000_000_000,
        },
        rules: RulesPart {
            settings: rules::Settings { user: Some(RULES.path().join("rules.json")), ..Default::default() },
            tools: Arc::new(SampleTools),
        },
    };
    let by = By::owner();
    let ci = keys::Create { name: "ci".to_owned(), ..keys::Create::default() };
    ci.perform(&admin.keys, &by).expect("created");
    set("TOKEN").perform(&admin.secrets, &by).expect("kept");
    Sample { admin, _state: state }
}

pub(crate) fn set(name: &str) -> secrets::Set {
    let value = Some(SecretText("s3cret-planted".to_owned()));
    secrets::Set { name: name.to_owned(), value, whom: vec!["git".to_owned()] }
}
