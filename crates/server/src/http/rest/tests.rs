//! Paths, and that what is described is what is there.

use serde_json::Value;
use std::collections::BTreeSet;

use serde_json::json;

use super::super::methods_of;
use super::super::mistyped::OF_WORKSPACES;
use super::jobs::Act;
use super::verdict::ROWS;
use super::*;

#[test]
fn a_path_is_a_route_or_one_of_a_workspace() {
    let of = |workspace, route| Some(Place { workspace, route });
    for (path, expected) in [
        ("/mcp/tools", of(None, Route::Tools)),
        ("/mcp/tools/git_log", of(None, Route::Tool("git_log"))),
        ("/mcp/tools/invoke", of(None, Route::Tool("invoke"))),
        ("/mcp/tools/validate", of(None, Route::Validate)),
        ("/mcp/review/tools", of(Some("review"), Route::Tools)),
        ("/mcp/review/tools/a", of(Some("review"), Route::Tool("a"))),
        ("/mcp/review/invoke", of(Some("review"), Route::Invoke)),
        ("/mcp/openapi.json", of(None, Route::OpenApi)),
        ("/mcp/review/openapi.json", None),
        ("/mcp/review/audit", None),
        ("/mcp/review/rules/test", None),
        ("/mcp/jobs/health", of(None, Route::Job("health"))),
        ("/mcp/jobs/j1/pause", of(None, Route::JobAct("j1", Act::Pause))),
        ("/mcp/review/jobs/j1/events", of(Some("review"), Route::JobEvents("j1"))),
        ("/mcp/review/jobs/j1/input", of(Some("review"), Route::JobInput("j1"))),
        ("/mcp/jobs//input", None),
        ("/mcp/jobs/j1/purge", None),
        ("/mcp/review", None),
        ("/mcp/review/review/tools", None),
        ("/mcp/tools/", None),
        ("/mcp/tools/a/b", None),
        ("/mcp/a.b/tools", None),
        ("/mcp/", None),
        ("/mcp", None),
        ("/tools", None),
    ] {
        assert_eq!(place(path), expected, "{path}");
    }
}

/// What is told of it to people.
const PAGE: &str = include_str!("../../../../../docs/rest.md");

/// What is described is what is there, and the other way round.
#[test]
fn the_description_has_every_route_and_no_other() {
    let described: Value = serde_json::from_str(OPENAPI).expect("JSON");
    let paths = described["paths"].as_object().expect("paths");
    let described_methods = |path: &Value| {
        let named = path.as_object().into_iter().flatten().map(|(method, _)| method.to_uppercase());
        named.chain(["OPTIONS".to_owned()]).collect::<BTreeSet<_>>()
    };
    let (mut found, mut beside) = (BTreeSet::new(), BTreeSet::new());
    for (path, operations) in paths {
        let sample = path.replace("{id}", "x");
        let methods = methods_of(&sample).unwrap_or_else(|| panic!("{path} is nowhere"));
        // It goes with GET, which is told for all.
        let mut methods: BTreeSet<_> =
            methods.split(", ").filter(|method| *method != "HEAD").map(str::to_owned).collect();
        match place(&sample) {
            None => {
                beside.insert(sample);
            }
            Some(Place { route, .. }) => {
                if route == Route::Validate {
                    // Told of one tool for all.
                    methods.remove("GET");
                }
                found.insert(format!("{route:?}"));
            }
        }
        assert_eq!(described_methods(operations), methods, "{path}");
        let is_told = ["ID", "NAME"].iter().any(|id| PAGE.contains(&path.replace("{id}", id)))
            || path.rsplit_once('/').is_some_and(|(_, act)| PAGE.contains(&format!(", `{act}`")));
        assert!(is_told, "docs/rest.md has no {path}");
    }
    let of_workspaces: BTreeSet<&str> = paths
        .keys()
        .filter(|path| methods_of(&path.replace("{id}", "x").replacen("/mcp/", "/mcp/review/", 1)).is_some())
        .filter_map(|path| path.split('/').nth(2))
        .collect();
    assert_eq!(of_workspaces, OF_WORKSPACES.into(), "what is told of mistyped addresses");
    let others = ["approvals", "approvals/x", "artifacts/x", "grants", "grants/x"];
    assert_eq!(beside, others.map(|path| format!("/mcp/{path}")).into());
    let all = [
        Route::Audit,
        Route::Health,
        Route::Invoke,
        Route::Jobs,
        Route::Job("x"),
        Route::JobAct("x", Act::Cancel),
        Route::JobAct("x", Act::Pause),
        Route::JobAct("x", Act::Resume),
        Route::JobAct("x", Act::Again),
        Route::JobInput("x"),
        Route::JobEvents("x"),
        Route::OpenApi,
        Route::RulesTest,
        Route::Tools,
        Route::Tool("x"),
        Route::Validate,
    ];
    assert_eq!(found, all.iter().map(|route| format!("{route:?}")).collect());
    let schemas = &described["components"]["schemas"];
    let words = schemas["Invoked"]["properties"]["status"]["enum"].as_array().expect("words");
    let codes = schemas["Problem"]["properties"]["code"]["description"].as_str().expect("a text");
    let statuses = described["paths"]["/mcp/invoke"]["post"]["responses"].as_object().expect("statuses");
    for (word, code, status) in ROWS {
        assert!(words.contains(&json!(word)), "{word:?}");
        assert!(codes.contains(json!(code).as_str().expect("a word")), "{code:?}");
        assert!(statuses.contains_key(status.as_str()), "{status}");
    }
}

/// What a job is served with is what is described, and the other way round.
#[test]
fn the_description_has_every_member_of_a_job_and_no_other() {
    let described: Value = serde_json::from_str(OPENAPI).expect("JSON");
    let described = &described["components"]["schemas"]["Job"];
    let served = serde_json::to_value(schemars::schema_for!(gate::jobs::Job)).expect("JSON");
    let members = |schema: &Value| -> BTreeSet<String> {
        schema["properties"].as_object().expect("members").keys().cloned().collect()
    };
    assert_eq!(members(described), members(&served));
    assert_eq!(members(&described["properties"]["progress"]), members(&served["$defs"]["Progress"]));
    let required = |schema: &Value| schema["required"].as_array().expect("a list").clone();
    for name in required(described) {
        assert!(required(&served).contains(&name), "{name} may be left out");
    }
}
