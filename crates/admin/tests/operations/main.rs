//! Every operation, done directly and through its serialised form: the same comes of it. What is a person's to say is
//! refused where nobody has found out that it is one.
#![expect(clippy::disallowed_methods, reason = "the rules files that are looked at")]

mod sample;
mod servers;

use std::fmt::Debug;

use admin::artifacts;
use admin::audit_log;
use admin::import;
use admin::jobs;
use admin::keys;
use admin::policy::{self as policies, Beside as _};
use admin::questions;
use admin::rules as rules_for_ai;
use admin::secrets::{self, Value as SecretText};
use admin::trust;
use admin::{Admin, By, Fault, Kind, OPERATIONS, Operation, approvals};
use pins::Trust;
use policy::Verdict;
use sample::{ARTIFACT, ARTIFACTS, RULES, Sample, SampleBeside, sample, set};
use serde_json::{Value, json};

/// Does it on one sample, and through its serialised form on another; gives what came of it.
#[track_caller]
fn check<O>(operation: O) -> Result<Value, Fault>
where
    O: Operation + Clone + Debug,
    O::Output: Debug + PartialEq,
    Admin: AsRef<O::Part>,
{
    let by = By::owner();
    let input = json!(operation);
    let direct = operation.perform(sample().admin.as_ref(), &by);
    let carried = sample().admin.perform(O::NAME, input, &by);
    if let Ok(output) = &direct {
        let again: O::Output = serde_json::from_value(json!(output)).expect("an output reads back");
        assert_eq!(&again, output, "{}", O::NAME);
    }
    let direct = direct.map(|output| json!(output));
    let compared = |done: Result<Value, Fault>| done.map(constant).map_err(without_id);
    assert_eq!(compared(direct.clone()), compared(carried), "{}", O::NAME);
    let fault = direct.as_ref().err().cloned();
    assert_eq!(fault, fault.as_ref().map(|fault| serde_json::from_value(json!(fault)).expect("a fault")));
    direct
}

/// Without what is another each time: the text of a key, its id, and the time.
fn constant(mut output: Value) -> Value {
    let changing = |object: &mut Value| {
        let Some(object) = object.as_object_mut() else { return };
        ["id", "key", "created_at_ms"].iter().for_each(|name| _ = object.remove(*name));
    };
    changing(&mut output);
    output["keys"].as_array_mut().into_iter().flatten().for_each(changing);
    output
}

/// A fault without the id of a key, which is another each time.
fn without_id(fault: Fault) -> Fault {
    let message = match fault.message.split_once("tc_") {
        Some((before, after)) => format!("{before}{}", &after[6..]),
        None => fault.message.clone(),
    };
    Fault { message, ..fault }
}

#[test]
fn what_is_carried_comes_to_the_same() {
    let done = |output: Result<Value, Fault>| output.expect("done");
    let waiting = json!({ "server": "git", "kind": "tool", "name": "push", "why": "changed" });
    let queue = json!({ "approvals": [], "definitions": [waiting] });
    assert_eq!(done(check(approvals::List { all: true })), queue);
    assert_eq!(done(check(approvals::Grants {})), json!({ "grants": [] }));
    let anna =
        keys::Create { name: "anna".to_owned(), roles: vec!["owner".to_owned()], ..Default::default() };
    assert_eq!(done(check(anna))["caller"], "key:anna");
    assert_eq!(done(check(keys::List {}))["keys"][0]["name"], "ci");
    let revoked = done(check(keys::Revoke { key: "ci".to_owned() }));
    assert_eq!(revoked["was_last"], true);
    let kept = done(check(set("LATER")));
    assert_eq!((&kept["was"], &kept["told"]), (&json!("new"), &json!(1)));
    assert!(kept["untold"][0].as_str().expect("a sentence").contains("process 8"), "{kept}");
    assert_eq!(done(check(set("TOKEN")))["was"], "changed");
    let unchanged = secrets::Set { value: None, ..set("TOKEN") };
    assert_eq!(done(check(unchanged))["was"], "unchanged");
    assert_eq!(done(check(secrets::List {}))["secrets"][1]["for"], json!(["git"]));
    assert_eq!(done(check(secrets::Remove { name: "TOKEN".to_owned() }))["used_by"][0], "mcp.git.env.T");
    let tail = audit_log::Tail { lines: 3, before: None, filter: audit_log::Filter::default() };
    assert_eq!(done(check(tail)), json!({ "lines": [], "seen": 0 }));
    assert_eq!(done(check(audit_log::Verify::default()))["good"], true);
    assert_eq!(done(check(audit_log::Acknowledge::default())), json!({ "acknowledged": [] }));
    assert_eq!(done(check(audit_log::Prune {})), json!({ "removed": [] }));
    let preview = done(check(preview("cursor".to_owned())));
    assert_eq!((&preview["file"], &preview["servers"]), (&json!("/crib.toml"), &json!([])));
    assert_eq!(preview["notes"], json!(["there is no home folder to look for Cursor in"]));
    let environment = Some([("HOME".to_owned(), "/nowhere/home".to_owned())].into());
    let theirs = done(check(import::Preview { from: vec!["cursor".to_owned()], environment }));
    assert_eq!(theirs["notes"], json!(["Cursor has no file at /nowhere/home/.cursor/mcp.json"]));
}

