//! Every operation, done directly and through its serialised form: the same comes of it. What is a person's to say is
//! refused where nobody has found out that it is one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

use admin::audit_log::{self, AuditPart};
use admin::import::{self, ImportPart, Ourselves, Target};
use admin::keys::{self, Keys};
use admin::secrets::{self, SecretPart, Value as SecretText};
use admin::{Admin, By, Fault, Kind, OPERATIONS, Operation, Running, Told, approvals};
use gate::{Approvals, Redactor};
use serde_json::{Value, json};
use store::{KeySource, Secrets, SqliteStore};
use tempfile::TempDir;

/// One other Toolcrib, which takes everything up but one secret's change.
struct Others;

impl Running for Others {
    fn learn(&self) -> io::Result<Vec<Told>> {
        let told = |pid, ok| Told { pid, ok, answer: None, error: (!ok).then(|| "it hangs".to_owned()) };
        Ok(vec![told(7, true), told(8, false)])
    }
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

/// An administration on a state of its own, with a key `ci` and a secret `TOKEN`.
struct Sample {
    admin: Admin,
    _state: TempDir,
}

fn sample() -> Sample {
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(SqliteStore::at(state.path()));
    let approvals = Approvals::new(store.clone());
    let uses = ["TOKEN", "LATER"].map(|name| (name.to_owned(), BTreeSet::from(["mcp.git.env.T".to_owned()])));
    let admin = Admin {
        approvals: approvals.clone(),
        keys: Keys { store: store.clone(), approvals },
        secrets: SecretPart {
            sealed: Secrets::sealed_by(store, state.path(), KeySource::State),
            source: KeySource::State,
            uses: BTreeMap::from(uses),
            running: Arc::new(Others),
            now_ms: || 1_700_000_000_000,
        },
        audit_log: AuditPart {
            state: state.path().to_owned(),
            config: audit::Config::default(),
            redactor: Redactor::new(&redact::Config::default()),
        },
        import: ImportPart {
            surroundings: clients::Surroundings::default(),
            configured: BTreeMap::new(),
            ourselves: Ourselves::default(),
            target: Box::new(File),
        },
    };
    let by = By::owner();
    let ci = keys::Create { name: "ci".to_owned(), ..keys::Create::default() };
    ci.perform(&admin.keys, &by).expect("created");
    set("TOKEN").perform(&admin.secrets, &by).expect("kept");
    Sample { admin, _state: state }
}

fn set(name: &str) -> secrets::Set {
    let value = Some(SecretText("s3cret-planted".to_owned()));
    secrets::Set { name: name.to_owned(), value, whom: vec!["git".to_owned()] }
}

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
    assert_eq!(done(check(approvals::List { all: true })), json!({ "approvals": [] }));
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
    let tail = audit_log::Tail { lines: 3, filter: audit_log::Filter::default() };
    assert_eq!(done(check(tail)), json!({ "lines": [], "seen": 0 }));
    assert_eq!(done(check(audit_log::Verify::default()))["good"], true);
    assert_eq!(done(check(audit_log::Acknowledge::default())), json!({ "acknowledged": [] }));
    assert_eq!(done(check(audit_log::Prune {})), json!({ "removed": [] }));
    let preview = done(check(import::Preview { from: vec!["cursor".to_owned()] }));
    assert_eq!((&preview["file"], &preview["servers"]), (&json!("/crib.toml"), &json!([])));
    assert_eq!(preview["notes"], json!(["there is no home folder to look for Cursor in"]));
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
    refused(check(audit_log::Tail { lines: 1, filter }), misused, "misused");
    let elsewhere = audit_log::Verify { folder: Some("/nowhere/at/all".to_owned()), ..Default::default() };
    refused(check(elsewhere), Kind::Failed, "failed");
    refused(check(audit_log::Key {}), Kind::Failed, "failed");
    refused(check(import::Preview { from: vec![nobody()] }), misused, "misused");
    refused(check(import::Preview { from: vec!["/nowhere/at.json".to_owned()] }), Kind::Failed, "failed");
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
    ] {
        let fault = admin.perform(name, input, &By::owner()).expect_err(name);
        assert_eq!(fault.code, code, "{name}: {fault}");
    }
    assert!(!format!("{:?}", set("A")).contains("planted"));
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
