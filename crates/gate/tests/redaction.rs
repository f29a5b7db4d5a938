//! A secret that a tool tells reaches nobody: not in what it gives, not in how it fails, not in what it reports on the
//! way, and not in the audit log.

#![expect(clippy::disallowed_methods, reason = "the test reads the audit log it made")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "samples/definition.rs"]
mod samples;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{
    Approvals, Block, Call, Caller, Catalog, Definition, Effect, Gate, Listener, Outcome, Parts, Payload,
    Progress, Protocol, RateConfig, Redactor, Ruleset, Target, ToolError, Via,
};
use redact::Known;
use tool_api::{AnyTool, Arguments, Context};

const SECRET: &str = "pl4nted \"s3cret\"/value";
const PIN: &str = "73915";
const STRUCK: &str = "[REDACTED:API_KEY]";

/// Tells its secrets in the way its name says.
struct Leaky(Definition);

impl AnyTool for Leaky {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, _: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let json = |value: serde_json::Value| Bytes::from(value.to_string());
        let structured = json(serde_json::json!({ SECRET: 73915, "n": 1 }));
        let result = serde_json::json!({
            "content": [{ "type": "text", "text": format!("a {SECRET}") }], "structuredContent": { "key": SECRET }
        });
        let message = format!("it said {SECRET}");
        let payload = match self.0.name.as_str() {
            "ours" => Payload::Ours {
                blocks: vec![
                    Block::Text(format!("a {SECRET} b")),
                    Block::Image { mime: "image/png".into(), bytes: format!("\0{SECRET}\0").into() },
                    Block::Blob { uri: format!("file:///{PIN}"), mime: "a/b".into(), bytes: vec![0xff] },
                ],
                structured: Some(structured),
            },
            "relayed" => Payload::Relayed {
                result: json(result.clone()),
                structured: Some(json(result["structuredContent"].clone())),
            },
            "asks" => Payload::InputRequired {
                requests: Some(json(serde_json::json!({ "k": { "params": { "message": message } } }))),
                state: None,
                hold: None,
            },
            "writes" => {
                let secrets = cx.secrets.as_ref().expect("the gate gives them");
                let placeholders = secrets.placeholder_lines(format!("a\n{STRUCK}").as_bytes());
                let held = [
                    format!("a {SECRET}"),
                    ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat(),
                    "a".into(),
                ]
                .map(|text| secrets.are_in(text.as_bytes()));
                let binary = secrets.are_in(format!("\0{SECRET}").as_bytes()) && !secrets.are_in(b"\xff\0");
                let blocks = vec![Block::Text(format!("{placeholders:?} {held:?} {binary}"))];
                Payload::Ours { blocks, structured: None }
            }
            "works" => {
                Payload::Task { result: json(serde_json::json!({ "status": message })), id: "t".into() }
            }
            "reports" => {
                let step = Progress::Step { done: 1.0, total: None, message: Some(message.clone()) };
                cx.report(step);
                cx.report(Progress::Relayed(json(serde_json::json!({ "progress": 1, "message": message }))));
                cx.log(json(serde_json::json!({ "level": "info", "data": message })));
                Payload::Ours { blocks: Vec::new(), structured: None }
            }
            _ => {
                let data = serde_json::json!({ SECRET: [SECRET] });
                let protocol = Protocol { code: -1, message: message.clone(), data: Some(data.to_string()) };
                let error = ToolError::new("leaked", message).with_details(data).with_protocol(protocol);
                return async move { Err(error) }.boxed();
            }
        };
        async move { Ok(Outcome::of(payload)) }.boxed()
    }
}

fn leaky(name: &str) -> Arc<dyn AnyTool> {
    let input = r#"{"type":"object","properties":{"mode":{"enum":["a"]}},"additionalProperties":false}"#;
    Arc::new(Leaky(Definition {
        input_schema: Bytes::from_static(input.as_bytes()).into(),
        ..samples::definition(None, name, Effect::Reads)
    }))
}

/// Keeps what it is told.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Listener for Heard {
    fn progress(&self, progress: Progress) {
        self.0.lock().unwrap().push(format!("{progress:?}"));
    }

    fn log(&self, params: Bytes) {
        self.0.lock().unwrap().push(String::from_utf8(params.into()).unwrap());
    }
}

/// What the caller gets and hears, and what the audit log says of how much was struck out.
async fn call(tool: &str, arguments: &str) -> (String, u64) {
    let (told, record) = call_under("", tool, arguments).await;
    (told, record["redactions"].as_u64().unwrap_or(0))
}