#[test]
fn what_the_policy_says_comes_to_the_same() {
    let done = |output: Result<Value, Fault>| output.expect("done");
    let explain = policies::Explain { tool: "echo".to_owned(), ..Default::default() };
    let explained = done(check(explain.clone()));
    assert_eq!(explained["decision"], json!({ "effect": "allow", "rule": "default.reads", "why": "" }));
    let rule = |id: &str| {
        explained["rules"].as_array().into_iter().flatten().find(|rule| rule["rule"] == id).cloned()
    };
    let misfit = json!({ "rule": "default.writes", "effect": "allow", "finding": "does_not_fit", "detail": "effects" });
    assert_eq!(rule("default.writes"), Some(misfit));
    assert_eq!(rule("default.reads").expect("a rule")["finding"], "decides");
    let agent = policy::CaseCaller { kind: policy::CallerKind::Key, ..policy::CaseCaller::default() };
    let hidden = done(check(policies::Explain { caller: agent, ..explain }));
    assert_eq!((&hidden["shown"], &hidden["missing_scopes"]), (&json!(false), &json!(["read_workspace"])));

    let tested = done(check(policies::Test::default()));
    assert_eq!((&tested["failed"], &tested["cases"][0]["got"]["effect"]), (&json!(1), &json!("allow")));
    let mut good = SampleBeside.cases().expect("a case");
    good[0].expect = Verdict::Allow;
    assert_eq!(done(check(policies::Test { cases: Some(good) }))["cases"][0]["good"], true);

    let nothing = json!({ "calls": [], "same": 0, "differ": 0, "depend": 0, "undecided": 0 });
    assert_eq!(done(check(replay(Some("/other.toml")))), nothing);
}

#[test]
fn what_is_held_back_and_decided_comes_to_the_same() {
    let done = |output: Result<Value, Fault>| output.expect("done");
    let listed = done(check(trust::List::default()));
    let git = &listed["servers"][0];
    assert_eq!((&git["accepted"], &git["trust"]), (&json!(2), &json!(Trust::Pin)));
    let held = &git["held_back"][0];
    assert_eq!((&held["name"], &held["why"]), (&json!("push"), &json!("changed")));
    assert_eq!(held["changes"][0]["at"], "description");
    assert_eq!(listed["servers"][1]["seen"], false);
    let one = trust::List { server: Some("new".to_owned()) };
    assert_eq!(done(check(one))["servers"][0]["name"], "new");
    let show = |item: &str| trust::Show { server: "git".to_owned(), item: item.to_owned() };
    let shown = done(check(show("tool:push")));
    assert_eq!(shown["shown"]["description"], "Pushes and runs a shell command.");
    assert_eq!(shown["accepted"]["description"], "Pushes.");
    let rejected = done(check(decide(&[], &["push"])));
    assert_eq!(rejected["rejected"][0]["hash"], shown["shown_hash"]);
    assert_eq!(rejected["running"], json!([{ "pid": 7, "ok": true, "answer": { "name": "git" } }]));
}

