//! Judging a call: which rules it falls under, and what follows. Every rule that matches has its say: one that blocks
//! settles it, and what milder ones want is done besides, so no rule ever loosens another one.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::files::Layer;
use crate::outcome::OnResult;
use crate::paths;
use crate::rule::{Action, Mode, Rule};
use crate::strike::{self, Kind, Owner, Token};
use crate::workspace::{TooMany, Workspace};

/// What is known of a call that is to be judged.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The upstream it lives on; nothing for ours.
    pub upstream: Option<&'a str>,
    /// True if it reaches beyond this machine; of an upstream's tool this is not asked.
    pub open_world: bool,
    /// The arguments object.
    pub arguments: &'a Value,
    /// In a further round: what the client answers to the tool's questions, as JSON text.
    pub answers: Option<&'a str>,
}

/// What the rules say of a call.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Every rule that matched, for the record.
    pub findings: Vec<Finding>,
    /// Why it does not run, if it does not.
    pub stop: Option<Stop>,
    /// What a person must agree to.
    pub approvals: Vec<Approval>,
    /// The arguments as they must be, if the rules changed them.
    pub arguments: Option<Value>,
    /// The answers as they must be, if the rules changed them.
    pub answers: Option<String>,
    /// How many places were struck out of the arguments and answers.
    pub struck: u32,
    /// What is to be held against the result; nothing if it concerns no rule.
    pub on_result: Option<OnResult>,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its id.
    pub rule: Arc<str>,
    /// Whose rule it is.
    pub layer: Layer,
    /// What it did, for the record: `block`, `redact (dry-run)`.
    pub effect: Cow<'static, str>,
    /// True if it acts.
    pub acts: bool,
}

/// Why something does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The rule.
    pub rule: Arc<str>,
    /// The reason, completing "the tool …".
    pub why: Arc<str>,
}

/// What a person must agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The rule that asks.
    pub rule: Arc<str>,
    /// Its reason, completing "the tool …".
    pub why: Arc<str>,
    /// Who may answer, in the words of the rules file; any who may answer at all if there are none.
    pub roles: Arc<[Box<str>]>,
}

/// A rule in force, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct InForce {
    pub(crate) rule: Arc<Rule>,
    pub(crate) layer: Layer,
}

impl InForce {
    pub(crate) fn finding(&self) -> Finding {
        let rule = &self.rule;
        Finding {
            rule: rule.id.clone(),
            layer: self.layer,
            effect: rule.effect(),
            acts: rule.mode == Mode::Enforce,
        }
    }

    /// Notes that it matched, and logs it if it says so. Never with what it matched.
    pub(crate) fn note(&self, tool: &str, findings: &mut Vec<Finding>) {
        let finding = self.finding();
        let (rule, effect) = (&*finding.rule, &*finding.effect);
        match (self.rule.mode, &self.rule.action) {
            (Mode::DryRun, _) => tracing::info!(rule, tool, effect, "an AI rule would have acted"),
            (Mode::Enforce, Action::Warn | Action::Redact { warns: true, .. }) => {
                tracing::warn!(rule, tool, effect, "a call falls under an AI rule");
            }
            (Mode::Enforce | Mode::AuditOnly, _) => {}
        }
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
}

/// Judges a call by rules that concern this project. `is_local` says whether what runs it is on this machine.
pub(crate) fn judge(rules: &[InForce], call: &Call<'_>, is_local: bool, workspace: &Workspace) -> Judgement {
    let mut judging = Judging { call, is_local, workspace, paths: None, judgement: Judgement::default() };
    let mut after: Vec<InForce> = Vec::new();
    let mut striking: Vec<&InForce> = Vec::new();
    for one in rules {
        match judging.concerns(&one.rule) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(TooMany) => {
                let why = format!(
                    "names more than {} paths, too many to hold against the AI rules",
                    paths::PATHS_MAX
                );
                let stop = Stop { rule: one.rule.id.clone(), why: why.into() };
                judging.judgement.stop.get_or_insert(stop);
                continue;
            }
        }
        if one.rule.action.concerns_results() {
            after.push(one.clone());
        }
        match &one.rule.action {
            Action::Redact { .. } => striking.push(one),
            _ if judging.content_matches(&one.rule) => judging.act(one),
            _ => {}
        }
    }
    for one in striking {
        judging.strike(one);
    }
    let mut judgement = judging.judgement;
    judgement.on_result = (!after.is_empty()).then(|| OnResult::new(call.tool, after));
    judgement
}

