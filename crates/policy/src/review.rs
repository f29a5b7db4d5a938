//! What is odd in a policy that is sound: rules that never decide, and globs that name nothing.

use std::collections::BTreeSet;

use crate::caller::CallerKind;
use crate::decide::{Policy, server_and_tool};
use crate::engine::Verdict;
use crate::names::{BUILT_IN, OF_SERVER, is_wild};
use crate::problem::Problem;
use crate::rule_config::RuleConfig;
use crate::words::RoleWord;

impl Policy {
    /// Rules that can never decide, with the keys they stand under.
    pub fn review(&self) -> Vec<Problem> {
        let own: Vec<&RuleConfig> = self
            .rules()
            .iter()
            .zip(&self.inner.rules)
            .filter(|(_, rule)| !rule.is_default)
            .map(|(rule, _)| rule)
            .collect();
        let mut odd = Vec::new();
        for (nth, rule) in own.iter().enumerate() {
            let mut say = |what: String| {
                let keys = vec!["rules".to_owned(), nth.to_string()];
                odd.push(Problem { keys, what: format!("policy rule {:?}: {what}", rule.id) });
            };
            if let Some(why) = contradiction(rule) {
                say(format!("it fits no call: {why}"));
            }
            let denies = rule.effect == Verdict::Deny;
            let stronger = own.iter().enumerate().find(|(other_nth, other)| {
                let decides_first = match (other.effect == Verdict::Deny, denies) {
                    (true, false) => true,
                    (false, true) => false,
                    (true, true) | (false, false) => *other_nth < nth,
                };
                decides_first && covers(other, rule)
            });
            if let Some((_, other)) = stronger {
                say(format!(
                    "it never decides: {:?} fits every call that it fits, and comes first",
                    other.id
                ));
            }
        }
        odd
    }

    /// Globs over tools and servers that fit none of these, given as name and server.
    pub fn review_names(&self, known: &[(&str, Option<&str>)]) -> Vec<Problem> {
        let (allowed, denied) = self.lists();
        let of_list = |key: &'static str, listed: &[String], odd: fn(&str, &[Tool<'_>]) -> Option<String>| {
            let odd = listed.iter().enumerate().filter_map(|(item, glob)| Some((item, odd(glob, known)?)));
            let problem =
                |(item, what)| Problem::at([key, &usize::to_string(&item)], format!("policy.{key}: {what}"));
            odd.map(problem).collect::<Vec<_>>()
        };
        let mut problems = of_list("allow", allowed, odd_permission);
        // A denial that fits nothing denies nothing, and nobody would notice.
        problems.extend(of_list("deny", denied, |glob, known| {
            servers_of(glob, known).is_empty().then(|| fits_nothing(glob))
        }));
        let own = self.rules().iter().zip(&self.inner.rules).enumerate();
        for (nth, (rule, _)) in own.filter(|(_, (_, compiled))| !compiled.is_default) {
            for (item, glob) in rule.tools.iter().enumerate() {
                if let Some(what) = odd_tool(rule, glob, known) {
                    let keys = ["rules", &nth.to_string(), "tools", &item.to_string()];
                    problems.push(Problem::at(keys, format!("policy rule {:?}: {what}", rule.id)));
                }
            }
        }
        problems
    }
}

/// A tool's name, and its server unless it is ours.
type Tool<'k> = (&'k str, Option<&'k str>);

fn fits(glob: &str, name: &str) -> bool {
    glob == name || globset::Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

/// Whose tools an entry of a setting fits.
fn servers_of<'k>(glob: &str, known: &[Tool<'k>]) -> BTreeSet<&'k str> {
    let is_named = |(tool, upstream): &&Tool<'_>| match glob.contains(OF_SERVER) {
        true => fits(glob, &server_and_tool(*upstream, tool)),
        false => fits(glob, tool),
    };
    known.iter().filter(is_named).map(|(_, upstream)| upstream.unwrap_or(BUILT_IN)).collect()
}

