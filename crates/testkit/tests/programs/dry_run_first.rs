//! Calls that a rule wants made dry first: a person sees what they would change, and what was seen is what is done.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use gate::approvals::{Answer, Approval, Pattern, Scope};
use gate::{
    Call, Caller, Client, Earnest, Failure, Input, Outcome, Payload, ProgramSettings, RateConfig, Refusal,
    Ruleset, Via, approvals,
};
use policy::{RuleConfig, Verdict};
use serde_json::{Value, json};
use testkit::SampleGate;

use super::{confiner, owner};

struct World {
    sample: SampleGate,
    _asides: tempfile::TempDir,
}

/// A rule asks about these tools, and wants each call made dry first.
fn world(tools: &[&str], wait: Duration) -> World {
    let asides = tempfile::tempdir().expect("a folder");
    let settings = ProgramSettings { asides: asides.path().to_owned(), ..ProgramSettings::default() };
    let people = approvals::Config { wait, ..approvals::Config::default() };
    let sample = SampleGate::with_people(confiner(None), settings.clone(), people.clone());
    let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
    let rule = RuleConfig { tools, dry_run_first: true, ..RuleConfig::new("show-first", Verdict::Ask) };
    let policy = policy::Config { rules: vec![rule], ..policy::Config::default() };
    let policy = policy::Policy::new(&policy).expect("it is sound");
    sample.gate.govern(Ruleset {
        approvals: people,
        programs: Arc::new(settings),
        ..Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 })
    });
    fs::write(sample.workspace().join("a.txt"), "one\n").expect("a file");
    World { sample, _asides: asides }
}

impl World {
    async fn make(
        &self,
        script: &str,
        earnest: Earnest,
        client: Client,
        input: Option<Input>,
    ) -> Result<Outcome, Failure> {
        let arguments = json!({ "script": script }).to_string();
        let call = Call { earnest, client, input, ..Call::tool("sh_run", Some(arguments.into())) };
        self.sample.gate.call(&owner(), call).await
    }

    /// What comes of a call: `ran`, or the code of why not.
    async fn call(&self, script: &str) -> String {
        let done = self.make(script, Earnest::Real, Client::default(), None).await;
        done.map_or_else(|failure| failure.code().to_owned(), |_| "ran".to_owned())
    }

    /// The question that such a call leaves.
    async fn ask(&self, script: &str) -> Approval {
        match self.make(script, Earnest::Real, Client::default(), None).await {
            Err(Failure::Refused(Refusal::ApprovalPending(awaited))) => self.approval(&awaited.id),
            other => panic!("{:?}", other.map(|outcome| outcome.payload)),
        }
    }

    fn approval(&self, id: &str) -> Approval {
        self.sample.gate.approvals().approval(id, &person()).expect("a question")
    }

    fn open(&self) -> Vec<Approval> {
        let approvals = self.sample.gate.approvals();
        let mut all = approvals.approvals(&person()).expect("they can be read");
        all.retain(|it| it.report(approvals.now_ms()).is_open());
        all
    }

    fn answer(&self, id: &str, scope: Scope) -> String {
        let answer = Answer::Approve { scope, note: None };
        let answered = self.sample.gate.approvals().answer(id, &answer, &person(), None);
        answered.map_or_else(|fault| fault.code().to_owned(), |_| "approved".to_owned())
    }

    fn write(&self, text: &str) {
        fs::write(self.sample.workspace().join("a.txt"), text).expect("a file");
    }

    fn a_txt(&self) -> String {
        fs::read_to_string(self.sample.workspace().join("a.txt")).expect("a file")
    }
}

fn person() -> Caller {
    Caller::local_user(Via::CommandLine)
}

fn diff(approval: &Approval) -> &str {
    &approval.would_change.as_ref().expect("what it would change").diff
}

const NOBODY_WAITS: Duration = Duration::ZERO;