#[test]
fn what_loosens_is_a_persons_to_say() {
    #[track_caller]
    fn refused(output: Result<Value, Fault>, code: &str) {
        assert_eq!(output.expect_err("refused").code, code);
    }
    refused(check(decide(&["push"], &[])), "not_a_person");
    refused(check(trust::Decide { accept_all: true, ..decide(&[], &[]) }), "not_a_person");
    refused(check(trust::Reset { server: "git".to_owned() }), "not_a_person");
    // Who is nobody to decide learns first that there is no such server.
    for (server, code) in [("gti", "unknown_server"), ("folder", "unknown_server")] {
        refused(check(trust::Reset { server: server.to_owned() }), code);
        refused(check(trust::Decide { server: server.to_owned(), ..decide(&["x"], &[]) }), code);
        refused(check(trust::List { server: Some(server.to_owned()) }), code);
    }
    refused(check(trust::Decide { server: "new".to_owned(), ..decide(&[], &["x"]) }), "unknown_item");
    refused(check(decide(&[], &["nothing"])), "unknown_item");
    refused(check(decide(&[], &["push@00000000"])), "failed");
}

fn decide(accept: &[&str], reject: &[&str]) -> trust::Decide {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    trust::Decide {
        server: "git".to_owned(),
        accept: words(accept),
        accept_all: false,
        reject: words(reject),
    }
}

#[test]
fn what_the_rules_for_ai_say_comes_to_the_same() {
    let done = |output: Result<Value, Fault>| output.expect("done");
    let checked = done(check(rules_for_ai::Check {}));
    assert_eq!((&checked["counts"], &checked["problems"]), (&json!([2]), &json!([])));
    assert_eq!(done(check(rules_for_ai::Show {}))["rules"][1]["does"], "redact");
    let test = |tool: &str| rules_for_ai::Test {
        tool: tool.to_owned(),
        result: Some("sk-abc is it".to_owned()),
        ..Default::default()
    };
    let stopped = done(check(test("shout")));
    assert_eq!((&stopped["refused"]["rule"], &stopped["result"]), (&json!("shout"), &Value::Null));
    let elsewhere = rules_for_ai::Test { upstream: Some("git".to_owned()), ..test("any") };
    for on in [test("echo"), elsewhere] {
        let struck = done(check(on));
        assert_eq!(struck["result"]["text"], "[REDACTED] is it");
        assert_eq!(struck["result"]["findings"][0]["acts"], true);
    }
}

fn preview(from: String) -> import::Preview {
    import::Preview { from: vec![from], environment: None }
}

fn replay(policy: Option<&str>) -> policies::Replay {
    policies::Replay { policy: policy.map(Into::into), since_ms: Some(0), last: 9, offline: false }
}

