//! What the audit log holds of a call: who, with what, by which definition and rule; never a secret.

#![expect(clippy::disallowed_methods, reason = "the tests read the audit log they made")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gate::{
    Approvals, Call, Caller, CallerKind, Catalog, Gate, Parts, RateConfig, Redactor, Roles, Ruleset, Scopes,
    Via,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_api::{About, Block, Context, Document, Effect, Tool, ToolError, builtin};

#[derive(Deserialize, JsonSchema)]
struct Said {
    text: String,
}

struct Keep;

impl Tool for Keep {
    const ABOUT: About = About {
        name: "keep",
        title: "Keep",
        summary: "a sample",
        effect: Effect::Writes,
        arguments: tool_api::ArgumentRoles { paths: &["path"], ..tool_api::ArgumentRoles::NONE },
        scopes: &["write_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(5),
        examples: &[],
    };
    type Input = Said;
    type Output = Document;
    async fn run(&self, said: Said, _: &Context) -> Result<Document, ToolError> {
        Ok(Document(vec![Block::Text(said.text)]))
    }
}

/// Calls a tool with the planted secret among its arguments; returns the record and all that is on the disk.
async fn recorded(rules: &str, tool: &str, meta: Option<&'static str>) -> (Value, String) {
    recorded_under(rules, "", tool, meta).await
}

/// The same under AI rules.
async fn recorded_under(
    rules: &str,
    ai_rules: &str,
    tool: &str,
    meta: Option<&'static str>,
) -> (Value, String) {
    recorded_by(&Caller::local_user(Via::Stdio), rules, ai_rules, tool, meta).await
}

/// The same by somebody else.
async fn recorded_by(
    caller: &Caller,
    rules: &str,
    ai_rules: &str,
    tool: &str,
    meta: Option<&'static str>,
) -> (Value, String) {
    let (state, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let redactor = Redactor::new(&redact::Config::default());
    redactor.know("store", vec![redact::Known { name: "PLANTED".into(), value: "planted-value".into() }]);
    let audit_log = audit::AuditLog::with(state.path(), || 0, audit::Config::default(), redactor.clone());
    let audit_log = Arc::new(audit_log);
    let file = workspace.path().join("rules.yaml");
    std::fs::write(&file, format!("version: '1.0'\nrules: [{ai_rules}]")).unwrap();
    let ai_rules = rules::Rules::new(rules::Settings { project: Some(file), ..Default::default() });
    let ruleset = Ruleset::new(
        policy::Policy::new(&toml::from_str(rules).unwrap()).unwrap(),
        RateConfig { per_second: 0, burst: 1 },
    );
    let gate = Gate::new(Parts {
        catalog: Catalog::new(vec![builtin(Keep)]),
        ruleset: Ruleset { rules: Arc::new(ai_rules), ..ruleset },
        redactor,
        approvals: Approvals::new(Arc::new(store::SqliteStore::at(state.path()))),
        audit_log: audit_log.clone(),
        files: tool_api::Root::open(workspace.path(), tool_api::Access::ReadWrite).unwrap(),
    })
    .unwrap();
    let arguments = json!({ "text": "it is planted-value" }).to_string();
    let call = Call { meta: meta.map(Into::into), ..Call::tool(tool, Some(arguments.into())) };
    // Whether it is let through is what the record tells.
    let _ = gate.call(caller, call).await;
    audit_log.flush().unwrap();
    let line = audit::tail(state.path(), 1).unwrap().remove(0);
    (serde_json::from_str(&line).unwrap(), everything(state.path()))
}

fn everything(dir: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let more = if path.is_dir() {
            everything(&path)
        } else {
            String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
        };
        all += &more;
    }
    all
}

#[tokio::test]
async fn a_record_tells_what_ran_by_which_rule_in_which_trace() {
    let meta = r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#;
    let (record, all) = recorded("", "keep", Some(meta)).await;
    assert_eq!(record["outcome"], "result");
    assert_eq!(record["caller_kind"], "local_user");
    assert_eq!(record["arguments"], r#"{"text":"it is [REDACTED:PLANTED]"}"#);
    assert_eq!(record["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(record["definition_sha256"].as_str().map(str::len), Some(64));
    assert_eq!(record["decisions"][0]["by"], "policy");
    assert!(!all.contains("planted-value"), "{all}");
}

#[tokio::test]
async fn a_record_tells_what_its_caller_was_granted() {
    let scopes = |names: &str| names.parse::<Scopes>().unwrap();
    let roles = |words: &str| Roles::of_words(words).unwrap();
    let key = |words: &str, names: &str| {
        Caller::new("key:ci".into(), CallerKind::Key, roles(words), scopes(names), Via::Http)
    };
    let many = (0..60).map(|nth| format!("git:s{nth}")).collect::<Vec<_>>().join(" ");
    for (caller, expected) in [
        (Caller::local_user(Via::Stdio), [Value::Null, Value::Null]),
        (key("agent", "write_workspace git:call"), ["agent".into(), "git:call write_workspace".into()]),
        (key("agent owner", "*"), ["owner agent".into(), "*".into()]),
        (key("", ""), ["".into(), "".into()]),
        // Half of them would be something else.
        (key("agent", &many), ["agent".into(), Value::Null]),
    ] {
        let (record, _) = recorded_by(&caller, "", "", "keep", None).await;
        assert_eq!(["caller_roles", "caller_scopes"].map(|name| record[name].clone()), expected);
    }
}

#[tokio::test]
async fn a_rule_may_keep_arguments_out_of_the_book() {
    let rules = r#"
        [[rules]]
        id = "quiet"
        effect = "allow"
        tools = ["keep"]
        arguments = "hash"
    "#;
    let (record, _) = recorded(rules, "keep", None).await;
    assert_eq!(record["outcome"], "result");
    assert_eq!((&record["arguments"], &record["trace_id"]), (&Value::Null, &Value::Null));
    assert_eq!(record["arguments_sha256"].as_str().map(str::len), Some(64));
}

#[tokio::test]
async fn a_call_that_is_refused_is_recorded_with_its_arguments_and_without_secrets() {
    for (rules, tool) in [("deny = [\"keep\"]", "keep"), ("", "no_planted-value")] {
        let (record, all) = recorded(rules, tool, None).await;
        assert_eq!(record["outcome"], "refused", "{record}");
        assert_eq!(record["arguments"], r#"{"text":"it is [REDACTED:PLANTED]"}"#);
        assert!(!all.contains("planted-value"), "{all}");
    }
}

#[tokio::test]
async fn what_ai_rules_strike_out_of_the_arguments_is_not_in_the_book() {
    let strike = "{id: words, match: {content_regex: 'it is'}, action: {on_violation: redact}}";
    let block = "{id: not-here, match: {tools: [keep]}, action: {on_violation: block}}";
    for (ai_rules, outcome) in [(strike.to_owned(), "result"), (format!("{strike}, {block}"), "refused")] {
        let (record, all) = recorded_under("", &ai_rules, "keep", None).await;
        assert_eq!(record["outcome"], outcome, "{record}");
        assert_eq!(record["arguments"], r#"{"text":"[REDACTED] [REDACTED:PLANTED]"}"#);
        assert_eq!(record["arguments_sha256"].as_str().map(str::len), Some(64));
        assert!(!all.contains("it is"), "{all}");
    }
}
