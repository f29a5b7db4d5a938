//! `policy replay`: the calls of the audit log, decided again. What the audit log does not hold is not guessed: a call whose
//! decision hangs on it is told apart.

use std::collections::HashMap;

use audit::Reader;
use config::{self, Unfollowed};
use gate::{Action, Definition, Offer};
use policy::{ActionWord, Caller, CallerKind, Decision, Effect, Facts, Policy, Roles, Scopes, Via};
use serde::Deserialize;
use serde_json::{Value, json};
use terminal::times::time_ms;
use terminal::{Ending, Trouble, print, times};

use crate::cli::{Cli, PolicyReplay as Asked};
use crate::commands::gated::{settled, with_crib};
use crate::commands::load::{load_resting, surroundings};
use crate::commands::policy::can_ask_servers;

/// Calls that are shown; all are counted.
const SHOWN_MAX: usize = 200;

/// What stands in the audit log where a secret was.
const STRUCK_OUT: &str = "[REDACTED:";

/// What the audit log says of a call, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Record {
    seq: u64,
    opened_at_ms: i64,
    caller: String,
    #[serde(default)]
    caller_kind: String,
    caller_roles: Option<String>,
    caller_scopes: Option<String>,
    via: Option<Via>,
    tool: String,
    upstream: Option<String>,
    effect: Option<String>,
    arguments: Option<Value>,
    #[serde(default)]
    arguments_bytes: u64,
    #[serde(default)]
    decisions: Vec<Decided>,
}

#[derive(Debug, Deserialize)]
struct Decided {
    by: String,
    rule: String,
    effect: String,
}

/// What is known of a tool now.
struct Known {
    marked_destructive: bool,
    leaves_machine: bool,
}

