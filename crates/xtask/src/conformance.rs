//! `cargo xtask conformance`: the protocol's own suites against the release build, as a server and as a client.
//!
//! [`legs`] is the list of what is measured, [`runs`] starts the suites, [`results`] reads what they found,
//! [`baseline`] says what may fail, and [`report`] tells it. The page in `docs/` holds no figure that can differ from
//! one run to the next, so that it can be compared.

mod baseline;
mod given;
mod legs;
mod report;
mod requirements;
mod results;
mod runs;
mod served;

use std::fs;

use anyhow::{Context as _, bail, ensure};

use crate::checkout::Checkout;
use crate::install::Suites;
use crate::{docs, install, program};
use baseline::Baseline;
use given::Given;
use legs::{GOES_MAX, LEGS, Leg, Picks};
use report::{Beside, Row};
use requirements::Requirements;
use results::Outcome;
use runs::{Run, Side};
use served::Era;

const BASELINE: &str = "e2e/conformance_baseline.toml";
const PAGE: &str = "docs/conformance.md";

/// What was typed after the command's name.
struct Options {
    /// The legs to run; all if there are none.
    legs: Vec<String>,
    /// Write the page instead of comparing it.
    write: bool,
    /// Leave Toolcrib out, to show that the fixture is right.
    direct: bool,
}

/// Every leg.
pub(crate) fn all(checkout: &Checkout) -> anyhow::Result<()> {
    run(checkout, &[])
}

