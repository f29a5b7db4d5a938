//! `policy explain`: which rule decides about a call, and why.

use std::fmt::Write as _;

use policy::{Caller, CallerKind, CaseCaller, Explanation, Finding, Looked};
use sandbox::ObeyedFile;
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};
use tool_api::Definition;

use crate::cli::{Cli, PolicyExplain as Asked};
use crate::commands::gated::{settled, with_remembered};
use crate::commands::load::load_resting;
use crate::commands::tools::arguments;
use crate::commands::troubles::unknown_tool;

pub(super) fn run(cli: &Cli, asked: &Asked) -> Result<Ending, Trouble> {
    let policy = load_resting(cli)?.settings.policy;
    let caller = caller(asked)?;
    let given = asked.arguments.as_deref().map(arguments).transpose()?;
    let given: Option<Value> = match &given {
        Some(text) => Some(serde_json::from_slice(text).map_err(Trouble::because)?),
        None => None,
    };
    with_remembered(cli, async |crib| {
        let offer = settled(crib).await?;
        let Some(tool) = offer.get(&asked.tool) else { return Err(unknown_tool(crib, &asked.tool)) };
        let definition = tool.definition();
        let mut explained = policy.explain(&gate::facts(&caller, definition, None), given.as_ref(), None);
        let missing: Vec<&str> = gate::missing_scopes(&caller, definition).collect();
        if !missing.is_empty() {
            let what = format!("give the caller the scope {}", missing.join(", "));
            explained.advice.insert(0, policy::Advice { what, toml: None });
        }
        let named = given.as_ref();
        let obeyed = named.map(|arguments| gate::obeyed_files(crib.guarded.files(), definition, arguments));
        let obeyed = obeyed.unwrap_or_default();
        explained.advice.extend(obeyed.iter().map(free));
        let facts = to_json(&caller, definition, &missing, &explained, &obeyed);
        print::found(cli.json, &facts, &page(&caller, definition, &missing, &explained, &obeyed))
    })
}

/// The caller that is meant: the local user, unless anything says that it is another.
fn caller(asked: &Asked) -> Result<Caller, Trouble> {
    let is_other = asked.caller.is_some() || !asked.role.is_empty() || !asked.scope.is_empty();
    let local = CaseCaller::default();
    let kind = asked.kind.unwrap_or(if is_other { CallerKind::Key } else { local.kind });
    let meant = CaseCaller {
        id: asked.caller.clone().unwrap_or(if kind == local.kind { local.id } else { "somebody".to_owned() }),
        kind,
        roles: (!asked.role.is_empty()).then(|| asked.role.clone()),
        scopes: (!asked.scope.is_empty()).then(|| asked.scope.clone()),
        via: asked.via,
    };
    meant.settle().map_err(|error| Trouble::Misused(error.to_string()))
}

/// What would have a file that others obey written without a question.
fn free(file: &ObeyedFile) -> policy::Advice {
    let path = Value::from(file.path.to_string_lossy());
    policy::Advice {
        what: "let tools write this file without asking, in your own file".to_owned(),
        toml: Some(format!("[workspace]\nwritable = [{path}]")),
    }
}

fn from(definition: &Definition) -> &str {
    definition.upstream().unwrap_or(policy::BUILT_IN)
}

