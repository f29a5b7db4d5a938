//! One rule, ready to be asked: everything in it but the tool's name and the condition is a few comparisons.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use globset::Glob;
use units::Span;

use crate::caller::Caller;
use crate::condition::{Condition, Conditions};
use crate::engine::{Covers, Decision, Obligations, Verdict};
use crate::facts::{self, Effect, Facts};
use crate::names::{self, BUILT_IN, Named, Names};
use crate::role::{Role, Roles};
use crate::rule_config::RuleConfig;
use crate::scope::{Scope, Scopes};
use crate::words::{RoleWord, TOOLS_CALL};

/// In a scope, the server's name.
const UPSTREAM_PLACE: &str = "{upstream}";

/// A name that people type and read in lists.
const ID_BYTES_MAX: usize = 64;

/// A reason is one sentence.
const WHY_BYTES_MAX: usize = 500;

/// Shorter, nobody could read the question.
const APPROVAL_LASTS_MIN: Duration = Duration::from_secs(10);

/// What was asked a week ago is not what would be answered today.
const APPROVAL_LASTS_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// No call takes longer anyway.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What the ids of the default policy begin with.
const DEFAULT: &str = "default.";

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The default policy.
    Default,
    /// The configuration. Whoever switches the default policy off may write its rules down, and change them.
    Written { defaults: bool },
}

/// One rule in force.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) verdict: Verdict,
    /// True for one of the default policy, be it written down.
    pub(crate) is_default: bool,
    pub(crate) condition: Option<Condition>,
    /// What it decides if it fits.
    pub(crate) decision: Decision,
    owners: Owners,
    actions: Vec<&'static str>,
    callers: Option<Names>,
    kinds: Vec<crate::CallerKind>,
    /// Those that fit, and whether callers without any do.
    roles: Option<(Roles, bool)>,
    scopes: Vec<RequiredScope>,
    via: Vec<crate::Via>,
    effects: Vec<Effect>,
    origins: Vec<facts::ToolOrigin>,
    leaves_machine: Option<bool>,
    sends: Option<bool>,
}

/// Whose tools a rule speaks of.
#[derive(Debug)]
enum Owners {
    Everybody,
    Listed { ours: bool, upstreams: Names },
}

/// A scope that the caller must hold.
#[derive(Debug)]
enum RequiredScope {
    Fixed(Scope),
    /// `{upstream}:VERB`.
    OfUpstream(Box<str>),
}

impl Rule {
    /// Makes a rule, and gives the globs over tools back, which are matched for all rules at once. `bad` hears of
    /// everything that is wrong, with the keys in the rule.
    pub(crate) fn compile(
        written: &RuleConfig,
        origin: Origin,
        conditions: &mut Conditions,
        bad: &mut impl FnMut(&[&str], String),
    ) -> (Rule, Vec<Glob>) {
        if let Err(why) = check_id(&written.id, origin) {
            bad(&["id"], why);
        }
        let tools =
            names::globs(&written.tools, Named::Tool, |nth, why| bad(&["tools", &nth.to_string()], why));
        let owners = owners(written, bad);
        let callers = (!written.callers.is_empty()).then(|| {
            let globs = names::globs(&written.callers, Named::Caller, |nth, why| {
                bad(&["callers", &nth.to_string()], why);
            });
            Names::of(globs, |why| bad(&["callers"], why))
        });
        let scopes = written.scopes.iter().enumerate().filter_map(|(nth, name)| {
            required_scope(name).map_err(|why| bad(&["scopes", &nth.to_string()], why)).ok()
        });
        let scopes = scopes.collect();
        let condition = written
            .when
            .as_ref()
            .and_then(|source| conditions.compile(source).map_err(|why| bad(&["when"], why)).ok());
        let obligations = obligations(written, bad);
        let why = written.why.as_deref().map(str::trim).filter(|why| !why.is_empty());
        if why.is_some_and(|why| why.len() > WHY_BYTES_MAX || why.contains(char::is_control)) {
            bad(&["why"], format!("it must be one line of at most {WHY_BYTES_MAX} bytes"));
        }
        let verdict = written.effect;
        let id: Arc<str> = written.id.as_str().into();
        let why = match (verdict, why) {
            (_, Some(why)) => why.into(),
            (Verdict::Allow, None) => Arc::default(),
            // Whoever says it names the rule.
            (Verdict::Ask, None) => "needs a person's consent".into(),
            (Verdict::Deny, None) => "is forbidden".into(),
        };
        let roles = (!written.roles.is_empty()).then(|| {
            let fits_roleless = written.roles.contains(&RoleWord::None);
            (written.roles.iter().filter_map(|word| word.role()).collect(), fits_roleless)
        });
        let rule = Rule {
            decision: Decision { verdict, rule: id.clone(), why, obligations: Arc::new(obligations) },
            id,
            verdict,
            is_default: written.id.starts_with(DEFAULT),
            condition,
            owners,
            actions: written.actions.iter().map(|action| action.as_str()).collect(),
            callers,
            kinds: written.kinds.clone(),
            roles,
            scopes,
            via: written.via.clone(),
            effects: written.effects.clone(),
            origins: written.origins.clone(),
            leaves_machine: written.leaves_machine,
            sends: written.sends,
        };
        (rule, tools)
    }