#[test]
fn what_is_refused_is_refused_alike() {
    #[track_caller]
    fn refused(output: Result<Value, Fault>, kind: Kind, code: &str) {
        let fault = output.expect_err("refused");
        assert_eq!((fault.kind, &*fault.code), (kind, code), "{fault}");
        assert!(!fault.message.contains("planted"), "{fault}");
    }
    let (misused, unknown) = (Kind::Misused, Kind::Unknown);
    let nobody = || "nobody".to_owned();
    let deny = || gate::approvals::Answer::Deny { reason: None };
    refused(check(approvals::Show { id: nobody(), full: true }), unknown, "unknown_approval");
    refused(check(approvals::Answer { id: nobody(), answer: deny() }), unknown, "unknown_approval");
    refused(check(approvals::Revoke { id: nobody() }), unknown, "unknown_grant");
    refused(check(approvals::ShowGrant { id: nobody() }), unknown, "unknown_grant");
    refused(check(jobs::Asked { id: nobody() }), unknown, "unknown_job");
    let responses = serde_json::value::to_raw_value(&serde_json::Map::new()).unwrap();
    let answer = jobs::Answer { id: nobody(), number: Some(1), responses };
    refused(check(answer), unknown, "unknown_job");
    let answer = questions::Answer { id: nobody(), responses: serde_json::Map::new() };
    refused(check(answer), unknown, "unknown_question");
    let key = |name: &str| keys::Create { name: name.to_owned(), ..Default::default() };
    refused(check(key("ci")), misused, "misused");
    refused(check(keys::Create { roles: vec!["none".to_owned()], ..key("a") }), misused, "misused");
    refused(check(keys::Create { scopes: vec!["No Scope".to_owned()], ..key("a") }), misused, "misused");
    refused(check(keys::Create { life_ms: Some(3_599_999), ..key("a") }), misused, "misused");
    refused(check(keys::Create { life_ms: Some(u64::MAX), ..key("a") }), misused, "misused");
    refused(check(keys::Create { person: true, ..key("a") }), Kind::Refused, "not_a_person");
    refused(check(keys::Revoke { key: nobody() }), unknown, "unknown_key");
    refused(check(set("token=planted")), misused, "misused");
    refused(check(secrets::Set { value: None, ..set("LATER") }), misused, "misused");
    let empty = Some(SecretText(String::new()));
    refused(check(secrets::Set { value: empty, ..set("LATER") }), misused, "misused");
    refused(check(secrets::Remove { name: "OTHER".to_owned() }), unknown, "unknown_secret");
    refused(check(secrets::Rekey::default()), misused, "misused");
    let outcome = Some("lost".to_owned());
    let filter = audit_log::Filter { outcome, ..Default::default() };
    refused(check(audit_log::Tail { lines: 1, before: None, filter }), misused, "misused");
    let elsewhere = audit_log::Verify { folder: Some("/nowhere/at/all".to_owned()), ..Default::default() };
    refused(check(elsewhere), Kind::Failed, "failed");
    refused(check(audit_log::Key {}), Kind::Failed, "failed");
    refused(check(preview(nobody())), misused, "misused");
    refused(check(preview("/nowhere/at.json".to_owned())), Kind::Failed, "failed");
    let explain = policies::Explain { tool: "ecko".to_owned(), ..Default::default() };
    refused(check(explain.clone()), unknown, "unknown_tool");
    let caller =
        policy::CaseCaller { scopes: Some(vec!["No Scope".to_owned()]), ..policy::CaseCaller::default() };
    refused(check(policies::Explain { caller, ..explain }), misused, "misused");
    refused(check(policies::Test { cases: Some(Vec::new()) }), misused, "misused");
    let test = rules_for_ai::Test { tool: "ecko".to_owned(), ..Default::default() };
    refused(check(test), unknown, "unknown_tool");
    refused(check(replay(Some("planted.toml"))), misused, "configuration");
}

#[test]
fn rules_that_cannot_be_used_are_named_and_not_gone_by() {
    let Sample { mut admin, _state } = sample();
    admin.rules.settings.user = Some(RULES.path().join("wrong.json"));
    let checked = rules_for_ai::Check {}.perform(&admin.rules, &By::owner()).expect("checked");
    assert!(!checked.problems.is_empty());
    for (name, input) in [("rules.show", json!({})), ("rules.test", json!({ "tool": "echo" }))] {
        let fault = admin.perform(name, input, &By::owner()).expect_err(name);
        assert_eq!((&*fault.code, fault.message), ("configuration", checked.problems.join("\n")));
    }
}

#[test]
fn what_is_no_operation_or_no_input_is_not_done() {
    let Sample { admin, _state } = sample();
    for (name, input, code) in [
        ("keys.lists", json!({}), "unknown_operation"),
        ("keys.list", json!({ "all": true }), "misused"),
        ("keys.revoke", json!({}), "misused"),
        ("approvals.list", json!([1]), "misused"),
        ("secrets.set", json!({ "name": "A", "value": 1 }), "misused"),
        ("policy.explain", json!({ "tool": "echo", "arguments": [] }), "misused"),
    ] {
        let fault = admin.perform(name, input, &By::owner()).expect_err(name);
        assert_eq!(fault.code, code, "{name}: {fault}");
    }
    assert!(!format!("{:?}", set("A")).contains("planted"));
}