/// The named legs, or every leg and the page.
pub(crate) fn run(checkout: &Checkout, words: &[String]) -> anyhow::Result<()> {
    let options = Options::of(words)?;
    let chosen: Vec<&Leg> = LEGS.iter().filter(|leg| options.takes(leg)).collect();
    ensure!(!chosen.is_empty(), "none of these legs can do without Toolcrib");
    let suites = install::suites(checkout)?;
    let program = if options.direct { "/".into() } else { program::build(checkout)? };
    let given = Given { checkout, suites, program, direct: options.direct };
    let baseline = if options.direct {
        Baseline { known: Vec::new() }
    } else {
        Baseline::read(&checkout.root.join(BASELINE))?
    };
    let (mut rows, beside) = measured(&given, &chosen)?;
    for _ in 1..GOES_MAX {
        let doubtful: Vec<&Leg> =
            rows.iter().filter(|row| !judged(&baseline, row).is_empty()).map(|row| row.leg).collect();
        if doubtful.is_empty() {
            break;
        }
        for row in rows.iter().filter(|row| doubtful.iter().any(|leg| leg.name == row.leg.name)) {
            println!("once more: {}", judged(&baseline, row).join("\n           "));
        }
        better(&mut rows, measured(&given, &doubtful)?.0);
    }
    print!("{}", report::table(&rows));

    let mut wrong: Vec<String> = rows.iter().flat_map(|row| judged(&baseline, row)).collect();
    let nowhere = baseline.known.iter().filter(|known| !LEGS.iter().any(|leg| leg.name == known.leg));
    wrong.extend(nowhere.map(|known| format!("{BASELINE}: there is no leg {}", known.leg)));
    for row in &rows {
        let (found, leg) = (row.outcomes.len(), row.leg);
        if found != leg.scenarios {
            wrong.push(format!("{}: {found} scenarios, of {} there should be", leg.name, leg.scenarios));
        }
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    if chosen.len() == LEGS.len() {
        page(checkout, &report::page(&rows, &baseline, &beside, &Suites::versions(checkout)?), options.write)
    } else {
        Ok(())
    }
}

impl Options {
    fn of(words: &[String]) -> anyhow::Result<Self> {
        let mut options = Self { legs: Vec::new(), write: false, direct: false };
        for word in words {
            match word.as_str() {
                "--write" => options.write = true,
                "--direct" => options.direct = true,
                name if LEGS.iter().any(|leg| leg.name == name) => options.legs.push(word.clone()),
                _ => {
                    let known: Vec<&str> = LEGS.iter().map(|leg| leg.name).collect();
                    bail!("there is no leg `{word}`; the legs are: {}", known.join(" "));
                }
            }
        }
        if options.write && (options.direct || !options.legs.is_empty()) {
            bail!("--write makes the page from all legs, with Toolcrib in between");
        }
        Ok(options)
    }

    /// Directly, only what one fixture of both eras can answer makes sense.
    fn takes(&self, leg: &Leg) -> bool {
        let is_named = self.legs.is_empty() || self.legs.iter().any(|name| name == leg.name);
        let is_whole = leg.runs.iter().all(|run| run.side() == Side::Client(Era::Dual));
        is_named && (is_whole || !self.direct)
    }
}

/// Runs each suite once, whatever the number of legs that read from it; also says what it ran beside the legs.
fn measured<'a>(given: &Given<'_>, legs: &[&'a Leg]) -> anyhow::Result<(Vec<Row<'a>>, Vec<Beside>)> {
    let mut found: Vec<(Run, Vec<Outcome>)> = Vec::new();
    for run in legs.iter().flat_map(|leg| leg.runs) {
        if !found.iter().any(|(done, _)| done == run) {
            found.push((*run, run.outcomes(given)?));
        }
    }
    let rows: anyhow::Result<Vec<Row<'a>>> = legs
        .iter()
        .map(|leg| {
            let runs: Vec<&(Run, Vec<Outcome>)> =
                found.iter().filter(|(run, _)| leg.runs.contains(run)).collect();
            Ok(Row { leg, outcomes: picked(leg, &runs, &scored(given, leg)?), goes: 1 })
        })
        .collect();
    let beside: anyhow::Result<Vec<Beside>> =
        found.iter().map(|(run, outcomes)| beside(given, *run, outcomes)).collect();
    Ok((rows?, beside?))
}

/// What a run found of the scenarios that its requirement set does not count and no leg takes from it.
fn beside(given: &Given<'_>, run: Run, outcomes: &[Outcome]) -> anyhow::Result<Beside> {
    let mut beside = Beside { run: run.name(), failed: Vec::new(), passed: Vec::new() };
    let Some(revision) = run.revision() else { return Ok(beside) };
    let set = Requirements::of(&given.suites.next, revision)?;
    let taken = |name: &str| LEGS.iter().any(|leg| leg.runs.contains(&run) && leg.picks.take(name));
    for name in set.not_scored(run.side() == Side::Server).filter(|name| !taken(name)) {
        match outcomes.iter().find(|outcome| outcome.scenario == *name) {
            Some(outcome) if outcome.faults.is_empty() => beside.passed.push(name.clone()),
            Some(_) => beside.failed.push(name.clone()),
            // It ran, and there was nothing in it.
            None => {}
        }
    }
    Ok(beside)
}

/// What is wrong in a row.
fn judged(baseline: &Baseline, row: &Row<'_>) -> Vec<String> {
    baseline.judge(row.leg.name, &row.outcomes)
}

/// Takes over what has passed in a later go.
fn better(rows: &mut [Row<'_>], again: Vec<Row<'_>>) {
    for later in again {
        let Some(row) = rows.iter_mut().find(|row| row.leg.name == later.leg.name) else { continue };
        row.goes += 1;
        for passed in later.outcomes.into_iter().filter(|outcome| outcome.faults.is_empty()) {
            match row.outcomes.iter_mut().find(|outcome| outcome.scenario == passed.scenario) {
                Some(outcome) => *outcome = passed,
                None => row.outcomes.push(passed),
            }
        }
    }
}

/// What the leg's requirement set counts; nothing if the leg does not go by one.
fn scored(given: &Given<'_>, leg: &Leg) -> anyhow::Result<Vec<String>> {
    if !matches!(leg.picks, Picks::Scored) {
        return Ok(Vec::new());
    }
    let [run] = leg.runs else { bail!("{} goes by a requirement set and has several runs", leg.name) };
    let revision = run.revision().context("the released suite has no requirement sets")?;
    let sets = Requirements::of(&given.suites.next, revision)?;
    Ok(if run.side() == Side::Server { sets.client } else { sets.server })
}

/// The leg's scenarios. One that several runs have passes if it passes in all; one that none has did not run.
fn picked(leg: &Leg, runs: &[&(Run, Vec<Outcome>)], scored: &[String]) -> Vec<Outcome> {
    let all = || runs.iter().flat_map(|(_, outcomes)| outcomes);
    let mut names: Vec<String> = match leg.picks {
        Picks::All => all().map(|outcome| outcome.scenario.clone()).collect(),
        Picks::Scored => scored.to_vec(),
        Picks::Beginning(start) => {
            let begins = |outcome: &&Outcome| outcome.scenario.starts_with(start);
            all().filter(begins).map(|outcome| outcome.scenario.clone()).collect()
        }
        Picks::Named(names) => names.iter().map(|name| (*name).to_owned()).collect(),
    };
    names.sort_unstable();
    names.dedup();
    let outcome = |scenario: String| {
        let found: Vec<&Outcome> = all().filter(|outcome| outcome.scenario == scenario).collect();
        if found.is_empty() {
            return results::failed(&scenario, "it did not run");
        }
        Outcome { scenario, faults: found.iter().flat_map(|outcome| outcome.faults.clone()).collect() }
    };
    names.into_iter().map(outcome).collect()
}

/// Writes the page, or says where it is not what it should be.
fn page(checkout: &Checkout, made: &str, write: bool) -> anyhow::Result<()> {
    let file = checkout.root.join(PAGE);
    if write {
        fs::write(&file, made).with_context(|| format!("{PAGE} cannot be written"))?;
        println!("\nwrote {PAGE}");
        return Ok(());
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    match docs::difference(&report::without_goes(&found), &report::without_goes(made)) {
        None => Ok(()),
        Some(difference) => bail!("{PAGE}:{difference}; run `cargo xtask conformance --write`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Result<(usize, bool, bool), String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let options = Options::of(&words).map_err(|error| error.to_string())?;
        let taken = LEGS.iter().filter(|leg| options.takes(leg)).count();
        Ok((taken, options.write, options.direct))
    }

    #[test]
    fn words_choose_the_legs() {
        assert_eq!(words(&[]), Ok((LEGS.len(), false, false)));
        assert_eq!(words(&["tasks", "pending"]), Ok((2, false, false)));
        assert_eq!(words(&["--direct"]), Ok((5, false, true)));
        assert_eq!(words(&["--write"]), Ok((LEGS.len(), true, false)));
        let error = words(&["task"]).expect_err("no such leg");
        assert!(error.starts_with("there is no leg `task`; the legs are: server-released "), "{error}");
        assert!(words(&["--write", "tasks"]).is_err() && words(&["--write", "--direct"]).is_err());
    }

    fn outcome(scenario: &str, faults: &[&str]) -> Outcome {
        let faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
        Outcome { scenario: scenario.to_owned(), faults }
    }

    fn check(picks: Picks, expected: &[Outcome]) {
        let leg = Leg { name: "x", about: "", runs: &[], picks, scenarios: 0, target: 0 };
        let first = (Run::Legacy, vec![outcome("a", &[]), outcome("b", &["x"])]);
        let second = (Run::Modern, vec![outcome("a", &["y"]), outcome("bc", &[])]);
        assert_eq!(picked(&leg, &[&first, &second], &["bc".to_owned(), "z".to_owned()]), expected);
    }

    #[test]
    fn what_passes_in_a_later_go_has_passed_and_what_passed_before_still_has() {
        let leg = Leg { name: "x", about: "", runs: &[], picks: Picks::All, scenarios: 0, target: 0 };
        let row = |outcomes: &[Outcome]| Row { leg: &leg, outcomes: outcomes.to_vec(), goes: 1 };
        let mut rows = [row(&[outcome("a", &["late"]), outcome("b", &[]), outcome("c", &["wrong"])])];
        let again = [outcome("a", &[]), outcome("b", &["late"]), outcome("c", &["wrong again"])];
        better(&mut rows, vec![row(&again)]);
        assert_eq!(rows[0].outcomes, [outcome("a", &[]), outcome("b", &[]), outcome("c", &["wrong"])]);
        assert_eq!(rows[0].goes, 2);
    }

    #[test]
    fn a_leg_takes_its_scenarios_from_its_runs() {
        let all = [outcome("a", &["y"]), outcome("b", &["x"]), outcome("bc", &[])];
        check(Picks::All, &all);
        check(Picks::Beginning("b"), &all[1..]);
        check(Picks::Scored, &[outcome("bc", &[]), outcome("z", &["it did not run"])]);
        check(Picks::Named(&["b", "q"]), &[outcome("b", &["x"]), outcome("q", &["it did not run"])]);
    }
}