struct Judging<'a> {
    call: &'a Call<'a>,
    is_local: bool,
    workspace: &'a Workspace,
    /// In every form, once somebody asks.
    paths: Option<Result<Vec<String>, TooMany>>,
    judgement: Judgement,
}

impl Judging<'_> {
    /// Whether the call is what the rule is about, but for its content.
    fn concerns(&mut self, rule: &Rule) -> Result<bool, TooMany> {
        let matches = &rule.matches;
        let is_named = matches.tools.as_ref().is_none_or(|tools| tools.is_match(self.call.tool));
        let is_on =
            |upstreams: &globset::GlobSet| self.call.upstream.is_some_and(|name| upstreams.is_match(name));
        if !is_named || !matches.upstreams.as_ref().is_none_or(is_on) {
            return Ok(false);
        }
        if matches.paths.is_none() && matches.file_types.is_none() {
            return Ok(true);
        }
        let (call, workspace) = (self.call, self.workspace);
        let paths = self.paths.get_or_insert_with(|| paths::of_call(call.arguments, workspace));
        let paths = paths.as_ref().map_err(|_| TooMany)?;
        let fits = |path: &String| {
            matches.paths.as_ref().is_none_or(|globs| globs.is_match(path))
                && matches.file_types.as_ref().is_none_or(|types| is_of_type(path, types))
        };
        Ok(paths.iter().any(fits))
    }

    /// Whether any text of the arguments or answers, names included, is what the rule looks for.
    fn content_matches(&self, rule: &Rule) -> bool {
        let Some(content) = &rule.matches.content else { return true };
        let arguments = self.judgement.arguments.as_ref().unwrap_or(self.call.arguments);
        if any_text(arguments, &mut |text| content.is_match(text)) {
            return true;
        }
        let mut is_found = false;
        strike::json(self.call.answers.unwrap_or_default(), Owner::Protocol, |token| {
            is_found |= content.is_match(&token.text);
            None
        });
        is_found
    }

    /// What follows from a rule that matches.
    fn act(&mut self, one: &InForce) {
        let rule = &*one.rule;
        if let Action::OverrideProvider(allowed) = &rule.action
            && self.may_provide(allowed)
        {
            return;
        }
        one.note(self.call.tool, &mut self.judgement.findings);
        if rule.mode != Mode::Enforce {
            return;
        }
        match &rule.action {
            Action::Block => self.stop(rule, rule.why()),
            Action::OverrideProvider(allowed) => {
                let others = match allowed.is_empty() {
                    true => String::new(),
                    false => format!(", or by {}", allowed.join(", ")),
                };
                self.stop(
                    rule,
                    format!("{}; it may only be done by something on this machine{others}", rule.why()),
                );
            }
            Action::RequireApproval(roles) => {
                let approval =
                    Approval { rule: rule.id.clone(), why: rule.why().into(), roles: roles.clone() };
                self.judgement.approvals.push(approval);
            }
            Action::Transform(edits) => {
                let mut arguments =
                    self.judgement.arguments.take().unwrap_or_else(|| self.call.arguments.clone());
                let mut changed = false;
                for edit in edits.iter() {
                    match edit.apply(&mut arguments) {
                        Ok(is_other) => changed |= is_other,
                        Err(why) => self.stop(rule, format!("cannot be changed as a rule says: {why}")),
                    }
                }
                self.judgement.arguments =
                    (changed || arguments != *self.call.arguments).then_some(arguments);
            }
            Action::Ignore | Action::Warn | Action::Redact { .. } => {}
        }
    }

    fn may_provide(&self, allowed: &[Box<str>]) -> bool {
        let is_named = |upstream: &str| allowed.iter().any(|name| &**name == upstream);
        self.is_local || self.call.upstream.is_some_and(is_named)
    }

    fn stop(&mut self, rule: &Rule, why: String) {
        self.judgement.stop.get_or_insert(Stop { rule: rule.id.clone(), why: why.into() });
    }

    /// Strikes what a rule matches out of the arguments. A rule without a pattern strikes all but the paths out of what
    /// leaves the machine; what stays here may have it, and its result is struck.
    fn strike(&mut self, one: &InForce) {
        let Action::Redact { placeholder, .. } = &one.rule.action else { return };
        let content = one.rule.matches.content.as_ref();
        let mut striking = Striking {
            content: content.map(|content| (content, &**placeholder)),
            placeholder,
            spares_paths: content.is_none() || self.is_local,
            count: 0,
        };
        if content.is_some() || !self.is_local {
            let mut arguments = self.judgement.arguments.as_ref().unwrap_or(self.call.arguments).clone();
            striking.value(&mut arguments, None, false);
            let arguments = (striking.count > 0).then_some(arguments);
            let answers = self.judgement.answers.as_deref().or(self.call.answers).unwrap_or_default();
            let answers = strike::json(answers, Owner::Protocol, |token| striking.token(token));
            if one.rule.mode == Mode::Enforce {
                let judgement = &mut self.judgement;
                judgement.arguments = arguments.or(judgement.arguments.take());
                judgement.answers = answers.or(judgement.answers.take());
                judgement.struck = judgement.struck.saturating_add(striking.count);
            }
        }
        if striking.count > 0 {
            one.note(self.call.tool, &mut self.judgement.findings);
        }
    }
}