#[test]
fn artifacts_are_listed_read_and_removed() {
    let done = |done: Result<Value, Fault>| done.expect("it can be done");
    let found = done(check(artifacts::List::default()));
    assert_eq!((&found["bytes"], &found["artifacts"][0]["caller"]), (&json!(24), &json!("local")));
    let of_nobody = artifacts::List { caller: Some("key:ci".to_owned()), ..artifacts::List::default() };
    assert_eq!(done(check(of_nobody)), json!({ "artifacts": [], "bytes": 0 }));
    let page = |limit, cursor: Option<&str>| {
        let cursor = cursor.map(str::to_owned);
        let found = done(check(artifacts::List { caller: Some("local".to_owned()), limit, cursor }));
        let ids: Vec<_> =
            found["artifacts"].as_array().into_iter().flatten().map(|one| one["id"].clone()).collect();
        (json!(ids), found["bytes"].clone(), found["cursor"].as_str().map(str::to_owned))
    };
    let behind = |id: &str| Some(format!("1700000000000-{id}"));
    let [first, second, third] = ARTIFACTS;
    let expected = [
        (page(2, None), (json!([third, second]), behind(second))),
        (page(2, behind(second).as_deref()), (json!([first]), None)),
        // What the page before ended with was removed meanwhile.
        (page(1, behind(&format!("{second}0")).as_deref()), (json!([second]), behind(second))),
        (page(0, behind(first).as_deref()), (json!([]), None)),
        (page(3, None), (json!([third, second, first]), None)),
    ];
    for ((ids, bytes, cursor), (expected, next)) in expected {
        assert_eq!((&ids, cursor), (&expected, next));
        assert_eq!(bytes, 24, "of all pages: {ids}");
    }
    for cursor in ["", "1", "x-y"] {
        let cursor = Some(cursor.to_owned());
        let fault =
            check(artifacts::List { cursor, ..artifacts::List::default() }).expect_err("none of ours");
        assert_eq!(fault.code, "misused");
    }
    let read = |offset, bytes| {
        let piece = done(check(artifacts::Read { id: ARTIFACT.to_owned(), offset, bytes }));
        serde_json::from_value::<artifacts::Piece>(piece).expect("a piece").decoded().expect("base64")
    };
    assert_eq!(
        (read(0, None), read(4, Some(3)), read(8, None)),
        (b"one\ntwo\n".into(), b"two".into(), vec![])
    );
    assert_eq!(done(check(artifacts::Remove { id: ARTIFACT.to_owned() }))["id"], ARTIFACT);
    let id = "f".repeat(32);
    for fault in [
        check(artifacts::Remove { id: id.clone() }).expect_err("there is none"),
        check(artifacts::Read { id, offset: 0, bytes: None }).expect_err("there is none"),
    ] {
        assert_eq!((fault.kind, fault.code.as_str()), (Kind::Unknown, "artifact_not_found"));
    }
}

#[test]
fn every_operation_says_what_it_takes_and_gives() {
    for (nth, listed) in OPERATIONS.iter().enumerate() {
        let name = listed.name;
        assert!(OPERATIONS[..nth].iter().all(|other| other.name != name), "{name} stands there twice");
        for schema in [(listed.input)(), (listed.output)()] {
            assert!(jsonschema::meta::is_valid(schema.as_value()), "{name}: {schema:?}");
        }
        let input = (listed.input)();
        assert_eq!(input.get("type"), Some(&json!("object")), "{name}");
        assert_eq!(input.get("additionalProperties"), Some(&json!(false)), "{name}");
    }
    assert!(admin::reveals("keys.create") && !admin::reveals("keys.list"));
}
