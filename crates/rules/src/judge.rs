//! Judging a call: which rules it falls under, and what follows. Every rule that matches has its say: one that blocks
//! settles it, and what milder ones want is done besides, so no rule ever loosens another one.

mod again;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::arguments::{self, OfPaths, Striking};
use crate::files::Layer;
use crate::names::{Content, Declared};
use crate::outcome::OnResult;
use crate::paths::{self, Paths};
use crate::rule::{Action, Mode, Rule};
use crate::strike;
use crate::token::Owner;
use crate::workspace::{TooMany, Workspace};

/// The member in which our own tools take what goes into a file.
const OUR_CONTENT: &str = "content";

/// What is recorded of a project's rule that would change a call to somebody else's server.
const PASSED_OVER: &str = "transform (passed over)";

/// What is known of a call that is to be judged.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The upstream it lives on; nothing for ours.
    pub upstream: Option<&'a str>,
    /// True if it reaches beyond this machine; of an upstream's tool this is not asked.
    pub open_world: bool,
    /// True if it is another request of the protocol's than a tool's call, whose parameters have the protocol's names.
    pub is_action: bool,
    /// The schema of its arguments, as JSON text. The names that it declares are the tool's own words.
    pub input_schema: Option<&'a Bytes>,
    /// The same of its structured results.
    pub output_schema: Option<&'a Bytes>,
    /// The arguments object.
    pub arguments: &'a Value,
    /// The arguments of an earlier call that this one goes on with, `Some(None)` if those are unknown: their paths are what
    /// it is about as well, and if they are unknown, so are the paths, and every rule about paths concerns it.
    pub begun_with: Option<&'a Option<Value>>,
    /// In a further round: what the client answers to the tool's questions, as JSON text.
    pub answers: Option<&'a str>,
    /// What the caller sends beside the arguments, without what belongs to the protocol, as JSON text.
    pub meta: Option<&'a str>,
}

impl Call<'_> {
    /// Whose object the arguments are.
    fn owner(&self) -> Owner {
        if self.is_action { Owner::Protocol } else { Owner::Tool }
    }
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
    /// What is sent beside the arguments as it must be, if the rules changed it.
    pub meta: Option<String>,
    /// How many places were struck out of the arguments, answers and what is sent beside them.
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
    /// The servers whose calls it may change; any if it is nothing.
    pub(crate) own_servers: Option<BTreeSet<String>>,
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

    /// Whether it may change calls of this server, or our own.
    fn may_change(&self, upstream: Option<&str>) -> bool {
        self.own_servers.as_ref().is_none_or(|own| upstream.is_some_and(|upstream| own.contains(upstream)))
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
    let mut judging = Judging::new(call, is_local, workspace);
    let mut after: Vec<InForce> = Vec::new();
    let striking = judging.hear(rules, &mut after);
    for one in striking {
        judging.strike(one);
    }
    let Judging { mut judgement, placeholders, .. } = judging;
    if judgement.is_changed() {
        again::judge(rules, call, (is_local, workspace), (&mut judgement, &mut after), placeholders);
    }
    let declared = || Declared::by(call.output_schema.cloned());
    judgement.on_result = (!after.is_empty()).then(|| OnResult::new(call.tool, after, declared()));
    judgement
}

impl Judgement {
    fn is_changed(&self) -> bool {
        self.arguments.is_some() || self.answers.is_some() || self.meta.is_some()
    }
}

struct Judging<'a> {
    call: &'a Call<'a>,
    is_local: bool,
    workspace: &'a Workspace,
    /// Names of arguments that are no content.
    declared: Declared,
    /// What is sent beside the arguments.
    meta: Option<Value>,
    /// In every form, once somebody asks.
    paths: Option<Paths>,
    /// What stands in the places of what was struck.
    placeholders: Vec<Arc<str>>,
    /// True for what rules have changed, which they do not change again.
    is_made: bool,
    judgement: Judgement,
}