    /// The first key in it that does not fit a call, but for the tool's name and the condition.
    pub(crate) fn misfit(&self, facts: &Facts<'_>) -> Option<&'static str> {
        let caller = facts.caller;
        let is_destructive = facts.marked_destructive && self.effects.contains(&Effect::Destroys);
        let keys = [
            ("upstream", self.owners.include(facts.upstream)),
            ("origins", fits(&self.origins, &facts.origin)),
            ("kinds", fits(&self.kinds, &caller.kind())),
            ("effects", fits(&self.effects, &facts.effect) || is_destructive),
            ("leaves_machine", self.leaves_machine.is_none_or(|leaves| leaves == facts.leaves_machine)),
            ("sends", self.sends.is_none_or(|sends| sends == facts.sends)),
            ("via", fits(&self.via, &caller.via())),
            ("actions", fits(&self.actions, &facts.action.unwrap_or(TOOLS_CALL))),
            ("roles", self.fits_roles(caller.roles())),
            ("scopes", self.fits_scopes(caller.scopes(), facts.upstream)),
            ("callers", self.callers.as_ref().is_none_or(|callers| callers.contain(caller.id()))),
        ];
        keys.into_iter().find(|(_, fits)| !fits).map(|(key, _)| key)
    }

    /// True for a question about a server's tools that names no server: it asks about what something else permits, and
    /// permits nothing itself.
    pub(crate) fn only_tightens(&self, facts: &Facts<'_>) -> bool {
        self.verdict == Verdict::Ask && facts.upstream.is_some() && matches!(self.owners, Owners::Everybody)
    }

    /// Whether anything in it tells callers apart, besides their kind and scopes.
    pub(crate) fn tells_apart(&self, caller: &Caller) -> impl Hash {
        let roles = caller.roles();
        (
            self.callers.as_ref().map(|callers| callers.contain(caller.id())),
            self.roles.map(|(fitting, _)| (roles.meets(fitting), self.fits_roles(roles))),
            fits(&self.via, &caller.via()),
        )
    }

    fn fits_roles(&self, roles: Roles) -> bool {
        self.roles
            .is_none_or(|(fitting, fits_roleless)| roles.meets(fitting) || roles.is_empty() && fits_roleless)
    }

    fn fits_scopes(&self, scopes: &Scopes, upstream: Option<&str>) -> bool {
        self.scopes.iter().all(|held| match held {
            RequiredScope::Fixed(scope) => scopes.contains(scope.as_str()),
            RequiredScope::OfUpstream(verb) => {
                upstream.is_some_and(|upstream| scopes.contains(&scope_of(upstream, verb)))
            }
        })
    }
}

/// The scope that bears a server's name: `git-hub` and `call` give `git_hub:call`. Two servers whose names come to one
/// scope are refused with the configuration.
pub fn scope_of(upstream: &str, verb: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_') => c,
        _ => '_',
    };
    format!("{}:{verb}", upstream.chars().map(plain).collect::<String>())
}

impl Owners {
    fn include(&self, upstream: Option<&str>) -> bool {
        match (self, upstream) {
            (Owners::Everybody, _) => true,
            (Owners::Listed { ours, .. }, None) => *ours,
            (Owners::Listed { upstreams, .. }, Some(upstream)) => upstreams.contain(upstream),
        }
    }
}

/// An empty list fits everything.
fn fits<T: PartialEq>(listed: &[T], value: &T) -> bool {
    listed.is_empty() || listed.contains(value)
}

