//! The calls of the audit log, decided again. What the audit log does not hold is not guessed: a call whose decision hangs
//! on it is told apart.

use std::collections::HashMap;
use std::path::PathBuf;

use gate::{Action, Listing, Offer};
use policy::{
    ActionWord, Caller, CallerKind, Decision, Effect, Facts, Policy, Roles, Scopes, ToolOrigin, Via,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::PolicyPart;
use crate::audit_log::{Filter, LINES_MAX, Wanted, latest, unreadable};
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// What stands in the audit log where a secret was.
const STRUCK_OUT: &str = "[REDACTED:";

/// Decides the calls of the audit log again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// A configuration file whose policy decides, by its absolute path; without it the one in force.
    #[serde(default)]
    pub policy: Option<PathBuf>,
    /// Calls since then, in milliseconds since 1970.
    #[serde(default)]
    pub since_ms: Option<i64>,
    /// So many of the latest calls at most, up to 100,000.
    pub last: usize,
    /// By what the audit log says of the tools alone, whatever there is of them now.
    #[serde(default)]
    pub offline: bool,
}

/// Calls that were decided again.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// Those that are decided differently, or depend on what the audit log does not hold; the oldest first.
    pub calls: Vec<ReplayedCall>,
    /// How many are decided as before.
    pub same: usize,
    /// How many are decided differently.
    pub differ: usize,
    /// How many depend on what the audit log does not hold.
    pub depend: usize,
    /// How many the policy had no say in.
    pub undecided: usize,
}

/// A call that was decided again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedCall {
    /// The number of its record.
    pub seq: u64,
    /// When it came, in milliseconds since 1970.
    pub opened_at_ms: i64,
    /// Whose it was.
    pub caller: String,
    /// Of which tool.
    pub tool: String,
    /// What was decided then.
    pub then: Ruled,
    /// What is decided now.
    pub now: Now,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ruled {
    /// The answer.
    pub effect: String,
    /// The rule that decided.
    pub rule: String,
}

/// What is decided now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Now {
    /// This.
    Ruled(Ruled),
    /// Nobody can say.
    Depends {
        /// On what, which the audit log does not hold.
        depends_on: String,
    },
}

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
    sends: bool,
    is_declared: bool,
}

/// What comes of a call that is decided again.
#[derive(Debug, PartialEq)]
enum Again {
    Same,
    /// Another answer, or one that nobody can say, in place of what was decided then.
    Other(Ruled, Now),
    /// The policy had no say in it.
    Undecided,
}

impl Operation for Replay {
    const NAME: &'static str = "policy.replay";
    type Part = PolicyPart;
    type Output = Replayed;

    fn perform(self, part: &PolicyPart, _: &By) -> Result<Replayed, Fault> {
        let other = self.policy.as_ref().map(|file| part.beside.policy_of(file)).transpose()?;
        let policy = other.as_ref().unwrap_or(&part.policy);
        let known = if self.offline { HashMap::new() } else { known_of(&part.tools.known()?.offer) };
        let mut replayed = Replayed::default();
        let filter = Filter { since_ms: self.since_ms, ..Filter::default() };
        let lines = latest(&part.state, self.last.min(LINES_MAX), &Wanted::of(filter)?);
        let lines = lines.map_err(unreadable)?.lines;
        let records = lines.iter().filter_map(|line| serde_json::from_str::<Record>(line).ok());
        for record in records {
            match decided_again(policy, &record, known.get(&record.tool)) {
                Again::Same => replayed.same += 1,
                Again::Undecided => replayed.undecided += 1,
                Again::Other(then, now) => replayed.add(record, then, now),
            }
        }
        Ok(replayed)
    }
}

impl Replayed {
    fn add(&mut self, record: Record, then: Ruled, now: Now) {
        *match now {
            Now::Ruled(_) => &mut self.differ,
            Now::Depends { .. } => &mut self.depend,
        } += 1;
        let Record { seq, opened_at_ms, caller, tool, .. } = record;
        self.calls.push(ReplayedCall { seq, opened_at_ms, caller, tool, then, now });
    }
}

impl Now {
    fn depends(on: &str) -> Now {
        Now::Depends { depends_on: on.to_owned() }
    }
}

fn known_of(offer: &Offer) -> HashMap<String, Known> {
    let tools = offer.tools.iter().map(|tool| tool.definition());
    let known = tools.map(|definition| {
        let (marked_destructive, leaves_machine) = (definition.marked_destructive, definition.open_world);
        let is_declared = matches!(definition.listing, Listing::Declared(_));
        let sends = definition.sends();
        (definition.name.to_string(), Known { marked_destructive, leaves_machine, sends, is_declared })
    });
    known.collect()
}

fn decided_again(policy: &Policy, record: &Record, known: Option<&Known>) -> Again {
    let Some(then) = record.decisions.iter().find(|decided| decided.by == "policy") else {
        return Again::Undecided;
    };
    let now = match caller(record).map(|caller| decide(policy, record, known, &caller)) {
        Some(Some(now)) if now.verdict.as_str() == then.effect => return Again::Same,
        Some(Some(now)) => {
            Now::Ruled(Ruled { effect: now.verdict.as_str().to_owned(), rule: now.rule.to_string() })
        }
        Some(None) => Now::depends("arguments that the audit log does not hold"),
        None => Now::depends("the roles or scopes of the caller, which the audit log does not hold"),
    };
    Again::Other(Ruled { effect: then.effect.clone(), rule: then.rule.clone() }, now)
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
        origin: match known {
            Some(known) if known.is_declared => ToolOrigin::Declared,
            _ => ToolOrigin::of(record.upstream.as_deref()),
        },
        action: action_of(&record.tool, known.is_some()),
        effect,
        marked_destructive: known.map_or(effect == Effect::Destroys, |known| known.marked_destructive),
        leaves_machine: known.map_or(!is_ours, |known| known.leaves_machine),
        sends: known.map_or(!is_ours, |known| known.sends),
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
            Again::Other(_, Now::Ruled(now)) => format!("{} by {}", now.effect, now.rule),
            Again::Other(_, Now::Depends { depends_on }) => format!("depends on {depends_on}"),
        };
        assert_eq!(told, expected);
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