/// What the caller gets and hears under AI rules, and the record.
async fn call_under(ai_rules: &str, tool: &str, arguments: &str) -> (String, serde_json::Value) {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let redactor = Redactor::new(&redact::Config::default());
    let audit_log =
        audit::AuditLog::with(folders[0].path(), || 0, audit::Config::default(), redactor.clone());
    let audit_log = Arc::new(audit_log);
    let everything = policy::Config { allow: vec!["*".into()], ..policy::Config::default() };
    let file = folders[1].path().join("rules.yaml");
    std::fs::write(&file, format!("version: '1.0'\nrules: [{ai_rules}]")).unwrap();
    let ai_rules = rules::Rules::new(rules::Settings { project: Some(file), ..Default::default() });
    let ruleset = Ruleset::new(policy::Policy::new(&everything).unwrap(), RateConfig::default());
    let gate = Gate::new(Parts {
        catalog: Catalog::new(
            ["ours", "relayed", "asks", "works", "writes", "reports", "fails"].map(leaky).into(),
        ),
        ruleset: Ruleset { rules: Arc::new(ai_rules), ..ruleset },
        redactor: redactor.clone(),
        approvals: Approvals::new(Arc::new(store::SqliteStore::at(folders[0].path()))),
        audit_log: audit_log.clone(),
        files: tool_api::Root::open(folders[1].path(), tool_api::Access::Read).unwrap(),
    });
    let gate = gate.unwrap();
    // Learnt after the gate was made: all handles are one.
    let known = |(name, value): (&str, &str)| Known { name: name.into(), value: value.into() };
    redactor.know("test", [("API_KEY", SECRET), ("PIN", PIN)].map(known).into());
    let heard = Arc::new(Heard::default());
    // No tool has a name with a slash.
    let target = if tool.contains('/') { Target::Extension(tool) } else { Target::Tool(tool) };
    let asked = Call {
        target,
        listener: Some(heard.clone()),
        ..Call::tool(tool, Some(Bytes::copy_from_slice(arguments.as_bytes())))
    };
    let told = match gate.call(&Caller::local_user(Via::Stdio), asked).await {
        Ok(outcome) => format!("{:?}", outcome.payload),
        Err(failure) => format!("{failure:?} {failure}"),
    };
    audit_log.flush().unwrap();
    let record = std::fs::read_to_string(folders[0].path().join(audit::FILE)).unwrap();
    let told = format!("{told} {:?}", heard.0.lock().unwrap());
    for text in [&told, &record] {
        // However it is escaped by whoever writes it down.
        for part in ["pl4nted", "s3cret", PIN] {
            assert!(!text.contains(part), "{tool}: {text}");
        }
    }
    (told, serde_json::from_str(record.lines().last().unwrap()).unwrap())
}

#[tokio::test]
async fn nothing_that_a_tool_tells_holds_a_secret() {
    for (tool, places, counted) in [
        ("ours", 2, 5),
        ("relayed", 3, 2),
        ("asks", 1, 1),
        ("works", 1, 1),
        ("reports", 3, 0),
        ("fails", 7, 6),
    ] {
        let (told, count) = call(tool, "{}").await;
        let shown = told.matches(STRUCK).count();
        assert!(shown >= places, "{tool}: {shown} of {places}: {told}");
        assert_eq!(count, counted, "{tool}");
    }
}

#[tokio::test]
async fn a_tool_may_ask_what_its_caller_is_not_shown() {
    let (told, _) = call("writes", "{}").await;
    assert!(told.contains("[2] [true, true, false] true"), "{told}");
}

#[tokio::test]
async fn a_refusal_does_not_repeat_a_secret() {
    let arguments = serde_json::json!({ "mode": SECRET, SECRET: 1, PIN: 2 }).to_string();
    let (told, _) = call("ours", &arguments).await;
    assert!(told.contains("InvalidArguments"), "{told}");
    let (told, _) = call(PIN, "{}").await;
    assert!(told.contains("UnknownTool"), "{told}");
    let (told, _) = call(&format!("{PIN}/list"), "{}").await;
    assert!(told.contains("UnknownMethod"), "{told}");
}

#[tokio::test]
async fn ai_rules_hold_for_what_a_call_tells_on_its_way() {
    let strike = "{id: strike, match: {content_regex: 'it said'}, action: {on_violation: redact}}";
    let (told, record) = call_under(strike, "reports", "{}").await;
    assert!(!told.contains("it said"), "{told}");
    assert_eq!(told.matches("[REDACTED] ").count(), 3, "{told}");
    assert_eq!(record["redactions"], 3, "{record}");
    assert_eq!(record["decisions"][1]["effect"], "redact", "{record}");

    let block = "{id: block, match: {content_regex: 'it said'}, action: {on_violation: block}}";
    let (told, record) = call_under(block, "reports", "{}").await;
    assert!(!told.contains("it said") && !told.contains("level"), "{told}");
    assert!(told.contains("Step { done: 1.0, total: None, message: None }"), "{told}");
    assert_eq!((&record["outcome"], &record["code"]), (&"result".into(), &serde_json::Value::Null));
    assert_eq!(record["decisions"][1]["rule"], "block", "{record}");
}
