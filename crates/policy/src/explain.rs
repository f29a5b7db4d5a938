//! Why a call is decided as it is: every rule that was looked at, what in it does not fit, and what would change it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::caller::CallerKind;
use crate::condition::NoAnswer;
use crate::decide::{Listed, Policy, SETTING_ALLOW, SETTING_DENY, server_and_tool};
use crate::default_policy::NOTHING;
use crate::engine::{Decision, Engine as _, Verdict};
use crate::facts::{Facts, ToolOrigin};
use crate::names::BUILT_IN;
use crate::rule::{Rule, scope_of};

/// Why a call is decided as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The decision; nothing if it depends on the arguments, or on the time, and none were given.
    pub decision: Option<Decision>,
    /// Whether the caller is shown the tool.
    pub is_visible: bool,
    /// Every rule, in order.
    pub looked: Vec<Looked>,
    /// What would change it, the nearest first.
    pub advice: Vec<Advice>,
}

/// One rule that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// Its id.
    pub rule: String,
    /// What it says.
    #[serde(rename = "effect")]
    pub verdict: Verdict,
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
}

/// What was found of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finding", content = "detail", rename_all = "snake_case")]
pub enum Finding {
    /// It decides.
    Decides,
    /// It fits, and another rule decides.
    Fits,
    /// It fits, and asks about what another rule permits; none does.
    NothingToAskAbout,
    /// This key of it does not fit.
    #[serde(rename = "does_not_fit")]
    Misfit(Cow<'static, str>),
    /// Its condition does not hold.
    DoesNotHold,
    /// Its condition depends on arguments that were not given.
    DependsOnArguments,
    /// Its condition cannot be evaluated, for this reason.
    Failed(String),
    /// It cannot be told what a command runs, for this reason, and so whether its condition holds.
    Unclear(String),
}

/// Something that would change a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// What to do, in a sentence without a full stop.
    pub what: String,
    /// The lines to put into the configuration, if there are any.
    pub toml: Option<String>,
}

impl Policy {
    /// Says why a call is decided as it is. `now` is in seconds since 1970; nothing for the present.
    pub fn explain(&self, facts: &Facts<'_>, arguments: Option<&Value>, now: Option<i64>) -> Explanation {
        let now = now.unwrap_or_else(crate::decide::now);
        let decision = self.decide_knowing(facts, arguments, now);
        let mut looked = self.looked(facts, arguments, now);
        if let Some(decision) = &decision {
            let (_, question) = parts(decision);
            let decides = |looked: &&mut Looked| looked.rule == question && looked.finding == Finding::Fits;
            if let Some(looked) = looked.iter_mut().find(decides) {
                looked.finding = Finding::Decides;
            }
            if *decision.rule == *NOTHING {
                let asks =
                    |looked: &&mut Looked| looked.finding == Finding::Fits && looked.verdict == Verdict::Ask;
                looked.iter_mut().filter(asks).for_each(|looked| looked.finding = Finding::NothingToAskAbout);
            }
        }
        let has_failed = |decision: &Decision| {
            let failed = |looked: &Looked| {
                looked.rule == *decision.rule && matches!(looked.finding, Finding::Failed(_))
            };
            looked.iter().any(failed)
        };
        let advice = match &decision {
            Some(decision) if has_failed(decision) => {
                let what = format!("correct the condition of the rule `{}`, or the arguments", decision.rule);
                vec![Advice { what, toml: None }]
            }
            Some(decision) => {
                let is_unclear = |looked: &&Looked| matches!(looked.finding, Finding::Unclear(_));
                let unclear: Vec<&str> =
                    looked.iter().filter(is_unclear).map(|looked| &*looked.rule).collect();
                advice(facts, decision, &unclear)
            }
            None => Vec::new(),
        };
        Explanation { decision, is_visible: self.may_see(facts), looked, advice }
    }

