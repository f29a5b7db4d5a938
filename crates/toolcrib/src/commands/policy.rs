//! `policy`: whether it is right, what is in force, what it decides and why, and what another one would have decided.

mod cases;
mod explain;
mod replay;

use config::{Kept, Loaded};
use daemon::administration;
use gate::Offer;
use policy::RuleConfig;
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::gated::{settled, with_crib};
use super::load::{load, load_resting};
use crate::cli::{Cli, Policy};

pub(super) fn run(cli: &Cli, command: Policy) -> Result<Ending, Trouble> {
    match command {
        Policy::Check { offline } => check(cli, offline),
        Policy::Show => show(cli),
        Policy::Explain(asked) => explain::run(cli, &asked),
        Policy::Test { files } => cases::run(cli, &files),
        Policy::Replay(asked) => replay::run(cli, &asked),
    }
}

fn check(cli: &Cli, offline: bool) -> Result<Ending, Trouble> {
    let loaded = match load_resting(cli) {
        Ok(loaded) => loaded,
        Err(Trouble::Config(problems)) if cli.json => {
            print::json(&json!({ "problems": problems.told(), "warnings": [] }))?;
            return Ok(Ending::Misused);
        }
        Err(trouble) => return Err(trouble),
    };
    let policy = loaded.settings.policy;
    let mut odd = policy.review();
    let wants_names = !offline && names_tools(&policy);
    if wants_names && can_ask_servers(cli, &loaded.settings.kept) {
        with_crib(cli, async |crib| {
            odd.extend(odd_names(&policy, &*settled(crib).await?));
            Ok(Ending::Good)
        })?;
    }
    let warnings: Vec<&str> = odd.iter().map(|problem| problem.what.as_str()).collect();
    if !cli.json {
        print::notes("warning", &warnings);
    }
    let own = policy.rules().iter().filter(|rule| !is_default(rule)).count();
    let words = format!(
        "the policy is good: {}, {} of the default policy, {}",
        print::counted(own, "rule"),
        print::counted(policy.rules().len() - own, "rule"),
        print::counted(policy.cases().len(), "case")
    );
    print::found(cli.json, &json!({ "problems": [], "warnings": warnings }), &words)
}

/// Without a glob of a rule or a list, no server need be asked for its tools.
fn names_tools(policy: &policy::Policy) -> bool {
    !policy.lists().0.is_empty()
        || !policy.lists().1.is_empty()
        || policy.rules().iter().any(|rule| !rule.tools.is_empty())
}

fn odd_names(policy: &policy::Policy, offer: &Offer) -> Vec<policy::Problem> {
    let tools = offer.tools.iter().map(|tool| tool.definition());
    let known: Vec<_> = tools.map(|tool| (tool.name.as_str(), tool.upstream())).collect();
    policy.review_names(&known)
}

/// What the policy names that is no tool, by what is remembered of servers; nothing while there is one of which nothing is.
pub(super) fn unknown_names(loaded: &Loaded) -> Result<Vec<String>, Trouble> {
    let policy = &loaded.settings.policy;
    if !names_tools(policy) {
        return Ok(Vec::new());
    }
    let known = administration::policy(loaded).tools.known()?;
    if known.servers.iter().any(|server| !server.is_good()) {
        return Ok(Vec::new());
    }
    Ok(odd_names(policy, &known.offer).into_iter().map(|problem| problem.what).collect())
}

/// Whether servers can be asked for their tools. Why they cannot is told here, since what else is asked needs none.
fn can_ask_servers(cli: &Cli, kept: &Kept) -> bool {
    let hindered = load(cli).err().map(|trouble| trouble.to_string()).or_else(|| kept.known().err());
    if let Some(why) = &hindered {
        print::remark(&format!("no server is asked for its tools: {why}"));
    }
    hindered.is_none()
}

fn is_default(rule: &RuleConfig) -> bool {
    rule.id.starts_with("default.")
}

/// Prints what is in force so that it means the same where it is pasted.
fn show(cli: &Cli) -> Result<Ending, Trouble> {
    let policy = load_resting(cli)?.settings.policy;
    let (allow, deny) = policy.lists();
    let written = json!({ "allow": allow, "deny": deny, "defaults": false, "rules": policy.rules() });
    print::found(cli.json, &written, &toml_of(allow, deny, policy.rules())?)
}

fn toml_of(allow: &[String], deny: &[String], rules: &[RuleConfig]) -> Result<String, Trouble> {
    #[derive(serde::Serialize)]
    struct Lists<'a> {
        policy: Written<'a>,
    }
    #[derive(serde::Serialize)]
    struct Written<'a> {
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        deny: &'a [String],
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        allow: &'a [String],
        defaults: bool,
        #[serde(skip_serializing_if = "<[RuleConfig]>::is_empty")]
        rules: &'a [RuleConfig],
    }
    // The rules of the default policy stand among the others, so it must not stand behind them again.
    let lists = Lists { policy: Written { deny, allow, defaults: false, rules } };
    let text = toml::to_string(&lists).map_err(Trouble::because)?;
    Ok(format!(
        "# The rules in force. One that denies wins wherever it stands; among the others the first that fits decides.\n\
         # What none permits is refused. Rules that begin with `default.` are those of the default policy.\n\n{}",
        text.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_means_the_same() {
        let written = "allow = [\"a\"]\ndeny = [\"b\"]\n[[rules]]\nid = \"x\"\neffect = \"ask\"\nwhen = \"args.a == 1\"\n";
        let config: policy::Config = toml::from_str(written).expect("sound");
        let before = policy::Policy::new(&config).expect("sound");
        let (allow, deny) = before.lists();
        let shown = toml_of(allow, deny, before.rules()).expect("it can be written");
        let table: toml::Table = toml::from_str(&shown).expect("it is TOML");
        let config: policy::Config = table["policy"].clone().try_into().expect("it is a policy");
        let after = policy::Policy::new(&config).expect("what is shown may be written");
        assert_eq!((before.rules(), before.lists()), (after.rules(), after.lists()));
    }
}
