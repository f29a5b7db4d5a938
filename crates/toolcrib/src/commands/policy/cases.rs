//! `policy test`: the cases beside the rules, for people and for CI.

use std::path::PathBuf;

use admin::policy::Test;
use admin::{By, Operation as _};
use daemon::administration::{self, cases_of};
use policy::{CaseResult, Got};
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;
use crate::commands::load::load_resting;

pub(super) fn run(cli: &Cli, files: &[PathBuf]) -> Result<Ending, Trouble> {
    let part = administration::policy(&load_resting(cli)?);
    let mut named = Vec::new();
    for file in files {
        named.extend(cases_of(file)?);
    }
    let cases = (!files.is_empty()).then_some(named);
    let tested = Test { cases }.perform(&part, &By::owner())?;
    let mut lines: Vec<String> = tested.cases.iter().map(line).collect();
    let (all, failed) = (tested.cases.len(), tested.failed);
    lines.push(format!("{} of {all} cases as expected", all - failed));
    print::found(cli.json, &tested, &lines.join("\n"))?;
    Ok(if failed == 0 { Ending::Good } else { Ending::Failed })
}

fn line(case: &CaseResult) -> String {
    let CaseResult { name, good, expected, got } = case;
    let got = match got {
        _ if *good => return format!("ok      {name}"),
        Got::Untried { error } => return format!("FAILED  {name}\n  the case cannot be tried: {error}"),
        Got::Decided(got) => got,
    };
    let by = expected.rule.as_ref().map_or(String::new(), |rule| format!(" by {rule}"));
    let why = if got.why.is_empty() { String::new() } else { format!(": the tool {}", got.why) };
    let (wanted, effect, rule) = (expected.effect.as_str(), got.effect.as_str(), &got.rule);
    format!("FAILED  {name}\n  - {wanted}{by}\n  + {effect} by {rule}{why}")
}
