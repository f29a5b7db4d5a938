//! The decision. A rule that denies wins wherever it stands; among the others the first that fits decides; what no rule
//! permits is refused, and so is whatever cannot be evaluated.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use globset::GlobSet;
use serde_json::Value;

use crate::cache::Cache;
use crate::caller::Caller;
use crate::case::Case;
use crate::condition::{Condition, Conditions, NoAnswer, Places};
use crate::config::Config;
use crate::default_policy::{NOTHING, default_rules};
use crate::engine::{Covers, Decision, Engine, Obligations, Verdict};
use crate::facts::Facts;
use crate::names::{self, BUILT_IN, Named, OF_SERVER};
use crate::plan::{Plan, State, Step};
use crate::problem::{ConfigError, Problem};
use crate::rule::{Origin, Rule};
use crate::rule_config::RuleConfig;

/// The setting that turns a question of the default policy into a permission.
pub(crate) const SETTING_ALLOW: &str = "policy.allow";

/// The setting that refuses whatever it names.
pub(crate) const SETTING_DENY: &str = "policy.deny";

/// Rules are written by people; more than this is a program's mistake.
const RULES_MAX: usize = 1_000;

/// Cases beside the rules; more of them belong into files of their own.
const CASES_MAX: usize = 1_000;

/// The rules in force. Made once for a configuration; clones share it.
#[derive(Clone)]
pub struct Policy {
    pub(crate) inner: Arc<Inner>,
}

/// What a setting names.
pub(crate) struct Listed {
    /// By the name that callers see, whosever it is.
    named: GlobSet,
    /// By `SERVER/NAME`.
    of_servers: GlobSet,
}

impl Listed {
    fn of(key: &'static str, listed: &[String], problems: &mut Vec<Problem>) -> Listed {
        Listed {
            named: setting(key, listed, Named::Tool, problems),
            of_servers: setting(key, listed, Named::ToolOfServer, problems),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.of_servers.is_empty()
    }

    pub(crate) fn fits(&self, facts: &Facts<'_>) -> bool {
        names::matches(&self.named, facts.tool)
            || !self.of_servers.is_empty()
                && self.of_servers.is_match(server_and_tool(facts.upstream, facts.tool))
    }
}

/// A tool as a setting may name it together with its server.
pub(crate) fn server_and_tool(upstream: Option<&str>, tool: &str) -> String {
    format!("{}{OF_SERVER}{tool}", upstream.unwrap_or(BUILT_IN))
}

/// What clones share.
pub(crate) struct Inner {
    pub(crate) allow: Listed,
    pub(crate) deny: Listed,
    pub(crate) rules: Vec<Rule>,
    /// As they were written, in the order of `rules`.
    pub(crate) written: Vec<RuleConfig>,
    pub(crate) conditions: Conditions,
    cases: Vec<Case>,
    lists: (Vec<String>, Vec<String>),
    /// The globs over tools of all rules: one look for a name, however many rules there are.
    tools: GlobSet,
    /// For each of them the rule it belongs to.
    rule_of_glob: Vec<usize>,
    cache: Cache,
    nothing: Decision,
    denied: Decision,
    allowed: Decision,
}

impl Policy {
    /// Compiles the rules and tries each once.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Policy::made(config, None)
    }

    /// The same, with `isUnder` knowing what paths mean to our own tools. Without that, paths from the root on and others
    /// cannot be compared.
    ///
    /// # Errors
    /// As for [`Policy::new`].
    pub fn within(config: &Config, places: Arc<Places>) -> Result<Self, ConfigError> {
        Policy::made(config, Some(places))
    }