#[tokio::test]
async fn a_person_sees_what_a_call_would_change_and_that_is_done() {
    let world = world(&["sh_run"], NOBODY_WAITS);
    let script = "echo two > a.txt; echo new > b.txt";
    let asked = world.ask(script).await;
    assert_eq!(
        diff(&asked),
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n\
         diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n"
    );
    assert_eq!(asked.would_change.as_ref().map(|it| (it.files, it.lines_cut)), Some((2, 0)));
    assert_eq!(world.a_txt(), "one\n");
    assert_eq!(world.ask(script).await.id, asked.id, "one call has one question");
    // What another call would change nobody has seen.
    for scope in [Scope::Session, Scope::Always(Pattern::Same), Scope::Always(Pattern::Any)] {
        assert_eq!(world.answer(&asked.id, scope), "once_only");
    }
    assert_eq!(world.answer(&asked.id, Scope::Once), "approved");
    assert_eq!(world.call(script).await, "ran");
    assert_eq!(world.a_txt(), "two\n");
    let records = world.sample.whole_records(1);
    let plan = &asked.would_change.as_ref().expect("a plan").plan_hash;
    assert_eq!(records[0]["dry_run"], json!(plan), "{records:?}");
    assert_eq!(world.call(script).await, "approval_required", "it was good for once");
}

#[tokio::test]
async fn what_was_seen_is_done_or_a_person_is_asked_anew() {
    let world = world(&["sh_run"], NOBODY_WAITS);
    let script = "echo two >> a.txt";
    let first = world.ask(script).await;
    assert_eq!(world.answer(&first.id, Scope::Once), "approved");
    world.write("other\n");
    let second = world.ask(script).await;
    assert_ne!(second.id, first.id);
    assert!(diff(&second).contains(" other\n+two\n"), "{}", diff(&second));
    assert_eq!(world.approval(&first.id).status(world.sample.gate.approvals().now_ms()).as_str(), "expired");
    // Nobody is left to answer for what would not be done.
    world.write("third\n");
    let third = world.ask(script).await;
    assert_eq!(world.open().iter().map(|it| &it.id).collect::<Vec<_>>(), [&third.id]);
    assert_eq!(world.answer(&second.id, Scope::Once), "approval_expired");
    assert_eq!(world.a_txt(), "third\n");
    assert_eq!(world.answer(&third.id, Scope::Once), "approved");
    assert_eq!(world.call(script).await, "ran");
    assert_eq!(world.a_txt(), "third\ntwo\n");
}

#[tokio::test]
async fn files_that_change_while_a_person_is_asked_end_the_call() {
    let world = Arc::new(world(&["sh_run"], Duration::from_secs(30)));
    let calling = tokio::spawn({
        let world = world.clone();
        async move { world.call("echo two > a.txt").await }
    });
    let asked = loop {
        if let Some(asked) = world.open().pop() {
            break asked;
        }
        tokio::task::yield_now().await;
    };
    world.write("other\n");
    assert_eq!(world.answer(&asked.id, Scope::Once), "approved");
    assert_eq!(calling.await.expect("it ends"), "plan_outdated");
    assert_eq!(world.a_txt(), "other\n");
}

/// Its answer counts although a second dry run would say something else.
#[tokio::test]
async fn a_program_that_never_writes_the_same_twice_is_asked_about_once() {
    let world = world(&["sh_run"], NOBODY_WAITS);
    let script = "cat /proc/sys/kernel/random/uuid > a.txt";
    let asked = world.ask(script).await;
    assert_eq!(world.ask(script).await.id, asked.id);
    assert_eq!(world.answer(&asked.id, Scope::Once), "approved");
    assert_eq!(world.call(script).await, "ran");
}

#[tokio::test]
async fn a_denial_holds_for_what_was_seen() {
    let world = world(&["sh_run"], NOBODY_WAITS);
    let asked = world.ask("echo two > a.txt").await;
    let deny = Answer::Deny { reason: None };
    world.sample.gate.approvals().answer(&asked.id, &deny, &person(), None).expect("an answer");
    assert_eq!(world.call("echo two > a.txt").await, "approval_denied");
    world.write("other\n");
    assert_eq!(world.call("echo two > a.txt").await, "approval_required");
}

