//! Servers, folders, and pages of the audit log.

use std::sync::Arc;

use admin::audit_log::{Export, Format};
use admin::folders::{self, AgreeTo};
use admin::servers::{self, Reconnect, Reload, Status, Stderr};
use admin::{Fault, Kind, Operation as _};
use serde_json::{Value, json};

use super::check;
use super::sample::{Nobody, Sample, held, sample};

#[track_caller]
fn done(output: Result<Value, Fault>) -> Value {
    output.expect("done")
}

#[track_caller]
fn refused(output: Result<Value, Fault>, kind: Kind, code: &str, piece: &str) {
    let fault = output.expect_err("refused");
    assert_eq!((fault.kind, &*fault.code), (kind, code), "{fault}");
    assert!(fault.message.contains(piece), "{fault}");
}

fn status(names: &[&str]) -> Status {
    Status { servers: names.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn how_servers_are_doing_comes_to_the_same() {
    let listed = done(check(servers::List {}));
    let git = &listed["servers"][0];
    assert_eq!((&git["where"], &git["remembered"]["tools"]), (&json!("x"), &json!(3)));
    assert_eq!(
        (&git["running"][0]["pid"], &git["running"][0]["state"]["error"]),
        (&json!(7), &json!("gone"))
    );
    assert_eq!(listed["servers"][1]["running"], json!([]));
    assert_eq!(listed["waiting"][0]["declaration"], "toolcrib.toml mcp.folder");

    let told = done(check(status(&[])));
    let toolcrib = &told["toolcribs"][0];
    assert_eq!((&toolcrib["pid"], &toolcrib["door"]), (&json!(7), &json!("stdio")));
    let git = &toolcrib["servers"][0];
    let facts = (&git["name"], &git["status"], &git["error"], &git["mood"]);
    assert_eq!(facts, (&json!("git"), &json!("failed"), &json!("gone"), &json!("fine")));
    let silent = "the Toolcrib of process 8 does not say how it is doing: it hangs";
    assert_eq!((&told["silent"], &listed["silent"]), (&json!([silent]), &json!([silent])));
    assert_eq!(done(check(status(&["git"])))["toolcribs"], told["toolcribs"]);
}

#[test]
fn where_nobody_runs_it_is_told_what_is_remembered() {
    let Sample { mut admin, _state } = sample();
    admin.servers.running = Arc::new(Nobody);
    let by = admin::By::owner();
    let told = json!(status(&["new"]).perform(&admin.servers, &by).expect("done"));
    assert_eq!((&told["toolcribs"][0]["pid"], told.get("silent")), (&Value::Null, None));
    assert_eq!(told["toolcribs"][0]["servers"][0]["status"], "stopped");
    assert_eq!(told["toolcribs"][0]["servers"].as_array().expect("a list").len(), 1);
    for (name, piece) in [("gti", "did you mean `git`?"), ("folder", "waits for your agreement")] {
        let fault = status(&[name]).perform(&admin.servers, &by).expect_err(name);
        assert!(fault.code == "unknown_server" && fault.message.contains(piece), "{fault}");
    }
}

#[test]
fn what_running_toolcribs_do_comes_to_the_same() {
    let reloaded = done(check(Reload {}));
    let toolcribs = &reloaded["toolcribs"];
    assert_eq!((&toolcribs[0]["pid"], &toolcribs[0]["added"]), (&json!(7), &json!(["new"])));
    assert_eq!(toolcribs[1], json!({ "pid": 8, "error": "it hangs" }));
    assert_eq!(toolcribs[2], json!({ "pid": 9, "problems": ["x.toml:1:1: no"] }));
    let git = || "git".to_owned();
    let told = json!({ "pid": 7, "ok": true, "answer": { "name": "git" } });
    assert_eq!(done(check(Reconnect { server: git() })), json!({ "name": "git", "running": [told] }));
    let running = json!([{ "pid": 7, "text": "git ends" }]);
    assert_eq!(done(check(Stderr { server: git() })), json!({ "running": running }));
    let unknown = |output, piece| refused(output, Kind::Unknown, "unknown_server", piece);
    unknown(check(status(&["gti"])), "did you mean `git`?");
    // It runs nowhere, whatever is configured.
    unknown(check(status(&["new"])), "toolcrib mcp reload");
    unknown(check(Reconnect { server: "gti".to_owned() }), "did you mean `git`?");
    unknown(check(Stderr { server: "folder".to_owned() }), "waits for your agreement");
}

#[test]
fn what_folders_declare_and_a_person_agrees_to_comes_to_the_same() {
    let folder = || "/project".into();
    assert_eq!(done(check(folders::List {})), json!({ "folders": [] }));
    let shown = done(check(folders::Show { folder: folder() }));
    let waiting = json!({ "folder": "/project", "declaration": "toolcrib.toml mcp.folder", "place": "toolcrib.toml:1:6",
        "state": "new", "does": ["sets A to 1"], "secrets": ["TOKEN"], "sha256": "ab" });
    assert_eq!(shown, json!({ "folder": "/project", "waiting": [waiting], "agreed": {}, "notes": [] }));
    let nothing = json!({ "folder": "/project", "revoked": false, "running": [] });
    assert_eq!(done(check(folders::Revoke { folder: folder() })), nothing);

    let to = |declaration: &str, sha256: &str, secrets: &[&str]| {
        let secrets = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        let to = AgreeTo { declaration: declaration.to_owned(), sha256: sha256.to_owned(), secrets };
        check(folders::Agree { folder: "/project".into(), to: vec![to] })
    };
    let folder = "toolcrib.toml mcp.folder";
    refused(to(folder, "ab", &["TOKEN"]), Kind::Refused, "not_a_person", "a person to say");
    refused(to(folder, "cd", &[]), Kind::Refused, "changed", "look at it once more");
    refused(to(folder, "ab", &["OTHER"]), Kind::Misused, "misused", "names no kept secret OTHER");
    refused(to("toolcrib.toml mcp.x", "ab", &[]), Kind::Unknown, "unknown_declaration", "mcp.x");
    refused(check(folders::Show { folder: "/other".into() }), Kind::Misused, "misused", "no such folder");
}

#[test]
fn what_was_agreed_to_is_listed_without_values_and_taken_back() {
    let Sample { admin, _state } = sample();
    let by = admin::By::owner();
    admin.folders.keep(&held().declaration, vec!["TOKEN".to_owned()]).expect("kept");
    let listed = json!(folders::List {}.perform(&admin.folders, &by).expect("listed"));
    let receipt = json!({ "sha256": "ab", "lines": ["sets A"], "secrets": ["TOKEN"], "agreed_at_ms": 1_700_000_000_000_i64 });
    let agreed = json!({ "toolcrib.toml mcp.folder": receipt });
    assert_eq!(listed["folders"], json!([{ "folder": "/project", "agreed": agreed }]));
    let shown = folders::Show { folder: "/project".into() }.perform(&admin.folders, &by).expect("shown");
    assert_eq!(json!(shown)["agreed"], agreed);
    let revoked = folders::Revoke { folder: "/project".into() }.perform(&admin.folders, &by);
    let revoked = json!(revoked.expect("taken back"));
    assert_eq!((&revoked["revoked"], &revoked["running"][0]["pid"]), (&json!(true), &json!(7)));
    assert_eq!(folders::List {}.perform(&admin.folders, &by).expect("listed").folders, []);
}

#[test]
fn a_page_of_nothing_comes_to_the_same() {
    let page = |format| done(check(Export { format, ..Export::default() }));
    let nothing = json!({ "head": "", "text": "", "records": 0, "last": null });
    assert_eq!((page(Format::Jsonl), page(Format::Otlp)), (nothing.clone(), nothing));
    assert!(page(Format::Csv)["head"].as_str().expect("titles").starts_with("seq,"));
}