fn odd_permission(glob: &str, known: &[Tool<'_>]) -> Option<String> {
    let servers: Vec<&str> = servers_of(glob, known).into_iter().collect();
    match servers[..] {
        _ if glob == "*" => None,
        [] => Some(fits_nothing(glob)),
        [BUILT_IN] => None,
        _ if glob.contains(OF_SERVER) => None,
        [server] => Some(format!(
            "{glob:?} would fit a tool of another server, too, that is added later; write \"{server}{OF_SERVER}{glob}\""
        )),
        _ => Some(format!(
            "{glob:?} fits tools of {}; write SERVER{OF_SERVER}{glob} for the one you mean",
            servers.join(" and ")
        )),
    }
}

fn odd_tool(rule: &RuleConfig, glob: &str, known: &[Tool<'_>]) -> Option<String> {
    let is_meant = |upstream: Option<&str>| match (upstream, rule.upstream.is_empty()) {
        (None, true) => true,
        (Some(_), true) => rule.effect != Verdict::Allow,
        (None, false) => rule.upstream.iter().any(|glob| glob == BUILT_IN),
        (Some(name), false) => rule.upstream.iter().any(|glob| glob != BUILT_IN && fits(glob, name)),
    };
    let named: Vec<_> = known.iter().filter(|(tool, _)| fits(glob, tool)).collect();
    match named.first() {
        _ if named.iter().any(|(_, upstream)| is_meant(*upstream)) => None,
        None => Some(fits_nothing(glob)),
        Some((tool, Some(upstream))) if rule.upstream.is_empty() => Some(format!(
            "{glob:?} fits {tool:?} of the server {upstream:?}, but a rule that allows without `upstream` \
             speaks of our own tools only; add upstream = [{upstream:?}]"
        )),
        Some((tool, _)) => Some(format!("{glob:?} fits {tool:?}, but `upstream` leaves it out")),
    }
}

fn fits_nothing(glob: &str) -> String {
    format!("{glob:?} fits no tool that is known now")
}

/// Two things in a rule that no caller is both of.
fn contradiction(rule: &RuleConfig) -> Option<&'static str> {
    let only_local = !rule.kinds.is_empty() && rule.kinds.iter().all(|kind| *kind == CallerKind::LocalUser);
    if only_local && !rule.roles.is_empty() && !rule.roles.contains(&RoleWord::Owner) {
        return Some("the local user is an owner, which `roles` leaves out");
    }
    let only_servers = !rule.upstream.is_empty() && rule.upstream.iter().all(|name| name != BUILT_IN);
    if only_servers && rule.leaves_machine == Some(false) {
        return Some("the tools of servers leave the machine");
    }
    if only_servers && rule.sends == Some(false) {
        return Some("the tools of servers send");
    }
    if rule.leaves_machine == Some(false) && rule.sends == Some(true) {
        return Some("what stays on this machine sends nothing");
    }
    use crate::Effect::{Destroys, Executes};
    let listed = |effect| rule.effects.contains(&effect);
    if only_servers && !rule.effects.is_empty() && !listed(Executes) && !listed(Destroys) {
        return Some("the tools of servers count as ones that execute, or destroy if they are marked so");
    }
    let is_ours = rule.upstream.is_empty() && rule.effect == Verdict::Allow
        || !rule.upstream.is_empty() && rule.upstream.iter().all(|name| name == BUILT_IN);
    if is_ours && rule.scopes.iter().any(|scope| scope.starts_with("{upstream}")) {
        return Some("our own tools belong to no server whose scope could be held");
    }
    None
}

/// Whether every call that `narrow` fits is one that `wide` fits, as far as it is plain to see.
fn covers(wide: &RuleConfig, narrow: &RuleConfig) -> bool {
    if wide.when.is_some() && wide.when != narrow.when {
        return false;
    }
    let owners = |rule: &RuleConfig| match (rule.upstream.is_empty(), rule.effect) {
        (true, Verdict::Allow) => vec![BUILT_IN.to_owned()],
        _ => rule.upstream.clone(),
    };
    // A question that names no server permits nothing of one, so it stands in nobody's way.
    let only_tightens = wide.effect == Verdict::Ask && wide.upstream.is_empty();
    let all_ours = owners(narrow).iter().all(|name| name == BUILT_IN) && !owners(narrow).is_empty();
    (!only_tightens || all_ours)
        && all_covered(&wide.tools, &narrow.tools, |glob, name| covers_name(glob, name))
        && all_covered(&owners(wide), &owners(narrow), |glob, name| covers_owner(glob, name))
        && all_covered(&wide.callers, &narrow.callers, |glob, name| covers_name(glob, name))
        && all_covered(&wide.actions, &narrow.actions, PartialEq::eq)
        && all_covered(&wide.kinds, &narrow.kinds, PartialEq::eq)
        && all_covered(&wide.roles, &narrow.roles, PartialEq::eq)
        && all_covered(&wide.via, &narrow.via, PartialEq::eq)
        && all_covered(&wide.origins, &narrow.origins, PartialEq::eq)
        && all_covered(&wide.effects, &narrow.effects, PartialEq::eq)
        && wide.scopes.iter().all(|scope| narrow.scopes.contains(scope))
        && (wide.leaves_machine.is_none() || wide.leaves_machine == narrow.leaves_machine)
        && (wide.sends.is_none() || wide.sends == narrow.sends)
}

/// Whether each of what is listed in `narrow` is covered by one in `wide`. An empty list is everything.
fn all_covered<T>(wide: &[T], narrow: &[T], covers: impl Fn(&T, &T) -> bool) -> bool {
    let is_covered = |one: &T| wide.iter().any(|other| covers(other, one));
    wide.is_empty() || !narrow.is_empty() && narrow.iter().all(is_covered)
}

fn covers_owner(glob: &str, name: &str) -> bool {
    glob == name || glob != BUILT_IN && name != BUILT_IN && covers_name(glob, name)
}

/// A glob covers itself, and every plain name that it fits. Whether one glob covers another is not looked into.
fn covers_name(glob: &str, name: &str) -> bool {
    glob == name || glob == "*" || !is_wild(name) && fits(glob, name)
}
