//! Decisions as data: `cases/*.toml` holds policies with the calls they decide, in the form in which users write them, and
//! policies that are refused with what is said of them.

#![expect(clippy::disallowed_methods, reason = "the tests read their cases")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use policy::{Config, Policy};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decisions {
    group: Vec<Group>,
}

/// A policy, and calls beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    policy: Config,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusals {
    case: Vec<Refusal>,
}

/// A policy that is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    name: String,
    /// The section as text, for it may be no policy at all.
    policy: String,
    /// What is said: one line for each problem, `keys: what`.
    refused: Vec<String>,
}

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)).unwrap()
}

/// Tries every case of a file; returns how many there were.
#[track_caller]
fn check(name: &str) -> usize {
    let file: Decisions = toml::from_str(&read(name)).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for group in &file.group {
        let policy = Policy::new(&group.policy).unwrap_or_else(|error| panic!("{}: {error}", group.name));
        for case in &group.policy.tests {
            count += 1;
            let result = policy.try_case(case);
            if !result.good {
                wrong.push(format!("{}: {result:?}", group.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    count
}

#[test]
fn the_default_policy_decides() {
    assert!(check("default.toml") >= 30);
}

#[test]
fn rules_decide() {
    assert!(check("rules.toml") >= 40);
}

#[test]
fn conditions_decide() {
    assert!(check("conditions.toml") >= 30);
}

#[test]
fn what_commands_run_decides() {
    assert!(check("commands.toml") >= 25);
}

#[test]
fn what_cannot_be_used_is_refused() {
    let file: Refusals = toml::from_str(&read("refused.toml")).unwrap();
    let mut wrong = Vec::new();
    for case in &file.case {
        let said = match toml::from_str::<Config>(&case.policy) {
            Err(error) => vec![error.message().to_owned()],
            Ok(config) => match Policy::new(&config) {
                Ok(_) => Vec::new(),
                Err(error) => {
                    error.problems.iter().map(|it| format!("{}: {}", it.keys.join("."), it.what)).collect()
                }
            },
        };
        if said != case.refused {
            wrong.push(format!("{}\n  expected {:#?}\n  got      {said:#?}", case.name, case.refused));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
