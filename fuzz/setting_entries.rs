//! What is done with one input of the targets that read what people configure, and of the one that strikes secrets out.

#![allow(dead_code, reason = "each target uses one of these")]

use std::sync::{Arc, LazyLock};

use policy::{Caller, Effect, Facts, Policy, RuleConfig, Verdict, Via};
use redact::{Known, Redactor};
use rules::{Rules, Settings};

/// The value that must not come out again.
const SECRET: &str = "zeB7-quKx0-wyR3-mmT9";

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    let redactor = Redactor::new(&redact::Config::default());
    redactor.know("fuzz", vec![Known { name: Arc::from("FUZZ"), value: Arc::from(SECRET) }]);
    redactor
});

/// A text, and the same with the secret put between its halves: it is gone, and striking out again changes nothing.
pub(crate) fn redaction(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle -= 1;
    }
    for text in [text.to_owned(), format!("{}{SECRET}{}", &text[..middle], &text[middle..])] {
        let clean = REDACTOR.text(&text);
        assert!(!clean.contains(SECRET), "{clean:?}");
    }
    let json = serde_json::json!({ "a": [text, SECRET], text: SECRET }).to_string();
    let struck = REDACTOR.json(json.as_bytes()).expect("there is something to strike out");
    let read: serde_json::Value = serde_json::from_slice(&struck.bytes).expect("what is left is JSON");
    assert!(!read.to_string().contains(SECRET), "{read}");
}

/// A text for bash. What surely runs is named, unless there may be more.
pub(crate) fn command(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let script = shell::Script::read(text);
    let (runs, names) = (script.runs("git", &["push"]), script.names());
    if let (Ok(true), Ok(names)) = (runs, names) {
        assert!(names.contains(&"git"), "{names:?}");
    }
}

/// A condition and, behind the first NUL, a call's arguments.
pub(crate) fn condition(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (when, arguments) = text.split_once('\0').unwrap_or((text, "{}"));
    let rule = RuleConfig { when: Some(when.to_owned()), ..RuleConfig::new("fuzz", Verdict::Deny) };
    let config = policy::Config { rules: vec![rule], ..policy::Config::default() };
    let Ok(policy) = Policy::new(&config) else { return };
    let Ok(arguments) = serde_json::from_str(arguments) else { return };
    let caller = Caller::local_user(Via::Stdio);
    let facts = Facts {
        origin: policy::ToolOrigin::Upstream,
        caller: &caller,
        tool: "git_log",
        upstream: Some("git"),
        action: None,
        effect: Effect::Reads,
        marked_destructive: false,
        leaves_machine: true,
        sends: true,
    };
    let first = policy.decide_at(&facts, &arguments, 0);
    assert_eq!(policy.decide_at(&facts, &arguments, 0), first);
}

/// A file of rules.
pub(crate) fn rules(data: &[u8]) {
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));
    // A file of its own for each process; what is read again is read by another `Rules`.
    let file = FOLDER.path().join("ai-rules.json");
    std::fs::write(&file, data).expect("a file");
    let workspace = FOLDER.path().to_owned();
    let rules = Rules::new(Settings { workspace, project: Some(file), ..Settings::default() });
    let is_good = rules.problems().is_empty();
    // Fail closed: what cannot be read refuses every call.
    assert!(is_good || rules.are_any());
}

/// A configuration file, as the crates read their sections of it.
pub(crate) fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(config) = toml::from_str::<policy::Config>(text)
        && let Ok(policy) = Policy::new(&config)
    {
        let _ = (policy.review(), policy.cases());
    }
    if let Ok(config) = toml::from_str::<redact::Config>(text)
        && config.check().is_ok()
    {
        Redactor::new(&config).text("password = hunter2hunter2");
    }
    let _ = toml::from_str::<rules::Config>(text);
}