    fn looked(&self, facts: &Facts<'_>, arguments: Option<&Value>, now: i64) -> Vec<Looked> {
        let inner = &*self.inner;
        let given = inner.conditions.given(facts, arguments, now);
        let evaluation = inner.conditions.evaluation(&given);
        let finding = |rule: &Rule, named: bool| {
            if !named {
                return Finding::Misfit("tools".into());
            }
            if let Some(misfit) = rule.misfit(facts) {
                return Finding::Misfit(misfit.into());
            }
            match (&rule.condition, &evaluation) {
                (Some(condition), _) if arguments.is_none() && condition.uses.args => {
                    Finding::DependsOnArguments
                }
                (Some(condition), Some(evaluation)) => match condition.holds(evaluation) {
                    Ok(true) => Finding::Fits,
                    Ok(false) => Finding::DoesNotHold,
                    Err(NoAnswer::Failed(why)) => Finding::Failed(why),
                    Err(NoAnswer::Unclear(why)) => Finding::Unclear(why),
                },
                _ => Finding::Fits,
            }
        };
        let setting = |listed: &Listed, rule: &str, verdict: Verdict| {
            let finding = if listed.fits(facts) { Finding::Fits } else { Finding::Misfit("tools".into()) };
            (!listed.is_empty()).then(|| Looked { rule: rule.to_owned(), verdict, finding })
        };
        let rules = inner.rules.iter().zip(inner.fitting_names(facts.tool)).map(|(rule, named)| Looked {
            rule: rule.id.to_string(),
            verdict: rule.verdict,
            finding: finding(rule, named),
        });
        let denied = setting(&inner.deny, SETTING_DENY, Verdict::Deny);
        denied.into_iter().chain(rules).chain(setting(&inner.allow, SETTING_ALLOW, Verdict::Allow)).collect()
    }
}

/// The rule that is in doubt, and the one that asks besides, of a question that is about both; else the one rule of a decision.
fn parts(decision: &Decision) -> (Option<&str>, &str) {
    // No id has the sign in it.
    match decision.rule.split_once('+') {
        Some((doubt, question)) => (Some(doubt), question),
        None => (None, &decision.rule),
    }
}

/// The question that is left without the doubt.
fn doubt_free(decision: &Decision, doubt: &str) -> Option<Decision> {
    let question = decision.rule.strip_prefix(doubt)?.strip_prefix('+')?;
    Some(Decision { rule: question.into(), ..decision.clone() })
}

fn advice(facts: &Facts<'_>, decision: &Decision, unclear: &[&str]) -> Vec<Advice> {
    let advice_of = |what: String, toml: Option<String>| Advice { what, toml };
    let (doubt, rule) = parts(decision);
    let is_doubt = decision.verdict == Verdict::Ask && unclear.contains(&rule);
    if let Some(doubt) = doubt.or(is_doubt.then_some(rule)) {
        let what = format!(
            "write the command so that it can be told what it runs, or change the rule `{doubt}`, which may be about it"
        );
        let asked = doubt_free(decision, doubt).map(|question| advice(facts, &question, unclear));
        return std::iter::once(advice_of(what, None)).chain(asked.into_iter().flatten()).collect();
    }
    let is_own = !rule.starts_with("default.") && !rule.starts_with("policy.");
    let allowing = || snippet(facts, "allow");
    match decision.verdict {
        Verdict::Deny if rule == SETTING_DENY => {
            vec![advice_of(format!("take what fits `{}` out of `policy.deny`", facts.tool), None)]
        }
        Verdict::Deny if rule == NOTHING => {
            let upstream = facts.upstream.filter(|_| facts.caller.kind() != CallerKind::LocalUser);
            let scope = upstream.map(|upstream| scope_of(upstream, "call"));
            let scope = scope.map(|scope| advice_of(format!("give the caller the scope `{scope}`"), None));
            let rule = advice_of("allow it by a rule".to_owned(), Some(allowing()));
            scope.into_iter().chain([rule]).collect()
        }
        Verdict::Deny => {
            let what = "change or remove the rule; one that denies wins over all others";
            vec![advice_of(format!("{what}: `{rule}`"), None)]
        }
        Verdict::Ask if is_own => {
            vec![advice_of(format!("allow it by a rule before `{rule}`"), Some(allowing()))]
        }
        // `policy.allow` tells servers apart, and nothing else of where a tool is from.
        Verdict::Ask if facts.origin == ToolOrigin::Declared => {
            vec![advice_of("let it run without asking".to_owned(), Some(allowing()))]
        }
        Verdict::Ask => {
            let toml = format!("[policy]\nallow = [{:?}]", server_and_tool(facts.upstream, facts.tool));
            vec![advice_of("let it run without asking".to_owned(), Some(toml))]
        }
        Verdict::Allow => {
            let toml = format!("[policy]\ndeny = [{:?}]", facts.tool);
            vec![
                advice_of("have a person asked each time".to_owned(), Some(snippet(facts, "ask"))),
                advice_of("refuse it".to_owned(), Some(toml)),
            ]
        }
    }
}