/// What comes of a call that is decided again.
#[derive(Debug, PartialEq)]
enum Again {
    Same,
    /// Another verdict.
    Differs(Decision),
    /// Nobody can say, since the audit log does not hold this.
    Depends(&'static str),
    /// The policy had no say in it.
    Undecided,
}

pub(super) fn run(cli: &Cli, asked: &Asked) -> Result<Ending, Trouble> {
    let loaded = load_resting(cli)?;
    let policy = match &asked.policy {
        Some(file) => {
            config::load(Some(file), &surroundings(cli)?, Unfollowed::IsPassedOver)?.settings.policy
        }
        None => loaded.settings.policy.clone(),
    };
    let records = records(&loaded.settings.state, asked)?;
    let mut known = HashMap::new();
    if !asked.offline && can_ask_servers(cli, &loaded.settings.kept) {
        with_crib(cli, async |crib| {
            known = known_of(&*settled(crib).await?);
            Ok(Ending::Good)
        })?;
    }
    let again: Vec<(&Record, Again)> = records
        .iter()
        .map(|record| (record, decided_again(&policy, record, known.get(&record.tool))))
        .collect();
    report(cli, &again)
}

/// The records that are meant, oldest first.
fn records(state: &std::path::Path, asked: &Asked) -> Result<Vec<Record>, Trouble> {
    let unreadable = |error| Trouble::Failed(format!("the audit log cannot be read: {error}"));
    let Some(since) = &asked.since else {
        return last(asked.last, |lines| audit::tail(state, lines).map_err(unreadable));
    };
    let first_ms = time_ms("--since", since)?;
    let mut reader = Reader::since(state, 0).map_err(unreadable)?;
    let mut found = Vec::new();
    while let Some(line) = reader.next_line().map_err(unreadable)? {
        found.extend(parsed(&line).filter(|record| record.opened_at_ms >= first_ms));
    }
    Ok(found)
}

fn parsed(line: &str) -> Option<Record> {
    serde_json::from_str(line).ok()
}

/// The last so many calls, oldest first, or all there are, of an audit log whose last lines `tail` tells. Lines that are no
/// calls are among them, at times as many.
fn last(calls: usize, tail: impl Fn(usize) -> Result<Vec<String>, Trouble>) -> Result<Vec<Record>, Trouble> {
    let mut asked = calls;
    loop {
        let lines = tail(asked)?;
        let is_all = lines.len() < asked;
        let mut found: Vec<Record> = lines.iter().filter_map(|line| parsed(line)).collect();
        if is_all || found.len() >= calls {
            return Ok(found.split_off(found.len().saturating_sub(calls)));
        }
        drop(lines);
        asked = asked.saturating_mul(2);
    }
}

fn known_of(offer: &Offer) -> HashMap<String, Known> {
    let known = |definition: &Definition| Known {
        marked_destructive: definition.marked_destructive,
        leaves_machine: definition.open_world,
    };
    let tools = offer.tools.iter().map(|tool| tool.definition());
    tools.map(|definition| (definition.name.to_string(), known(definition))).collect()
}

fn decided_again(policy: &Policy, record: &Record, known: Option<&Known>) -> Again {
    let Some(before) = then(record) else { return Again::Undecided };
    let Some(caller) = caller(record) else {
        return Again::Depends("the roles or scopes of the caller, which the audit log does not hold");
    };
    match decide(policy, record, known, &caller) {
        Some(now) if now.verdict.as_str() == before.effect => Again::Same,
        Some(now) => Again::Differs(now),
        None => Again::Depends("arguments that the audit log does not hold"),
    }
}

fn decide(policy: &Policy, record: &Record, known: Option<&Known>, caller: &Caller) -> Option<Decision> {
    let is_ours = record.upstream.is_none();
    let effect = match record.effect.as_deref() {
        Some("reads") => Effect::Reads,
        Some("writes") => Effect::Writes,
        Some("destroys") => Effect::Destroys,
        _ => Effect::Executes,
    };
    let facts = Facts {
        caller,
        tool: &record.tool,
        upstream: record.upstream.as_deref(),
        action: action_of(&record.tool, known.is_some()),
        effect,
        marked_destructive: known.map_or(effect == Effect::Destroys, |known| known.marked_destructive),
        leaves_machine: known.map_or(!is_ours, |known| known.leaves_machine),
    };
    policy.decide_knowing(&facts, arguments(record).as_ref(), record.opened_at_ms.div_euclid(1_000))
}

/// The arguments, if the audit log holds them whole. A call without any had none.
fn arguments(record: &Record) -> Option<Value> {
    match &record.arguments {
        Some(Value::String(text)) if text.contains(STRUCK_OUT) => None,
        Some(Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        Some(arguments) if arguments.is_object() => Some(arguments.clone()),
        Some(_) => None,
        None => (record.arguments_bytes == 0).then(|| json!({})),
    }
}

/// What was done, if it was no call of a tool: the record bears its name in place of a tool's.
fn action_of(tool: &str, is_tool: bool) -> Option<&'static str> {
    let names = Action::ALL.into_iter().map(Action::name);
    let is_it = |name: &&'static str| {
        tool == *name || tool.strip_suffix(name).is_some_and(|rest| rest.ends_with('_'))
    };
    names.into_iter().find(is_it).filter(|name| !is_tool && *name != ActionWord::ToolsCall.as_str())
}

/// The caller, if the audit log holds what they were granted then, in words that this version knows.
fn caller(record: &Record) -> Option<Caller> {
    let via = record.via.unwrap_or(Via::Http);
    let kind = match record.caller_kind.as_str() {
        "key" => CallerKind::Key,
        "token" => CallerKind::Token,
        _ => return Some(Caller::local_user(via)),
    };
    let roles = Roles::of_words(record.caller_roles.as_deref()?)?;
    let scopes = record.caller_scopes.as_deref()?.parse::<Scopes>().ok()?;
    Some(Caller::new(record.caller.as_str().into(), kind, roles, scopes, via))
}

