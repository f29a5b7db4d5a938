//! One look of all rules at a call. Every rule that matches has its say: one that blocks settles it, and what others want is
//! done besides, so no rule ever loosens another one.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::arguments::{self, OfPaths, Striking};
use crate::call::Call;
use crate::finding::{Approval, Finding, Stop};
use crate::in_force::InForce;
use crate::judgement::Judgement;
use crate::names::{Content, Declared};
use crate::paths::{self, Paths};
use crate::rule::{Action, Mode, Rule};
use crate::strike;
use crate::vocabulary::{Owner, Vocabulary};
use crate::workspace::{TooMany, Workspace};

/// What is looked at in the place of a placeholder: no rule looks for it.
const NOTHING: char = '\u{fffd}';

/// What is recorded of a project's rule that would change a call to somebody else's server.
const PASSED_OVER: &str = "transform (passed over)";

/// What a call is judged in.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// Whether what runs the call is on this machine.
    pub(crate) is_local: bool,
    /// What paths in rules are relative to.
    pub(crate) workspace: &'a Workspace,
    /// The protocol's words.
    pub(crate) vocabulary: &'a Vocabulary,
}

/// A call, and what has been made of it so far.
pub(super) struct Judging<'a> {
    call: &'a Call<'a>,
    surroundings: Surroundings<'a>,
    /// Names of arguments that are no content.
    declared: Declared,
    /// What is sent beside the arguments.
    meta: Option<Value>,
    /// In every form, once somebody asks.
    paths: Option<Paths>,
    /// What stands in the places of what was struck.
    pub(super) placeholders: Vec<Arc<str>>,
    /// True for what rules have changed, which they do not change again.
    is_made: bool,
    pub(super) judgement: Judgement,
}

impl<'a> Judging<'a> {
    /// Of a call; `placeholders` are those in one that rules have changed.
    pub(super) fn new(
        call: &'a Call<'a>,
        surroundings: Surroundings<'a>,
        placeholders: Option<Vec<Arc<str>>>,
    ) -> Judging<'a> {
        Judging {
            call,
            surroundings,
            declared: Declared::by(call.input_schema.cloned()),
            // What cannot be read names no paths; its texts are looked at as they stand.
            meta: call.meta.map(|text| serde_json::from_str(text).unwrap_or_default()),
            paths: None,
            is_made: placeholders.is_some(),
            placeholders: placeholders.unwrap_or_default(),
            judgement: Judgement::default(),
        }
    }

    /// Applies every rule but those that strike, which it returns. Those that concern the result come to `after`.
    pub(super) fn apply<'r>(&mut self, rules: &'r [InForce], after: &mut Vec<InForce>) -> Vec<&'r InForce> {
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

    /// Whose object the arguments are.
    fn owner(&self) -> Owner<'a> {
        match self.call.is_action {
            true => Owner::Protocol(self.surroundings.vocabulary),
            false => Owner::Tool,
        }
    }

    /// Whether the call is what the rule is about, but for its content.
    pub(super) fn concerns(&mut self, rule: &Rule) -> Result<bool, TooMany> {
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
        let (call, workspace) = (self.call, self.surroundings.workspace);
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
        let without = |text: &str| ours.clone().fold(text.to_owned(), |text, ours| without(&text, ours));
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
        if arguments::holds(content, arguments, self.owner()) {
            return true;
        }
        let mut is_found = false;
        for (text, owner) in [(answers, Owner::Protocol(self.surroundings.vocabulary)), (meta, Owner::Tool)] {
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
        self.surroundings.is_local || self.call.upstream.is_some_and(is_named)
    }

    fn stop(&mut self, rule: &Rule, why: String) {
        self.judgement.stop.get_or_insert(Stop { rule: rule.id.clone(), why: why.into() });
    }

    /// Strikes what a rule matches out of the arguments. A rule without a pattern strikes all but the paths out of what
    /// leaves the machine; what stays here may have it, and its result is struck.
    pub(super) fn strike(&mut self, one: &InForce) {
        let Action::Redact { placeholder, .. } = &one.rule.action else { return };
        let content = one.rule.matches.content.as_ref();
        let of_paths = match (content, self.surroundings.is_local, self.call.upstream) {
            (None, _, _) | (Some(_), true, None) => OfPaths::Spared,
            (Some(_), true, Some(_)) => OfPaths::Refused,
            (Some(_), false, _) => OfPaths::Struck,
        };
        let mut striking = Striking::new(content, placeholder, (of_paths, self.call.paths), &self.declared);
        if content.is_some() || !self.surroundings.is_local {
            let mut arguments = self.judgement.arguments.as_ref().unwrap_or(self.call.arguments).clone();
            striking.all(&mut arguments, self.owner());
            let arguments = (striking.count > 0).then_some(arguments);
            let answers = self.judgement.answers.as_deref().or(self.call.answers).unwrap_or_default();
            let answers = strike::json(answers, Owner::Protocol(self.surroundings.vocabulary), |token| {
                striking.token(token)
            });
            let meta = self.judgement.meta.as_deref().or(self.call.meta).unwrap_or_default();
            let meta = strike::json(meta, Owner::Tool, |token| striking.token(token));
            if one.rule.mode == Mode::Enforce {
                let judgement = &mut self.judgement;
                judgement.arguments = arguments.or(judgement.arguments.take());
                judgement.answers = answers.or(judgement.answers.take());
                judgement.meta = meta.or(judgement.meta.take());
                judgement.struck = judgement.struck.saturating_add(striking.count);
                self.placeholders.push(placeholder.clone());
            }
        }
        if striking.count > 0 {
            one.note(self.call.tool, &mut self.judgement.findings);
        }
        if striking.is_in_path && one.rule.mode == Mode::Enforce {
            let why =
                "names a path with text that a rule strikes out, and what is left of a path leads elsewhere";
            self.stop(&one.rule, why.to_owned());
        }
    }
}

/// What of a call's arguments may name paths.
fn with_paths<'a>(call: &Call<'a>) -> Cow<'a, Value> {
    match (call.paths, call.arguments) {
        (Some(paths), Value::Object(members)) => {
            let named = members.iter().filter(|(name, _)| paths.contains(&name.as_str()));
            Cow::Owned(named.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        (_, arguments) => Cow::Borrowed(arguments),
    }
}

/// Whether the path's last name ends in one of these types, or is one (`.env`).
fn is_of_type(path: &str, types: &[Box<str>]) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_lowercase();
    types.iter().any(|one| name.strip_suffix(&**one).is_some_and(|before| before.ends_with('.')))
}

/// The text without what our own hand has put there.
fn without(text: &str, ours: &str) -> String {
    let written = serde_json::to_string(ours).expect("text is JSON");
    text.replace(&written[1..written.len() - 1], &NOTHING.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_taken_out_of_json_as_it_is_written_there() {
        assert_eq!(without(r#"{"a":"x [\"S\"] y"}"#, "[\"S\"]"), "{\"a\":\"x \u{fffd} y\"}");
    }
}
