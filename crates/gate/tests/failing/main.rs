//! What happens to calls when the n-th change of the audit log, or the n-th use of the store, does not work, for every n:
//! nothing runs whose record cannot be kept, nothing runs that a person has not allowed, and every refusal has its name.

#![expect(clippy::disallowed_methods, reason = "the tests read the audit log and the journal they made")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../samples/definition.rs"]
mod definition;
mod store;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::store::SqliteStore;
use audit::Faults;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::approvals::{Answer, Scope};
use gate::{
    Approvals, Call, Caller, Catalog, Definition, Effect, Failure, Gate, Outcome, Parts, Payload, RateConfig,
    Redactor, Refusal, Ruleset, ToolError, Via,
};
use tool_api::{AnyTool, Arguments, Context};

use crate::store::Failing;

/// More changes than a scene makes mean that it never ends.
const CHANGES_MAX: u64 = 1_000;

/// What has run: the tool's name with its arguments, and the call.
type Ran = Arc<Mutex<Vec<(String, String)>>>;

/// A tool that notes that it ran; one with an effect looks first whether that is written down.
struct Noting {
    definition: Definition,
    ran: Ran,
    state: PathBuf,
}

impl AnyTool for Noting {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let call = cx.permit.call().to_string();
        if self.definition.effect > Effect::Reads {
            assert!(journals(&self.state).contains(&call), "{call} runs and no journal knows of it");
        }
        self.ran.lock().unwrap().push((format!("{} {}", self.definition.name, arguments.text()), call));
        let payload = Payload::Relayed { result: Bytes::from_static(b"{}"), structured: None };
        async move { Ok(Outcome::of(payload)) }.boxed()
    }
}

/// The notes of running calls.
fn journals(state: &Path) -> String {
    let files = std::fs::read_dir(state.join("inflight")).into_iter().flatten();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

fn noting(name: &str, effect: Effect, ran: &Ran, state: &Path) -> Arc<dyn AnyTool> {
    let definition = crate::definition::definition(None, name, effect);
    Arc::new(Noting { definition, ran: ran.clone(), state: state.to_owned() })
}

struct Scene {
    gate: Gate,
    audit_log: Arc<audit::AuditLog>,
    ran: Ran,
    state: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new(faults: &Arc<Faults>, first: u64, last: u64, is_done: bool) -> (Scene, Arc<Failing>) {
        let folder = tempfile::tempdir().unwrap();
        let (state, ran) = (folder.path().join("state"), Ran::default());
        let audit_log = audit::AuditLog::failing(&state, || 0, audit::Config::default(), None, faults);
        let audit_log = Arc::new(audit_log);
        let (made, last) = (AtomicU64::new(0), AtomicU64::new(last));
        let kept = SqliteStore::at(&state);
        let store = Arc::new(Failing { kept, first, last, is_done, made });
        let tools = [("look", Effect::Reads), ("keep", Effect::Writes), ("burn", Effect::Destroys)];
        let policy = policy::Policy::new(&policy::Config::default()).unwrap();
        let gate = Gate::new(Parts {
            catalog: Catalog::new(tools.map(|(name, effect)| noting(name, effect, &ran, &state)).into()),
            ruleset: Ruleset {
                approvals: gate::approvals::Config { wait: Duration::ZERO, ..Default::default() },
                ..Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 })
            },
            redactor: Redactor::new(&redact::Config::default()),
            approvals: Approvals::new(store.clone()),
            audit_log: audit_log.clone(),
            files: tool_api::Root::open(folder.path(), tool_api::Access::ReadWrite).unwrap(),
        });
        (Scene { gate: gate.unwrap(), audit_log, ran, state, _folder: folder }, store)
    }

    /// What comes of a call: that it ran, or the code it was refused with.
    async fn call(&self, tool: &str, number: u32) -> String {
        let call = Call::tool(tool, Some(format!("{{\"n\":{number}}}").into()));
        match self.gate.call(&Caller::local_user(Via::Stdio), call).await {
            Ok(_) => "ran".to_owned(),
            Err(Failure::Refused(Refusal::ApprovalPending(awaited))) => awaited.id.to_string(),
            Err(Failure::Refused(refusal)) => {
                let code = refusal.code();
                let known =
                    ["book_unavailable", "plan_mode_unavailable", "approvals_unavailable", "approval_denied"];
                let is_known = known.contains(&code);
                assert!(is_known, "{code}: {refusal}");
                code.to_owned()
            }
            Err(failure) => panic!("{failure:?}"),
        }
    }

    /// A call that a person is asked about, with this answer, if it could be asked. Says whether the answer was taken.
    async fn answered(&self, number: u32, answer: &Answer) -> bool {
        let id = self.call("burn", number).await;
        assert_ne!(id, "ran", "nobody has allowed {number}");
        let person = Caller::local_user(Via::CommandLine);
        match self.gate.approvals().answer(&id, answer, &person, None) {
            Ok(_) => true,
            Err(fault) => {
                assert!(["store_unavailable", "unknown_approval"].contains(&fault.code()), "{fault}");
                false
            }
        }
    }

    /// A day in the life of a gate. `is_done` says that an answer may be kept although it is said to be not.
    async fn live(&self, is_done: bool) {
        let approve = |scope| Answer::Approve { scope, note: None };
        self.call("keep", 1).await;
        self.call("look", 1).await;
        self.answered(2, &approve(Scope::Once)).await;
        self.call("burn", 2).await;
        self.call("burn", 2).await;
        let is_granted = self.answered(3, &approve(Scope::Session)).await;
        self.call("burn", 3).await;
        self.call("burn", 4).await;
        self.denied(5).await;
        self.call("look", 6).await;
        self.call("keep", 6).await;
        let count = |what: &str| self.ran.lock().unwrap().iter().filter(|(ran, _)| ran == what).count();
        assert!(count("burn {\"n\":2}") <= 1, "it was allowed once");
        assert!(is_granted || is_done || count("burn {\"n\":4}") == 0, "nobody has allowed it");
    }

    /// Denies a call of another caller, which no grant answers.
    async fn denied(&self, number: u32) {
        let arguments = Some(Bytes::from(format!("{{\"n\":{number}}}")));
        let agent = Caller::new(
            "a".into(),
            gate::CallerKind::LocalUser,
            gate::Role::Agent.into(),
            gate::Scopes::all(),
            Via::Http,
        );
        let call = || Call::tool("burn", arguments.clone());
        if let Err(Failure::Refused(Refusal::ApprovalPending(awaited))) = self.gate.call(&agent, call()).await
        {
            let deny = Answer::Deny { reason: None };
            // What is not kept stays open, and open is not allowed.
            let person = Caller::local_user(Via::CommandLine);
            let _ = self.gate.approvals().answer(&awaited.id, &deny, &person, None);
        }
        assert!(self.gate.call(&agent, call()).await.is_err(), "nobody has allowed it");
    }

    /// Once the disk works again, everything that ran is in the audit log, once.
    fn check_book(&self, what: &str) {
        self.audit_log
            .flush()
            .unwrap_or_else(|error| panic!("{what}: a mended disk takes what waited: {error}"));
        let text = std::fs::read_to_string(self.state.join(audit::FILE)).unwrap_or_default();
        let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for record in text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
            if let (Some(call), Some(outcome)) = (record["call_id"].as_str(), record["outcome"].as_str()) {
                outcomes.entry(call.to_owned()).or_default().push(outcome.to_owned());
            }
        }
        for (ran, call) in &*self.ran.lock().unwrap() {
            assert_eq!(outcomes.get(call), Some(&vec!["result".to_owned()]), "{what}: {ran}");
        }
        let results = outcomes.values().flatten().filter(|outcome| *outcome == "result").count();
        assert_eq!(
            results,
            self.ran.lock().unwrap().len(),
            "{what}: what did not run is not in the audit log as if it had"
        );
        audit::verify(&self.state, &audit::Trust::default())
            .unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// How long the faults last, as the last of them.