fn report(cli: &Cli, again: &[(&Record, Again)]) -> Result<Ending, Trouble> {
    let count = |is: fn(&Again) -> bool| again.iter().filter(|(_, it)| is(it)).count();
    let same = count(|it| *it == Again::Same);
    let undecided = count(|it| *it == Again::Undecided);
    let differing = count(|it| matches!(it, Again::Differs(_)));
    let depending = count(|it| matches!(it, Again::Depends(_)));
    let shown = || again.iter().filter(|(_, it)| matches!(it, Again::Differs(_) | Again::Depends(_)));
    let calls: Vec<Value> = shown().map(|(record, it)| to_json(record, it)).collect();
    let facts = json!({
        "calls": calls, "same": same, "differ": differing, "depend": depending, "undecided": undecided,
    });
    let mut words = format!(
        "{} calls: {same} as before, {differing} differently, {depending} that depend on what the audit log does not hold, \
         {undecided} that the policy had no say in",
        again.len()
    );
    if !calls.is_empty() {
        let rows = shown().take(SHOWN_MAX).map(|(record, it)| row(record, it));
        words = format!("{}\n{words}", print::Table::titled(["WHEN", "CALLER", "TOOL", "THEN", "NOW"], rows));
    }
    print::found(cli.json, &facts, &words)?;
    if let Some(more) = calls.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0 && !cli.json) {
        print::remark(&format!("and {more} more; --json shows them"));
    }
    Ok(Ending::Good)
}

fn then(record: &Record) -> Option<&Decided> {
    record.decisions.iter().find(|decided| decided.by == "policy")
}

fn row(record: &Record, again: &Again) -> Vec<String> {
    let when = times::shown(record.opened_at_ms);
    let before = then(record).map_or(String::new(), |it| format!("{} by {}", it.effect, it.rule));
    let now = match again {
        Again::Differs(now) => format!("{} by {}", now.verdict.as_str(), now.rule),
        Again::Depends(on) => format!("depends on {on}"),
        Again::Same | Again::Undecided => String::new(),
    };
    vec![when, record.caller.clone(), record.tool.clone(), before, now]
}

