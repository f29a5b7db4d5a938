//! `rules`: whether the rules for AI are right, which are in force, and what they would do with a call.

mod test;

use admin::rules::{Check, Checked, RuleReport, RulesPart, Show, Test};
use admin::{By, Operation as _};
use daemon::administration;
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::start::start_nobody;
use super::tools::arguments;
use crate::cli::{Cli, Rules};

pub(super) fn run(cli: &Cli, command: Rules) -> Result<Ending, Trouble> {
    let part = || start_nobody(cli).map(|loaded| administration::rules(&loaded.settings));
    match command {
        Rules::Check => check(cli, &part()?),
        Rules::Show => show(cli, &part()?),
        Rules::Test { tool, arguments: given, result, upstream } => {
            let given = arguments(&given)?;
            let arguments = serde_json::from_slice(&given).expect("it has been read once");
            test::run(cli, &part()?, Test { tool, arguments, result, upstream })
        }
    }
}

fn check(cli: &Cli, part: &RulesPart) -> Result<Ending, Trouble> {
    let checked = Check {}.perform(part, &By::owner())?;
    let Checked { files, counts, problems, notes } = &checked;
    if !problems.is_empty() {
        return wrong(cli, problems);
    }
    print::notes("note", notes);
    let line = |(path, count): (&String, &usize)| format!("{path}: good, {}", print::counted(*count, "rule"));
    let words = match files.is_empty() {
        true => "there is no rules file, so no rule for AI; write .toolcrib/ai-rules.json in the workspace"
            .to_owned(),
        false => files.iter().zip(counts).map(line).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &checked, &words)
}

/// Tells what is wrong with rules files.
fn wrong(cli: &Cli, problems: &[String]) -> Result<Ending, Trouble> {
    match cli.json {
        true => print::json(&json!({ "problems": problems }))?,
        false => print::remark(&problems.join("\n")),
    }
    Ok(Ending::Misused)
}

fn show(cli: &Cli, part: &RulesPart) -> Result<Ending, Trouble> {
    let found = Show {}.perform(part, &By::owner())?;
    let row = |rule: &RuleReport| {
        let does = match rule.concerns_project {
            true => rule.does.clone(),
            false => "nothing here: it is about other projects".to_owned(),
        };
        let place = format!("{}:{}:{}", rule.file, rule.line, rule.column);
        vec![rule.from.clone(), rule.id.clone(), does, place]
    };
    let table = print::Table::titled(["FROM", "RULE", "DOES", "WHERE"], found.rules.iter().map(row));
    print::list(cli.json, &found, &table, "there is no rule for AI")
}