impl<'a> Judging<'a> {
    fn new(call: &'a Call<'a>, is_local: bool, workspace: &'a Workspace) -> Judging<'a> {
        Judging {
            call,
            is_local,
            workspace,
            declared: Declared::by(call.input_schema.cloned()),
            // What cannot be read names no paths; its texts are looked at as they stand.
            meta: call.meta.map(|text| serde_json::from_str(text).unwrap_or_default()),
            paths: None,
            placeholders: Vec::new(),
            is_made: false,
            judgement: Judgement::default(),
        }
    }

    /// Has every rule say what follows from it, and gives those that strike. Those that concern the result come to `after`.
    fn hear<'r>(&mut self, rules: &'r [InForce], after: &mut Vec<InForce>) -> Vec<&'r InForce> {
        let mut striking = Vec::new();
        for one in rules {
            match self.concerns(&one.rule) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(too_many) => {
                    match one.rule.mode {
                        Mode::Enforce => self.stop(&one.rule, too_many.why()),
                        Mode::AuditOnly | Mode::DryRun => {
                            one.note(self.call.tool, &mut self.judgement.findings);
                        }
                    }
                    continue;
                }
            }
            let is_known = || after.iter().any(|known| Arc::ptr_eq(&known.rule, &one.rule));
            if one.rule.action.concerns_results() && !is_known() {
                after.push(one.clone());
            }
            match &one.rule.action {
                Action::Redact { .. } => striking.push(one),
                // What a task is asked is not what its call was.
                Action::Transform(_) if self.is_made || self.call.begun_with.is_some() => {}
                _ if self.content_matches(&one.rule) => self.act(one),
                _ => {}
            }
        }
        striking
    }

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
        let begun_with = match call.begun_with {
            Some(None) => return Ok(true),
            Some(Some(arguments)) => Some(arguments),
            None => None,
        };
        let beside = self.meta.as_ref();
        let paths = self.paths.get_or_insert_with(|| {
            let mut paths = Paths::default();
            paths.add(&with_paths(call), workspace);
            begun_with.into_iter().chain(beside).for_each(|value| paths.add(value, workspace));
            paths
        });
        let fits = |path: &String| {
            matches.paths.as_ref().is_none_or(|patterns| patterns.is_match(path))
                && matches.file_types.as_ref().is_none_or(|types| is_of_type(path, types))
        };
        if paths.forms.iter().any(fits) {
            return Ok(true);
        }
        // What was not looked at may be what the rule is about.
        if let Some(over) = paths.over.filter(|_| rule.action.binds()) {
            return Err(over);
        }
        // Our own tools take every sign as it is.
        let may_hide = rule.action.binds() && call.upstream.is_some();
        let mut named = std::iter::once(call.arguments).chain(begun_with).chain(beside);
        Ok(may_hide && named.any(|value| paths::are_unknown(value, workspace)))
    }

    /// Whether any text of the arguments, answers or what is sent beside them, names included, is what the rule looks for.
    fn content_matches(&self, rule: &Rule) -> bool {
        let Some(content) = &rule.matches.content else { return true };
        let arguments = self.judgement.arguments.as_ref().unwrap_or(self.call.arguments);
        let (answers, meta) = (self.call.answers.unwrap_or_default(), self.call.meta.unwrap_or_default());
        // What our own hand has put there says nothing of what else is there.
        let ours = self.placeholders.iter().filter(|ours| content.is_in(ours));
        let without =
            |text: &str| ours.clone().fold(text.to_owned(), |text, ours| again::without(&text, ours));
        if ours.clone().next().is_some() {
            let whole = arguments;
            let arguments = serde_json::from_str(&without(&arguments.to_string()));
            let arguments = arguments.unwrap_or_else(|_| whole.clone());
            self.finds(content, (&arguments, &without(answers), &without(meta)))
        } else {
            self.finds(content, (arguments, answers, meta))
        }
    }

    fn finds(&self, content: &Content, (arguments, answers, meta): (&Value, &str, &str)) -> bool {
        if arguments::holds(content, arguments, self.call.owner()) {
            return true;
        }
        let mut is_found = false;
        for (text, owner) in [(answers, Owner::Protocol), (meta, Owner::Tool)] {
            strike::json(text, owner, |token| {
                is_found |= token.is_found(content, 0);
                None
            });
        }
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
        if matches!(rule.action, Action::Transform(_)) && !one.may_change(self.call.upstream) {
            let passed_over = Finding { effect: PASSED_OVER.into(), acts: false, ..one.finding() };
            self.judgement.findings.push(passed_over);
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
        let of_paths = match (content, self.is_local, self.call.upstream) {
            (None, _, _) | (Some(_), true, None) => OfPaths::Spared,
            (Some(_), true, Some(_)) => OfPaths::Refused,
            (Some(_), false, _) => OfPaths::Struck,
        };
        let mut striking = Striking::new(content, placeholder, of_paths, &self.declared);
        if content.is_some() || !self.is_local {
            let mut arguments = self.judgement.arguments.as_ref().unwrap_or(self.call.arguments).clone();
            striking.all(&mut arguments, self.call.owner());
            let arguments = (striking.count() > 0).then_some(arguments);
            let answers = self.judgement.answers.as_deref().or(self.call.answers).unwrap_or_default();
            let answers = strike::json(answers, Owner::Protocol, |token| striking.token(token));
            let meta = self.judgement.meta.as_deref().or(self.call.meta).unwrap_or_default();
            let meta = strike::json(meta, Owner::Tool, |token| striking.token(token));
            if one.rule.mode == Mode::Enforce {
                let judgement = &mut self.judgement;
                judgement.arguments = arguments.or(judgement.arguments.take());
                judgement.answers = answers.or(judgement.answers.take());
                judgement.meta = meta.or(judgement.meta.take());
                judgement.struck = judgement.struck.saturating_add(striking.count());
                self.placeholders.push(placeholder.clone());
            }
        }
        if striking.count() > 0 {
            one.note(self.call.tool, &mut self.judgement.findings);
        }
        if striking.is_in_path() && one.rule.mode == Mode::Enforce {
            let why =
                "names a path with text that a rule strikes out, and what is left of a path leads elsewhere";
            self.stop(&one.rule, why.to_owned());
        }
    }
}

/// What of a call's arguments may name paths. Of our own tools it is known what is none.
fn with_paths<'a>(call: &Call<'a>) -> Cow<'a, Value> {
    match (call.upstream, call.arguments) {
        (None, Value::Object(members)) if members.contains_key(OUR_CONTENT) => {
            let others = members.iter().filter(|(name, _)| *name != OUR_CONTENT);
            Cow::Owned(others.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        (_, arguments) => Cow::Borrowed(arguments),
    }
}

/// Whether the path's last name ends in one of these types, or is one (`.env`).
fn is_of_type(path: &str, types: &[Box<str>]) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_lowercase();
    types.iter().any(|one| name.strip_suffix(&**one).is_some_and(|before| before.ends_with('.')))
}
