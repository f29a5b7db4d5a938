//! The gate's behaviour as data: `tests/cases/*.toml` holds who calls what under which rules, and what comes of it for
//! the caller and for the audit log. One loop runs them all, and sees to it that no check and no refusal is without a case.

#![expect(clippy::disallowed_methods, reason = "the tests read their cases and the audit log they made")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod case;
#[path = "../samples/definition.rs"]
mod definition;
mod samples;
mod seen;
mod world;

use std::path::Path;

use futures_util::FutureExt;
use gate::Failure;

use case::{Broken, Case, File};
use seen::Seen;
use world::{World, decisions, names_its_artifacts, record};

/// Fewer cases mean that some were lost.
const CASES_MIN: usize = 150;

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        toml::from_str::<File>(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).case
    };
    files.flat_map(read).collect()
}

/// The only place that knows how a call is made and looked at. What is not as the case says.
async fn check(case: &Case, seen: &mut Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut differs = |what: &str, found: String, expected: &str| {
        if found != expected {
            wrong.push(format!("{}: {what} = '''{found}'''", case.name));
        }
    };
    let mut world = World::new(case);
    differs("listed", world.lists(&case.what.tool).to_string(), &case.listed.to_string());
    if let Err(told) = world.prepare(case).await {
        differs("before", told, "a question");
        return wrong;
    }
    for _ in 1..case.times {
        // The last one is looked at.
        let _ = world.call(case).await;
    }
    let result = world.call(case).await;
    if let Err(Failure::Refused(refusal)) = &result {
        seen.refusal(refusal);
    }
    differs("reply", world.reply(&result), &case.reply);
    if case.broken == Some(Broken::AuditLog) {
        differs("record", "none".to_owned(), &case.record);
        return wrong;
    }
    let records = world.records();
    let before: u32 = case.before.iter().map(|before| before.times).sum();
    differs("records", records.len().to_string(), &(before + case.times).to_string());
    let last = records.last().unwrap();
    seen.verdicts(last);
    differs("record", record(last), &case.record);
    differs("artifacts are those of the record", names_its_artifacts(&result, last).to_string(), "true");
    if let Some(expected) = &case.decisions {
        differs("decisions", format!("{:?}", decisions(last)), &format!("{expected:?}"));
    }
    wrong
}

#[tokio::test]
async fn calls_end_as_the_cases_say() {
    let (mut seen, mut wrong) = (Seen::default(), Vec::new());
    let cases = cases();
    for case in &cases {
        wrong.extend(check(case, &mut seen).await);
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() >= CASES_MIN, "{} cases", cases.len());
    assert_eq!(seen.missing(), Vec::<String>::new(), "have no case");
}

#[tokio::test]
async fn a_dropped_call_is_in_the_audit_log_as_abandoned() {
    let is_plain = |case: &Case| case.what.tool == "wait" && !case.cancelled && case.ai_rules.is_none();
    let case = cases().into_iter().find(is_plain).unwrap();
    let world = World::new(&case);
    // Polled once, then dropped: its caller has gone.
    assert!(world.call(&case).now_or_never().is_none());
    let records: Vec<String> = world.records().iter().map(record).collect();
    assert_eq!(records, ["abandoned [scope policy ai_rules input_schema rate]"]);
}

#[tokio::test]
async fn whoever_may_use_a_server_hears_what_it_tells() {
    for (settings, source, expected) in [
        ("", "u", true),
        ("", "built-in", false),
        ("", "nobody", false),
        ("deny = ['u_re*']", "u", true),
        ("deny = ['u_*']", "u", false),
        ("scopes = ['read_workspace']", "u", true),
        ("ai_rules = \"- {id: env, match: {paths: ['.env']}, action: {on_violation: block}}\"", "u", false),
    ] {
        let case: Case = toml::from_str(&format!("name = 'hears'\ntool = '-'\n{settings}")).unwrap();
        assert_eq!(World::new(&case).hears(source), expected, "{settings} {source}");
    }
}
