//! What is odd in a policy that is sound: rules that never decide, and globs that name nothing.

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
        let mut odd = Vec::new();
        let fits = |glob: &str, name: &str| {
            glob == name || globset::Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(name))
        };
        let (allowed, denied) = self.lists();
        let servers_of = |glob: &str| {
            let is_with_server = glob.contains(OF_SERVER);
            let is_named = |(tool, upstream): &&(&str, Option<&str>)| match is_with_server {
                true => fits(glob, &server_and_tool(*upstream, tool)),
                false => fits(glob, tool),
            };
            let mut servers: Vec<&str> =
                known.iter().filter(is_named).map(|(_, upstream)| upstream.unwrap_or(BUILT_IN)).collect();
            servers.sort_unstable();
            servers.dedup();
            (is_with_server, servers)
        };
        let mut say = |key: &str, item: usize, what: String| {
            let keys = [key, &item.to_string()].map(str::to_owned).to_vec();
            odd.push(Problem { keys, what: format!("policy.{key}: {what}") });
        };
        for (item, glob) in allowed.iter().enumerate().filter(|(_, glob)| *glob != "*") {
            match servers_of(glob) {
                (_, servers) if servers.is_empty() => say("allow", item, fits_nothing(glob)),
                (false, servers) => match servers[..] {
                    [BUILT_IN] => {}
                    [server] => say(
                        "allow",
                        item,
                        format!(
                            "{glob:?} would fit a tool of another server, too, that is added later; write \"{server}{OF_SERVER}{glob}\""
                        ),
                    ),
                    _ => say(
                        "allow",
                        item,
                        format!(
                            "{glob:?} fits tools of {}; write SERVER{OF_SERVER}{glob} for the one you mean",
                            servers.join(" and ")
                        ),
                    ),
                },
                (true, _) => {}
            }
        }
        // A denial that fits nothing denies nothing, and nobody would notice.
        for (item, glob) in denied.iter().enumerate().filter(|(_, glob)| servers_of(glob).1.is_empty()) {
            say("deny", item, fits_nothing(glob));
        }
        for (nth, (rule, compiled)) in self.rules().iter().zip(&self.inner.rules).enumerate() {
            if compiled.is_default {
                continue;
            }
            let is_meant = |upstream: Option<&str>| match (upstream, rule.upstream.is_empty()) {
                (None, true) => true,
                (Some(_), true) => rule.effect != Verdict::Allow,
                (None, false) => rule.upstream.iter().any(|glob| glob == BUILT_IN),
                (Some(name), false) => rule.upstream.iter().any(|glob| glob != BUILT_IN && fits(glob, name)),
            };
            for (item, glob) in rule.tools.iter().enumerate() {
                let named: Vec<_> = known.iter().filter(|(tool, _)| fits(glob, tool)).collect();
                let what = match named.first() {
                    _ if named.iter().any(|(_, upstream)| is_meant(*upstream)) => continue,
                    None => fits_nothing(glob),
                    Some((tool, Some(upstream))) if rule.upstream.is_empty() => format!(
                        "{glob:?} fits {tool:?} of the server {upstream:?}, but a rule that allows without `upstream` \
                         speaks of our own tools only; add upstream = [{upstream:?}]"
                    ),
                    Some((tool, _)) => format!("{glob:?} fits {tool:?}, but `upstream` leaves it out"),
                };
                let keys =
                    ["rules", &nth.to_string(), "tools", &item.to_string()].map(str::to_owned).to_vec();
                odd.push(Problem { keys, what: format!("policy rule {:?}: {what}", rule.id) });
            }
        }
        odd
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
        && names_cover(&wide.tools, &narrow.tools)
        && owners_cover(&owners(wide), &owners(narrow))
        && names_cover(&wide.callers, &narrow.callers)
        && list_covers(&wide.actions, &narrow.actions)
        && list_covers(&wide.kinds, &narrow.kinds)
        && list_covers(&wide.roles, &narrow.roles)
        && list_covers(&wide.via, &narrow.via)
        && list_covers(&wide.effects, &narrow.effects)
        && wide.scopes.iter().all(|scope| narrow.scopes.contains(scope))
        && (wide.leaves_machine.is_none() || wide.leaves_machine == narrow.leaves_machine)
}

fn list_covers<T: PartialEq>(wide: &[T], narrow: &[T]) -> bool {
    wide.is_empty() || !narrow.is_empty() && narrow.iter().all(|one| wide.contains(one))
}

fn names_cover(wide: &[String], narrow: &[String]) -> bool {
    let covers = |name: &String| wide.iter().any(|glob| covers_name(glob, name));
    wide.is_empty() || !narrow.is_empty() && narrow.iter().all(covers)
}

fn owners_cover(wide: &[String], narrow: &[String]) -> bool {
    let covers = |name: &String| {
        wide.iter()
            .any(|glob| glob == name || glob != BUILT_IN && name != BUILT_IN && covers_name(glob, name))
    };
    wide.is_empty() || !narrow.is_empty() && narrow.iter().all(covers)
}

/// A glob covers itself, and every plain name that it fits. Whether one glob covers another is not looked into.
fn covers_name(glob: &str, name: &str) -> bool {
    glob == name
        || glob == "*"
        || !is_wild(name) && globset::Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(name))
}