    fn made(config: &Config, places: Option<Arc<Places>>) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let allow = Listed::of("allow", &config.allow, &mut problems);
        let deny = Listed::of("deny", &config.deny, &mut problems);
        for (key, count, most) in
            [("rules", config.rules.len(), RULES_MAX), ("tests", config.tests.len(), CASES_MAX)]
        {
            if count > most {
                problems.push(Problem::at(
                    [key],
                    format!("policy.{key}: there are {count}; the limit is {most}"),
                ));
            }
        }
        let written: Vec<RuleConfig> = config.rules.iter().take(RULES_MAX).cloned().collect();
        repeated_ids(&written, &mut problems);
        let own = written.len();
        let defaults = if config.defaults { default_rules(&config.destructive) } else { Vec::new() };
        let written: Vec<RuleConfig> = written.into_iter().chain(defaults).collect();
        let mut conditions = Conditions::new(places);
        let (mut rules, mut globs, mut rule_of_glob) = (Vec::new(), Vec::new(), Vec::new());
        for (nth, rule) in written.iter().enumerate() {
            let mut bad = |keys: &[&str], why: String| {
                let number = nth.to_string();
                let keys =
                    ["rules", &number].iter().chain(keys).map(|key| (*key).to_owned()).collect::<Vec<_>>();
                let key = keys.get(2).map_or(String::new(), |key| format!(" {key}:"));
                problems.push(Problem {
                    keys,
                    what: format!("policy rule {}:{key} {why}", shown(&rule.id, nth)),
                });
            };
            let written_here =
                if nth < own { Origin::Written { defaults: config.defaults } } else { Origin::Default };
            let (compiled, tools) = Rule::compile(rule, written_here, &mut conditions, &mut bad);
            rules.push(compiled);
            rule_of_glob.extend(tools.iter().map(|_| nth));
            globs.extend(tools);
        }
        let tools =
            names::set(globs, |why| problems.push(Problem::at(["rules"], format!("policy.rules: {why}"))));
        if !problems.is_empty() {
            return Err(ConfigError { problems });
        }
        let inner = Inner {
            allow,
            deny,
            rules,
            written,
            conditions,
            cases: config.tests.clone(),
            lists: (config.allow.clone(), config.deny.clone()),
            tools,
            rule_of_glob,
            cache: Cache::default(),
            nothing: decision(Verdict::Deny, NOTHING, "is not granted"),
            denied: decision(Verdict::Deny, SETTING_DENY, "is refused by the configuration"),
            allowed: decision(Verdict::Allow, SETTING_ALLOW, ""),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The rules in force in the order they are looked at, those of the default policy behind the user's own.
    pub fn rules(&self) -> &[RuleConfig] {
        &self.inner.written
    }

    /// Decides a call as at another time, in seconds since 1970.
    pub fn decide_at(&self, facts: &Facts<'_>, arguments: &Value, now: i64) -> Decision {
        self.decide_knowing(facts, Some(arguments), now).unwrap_or_else(|| self.inner.nothing.clone())
    }

    /// Decides a call of which the arguments may not be known. Nothing if it depends on them.
    pub fn decide_knowing(&self, facts: &Facts<'_>, arguments: Option<&Value>, now: i64) -> Option<Decision> {
        let inner = &*self.inner;
        match inner.cache.plan(facts, || inner.plan(facts)) {
            Ok(settled) => Some(settled),
            Err(plan) => inner.settle(&plan, facts, arguments, now),
        }
    }

    /// The cases that stand beside the rules.
    pub fn cases(&self) -> &[Case] {
        &self.inner.cases
    }

    /// The lists `allow` and `deny`, as they were written.
    pub fn lists(&self) -> (&[String], &[String]) {
        (&self.inner.lists.0, &self.inner.lists.1)
    }
}

impl Engine for Policy {
    fn decide(&self, facts: &Facts<'_>, arguments: &Value) -> Decision {
        let inner = &*self.inner;
        match inner.cache.plan(facts, || inner.plan(facts)) {
            Ok(settled) => settled,
            Err(plan) => {
                inner.settle(&plan, facts, Some(arguments), now()).unwrap_or_else(|| inner.nothing.clone())
            }
        }
    }

    fn may_see(&self, facts: &Facts<'_>) -> bool {
        self.inner.cache.is_visible(facts, || self.inner.plan(facts))
    }