/// Strikes one rule's matches out of arguments.
struct Striking<'r> {
    /// None strikes everything.
    content: Option<(&'r regex::Regex, &'r str)>,
    placeholder: &'r str,
    /// True if what a member names as a path is left.
    spares_paths: bool,
    count: u32,
}

impl Striking<'_> {
    /// `is_assigned` if a name matches that the value stands below: then all of it goes.
    fn value(&mut self, value: &mut Value, name: Option<&str>, is_assigned: bool) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let is_assigned = is_assigned || self.is_name_of(name);
                    self.value(value, Some(name), is_assigned);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, name, is_assigned)),
            Value::String(text) => {
                let is_path = name.is_some_and(paths::is_path_name) && paths::looks_like_path(text);
                if (self.spares_paths && is_path) || text.is_empty() {
                    return;
                }
                if let Some((struck, count)) = self.text(text, is_assigned) {
                    self.count = self.count.saturating_add(count);
                    *text = struck;
                }
            }
            Value::Number(number) => {
                if self.content.is_some()
                    && let Some((struck, count)) = self.text(&number.to_string(), is_assigned)
                {
                    self.count = self.count.saturating_add(count);
                    *value = Value::String(struck);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// What is left of a token of answers, if that is not the same.
    fn token(&mut self, token: &mut Token<'_>) -> Option<String> {
        let struck = match token.kind {
            Kind::Key => {
                token.marks = u64::from(self.is_name_of(&token.text));
                None
            }
            Kind::Word => None,
            Kind::Number | Kind::Coded => {
                let is_assigned = token.kind == Kind::Number && token.marks != 0;
                self.content.and_then(|_| self.text(&token.text, is_assigned))
            }
            Kind::Text => self.text(&token.text, token.marks != 0),
            Kind::Encoded => self.text(&token.text, false),
            Kind::Bytes => self.text(&token.text, false).map(|_| (self.placeholder.to_owned(), 1)),
        };
        let (struck, count) = struck?;
        self.count = self.count.saturating_add(count);
        Some(struck)
    }

    /// Whether what a member of this name holds is assigned to what the rule looks for.
    fn is_name_of(&self, name: &str) -> bool {
        self.content.is_some_and(|(content, _)| content.is_match(name))
    }

    fn text(&self, text: &str, is_assigned: bool) -> Option<(String, u32)> {
        match self.content {
            Some((content, placeholder)) if !is_assigned => strike::matches(content, placeholder, text),
            Some(_) | None => Some((self.placeholder.to_owned(), 1)),
        }
    }
}

/// Whether any text of a value passes, names included.
fn any_text(value: &Value, passes: &mut impl FnMut(&str) -> bool) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| passes(name) || any_text(value, passes)),
        Value::Array(items) => items.iter().any(|item| any_text(item, passes)),
        Value::String(text) => passes(text),
        Value::Number(number) => passes(&number.to_string()),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Whether the path's last name ends in one of these types, or is one (`.env`).
fn is_of_type(path: &str, types: &[Box<str>]) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_lowercase();
    types.iter().any(|one| name.strip_suffix(&**one).is_some_and(|before| before.ends_with('.')))
}
