//! `rules test`: what the rules would do with a call, without making it.

use bytes::Bytes;
use rules::{Approval, Call, Finding, Rules, Stop, Words};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};

use super::{place, rules_of};
use crate::cli::Cli;
use crate::commands::gated::{settled, with_crib};
use crate::commands::load::load_resting;
use crate::commands::tools::arguments;
use crate::commands::troubles::unknown_tool;

/// What is asked.
pub(super) struct Asked<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a str,
    pub(super) result: Option<&'a str>,
}

/// Where the tool is.
struct Where {
    upstream: Option<String>,
    open_world: bool,
    /// The arguments that name paths, if the tool says so of itself.
    paths: Option<&'static [&'static str]>,
    input_schema: Option<Bytes>,
}

/// Everything that the rules say.
struct Said {
    findings: Vec<Finding>,
    stop: Option<Stop>,
    approvals: Vec<Approval>,
    /// As they would reach the tool, if they are changed.
    arguments: Option<Value>,
    after: Option<(Words, Option<String>)>,
}

/// Ends as a call would: refused if it would be, or if its result would be withheld.
pub(super) fn run(cli: &Cli, asked: &Asked<'_>, upstream: Option<&str>) -> Result<Ending, Trouble> {
    let text = arguments(asked.arguments)?;
    let arguments = serde_json::from_slice(&text).expect("it has been read once");
    let rules = Rules::new(load_resting(cli)?.settings.rules);
    let problems = rules.problems();
    if !problems.is_empty() {
        return super::wrong(cli, &problems);
    }
    let test = |found: &Where| {
        let said = judge(&rules, asked, &arguments, found);
        print::found(cli.json, &to_json(&rules, asked, &said), &told(&rules, asked, &said))?;
        let is_withheld = said.after.as_ref().is_some_and(|(words, _)| words.stop.is_some());
        Ok(if said.stop.is_some() || is_withheld { Ending::Refused } else { Ending::Good })
    };
    if let Some(upstream) = upstream {
        return test(&Where {
            upstream: Some(upstream.to_owned()),
            open_world: true,
            paths: None,
            input_schema: None,
        });
    }
    with_crib(cli, async |crib| {
        let offer = settled(crib).await?;
        let found = offer.get(asked.tool).ok_or_else(|| unknown_tool(crib, asked.tool))?;
        let definition = found.definition();
        let upstream = definition.upstream().map(str::to_owned);
        let input_schema = Some(definition.input_schema.clone());
        let paths = definition.listing.paths();
        test(&Where { upstream, open_world: definition.open_world, paths, input_schema })
    })
}

fn judge(rules: &Rules, asked: &Asked<'_>, arguments: &Value, found: &Where) -> Said {
    let call = Call {
        tool: asked.tool,
        upstream: found.upstream.as_deref(),
        open_world: found.open_world,
        is_action: false,
        paths: found.paths,
        input_schema: found.input_schema.as_ref(),
        output_schema: None,
        arguments,
        begun_with: None,
        answers: None,
        meta: None,
    };
    let judgement = rules.judge(&call);
    let given = asked.result.filter(|_| judgement.stop.is_none());
    let after = given.and_then(|text| {
        let mut on_result = judgement.on_result?;
        let left = on_result.text(text);
        Some((on_result.end(), left))
    });
    Said {
        findings: judgement.findings,
        stop: judgement.stop,
        approvals: judgement.approvals,
        arguments: judgement.arguments,
        after,
    }
}

/// Where the rule of a finding stands.
fn stands(rules: &Rules, finding: &Finding) -> String {
    rules.show(|files, _| {
        let of_layer = files.iter().filter(|file| file.layer == finding.layer);
        let mut named = of_layer
            .flat_map(|file| rules_of(file).map(move |rule| (file, rule)))
            .filter(|(_, rule)| rule.id == finding.rule);
        named.next().map_or_else(String::new, |(file, rule)| place(file, rule))
    })
}

fn told(rules: &Rules, asked: &Asked<'_>, said: &Said) -> String {
    let tool = asked.tool;
    let row = |finding: &Finding| {
        let place = stands(rules, finding);
        vec![finding.layer.word().to_owned(), finding.rule.to_string(), finding.effect.to_string(), place]
    };
    let table = |findings: &[Finding]| print::Table::plain(findings.iter().map(row)).to_string();
    let mut lines = Vec::new();
    if said.findings.is_empty() {
        lines.push("the call itself falls under no rule".to_owned());
    } else {
        lines.push(table(&said.findings));
    }
    if let Some(Stop { rule, why }) = &said.stop {
        lines.push(format!("refused: `{tool}` {why} (rule {rule})"));
        return lines.join("\n");
    }
    for Approval { rule, why, roles } in &said.approvals {
        let who = if roles.is_empty() { "whoever may answer".to_owned() } else { roles.join(" or ") };
        lines.push(format!("asks {who}: `{tool}` {why} (rule {rule})"));
    }
    if let Some(arguments) = &said.arguments {
        lines.push(format!("arguments become {arguments}"));
    }
    match (&said.after, asked.result) {
        (Some((words, left)), Some(given)) => {
            if !words.findings.is_empty() {
                lines.push(format!("after the call:\n{}", table(&words.findings)));
            }
            match (&words.stop, left) {
                (Some(Stop { rule, why }), _) => {
                    lines.push(format!("the result is withheld: it {why} (rule {rule})"));
                }
                (None, Some(left)) => lines.push(format!("the result becomes:\n{left}")),
                (None, None) => lines.push(unchanged(given)),
            }
        }
        (None, Some(given)) => lines.push(unchanged(given)),
        (_, None) => {}
    }
    lines.join("\n")
}

fn unchanged(given: &str) -> String {
    format!("the result stays as it is, {} bytes", given.len())
}

fn to_json(rules: &Rules, asked: &Asked<'_>, said: &Said) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "from": finding.layer.word(),
            "rule": &*finding.rule,
            "effect": &*finding.effect,
            "acts": finding.acts,
            "where": stands(rules, finding),
        })
    };
    let findings = |all: &[Finding]| all.iter().map(finding).collect::<Vec<_>>();
    let stop =
        |stop: &Option<Stop>| stop.as_ref().map(|stop| json!({ "rule": &*stop.rule, "why": &*stop.why }));
    let asks = said.approvals.iter().map(|one| json!({ "rule": &*one.rule, "roles": one.roles }));
    let result = asked.result.filter(|_| said.stop.is_none()).map(|given| match &said.after {
        None => json!({ "findings": [], "withheld": null, "text": given }),
        Some((words, left)) => {
            let text = left.as_deref().unwrap_or(given);
            let text = if words.stop.is_some() { None } else { Some(text) };
            json!({ "findings": findings(&words.findings), "withheld": stop(&words.stop), "text": text })
        }
    });
    json!({
        "findings": findings(&said.findings),
        "refused": stop(&said.stop),
        "asks": asks.collect::<Vec<_>>(),
        "arguments": said.arguments,
        "result": result,
    })
}