    fn class(&self, caller: &Caller) -> u64 {
        // Scopes decide about lists by themselves, so whoever keeps lists tells them apart anyway; but rules and
        // conditions may ask for any.
        let mut hasher = DefaultHasher::new();
        caller.kind().hash(&mut hasher);
        caller.scopes().hash(&mut hasher);
        for rule in &self.inner.rules {
            rule.tells_apart(caller).hash(&mut hasher);
            if rule.condition.as_ref().is_some_and(|condition| condition.uses.caller) {
                (caller.id(), caller.roles(), caller.via()).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

impl Inner {
    /// For each rule whether its globs fit the tool's name.
    pub(crate) fn fitting_names(&self, tool: &str) -> Vec<bool> {
        let mut fitting: Vec<bool> = self.written.iter().map(|rule| rule.tools.is_empty()).collect();
        if !self.tools.is_empty() {
            for glob in self.tools.matches(tool) {
                fitting[self.rule_of_glob[glob]] = true;
            }
        }
        fitting
    }

    /// What is left to ask about a tool once everything but the arguments and the time is known.
    fn plan(&self, facts: &Facts<'_>) -> Plan {
        if self.deny.fits(facts) {
            return Plan { settled: Some(self.denied.clone()), ..Plan::default() };
        }
        let fitting = self.fitting_names(facts.tool);
        let given = self.conditions.given(facts, None, 0);
        let evaluation = self.conditions.evaluation(&given);
        let (mut denies, mut permits, mut is_permitted) = (Vec::new(), Vec::new(), false);
        for (nth, rule) in self.rules.iter().enumerate().filter(|(nth, _)| fitting[*nth]) {
            let denies_here = rule.verdict == Verdict::Deny;
            if is_permitted && !denies_here || rule.misfit(facts).is_some() {
                continue;
            }
            let state = match (&rule.condition, &evaluation) {
                (None, _) => State::Fits,
                (Some(condition), _) if is_open(condition) => State::Open,
                (Some(condition), Some(evaluation)) => match condition.holds(evaluation) {
                    Ok(true) => State::Fits,
                    Ok(false) => continue,
                    // What is unclear about a text in the rule itself is a mistake in it.
                    Err(NoAnswer::Failed(why) | NoAnswer::Unclear(why)) => State::Failed(failed(rule, &why)),
                },
                (Some(_), None) => State::Failed(failed(rule, "it cannot be evaluated")),
            };
            let tightens = rule.only_tightens(facts);
            if denies_here {
                denies.push(Step { rule: nth, state, tightens });
            } else {
                is_permitted = !tightens && !matches!(state, State::Open);
                permits.push(Step { rule: nth, state, tightens });
            }
        }
        let mut plan = Plan { settled: None, denies, permits };
        plan.settled = self.walk(&plan, facts, |_| None);
        plan
    }

    /// Decides what a plan has left open.
    fn settle(
        &self,
        plan: &Plan,
        facts: &Facts<'_>,
        arguments: Option<&Value>,
        now: i64,
    ) -> Option<Decision> {
        let given = self.conditions.given(facts, arguments, now);
        let evaluation = self.conditions.evaluation(&given);
        let held = |rule: &Rule| match (&rule.condition, &evaluation) {
            (None, _) => Some(Ok(true)),
            (Some(condition), _) if arguments.is_none() && condition.uses.args => None,
            (Some(condition), Some(evaluation)) => Some(condition.holds(evaluation)),
            (Some(_), None) => Some(Err(NoAnswer::Failed("it cannot be evaluated".to_owned()))),
        };
        self.walk(plan, facts, held)
    }

    /// Goes through a plan. Nothing if a condition is needed that `held` says nothing of. Where it cannot be told what a command
    /// runs, a person is asked, unless the call is refused whatever it runs.
    fn walk(
        &self,
        plan: &Plan,
        facts: &Facts<'_>,
        held: impl Fn(&Rule) -> Option<Result<bool, NoAnswer>>,
    ) -> Option<Decision> {
        let fits = |step: &Step| match &step.state {
            State::Fits => Some(Ok(true)),
            State::Failed(decision) => Some(Err(decision.clone())),
            State::Open => {
                let rule = &self.rules[step.rule];
                let no_answer = |no_answer| match no_answer {
                    NoAnswer::Failed(why) => failed(rule, &why),
                    NoAnswer::Unclear(why) => unclear(rule, &why),
                };
                held(rule).map(|answer| answer.map_err(no_answer))
            }
        };
        let (mut asking, mut doubt) = (None, None);
        for step in &plan.denies {
            match fits(step)? {
                Ok(true) => return Some(self.rules[step.rule].decision.clone()),
                Ok(false) => {}
                Err(question) if question.verdict == Verdict::Ask => doubt = doubt.or(Some(question)),
                Err(refusal) => return Some(refusal),
            }
        }
        for step in &plan.permits {
            let rule = &self.rules[step.rule];
            let decision = match fits(step)? {
                Ok(false) => continue,
                Ok(true) if step.tightens => {
                    asking = asking.or(Some(rule.decision.clone()));
                    continue;
                }
                Err(question) if step.tightens && question.verdict == Verdict::Ask => {
                    asking = asking.or(Some(question));
                    continue;
                }
                Err(refusal) if refusal.verdict == Verdict::Deny => return Some(refusal),
                Err(question) => question,
                Ok(true) => {
                    let is_answered =
                        rule.is_default && rule.verdict == Verdict::Ask && self.allow.fits(facts);
                    if is_answered { self.allowed.clone() } else { rule.decision.clone() }
                }
            };
            let decision = asking.unwrap_or(decision);
            return Some(match doubt {
                Some(doubt) if decision.verdict == Verdict::Allow => {
                    Decision { obligations: decision.obligations, ..doubt }
                }
                Some(doubt) if decision.verdict == Verdict::Ask => both(&doubt, &decision),
                _ => decision,
            });
        }
        Some(self.nothing.clone())
    }
}

/// Whether a condition can only be evaluated with the call at hand.
fn is_open(condition: &Condition) -> bool {
    condition.uses.args || condition.uses.now
}

/// The denial of what cannot be evaluated.
fn failed(rule: &Rule, why: &str) -> Decision {
    let why = format!("cannot be decided: the condition of the rule `{}` failed: {why}", rule.id);
    decision(Verdict::Deny, &rule.id, &why)
}

/// The question about what cannot be told of a command. A rule that denies has no obligations.
fn unclear(rule: &Rule, why: &str) -> Decision {
    let why = format!("may do what the rule `{}` is about: {why}", rule.id);
    let obligations = rule.decision.obligations.clone();
    Decision { obligations, ..decision(Verdict::Ask, &rule.id, &why) }
}

/// A question with a doubt besides. It bears both names, so that what answers one of them for a session does not answer both.
fn both(doubt: &Decision, question: &Decision) -> Decision {
    let obligations = Obligations { approval_covers: Covers::Call, ..(*question.obligations).clone() };
    Decision {
        verdict: Verdict::Ask,
        rule: format!("{}+{}", doubt.rule, question.rule).into(),
        why: format!("{}, and {}", question.why, doubt.why).into(),
        obligations: Arc::new(obligations),
    }
}

fn decision(verdict: Verdict, rule: &str, why: &str) -> Decision {
    Decision { verdict, rule: rule.into(), why: why.into(), obligations: Arc::default() }
}

/// The globs of a setting that are meant so; each that cannot be used is told of once.
fn setting(key: &'static str, listed: &[String], what: Named, problems: &mut Vec<Problem>) -> GlobSet {
    let mut found = Vec::new();
    let is_of_kind = |glob: &str| glob.contains(OF_SERVER) == (what == Named::ToolOfServer);
    let numbers: Vec<usize> = (0..listed.len()).filter(|nth| is_of_kind(&listed[*nth])).collect();
    let globs_of_kind: Vec<String> = numbers.iter().map(|nth| listed[*nth].clone()).collect();
    let globs = names::globs(&globs_of_kind, what, |nth, why| {
        found.push(Problem::at([key, &numbers[nth].to_string()], format!("policy.{key}: {why}")));
    });
    let set = names::set(globs, |why| found.push(Problem::at([key], format!("policy.{key}: {why}"))));
    problems.append(&mut found);
    set
}

fn repeated_ids(rules: &[RuleConfig], problems: &mut Vec<Problem>) {
    let mut seen = std::collections::HashSet::new();
    for (nth, rule) in rules.iter().enumerate() {
        if !seen.insert(&rule.id) && !rule.id.is_empty() {
            let what =
                format!("policy rule {}: another rule has this id; each needs its own", shown(&rule.id, nth));
            problems.push(Problem::at(["rules", &nth.to_string(), "id"], what));
        }
    }
}

/// A rule for people: by its id, or by its number if that is no name.
fn shown(id: &str, nth: usize) -> String {
    if id.is_empty() || id.len() > 64 { format!("{}", nth + 1) } else { format!("{id:?}") }
}

pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("rules", &self.inner.written.len()).finish_non_exhaustive()
    }
}
