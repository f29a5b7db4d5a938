//! `policy explain`: which rule decides about a call, and why.

use admin::policy::{Explain, Explained};
use admin::{By, Operation as _};
use daemon::administration;
use policy::{CallerKind, CaseCaller, Finding, Looked};
use terminal::{Ending, Trouble, print};

use crate::cli::{Cli, PolicyExplain as Asked};
use crate::commands::start::start_nobody;
use crate::commands::tools::arguments;

pub(super) fn run(cli: &Cli, asked: &Asked) -> Result<Ending, Trouble> {
    let given = asked.arguments.as_deref().map(arguments).transpose()?;
    let given = given.map(|text| serde_json::from_slice(&text).expect("it has been read once"));
    let explain = Explain { tool: asked.tool.clone(), arguments: given, caller: caller(asked) };
    let explained = explain.perform(&administration::policy(&start_nobody(cli)?), &By::owner())?;
    print::found(cli.json, &explained, &page(&explained))
}

/// The caller that is meant: the local user, unless anything says that it is another.
fn caller(asked: &Asked) -> CaseCaller {
    let is_other = asked.caller.is_some() || !asked.role.is_empty() || !asked.scope.is_empty();
    let local = CaseCaller::default();
    let kind = asked.kind.unwrap_or(if is_other { CallerKind::Key } else { local.kind });
    CaseCaller {
        id: asked.caller.clone().unwrap_or(if kind == local.kind { local.id } else { "somebody".to_owned() }),
        kind,
        roles: (!asked.role.is_empty()).then(|| asked.role.clone()),
        scopes: (!asked.scope.is_empty()).then(|| asked.scope.clone()),
        via: asked.via,
    }
}

fn page(explained: &Explained) -> String {
    let Explained { tool, from, effect, caller, decision, missing_scopes: missing, .. } = explained;
    let roles = if caller.roles.is_empty() { "no role".to_owned() } else { caller.roles.join(", ") };
    let (id, kind, via) = (&caller.id, caller.kind.as_str(), caller.via.as_str());
    let mut page = format!("{tool} ({from}, {effect}), called by {id} ({kind}, {roles}) through {via}\n\n");
    if !missing.is_empty() {
        page += &format!("not shown to this caller: it lacks the scope {}\n", missing.join(", "));
    }
    page += &match decision {
        Some(it) if it.why.is_empty() => format!("{} by {}\n", it.effect.as_str(), it.rule),
        Some(it) => format!("{} by {}: the tool {}\n", it.effect.as_str(), it.rule, it.why),
        None => "it depends on the arguments; give them as JSON\n".to_owned(),
    };
    if decision.as_ref().is_some_and(|it| it.dry_run_first) {
        page += match explained.has_dry_run {
            true => "it is made dry first, and the question shows what it would change\n",
            false => "refused: it is to be made dry first, and the tool has no dry run\n",
        };
    }
    for asking in &explained.asks {
        page += &format!("ask by {}, whatever is allowed: the tool {}\n", asking.rule, asking.why);
    }
    if !explained.shown && missing.is_empty() {
        page += "not shown to this caller: no arguments could make it run\n";
    }
    let row = |Looked { rule, verdict, finding }: &Looked| {
        vec![rule.clone(), verdict.as_str().to_owned(), found(finding, decision.is_some())]
    };
    let table = print::Table::titled(["RULE", "SAYS", "HERE"], explained.rules.iter().map(row));
    page += &format!("\n{table}\n");
    if !explained.advice.is_empty() {
        page += "\nWhat would change it:\n";
    }
    for advice in &explained.advice {
        page += &format!("- {}{}\n", advice.what, if advice.toml.is_some() { ":" } else { "" });
        let lines = advice.toml.iter().flat_map(|toml| toml.lines());
        lines.for_each(|line| page += &format!("    {line}\n"));
    }
    page
}

/// What was found of a rule, in words.
fn found(finding: &Finding, is_decided: bool) -> String {
    match finding {
        Finding::Decides => "decides".to_owned(),
        Finding::Fits if is_decided => "fits, but another decides".to_owned(),
        Finding::Fits => "fits".to_owned(),
        Finding::NothingToAskAbout => "asks about what another rule permits, and none does".to_owned(),
        Finding::Misfit(key) => format!("does not fit: {key}"),
        Finding::DoesNotHold => "its condition does not hold".to_owned(),
        Finding::DependsOnArguments => "its condition depends on the arguments".to_owned(),
        Finding::Unclear(why) => format!("unclear: {why}"),
        Finding::Failed(why) => format!("its condition failed: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_is_who_is_named() {
        let asked = Asked {
            tool: "t".to_owned(),
            arguments: None,
            caller: None,
            kind: None,
            role: Vec::new(),
            scope: Vec::new(),
            via: None,
        };
        let shown = |asked: &Asked| match caller(asked).settle() {
            Ok(it) => format!("{} {} {:?} {}", it.id(), it.kind().as_str(), it.roles(), it.via().as_str()),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown(&asked), "local local_user {Owner} command_line");
        let role = vec![policy::RoleWord::Agent];
        assert_eq!(shown(&Asked { role: role.clone(), ..asked.clone() }), "somebody key {Agent} http");
        let named =
            Asked { caller: Some("ci".to_owned()), kind: Some(CallerKind::Token), role, ..asked.clone() };
        assert_eq!(shown(&named), "ci token {Agent} http");
        assert_eq!(
            shown(&Asked { via: Some(policy::Via::Socket), ..asked.clone() }),
            "local local_user {Owner} socket"
        );
        let scope = vec!["netwrk".to_owned()];
        assert_eq!(shown(&Asked { scope, ..asked }), "unknown scope \"netwrk\"; did you mean \"network\"");
    }
}
