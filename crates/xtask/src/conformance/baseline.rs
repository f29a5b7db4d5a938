//! The scenarios that are known to fail, each with its reason, and comparing them with what failed.
//!
//! The file may only shrink: a scenario in it that passes is as much an error as one that fails without being in it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use super::results::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    #[serde(default)]
    pub(super) known: Vec<Known>,
}

/// Scenarios of one leg that fail for one reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    pub(super) leg: String,
    pub(super) reason: String,
    pub(super) scenarios: Vec<String>,
}

impl Baseline {
    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// What is wrong in a leg, measured by this: a line for each.
    pub(super) fn judge(&self, leg: &str, outcomes: &[Outcome]) -> Vec<String> {
        let known: Vec<&String> =
            self.known.iter().filter(|known| known.leg == leg).flat_map(|known| &known.scenarios).collect();
        let mut wrong = Vec::new();
        for outcome in outcomes {
            let is_known = known.contains(&&outcome.scenario);
            let scenario = &outcome.scenario;
            if outcome.faults.is_empty() && is_known {
                wrong.push(format!("{leg}: {scenario} passes: take it out of the baseline"));
            }
            if let ([first, more @ ..], false) = (&outcome.faults[..], is_known) {
                let others =
                    if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
                wrong.push(format!("{leg}: {scenario}: {first}{others}"));
            }
        }
        let is_there = |name: &String| outcomes.iter().any(|outcome| outcome.scenario == *name);
        let lost = known.iter().filter(|name| !is_there(name));
        wrong.extend(lost.map(|name| format!("{leg}: {name} is in the baseline and not in the leg")));
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[[known]]\nleg = \"tasks\"\nreason = \"why\"\nscenarios = [\"a\", \"b\"]\n";

    fn check(leg: &str, outcomes: &[(&str, &[&str])], expected: &[&str]) {
        let outcomes: Vec<Outcome> = outcomes
            .iter()
            .map(|(scenario, faults)| Outcome {
                scenario: (*scenario).to_owned(),
                faults: faults.iter().map(|fault| (*fault).to_owned()).collect(),
            })
            .collect();
        let baseline: Baseline = toml::from_str(FILE).expect("a baseline");
        assert_eq!(baseline.judge(leg, &outcomes), expected);
    }

    #[test]
    fn only_what_is_known_may_fail_and_what_is_known_must() {
        check("tasks", &[("a", &["x"]), ("b", &["x"]), ("c", &[])], &[]);
        check("tasks", &[("a", &["x"]), ("b", &[])], &["tasks: b passes: take it out of the baseline"]);
        check("tasks", &[("a", &["x"])], &["tasks: b is in the baseline and not in the leg"]);
        check("tasks", &[("a", &["x"]), ("b", &["x"]), ("c", &["x", "y"])], &["tasks: c: x (and 1 more)"]);
        check("other", &[("a", &["x"])], &["other: a: x"]);
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        let text = FILE.replace("reason = \"why\"\n", "");
        assert!(toml::from_str::<Baseline>(&text).is_err());
    }
}
