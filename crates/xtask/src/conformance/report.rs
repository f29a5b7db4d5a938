//! What is told of the legs: the table on the terminal, and the page in `docs/`.

use std::fmt::Write as _;

use super::baseline::Baseline;
use super::legs::{GOES_MAX, Leg};
use super::results::{Outcome, WITHOUT_CHECKS};

/// A leg and what came of it.
pub(super) struct Row<'a> {
    pub(super) leg: &'a Leg,
    pub(super) outcomes: Vec<Outcome>,
    /// How often it was run.
    pub(super) goes: usize,
}

/// What a run found beside the legs.
pub(super) struct Beside {
    pub(super) run: &'static str,
    pub(super) failed: Vec<String>,
    pub(super) passed: Vec<String>,
}

impl Row<'_> {
    fn passed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.faults.is_empty()).count()
    }

    fn failed(&self) -> Vec<&str> {
        let failed = self.outcomes.iter().filter(|outcome| !outcome.faults.is_empty());
        failed.map(|outcome| outcome.scenario.as_str()).collect()
    }
}

/// More names than this in one line tell nobody anything; the page has them all.
const NAMES_SHOWN_MAX: usize = 4;

/// The table as it is printed.
pub(super) fn table(rows: &[Row<'_>]) -> String {
    let mut table = format!("\n{:<20} {:>7} {:>7} {:>4}  failed\n", "leg", "passed", "target", "ran");
    for row in rows {
        let failed = row.failed();
        let mut names = failed[..failed.len().min(NAMES_SHOWN_MAX)].join(", ");
        if failed.len() > NAMES_SHOWN_MAX {
            write!(names, " and {} more", failed.len() - NAMES_SHOWN_MAX).expect("a string takes any text");
        }
        let passed = format!("{}/{}", row.passed(), row.outcomes.len());
        let (name, target, goes) = (row.leg.name, row.leg.target, row.goes);
        let line = format!("{name:<20} {passed:>7} {target:>7} {goes:>4}  {names}");
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

/// The page: the same figures, what fails and why, and how to see it for oneself.
pub(super) fn page(
    rows: &[Row<'_>],
    baseline: &Baseline,
    beside: &[Beside],
    [released, next]: &[String; 2],
) -> String {
    let mut page = format!(
        "# Conformance\n\n\
         <!-- Made by `cargo xtask conformance --write`. -->\n\n\
         What the protocol's own test suite says of Toolcrib: `{released}` and `{next}`.\n\n\
         As a server, Toolcrib stands between the suite and a fixture server (`e2e/fixtures/conformance`) that has\n\
         what the suite asks for. As a client, the suite's servers are Toolcrib's upstream, and a small program asks\n\
         Toolcrib over stdio for what each scenario wants done. A scenario passes if no check in it failed and none\n\
         warned. One that has no check is not counted: `{}`. So of the suite's ten scenarios for tasks nine are.\n\n\
         The suites wait for some things by clocks of their own. A leg in which something is not as it should be is run\n\
         again, {GOES_MAX} times in all, and a scenario passes that passes in one of them. The last column says how often\n\
         each ran when this page was made.\n\n\
         | Leg | What it shows | Passed | Target | Ran |\n|---|---|---|---|---|\n",
        WITHOUT_CHECKS.join("`, `")
    );
    for row in rows {
        let Leg { name, about, target, .. } = row.leg;
        let (passed, all, goes) = (row.passed(), row.outcomes.len(), row.goes);
        writeln!(page, "| `{name}` | {about} | {passed} of {all} | {target} | {goes} |")
            .expect("a string takes any text");
    }
    page.push_str("\n## What fails\n\n");
    if baseline.known.is_empty() {
        page.push_str("Nothing.\n");
    } else {
        page.push_str(
            "`e2e/conformance_baseline.toml` names it. What is there and passes is an error too.\n",
        );
    }
    for known in &baseline.known {
        write!(page, "\n**`{}`**: {}\n\n", known.leg, known.reason).expect("a string takes any text");
        for scenario in &known.scenarios {
            writeln!(page, "- `{scenario}`").expect("a string takes any text");
        }
    }
    page.push_str(&unscored(beside));
    page.push_str(
        "\n## To repeat it\n\n```\n\
         cargo xtask conformance              # everything, and whether this page is right\n\
         cargo xtask conformance tasks        # one leg\n\
         cargo xtask conformance --direct     # the suite before the fixture alone: it passes everything\n\
         cargo xtask conformance --write      # everything, and this page anew\n```\n\n\
         What the suite said of each scenario is in `target/conformance`.\n",
    );
    page
}

/// What the requirement sets run and do not count, and no leg takes.
fn unscored(beside: &[Beside]) -> String {
    let mut text = String::from(
        "\n## What is not counted\n\n\
         The suite runs extensions and scenarios that are new or unfinished without counting them. Those that no leg above\n\
         takes, by the run in which they were met:\n\n| Run | Fails | Passes |\n|---|---|---|\n",
    );
    for Beside { run, failed, passed } in beside.iter().filter(|row| row.failed.len() + row.passed.len() > 0)
    {
        let names =
            |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        writeln!(text, "| `{run}` | {} | {} |", names(failed), names(passed))
            .expect("a string takes any text");
    }
    text
}

/// The page without its figures that differ from one run to the next.
pub(super) fn without_goes(page: &str) -> String {
    let line = |line: &str| match line.strip_suffix(" |").and_then(|row| row.rsplit_once(" | ")) {
        Some((row, goes)) if goes.parse::<usize>().is_ok() => row.to_owned(),
        _ => line.to_owned(),
    };
    page.lines().map(|text| line(text) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::super::legs::LEGS;
    use super::*;

    fn row(faulty: usize) -> Row<'static> {
        let outcome = |index| Outcome {
            scenario: format!("s{index}"),
            faults: if index < faulty { vec!["x".to_owned()] } else { Vec::new() },
        };
        Row { leg: &LEGS[0], outcomes: (0..8).map(outcome).collect(), goes: 2 }
    }

    #[test]
    fn the_table_names_a_few_of_those_that_failed() {
        assert_eq!(
            table(&[row(0), row(2), row(6)]),
            "\n\
             leg                   passed  target  ran  failed\n\
             server-released          8/8      32    2\n\
             server-released          6/8      32    2  s0, s1\n\
             server-released          2/8      32    2  s0, s1, s2, s3 and 2 more\n"
        );
    }

    #[test]
    fn the_page_has_every_row_and_every_known_failure() {
        let text = "[[known]]\nleg = \"tasks\"\nreason = \"Why.\"\nscenarios = [\"a\", \"b\"]\n";
        let beside = [Beside { run: "r", failed: vec!["x".into(), "y".into()], passed: Vec::new() }];
        let page = page(
            &[row(1)],
            &toml::from_str(text).expect("a baseline"),
            &beside,
            &["s@1".into(), "s@2".into()],
        );
        assert!(page.contains("`s@1` and `s@2`"));
        assert!(page.contains(
            "| `server-released` | the released suite, before a server of both eras | 7 of 8 | 32 | 2 |\n"
        ));
        assert!(page.contains("| `r` | `x`, `y` |  |\n"));
        let again = page.replace("| 32 | 2 |\n", "| 32 | 3 |\n");
        assert!(page != again && without_goes(&page) == without_goes(&again));
        assert_ne!(without_goes(&page), without_goes(&page.replace("7 of 8", "6 of 8")));
        assert!(page.contains("\n**`tasks`**: Why.\n\n- `a`\n- `b`\n"));
        assert!(!page.contains("Nothing."));
    }
}