fn owners(written: &RuleConfig, bad: &mut impl FnMut(&[&str], String)) -> Owners {
    if written.upstream.is_empty() {
        return match written.effect {
            // A server that comes later must not inherit what was meant for others.
            Verdict::Allow => Owners::Listed { ours: true, upstreams: Names::None },
            Verdict::Ask | Verdict::Deny => Owners::Everybody,
        };
    }
    let ours = written.upstream.iter().any(|name| name == BUILT_IN);
    let others: Vec<String> = written.upstream.iter().filter(|name| *name != BUILT_IN).cloned().collect();
    let place = |nth: usize| {
        let is_named = |name: &String| others.get(nth) == Some(name);
        written.upstream.iter().position(is_named).unwrap_or(nth).to_string()
    };
    let globs = names::globs(&others, Named::Server, |nth, why| bad(&["upstream", &place(nth)], why));
    Owners::Listed { ours, upstreams: Names::of(globs, |why| bad(&["upstream"], why)) }
}

fn required_scope(name: &str) -> Result<RequiredScope, String> {
    match name.strip_prefix(UPSTREAM_PLACE) {
        Some(rest) => match rest.strip_prefix(':') {
            Some(verb) if Scope::parse(&format!("x:{verb}")).is_ok() => {
                Ok(RequiredScope::OfUpstream(verb.into()))
            }
            _ => Err(format!("{name:?} cannot be used: write `{UPSTREAM_PLACE}:call`")),
        },
        None => Scope::parse(name).map(RequiredScope::Fixed).map_err(|error| error.to_string()),
    }
}

fn check_id(id: &str, origin: Origin) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if id.is_empty() || id.len() > ID_BYTES_MAX || !id.chars().all(is_plain) {
        return Err(format!(
            "{id:?} is no id: use 1 to {ID_BYTES_MAX} ASCII letters, digits, `_`, `-` and `.`"
        ));
    }
    if origin == (Origin::Written { defaults: true }) && id.starts_with(DEFAULT) {
        return Err(format!(
            "{id:?} cannot be used: ids that begin so are those of the default policy, which `defaults = false` \
             switches off"
        ));
    }
    if id.starts_with("policy.") {
        return Err(format!("{id:?} cannot be used: ids that begin so are those of settings"));
    }
    Ok(())
}

fn obligations(written: &RuleConfig, bad: &mut impl FnMut(&[&str], String)) -> Obligations {
    let approval = [
        ("approvers", !written.approvers.is_empty()),
        ("approval_lasts", written.approval_lasts.is_some()),
        ("approval_covers", written.approval_covers.is_some()),
        ("dry_run_first", written.dry_run_first),
    ];
    for (key, _) in approval.into_iter().filter(|(_, is_set)| *is_set && written.effect != Verdict::Ask) {
        bad(&[key], format!("only a rule that asks has `{key}`"));
    }
    if written.dry_run_first && written.approval_covers == Some(Covers::Session) {
        let why = "with `dry_run_first` a person sees what each call would change: leave one of them out";
        bad(&["approval_covers"], why.to_owned());
    }
    if written.timeout_max.is_some() && written.effect == Verdict::Deny {
        bad(&["timeout_max"], "a rule that denies has no `timeout_max`: nothing runs".to_owned());
    }
    let mut span = |key: &str, text: &Option<String>, least: Duration, most: Duration, range: &str| {
        let text = text.as_ref()?;
        let span = text.parse().ok().map(|Span(span)| span).filter(|span| (least..=most).contains(span));
        if span.is_none() {
            bad(&[key], format!("{text:?} cannot be used: write a time between {range}"));
        }
        span
    };
    let (least, most) = (APPROVAL_LASTS_MIN, APPROVAL_LASTS_MAX);
    let approval_lasts = span("approval_lasts", &written.approval_lasts, least, most, "\"10s\" and \"7d\"");
    let least = Duration::from_millis(1);
    let timeout_max = span("timeout_max", &written.timeout_max, least, TIMEOUT_MAX, "\"1ms\" and \"1d\"");
    Obligations {
        approvers: written.approvers.iter().map(|word| Role::from(*word)).collect(),
        approval_lasts,
        approval_covers: written.approval_covers.unwrap_or_default(),
        dry_run_first: written.dry_run_first,
        timeout_max,
        arguments: written.arguments,
    }
}
