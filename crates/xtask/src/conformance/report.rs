//! What is told of the legs: the table on the terminal, and the page in `docs/`.

use std::fmt::Write as _;

use super::baseline::Baseline;
use super::legs::Leg;
use super::results::Outcome;
use crate::install::pins;

/// A leg and what came of it.
pub(super) struct Row<'a> {
    pub(super) leg: &'a Leg,
    pub(super) outcomes: Vec<Outcome>,
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
    let mut table = format!("\n{:<20} {:>7} {:>7}  failed\n", "leg", "passed", "target");
    for row in rows {
        let failed = row.failed();
        let mut names = failed[..failed.len().min(NAMES_SHOWN_MAX)].join(", ");
        if failed.len() > NAMES_SHOWN_MAX {
            write!(names, " and {} more", failed.len() - NAMES_SHOWN_MAX).expect("a string takes any text");
        }
        let passed = format!("{}/{}", row.passed(), row.outcomes.len());
        let line = format!("{:<20} {passed:>7} {:>7}  {names}", row.leg.name, row.leg.target);
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

/// The page: the same figures, what fails and why, and how to see it for oneself.
pub(super) fn page(rows: &[Row<'_>], baseline: &Baseline) -> String {
    let mut page = format!(
        "# Conformance\n\n\
         <!-- Made by `cargo xtask conformance --write`. -->\n\n\
         What the protocol's own test suite says of Toolcrib: `{}` and `{}`.\n\n\
         As a server, Toolcrib stands between the suite and a fixture server (`e2e/fixtures/conformance`) that has\n\
         what the suite asks for. As a client, the suite's servers are Toolcrib's upstream, and a small program asks\n\
         Toolcrib over stdio for what each scenario wants done. A scenario passes if no check in it failed and none\n\
         warned.\n\n\
         | Leg | What it shows | Passed | Target |\n|---|---|---|---|\n",
        pins::CONFORMANCE_RELEASED,
        pins::CONFORMANCE_NEXT,
    );
    for row in rows {
        let Leg { name, about, target, .. } = row.leg;
        let (passed, all) = (row.passed(), row.outcomes.len());
        writeln!(page, "| `{name}` | {about} | {passed} of {all} | {target} |")
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

#[cfg(test)]
mod tests {
    use super::super::legs::LEGS;
    use super::*;

    fn row(faulty: usize) -> Row<'static> {
        let outcome = |index| Outcome {
            scenario: format!("s{index}"),
            faults: if index < faulty { vec!["x".to_owned()] } else { Vec::new() },
        };
        Row { leg: &LEGS[0], outcomes: (0..8).map(outcome).collect() }
    }

    #[test]
    fn the_table_names_a_few_of_those_that_failed() {
        assert_eq!(
            table(&[row(0), row(2), row(6)]),
            "\n\
             leg                   passed  target  failed\n\
             server-released          8/8      32\n\
             server-released          6/8      32  s0, s1\n\
             server-released          2/8      32  s0, s1, s2, s3 and 2 more\n"
        );
    }

    #[test]
    fn the_page_has_every_row_and_every_known_failure() {
        let text = "[[known]]\nleg = \"tasks\"\nreason = \"Why.\"\nscenarios = [\"a\", \"b\"]\n";
        let page = page(&[row(1)], &toml::from_str(text).expect("a baseline"));
        assert!(page.contains(
            "| `server-released` | the released suite, before a server of both eras | 7 of 8 | 32 |\n"
        ));
        assert!(page.contains("\n**`tasks`**: Why.\n\n- `a`\n- `b`\n"));
        assert!(!page.contains("Nothing."));
    }
}