fn to_json(record: &Record, again: &Again) -> Value {
    let now = match again {
        Again::Differs(now) => json!({ "effect": now.verdict.as_str(), "rule": &*now.rule }),
        Again::Depends(on) => json!({ "depends_on": on }),
        Again::Same | Again::Undecided => Value::Null,
    };
    json!({
        "seq": record.seq,
        "opened_at_ms": record.opened_at_ms,
        "caller": record.caller,
        "tool": record.tool,
        "then": then(record).map(|it| json!({ "effect": it.effect, "rule": it.rule })),
        "now": now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record that the default policy allowed, or with what `over` says.
    fn record(over: Value) -> Record {
        let mut line = json!({
            "seq": 1, "opened_at_ms": 1_700_000_000_000_i64, "caller": "local", "caller_kind": "local_user",
            "via": "stdio", "tool": "workspace_write", "effect": "writes", "arguments_bytes": 2,
            "decisions": [{ "by": "policy", "rule": "default.writes", "effect": "allow" }],
        });
        if let (Value::Object(line), Value::Object(over)) = (&mut line, over) {
            line.extend(over);
        }
        serde_json::from_value(line).expect("a record")
    }

    #[track_caller]
    fn check(rules: &str, over: Value, expected: &str) {
        let config: policy::Config = toml::from_str(rules).expect("a policy");
        let policy = Policy::new(&config).expect("a sound policy");
        let told = match decided_again(&policy, &record(over), None) {
            Again::Same => "same".to_owned(),
            Again::Undecided => "undecided".to_owned(),
            Again::Differs(now) => format!("{} by {}", now.verdict.as_str(), now.rule),
            Again::Depends(on) => format!("depends on {on}"),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn as_many_calls_are_found_as_are_asked_for() {
        let call =
            |nth: usize| json!({ "seq": nth, "opened_at_ms": 0, "caller": "c", "via": "stdio", "tool": "t" });
        let checkpoint = |nth: usize| json!({ "seq": nth, "checkpoint": { "why": "shutdown" } });
        // A call and a checkpoint by turns.
        let of_line = |nth: usize| if nth.is_multiple_of(2) { call(nth) } else { checkpoint(nth) };
        let audit_log: Vec<String> = (0..20).map(|nth| of_line(nth).to_string()).collect();
        let tail = |lines: usize| Ok(audit_log[audit_log.len().saturating_sub(lines)..].to_vec());
        for (asked, expected) in
            [(0, &[][..]), (1, &[18]), (3, &[14, 16, 18]), (9, &[2, 4, 6, 8, 10, 12, 14, 16, 18])]
        {
            let found = last(asked, tail).unwrap_or_else(|_| panic!("an audit log that can be read"));
            assert_eq!(found.iter().map(|record| record.seq).collect::<Vec<_>>(), expected, "{asked}");
        }
        assert_eq!(last(1_000, tail).unwrap_or_else(|_| panic!("the same")).len(), 10);
    }

    #[test]
    fn calls_are_decided_again_as_far_as_the_book_tells() {
        let by_path = "[[rules]]\nid = \"x\"\neffect = \"deny\"\nwhen = \"args.path == 'a'\"";
        let by_hour = "[[rules]]\nid = \"x\"\neffect = \"deny\"\nwhen = \"now.hour == 22\"";
        let server = json!({ "tool": "git_log", "upstream": "git", "effect": "executes",
            "caller": "ci", "caller_kind": "key", "via": "http" });
        check("", json!({}), "same");
        check("deny = [\"workspace_*\"]", json!({}), "deny by policy.deny");
        check("", json!({ "decisions": [] }), "undecided");
        check(
            "",
            json!({ "decisions": [{ "by": "ai_rules", "rule": "x", "effect": "block" }] }),
            "undecided",
        );
        check(by_path, json!({ "arguments": "{\"path\":\"a\"}" }), "deny by x");
        check(by_path, json!({ "arguments": "{\"path\":\"b\"}" }), "same");
        check(by_path, json!({}), "depends on arguments that the audit log does not hold");
        check(
            by_path,
            json!({ "arguments": "{\"path\":\"b" }),
            "depends on arguments that the audit log does not hold",
        );
        let struck = json!({ "arguments": "{\"path\":\"[REDACTED:aws]\"}" });
        check(by_path, struck, "depends on arguments that the audit log does not hold");
        check(by_path, json!({ "tool": "other", "arguments_bytes": 0 }), "deny by x");
        check(by_hour, json!({}), "deny by x");
        check(by_hour, json!({ "opened_at_ms": 1_700_010_000_000_i64 }), "same");
        check(
            "",
            server.clone(),
            "depends on the roles or scopes of the caller, which the audit log does not hold",
        );
        let held = |roles: &str, scopes: &str| {
            let mut held = server.clone();
            held["caller_roles"] = roles.into();
            held["caller_scopes"] = scopes.into();
            held
        };
        check("", held("agent", "git:call read_workspace"), "same");
        check("", held("agent", "read_workspace"), "deny by default.nothing");
        check("", held("maintainer", "*"), "same");
        check("", held("", ""), "deny by default.nothing");
        // What another version wrote is not guessed at.
        let unknown = "depends on the roles or scopes of the caller, which the audit log does not hold";
        check("", held("emperor", "*"), unknown);
        check("", held("agent", "No Scope"), unknown);
        check("deny = [\"git_*\"]", held("agent", "git:call"), "deny by policy.deny");
        check(
            "[[rules]]\nid = \"x\"\neffect = \"deny\"\ncallers = [\"c*\"]",
            held("agent", "*"),
            "deny by x",
        );
        let reading = json!({ "tool": "git_resources_read", "upstream": "git", "effect": "executes" });
        check(
            "[[rules]]\nid = \"x\"\neffect = \"deny\"\nactions = [\"resources_read\"]",
            reading,
            "deny by x",
        );
    }
}
