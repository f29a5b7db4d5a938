//! `rules test`: what the rules would do with a call, in words.

use admin::rules::{Match, OnResult, RulesPart, Test, Tested};
use admin::{By, Operation as _};
use rules::Stop;
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;

/// Ends as a call would: refused if it would be, or if its result would be withheld.
pub(super) fn run(cli: &Cli, part: &RulesPart, asked: Test) -> Result<Ending, Trouble> {
    let (tool, given) = (asked.tool.clone(), asked.result.clone());
    let tested = asked.perform(part, &By::owner())?;
    print::found(cli.json, &tested, &words(&tool, given.as_deref(), &tested))?;
    let is_withheld = tested.result.as_ref().is_some_and(|result| result.withheld.is_some());
    Ok(if tested.refused.is_some() || is_withheld { Ending::Refused } else { Ending::Good })
}

fn table(findings: &[Match]) -> String {
    let row = |found: &Match| {
        vec![found.from.clone(), found.rule.clone(), found.effect.clone(), found.place.clone()]
    };
    print::Table::plain(findings.iter().map(row)).to_string()
}

fn words(tool: &str, given: Option<&str>, tested: &Tested) -> String {
    let Tested { findings, refused, asks, arguments, result } = tested;
    let mut lines = vec![match findings.is_empty() {
        true => "the call itself falls under no rule".to_owned(),
        false => table(findings),
    }];
    lines.extend(refused.iter().map(|Stop { rule, why }| format!("refused: `{tool}` {why} (rule {rule})")));
    if refused.is_none() {
        lines.extend(asks.iter().map(|ask| {
            let who =
                if ask.roles.is_empty() { "whoever may answer".to_owned() } else { ask.roles.join(" or ") };
            format!("asks {who}: `{tool}` {} (rule {})", ask.why, ask.rule)
        }));
        lines.extend(arguments.iter().map(|arguments| format!("arguments become {arguments}")));
    }
    lines.extend(result.iter().flat_map(|result| on_result(result, given.unwrap_or_default())));
    lines.join("\n")
}

fn on_result(result: &OnResult, given: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if !result.findings.is_empty() {
        lines.push(format!("after the call:\n{}", table(&result.findings)));
    }
    lines.push(match (&result.withheld, &result.text) {
        (Some(Stop { rule, why }), _) => format!("the result is withheld: it {why} (rule {rule})"),
        (None, Some(left)) if left != given => format!("the result becomes:\n{left}"),
        (None, _) => format!("the result stays as it is, {} bytes", given.len()),
    });
    lines
}