#[tokio::test]
async fn nobody_is_asked_about_what_cannot_be_shown() {
    let world = world(&["echo", "sh_look", "sh_fetch", "sh_run"], NOBODY_WAITS);
    // A tool that only looks has no dry run.
    for (tool, arguments) in [("echo", json!({ "text": "a" })), ("sh_look", json!({ "script": "true" }))] {
        let call = Call::tool(tool, Some(arguments.to_string().into()));
        let refused = world.sample.gate.call(&owner(), call).await.expect_err("a refusal").to_string();
        let expected = format!(
            "refused by policy: `{tool}` has no dry run, and nobody may be asked about it without one (rule show-first)"
        );
        assert_eq!(refused, expected);
    }
    // What fails while it is dry fails.
    let arguments = json!({ "script": "", "program": "there-is-none" }).to_string();
    let call = Call::tool("sh_run", Some(arguments.into()));
    let failed = world.sample.gate.call(&owner(), call).await.expect_err("a failure");
    assert_eq!(failed.code(), "program_not_run");
    let many = "i=0; while [ $i -lt 1001 ]; do : > f$i; i=$((i+1)); done";
    assert_eq!(world.call(many).await, "policy_denied");
    // A dry run that its caller wants is one.
    let dry = world.make("echo two > a.txt", Earnest::Dry, Client::default(), None).await.expect("it ran");
    assert_eq!(dry.planned.map(|planned| planned.changes.len()), Some(1));
    assert_eq!(world.open(), []);
    assert_eq!(world.a_txt(), "one\n");
}

#[tokio::test]
async fn a_question_about_what_changes_nothing_says_so_and_none_shows_a_secret() {
    let world = world(&["sh_run"], NOBODY_WAITS);
    let asked = world.ask("cat a.txt").await.would_change.expect("what it would change");
    assert_eq!((asked.files, &*asked.diff, &*asked.summary()), (0, "", "its dry run changed nothing"));
    world.sample.plant(&["planted-s3cret"]);
    world.write("planted-s3cret\n");
    let asked = world.ask("echo two >> a.txt").await;
    assert!(diff(&asked).contains(" [REDACTED:PLANTED]\n+two\n"), "{}", diff(&asked));
}

#[tokio::test]
async fn a_client_that_asks_its_user_shows_it() {
    let world = world(&["sh_run"], NOBODY_WAITS);
    let script = "echo two > a.txt";
    let forms = || Client { capabilities: r#"{"elicitation":{"form":{}}}"#.into(), ..Client::default() };
    let mut state = None;
    for (before, diff_shown) in [("one\n", "-one\n+two\nApproval"), ("other\n", "-other\n+two\nApproval")] {
        world.write(before);
        // The second time it answers for what would not be done any more, and is asked anew.
        let responses = state.is_some().then(|| answered(&world.open()));
        let input = state.take().map(|state| Input { responses, state: Some(state) });
        let asked = world.make(script, Earnest::Real, forms(), input).await.expect("a question");
        let Payload::InputRequired { requests, state: kept, .. } = asked.payload else {
            panic!("a question")
        };
        let requests: Value = serde_json::from_slice(&requests.expect("requests")).expect("JSON");
        let params = requests.as_object().and_then(|all| all.values().next()).map(|it| it["params"].clone());
        let params = params.expect("one question");
        let message = params["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("it would change 1 file:\ndiff --git a/a.txt") && message.contains(diff_shown),
            "{message}"
        );
        assert_eq!(params["requestedSchema"]["properties"]["answer"]["enum"], json!(["once", "deny"]));
        assert_eq!(world.a_txt(), before);
        state = kept;
    }
    let input = Some(Input { responses: Some(answered(&world.open())), state });
    let done = world.make(script, Earnest::Real, forms(), input).await.expect("it ran");
    assert!(matches!(done.payload, Payload::Ours { .. }));
    assert_eq!(world.a_txt(), "two\n");
}

/// Yes to the one question that is open.
fn answered(open: &[Approval]) -> bytes::Bytes {
    let [asked] = open else { panic!("{open:?}") };
    let yes = json!({ "action": "accept", "content": { "answer": "once" } });
    json!({ format!("toolcrib_approval_{}", asked.id): yes }).to_string().into()
}