fn spans(first: u64) -> [u64; 2] {
    [first, u64::MAX]
}

async fn break_book(kind: ErrorKind) {
    for first in 1..CHANGES_MAX {
        let mut is_met = false;
        for last in spans(first) {
            let faults = Faults::new(first, last, kind);
            let (scene, _) = Scene::new(&faults, 0, 0, false);
            scene.live(false).await;
            // The writer comes to its turn as well.
            let _ = scene.audit_log.flush();
            is_met |= faults.made() >= first;
            faults.mend();
            scene.check_book(&format!("{kind:?} from {first} to {last}"));
        }
        if !is_met {
            assert!(first > 10, "a scene makes more changes than {first}");
            return;
        }
    }
    panic!("a scene has an end");
}

#[tokio::test]
async fn nothing_runs_that_a_full_disk_does_not_take() {
    break_book(ErrorKind::StorageFull).await;
}

#[tokio::test]
async fn nothing_runs_that_a_broken_disk_does_not_take() {
    break_book(ErrorKind::PermissionDenied).await;
}

#[tokio::test]
async fn nothing_runs_that_the_store_does_not_know_to_be_allowed() {
    for is_done in [false, true] {
        for first in 1..CHANGES_MAX {
            let mut is_met = false;
            for last in spans(first) {
                let faults = Faults::new(0, 0, ErrorKind::Other);
                let (scene, store) = Scene::new(&faults, first, last, is_done);
                scene.live(is_done).await;
                is_met |= store.made.load(Ordering::SeqCst) >= first;
                store.last.store(0, Ordering::SeqCst);
                scene.check_book(&format!("store from {first} to {last}, done: {is_done}"));
                // Nothing was spoilt for good.
                assert_ne!(scene.call("burn", 7).await, "approvals_unavailable");
            }
            if !is_met {
                assert!(first > 10, "a scene uses the store more than {first} times");
                break;
            }
            assert!(first + 1 < CHANGES_MAX, "a scene has an end");
        }
    }
}

#[tokio::test]
async fn without_faults_everything_runs_that_may() {
    let (scene, _) = Scene::new(&Faults::new(0, 0, ErrorKind::Other), 0, 0, false);
    scene.live(false).await;
    let ran: Vec<String> = scene.ran.lock().unwrap().iter().map(|(ran, _)| ran.clone()).collect();
    let expected = [
        "keep {\"n\":1}",
        "look {\"n\":1}",
        "burn {\"n\":2}",
        "burn {\"n\":3}",
        "burn {\"n\":4}",
        "look {\"n\":6}",
        "keep {\"n\":6}",
    ];
    assert_eq!(ran, expected);
    scene.check_book("no faults");
}
