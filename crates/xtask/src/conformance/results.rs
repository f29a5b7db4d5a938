//! What a suite found, read from the files it writes: one folder for each scenario, with its checks in it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// `2026-11-21T20-59-35-363Z`, with the dash before it.
const STAMP_BYTES: usize = 25;

/// How much of a check's message is kept.
const MESSAGE_CHARS_MAX: usize = 300;

/// Scenarios that consist of no check: there is nothing in them to pass, and they are not counted.
pub(super) const WITHOUT_CHECKS: &[&str] = &["tasks-status-notifications"];

/// A scenario and all that was wrong in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) scenario: String,
    /// Nothing if it passed.
    pub(super) faults: Vec<String>,
}

#[derive(Deserialize)]
struct Check {
    id: String,
    status: Status,
    #[serde(rename = "errorMessage")]
    message: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    Info,
}

/// The outcomes below a folder, by scenario.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    read_into(folder, "", &mut outcomes)?;
    outcomes.sort_by(|a, b| a.scenario.cmp(&b.scenario));
    Ok(outcomes)
}

/// A scenario's name may have slashes in it, which are folders here.
fn read_into(folder: &Path, above: &str, outcomes: &mut Vec<Outcome>) -> anyhow::Result<()> {
    // A suite that got nowhere has made no folder.
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let name = format!("{above}{name}");
        let checks = path.join("checks.json");
        match scenario_of(&name) {
            Some(scenario) => outcomes.extend(match fs::read_to_string(&checks) {
                Ok(text) => outcome(scenario, &text).with_context(|| checks.display().to_string())?,
                // The folder is made before the scenario runs, and the file when it has ended.
                Err(_) => Some(failed(scenario, "it broke off without a result")),
            }),
            None if path.is_dir() => read_into(&path, &format!("{name}/"), outcomes)?,
            None => {}
        }
    }
    Ok(())
}

/// The scenario whose results a folder holds: the name that it ends with a time.
fn scenario_of(folder: &str) -> Option<&str> {
    let (name, stamp) = folder.split_at_checked(folder.len().checked_sub(STAMP_BYTES)?)?;
    let is_time = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'T' | b'Z');
    let is_stamp = stamp.starts_with('-') && stamp.ends_with('Z') && stamp.bytes().all(is_time);
    // The suites put this before the names of a server's scenarios; no client's scenario begins so.
    let scenario = name.strip_prefix("server-").unwrap_or(name);
    (is_stamp && !scenario.is_empty()).then_some(scenario)
}

/// What came of a scenario; nothing of one that is known to check nothing, and did not.
fn outcome(scenario: &str, checks: &str) -> anyhow::Result<Option<Outcome>> {
    let checks: Vec<Check> = serde_json::from_str(checks)?;
    let is_empty = checks.iter().all(|check| matches!(check.status, Status::Skipped | Status::Info));
    if is_empty && WITHOUT_CHECKS.contains(&scenario) {
        return Ok(None);
    }
    Ok(Some(Outcome { scenario: scenario.to_owned(), faults: faults(&checks) }))
}

/// A scenario that came to nothing.
pub(super) fn failed(scenario: &str, fault: &str) -> Outcome {
    Outcome { scenario: scenario.to_owned(), faults: vec![fault.to_owned()] }
}

/// Warnings count: what should be done is done here. So does having checked nothing.
fn faults(checks: &[Check]) -> Vec<String> {
    let is_bad = |check: &&Check| matches!(check.status, Status::Failure | Status::Warning);
    let mut faults: Vec<String> = checks.iter().filter(is_bad).map(fault).collect();
    let checked = checks.iter().any(|check| check.status == Status::Success);
    if faults.is_empty() && !checked {
        faults.push("nothing was checked".to_owned());
    }
    faults
}

fn fault(check: &Check) -> String {
    let message = check.message.as_deref().unwrap_or("failed");
    let mut short: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
    if short.len() < message.len() {
        short.push('…');
    }
    format!("{}: {}", check.id, short.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: &str = "-2026-11-21T20-59-35-363Z";

    const GOOD: &str =
        r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"SKIPPED"},{"id":"c","status":"INFO"}]"#;

    #[test]
    fn a_folder_names_its_scenario() {
        let check = |folder: &str, expected| assert_eq!(scenario_of(folder), expected, "{folder}");
        check(&format!("server-ping{STAMP}"), Some("ping"));
        check(&format!("server-server-stateless{STAMP}"), Some("server-stateless"));
        check(&format!("auth/metadata-default{STAMP}"), Some("auth/metadata-default"));
        check("auth", None);
        check("a-folder-with-a-name-that-is-long", None);
        check(STAMP, None);
    }

    fn check(scenario: &str, checks: &str, faults: &[&str]) {
        let outcome = outcome(scenario, checks).expect("checks").expect("a scenario with checks");
        assert_eq!(outcome.faults, faults);
    }

    #[test]
    fn failures_and_warnings_are_faults_and_so_is_silence() {
        let bad = r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"FAILURE","errorMessage":"x\ny"},
            {"id":"c","status":"WARNING"}]"#;
        check("ping", GOOD, &[]);
        check("ping", bad, &["b: x y", "c: failed"]);
        check("ping", "[]", &["nothing was checked"]);
        check("ping", r#"[{"id":"a","status":"SKIPPED"}]"#, &["nothing was checked"]);
        check("tasks-status-notifications", r#"[{"id":"a","status":"WARNING"}]"#, &["a: failed"]);
        check("tasks-status-notifications", GOOD, &[]);
        let empty = outcome("tasks-status-notifications", r#"[{"id":"a","status":"SKIPPED"}]"#);
        assert_eq!(empty.expect("checks"), None);
        assert!(outcome("ping", "{}").is_err());
    }

    #[test]
    fn every_scenario_of_a_folder_is_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(read(&folder.path().join("none")).expect("no folder is no result"), []);
        for name in ["server-ping", "auth/iss", "other"] {
            let own = folder.path().join(format!("{name}{STAMP}"));
            fs::create_dir_all(&own).expect("a folder");
            fs::write(own.join("checks.json"), GOOD).expect("a file");
            fs::write(own.join("stdout.txt"), "").expect("a file");
        }
        fs::create_dir(folder.path().join(format!("server-broken{STAMP}"))).expect("a folder");
        let outcomes = read(folder.path()).expect("results");
        let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.scenario.as_str()).collect();
        assert_eq!(names, ["auth/iss", "broken", "other", "ping"]);
        assert_eq!(outcomes[1], failed("broken", "it broke off without a result"));
        assert_eq!(outcomes[2].faults, Vec::<String>::new());
    }
}