/// A rule that fits this call and no other tool.
fn snippet(facts: &Facts<'_>, effect: &str) -> String {
    let tool = facts.tool;
    let mut lines =
        format!("[[policy.rules]]\nid = \"{effect}-{tool}\"\neffect = \"{effect}\"\ntools = [{tool:?}]\n");
    lines.push_str(&match facts.origin {
        ToolOrigin::Declared => "origins = [\"declared\"]".to_owned(),
        ToolOrigin::BuiltIn | ToolOrigin::Script | ToolOrigin::Upstream => {
            format!("upstream = [{:?}]", facts.upstream.unwrap_or(BUILT_IN))
        }
    });
    if facts.caller.kind() != CallerKind::LocalUser {
        lines.push_str(&format!("\ncallers = [{:?}]", facts.caller.id()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caller, Config, Effect, RuleConfig, Via};

    /// What is said of each rule, and what would change the decision.
    #[track_caller]
    fn check(command: &str, expected: &[&str]) {
        let rule = |id: &str, effect, when: Option<&str>| RuleConfig {
            tools: vec!["Bash".to_owned()],
            when: when.map(str::to_owned),
            ..RuleConfig::new(id, effect)
        };
        let rules = vec![
            rule("no-rm", Verdict::Deny, Some("args.command.runs('rm')")),
            rule("push-asks", Verdict::Ask, Some("args.command.runs('git', 'push')")),
            rule("looks", Verdict::Ask, None),
        ];
        let policy = Policy::new(&Config { rules, defaults: false, ..Config::default() }).expect("sound");
        let caller = Caller::local_user(Via::Stdio);
        let facts = Facts {
            caller: &caller,
            tool: "Bash",
            upstream: None,
            origin: ToolOrigin::BuiltIn,
            action: None,
            effect: Effect::Executes,
            marked_destructive: false,
            leaves_machine: false,
            sends: false,
        };
        let arguments = serde_json::json!({ "command": command });
        let explained = policy.explain(&facts, Some(&arguments), None);
        let finding = |looked: &Looked| match &looked.finding {
            Finding::Unclear(_) => "unclear".to_owned(),
            other => format!("{other:?}"),
        };
        let rules = explained.looked.iter().map(|looked| format!("{} {}", looked.rule, finding(looked)));
        let decision = explained.decision.iter().map(|decision| decision.rule.to_string());
        let advice = explained.advice.iter().map(|advice| advice.what.clone());
        let said: Vec<String> = decision.chain(rules).chain(advice).collect();
        assert_eq!(said, expected, "{command}");
    }

    #[test]
    fn advice_about_a_declared_tool_is_about_no_other() {
        let policy = Policy::new(&Config::default()).expect("sound");
        let caller = Caller::local_user(Via::Stdio);
        let facts = |effect, origin| Facts {
            caller: &caller,
            tool: "deploy",
            upstream: None,
            origin,
            action: None,
            effect,
            marked_destructive: effect == Effect::Destroys,
            leaves_machine: false,
            sends: false,
        };
        let rule = |word: &str, whose: &str| {
            format!(
                "[[policy.rules]]\nid = \"{word}-deploy\"\neffect = \"{word}\"\ntools = [\"deploy\"]\n{whose}"
            )
        };
        let (declared, ours) = ("origins = [\"declared\"]", "upstream = [\"built-in\"]");
        for (effect, origin, expected) in [
            (Effect::Reads, ToolOrigin::Declared, rule("ask", declared)),
            (Effect::Reads, ToolOrigin::BuiltIn, rule("ask", ours)),
            (Effect::Destroys, ToolOrigin::Declared, rule("allow", declared)),
            (Effect::Destroys, ToolOrigin::BuiltIn, "[policy]\nallow = [\"built-in/deploy\"]".to_owned()),
        ] {
            let explained = policy.explain(&facts(effect, origin), Some(&serde_json::json!({})), None);
            assert_eq!(explained.advice[0].toml, Some(expected), "{effect:?} {origin:?}");
        }
    }

    #[test]
    fn a_question_about_two_rules_names_both_and_what_would_change_each() {
        check(
            "ls",
            &[
                "looks",
                "no-rm DoesNotHold",
                "push-asks DoesNotHold",
                "looks Decides",
                "allow it by a rule before `looks`",
            ],
        );
        check(
            "git push; $X",
            &[
                "no-rm+push-asks",
                "no-rm unclear",
                "push-asks Decides",
                "looks Fits",
                "write the command so that it can be told what it runs, or change the rule `no-rm`, which may be about it",
                "allow it by a rule before `push-asks`",
            ],
        );
        check(
            "$X",
            &[
                "no-rm+push-asks",
                "no-rm unclear",
                "push-asks unclear",
                "looks Fits",
                "write the command so that it can be told what it runs, or change the rule `no-rm`, which may be about it",
                "write the command so that it can be told what it runs, or change the rule `push-asks`, which may be about it",
            ],
        );
    }
}
