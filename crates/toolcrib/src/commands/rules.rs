//! `rules`: whether the rules for AI are right, which are in force, and what they would do with a call.

mod test;

use policy::Role;
use rules::{Action, Found, Rule, Rules as InForce};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};

use super::load::load_resting;
use crate::cli::{Cli, Rules};

pub(super) fn run(cli: &Cli, command: Rules) -> Result<Ending, Trouble> {
    match command {
        Rules::Check => check(cli),
        Rules::Show => show(cli),
        Rules::Test { tool, arguments, result, upstream } => {
            let asked = test::Asked { tool: &tool, arguments: &arguments, result: result.as_deref() };
            test::run(cli, &asked, upstream.as_deref())
        }
    }
}

fn check(cli: &Cli) -> Result<Ending, Trouble> {
    let rules = InForce::new(load_resting(cli)?.settings.rules);
    let problems = rules.problems();
    if !problems.is_empty() {
        return wrong(cli, &problems);
    }
    let (files, notes) = rules.show(|files, _| {
        let counted = files.iter().map(|file| (shown(file), file.rules.as_ref().map_or(0, Vec::len)));
        let notes = files.iter().flat_map(|file| rules_of(file).filter_map(|rule| note(file, rule)));
        (counted.collect::<Vec<_>>(), notes.collect::<Vec<_>>())
    });
    print::notes("note", &notes);
    let line = |(path, count): &(String, usize)| format!("{path}: good, {}", print::counted(*count, "rule"));
    let words = match files.is_empty() {
        true => "there is no rules file, so no rule for AI; write .toolcrib/ai-rules.json in the workspace"
            .to_owned(),
        false => files.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    let files: Vec<&String> = files.iter().map(|(path, _)| path).collect();
    print::found(cli.json, &json!({ "files": files, "problems": [], "notes": notes }), &words)
}

/// Tells what is wrong with rules files.
pub(super) fn wrong(cli: &Cli, problems: &[String]) -> Result<Ending, Trouble> {
    match cli.json {
        true => print::json(&json!({ "problems": problems }))?,
        false => print::remark(&problems.join("\n")),
    }
    Ok(Ending::Misused)
}

fn show(cli: &Cli) -> Result<Ending, Trouble> {
    let rules = InForce::new(load_resting(cli)?.settings.rules);
    let problems = rules.problems();
    if !problems.is_empty() {
        return wrong(cli, &problems);
    }
    rules.show(|files, concerns| {
        let all = || files.iter().flat_map(|file| rules_of(file).map(move |rule| (file, rule)));
        let facts = all().map(|(file, rule)| to_json(file, rule, concerns(rule, file.layer)));
        let facts = json!({ "rules": facts.collect::<Vec<_>>() });
        let row = |(file, rule): (&Found, &Rule)| {
            let does = match concerns(rule, file.layer) {
                true => rule.effect().into_owned(),
                false => "nothing here: it is about other projects".to_owned(),
            };
            vec![file.layer.word().to_owned(), rule.id.to_string(), does, place(file, rule)]
        };
        let rows: Vec<_> = all().map(row).collect();
        let titles = ["FROM", "RULE", "DOES", "WHERE"];
        print::list(cli.json, &facts, &print::Table::titled(titles, rows), "there is no rule for AI")
    })
}

fn rules_of(file: &Found) -> impl Iterator<Item = &Rule> {
    file.rules.iter().flatten()
}

fn shown(file: &Found) -> String {
    file.path.display().to_string()
}

fn place(file: &Found, rule: &Rule) -> String {
    format!("{}:{}:{}", file.path.display(), rule.place.line, rule.place.column)
}

fn to_json(file: &Found, rule: &Rule, is_concerned: bool) -> Value {
    json!({
        "from": file.layer.word(),
        "id": &*rule.id,
        "description": rule.description,
        "action": rule.action.word(),
        "mode": rule.mode.word(),
        "concerns_project": is_concerned,
        "file": shown(file),
        "line": rule.place.line,
        "column": rule.place.column,
    })
}

/// What its author may not have meant.
fn note(file: &Found, rule: &Rule) -> Option<String> {
    let Action::RequireApproval(roles) = &rule.action else { return None };
    let unknown: Vec<&str> =
        roles.iter().map(|role| &**role).filter(|role| Role::parse(role).is_none()).collect();
    let first = unknown.first()?;
    let who = match unknown.len() == roles.len() {
        true => "so the owner alone may answer",
        false => "so the others that it names may answer",
    };
    let known = Role::ALL.map(Role::as_str).join(", ");
    Some(format!("{}: nobody here has the role `{first}`, {who}; the roles are {known}", place(file, rule)))
}