fn page(
    caller: &Caller,
    definition: &Definition,
    missing: &[&str],
    explained: &Explanation,
    obeyed: &[ObeyedFile],
) -> String {
    let roles: Vec<&str> = caller.roles().iter().map(policy::Role::as_str).collect();
    let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
    let mut page = format!(
        "{} ({}, {}), called by {} ({}, {roles}) through {}\n\n",
        definition.name,
        from(definition),
        definition.effect.name(),
        caller.id(),
        caller.kind().as_str(),
        caller.via().as_str()
    );
    // Memory takes every byte.
    let _ = match missing {
        [] => Ok(()),
        missing => writeln!(page, "not shown to this caller: it lacks the scope {}", missing.join(", ")),
    };
    let _ = match &explained.decision {
        Some(it) if it.why.is_empty() => writeln!(page, "{} by {}", it.verdict.as_str(), it.rule),
        Some(it) => writeln!(page, "{} by {}: the tool {}", it.verdict.as_str(), it.rule, it.why),
        None => writeln!(page, "it depends on the arguments; give them as JSON"),
    };
    for file in obeyed {
        let _ =
            writeln!(page, "ask by {}, whatever is allowed: the tool writes {file}", gate::obeyed_rule(file));
    }
    if !explained.is_visible && missing.is_empty() {
        page.push_str("not shown to this caller: no arguments could make it run\n");
    }
    let row = |looked: &Looked| {
        let here = match &looked.finding {
            Finding::Fits if explained.decision.is_none() => "fits".to_owned(),
            finding => found(finding).2,
        };
        vec![looked.rule.clone(), looked.verdict.as_str().to_owned(), here]
    };
    let table = print::Table::titled(["RULE", "SAYS", "HERE"], explained.looked.iter().map(row));
    let _ = write!(page, "\n{table}\n");
    if !explained.advice.is_empty() {
        page.push_str("\nWhat would change it:\n");
    }
    for advice in &explained.advice {
        let _ = writeln!(page, "- {}{}", advice.what, if advice.toml.is_some() { ":" } else { "" });
        for line in advice.toml.iter().flat_map(|toml| toml.lines()) {
            let _ = writeln!(page, "    {line}");
        }
    }
    page
}

/// What was found of a rule: in a word for programs, with its detail, and for people.
fn found(finding: &Finding) -> (&'static str, Option<String>, String) {
    match finding {
        Finding::Decides => ("decides", None, "decides".to_owned()),
        Finding::Fits => ("fits", None, "fits, but another decides".to_owned()),
        Finding::NothingToAskAbout => {
            let words = "asks about what another rule permits, and none does";
            ("nothing_to_ask_about", None, words.to_owned())
        }
        Finding::Misfit(key) => ("does_not_fit", Some((*key).into()), format!("does not fit: {key}")),
        Finding::DoesNotHold => ("does_not_hold", None, "its condition does not hold".to_owned()),
        Finding::DependsOnArguments => {
            ("depends_on_arguments", None, "its condition depends on the arguments".to_owned())
        }
        Finding::Failed(why) => ("failed", Some(why.clone()), format!("its condition failed: {why}")),
    }
}

fn to_json(
    caller: &Caller,
    definition: &Definition,
    missing: &[&str],
    explained: &Explanation,
    obeyed: &[ObeyedFile],
) -> Value {
    let looked = |it: &Looked| {
        let (finding, detail, _) = found(&it.finding);
        json!({ "rule": it.rule, "effect": it.verdict.as_str(), "finding": finding, "detail": detail })
    };
    let advice = |it: &policy::Advice| json!({ "what": it.what, "toml": it.toml });
    let asks =
        |file: &ObeyedFile| json!({ "rule": &*gate::obeyed_rule(file), "why": format!("writes {file}") });
    let decision = explained.decision.as_ref();
    json!({
        "tool": definition.name.as_str(),
        "from": from(definition),
        "caller": {
            "id": &**caller.id(),
            "kind": caller.kind().as_str(),
            "roles": caller.roles().iter().map(policy::Role::as_str).collect::<Vec<_>>(),
            "via": caller.via().as_str(),
        },
        "decision": decision.map(|it| json!({ "effect": it.verdict.as_str(), "rule": &*it.rule, "why": &*it.why })),
        "asks": obeyed.iter().map(asks).collect::<Vec<_>>(),
        "shown": explained.is_visible && missing.is_empty(),
        "missing_scopes": missing,
        "rules": explained.looked.iter().map(looked).collect::<Vec<_>>(),
        "advice": explained.advice.iter().map(advice).collect::<Vec<_>>(),
    })
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
        let shown = |asked: &Asked| match caller(asked) {
            Ok(it) => format!("{} {} {:?} {}", it.id(), it.kind().as_str(), it.roles(), it.via().as_str()),
            Err(trouble) => trouble.to_string(),
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
