//! The hosts that a server's command line and variables name, as addresses of databases and services do.

use crate::egress::{Destination, Grant, Host, HostRules, Kind};
use crate::process::Program;

/// What of an address follows its host.
const ENDS: [char; 8] = ['/', '?', '#', '"', '\'', ',', ';', ' '];

/// The ports of addresses that name none.
const PORTS: [(&str, u16); 14] = [
    ("amqp", 5672),
    ("amqps", 5671),
    ("bolt", 7687),
    ("http", 80),
    ("https", 443),
    ("mongodb", 27017),
    ("mysql", 3306),
    ("neo4j", 7687),
    ("postgres", 5432),
    ("postgresql", 5432),
    ("redis", 6379),
    ("rediss", 6379),
    ("ws", 80),
    ("wss", 443),
];

/// What servers connect to that know no proxy, though nothing names it: a connection to one of these is judged, and told with
/// its host and port. The server cannot listen there itself, so none is a port of the web, where servers do.
pub(super) const USUAL_PORTS: [u16; 12] =
    [22, 465, 587, 1433, 3306, 5432, 5671, 5672, 6379, 7687, 9200, 27017];

/// So many are looked at: a command line is written by a person.
const HOSTS_MAX: usize = 16;

/// What follows from the hosts that a server names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NamedHosts {
    /// Ports at which it may reach one of them.
    pub(super) ports: Vec<u16>,
    /// Those that it cannot reach, and that nobody would hear of: it tries in vain within its own network.
    pub(super) unreached: Vec<Destination>,
}

pub(super) fn look(program: &Program, rules: &HostRules) -> NamedHosts {
    let inherited = program.inherited.values().filter_map(|value| value.to_str());
    let words = program.args.iter().chain(program.env.iter().map(|(_, value)| value));
    let mut named = NamedHosts::default();
    for to in words.map(String::as_str).chain(inherited).flat_map(named_in).take(HOSTS_MAX) {
        if is_reached(&to, rules) {
            if matches!(to.host, Host::Name(_)) && !named.ports.contains(&to.port) {
                named.ports.push(to.port);
            }
        } else if is_silent(&to, rules) && !named.unreached.contains(&to) {
            named.unreached.push(to);
        }
    }
    named
}

/// Whether a rule allows it, before its name is looked up.
fn is_reached(to: &Destination, rules: &HostRules) -> bool {
    match (rules.grant(to), &to.host) {
        (None, _) => false,
        (Some(grant), Host::Address(address)) => grant >= Grant::Address || grant.allows(Kind::of(*address)),
        (Some(_), Host::Name(_) | Host::Localhost) => true,
    }
}

/// A name is looked up first, and that is heard of where there is a network.
fn is_silent(to: &Destination, rules: &HostRules) -> bool {
    rules.is_none() || !matches!(to.host, Host::Name(_))
}

/// `postgres://user:secret@host:5432/name`, anywhere in a word.
fn named_in(word: &str) -> Vec<Destination> {
    let at = word.match_indices("://");
    at.filter_map(|(at, separator)| {
        let scheme = word[..at].rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next()?;
        let rest = &word[at + separator.len()..];
        let authority = rest.split(ENDS).next()?;
        let host = authority.rsplit('@').next()?;
        let usual = PORTS.iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name)).map(|(_, port)| *port);
        Destination::parse(host, usual).ok()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ports that are opened and, with a mark, the hosts that are not reached.
    #[track_caller]
    fn check(rules: &[&str], words: &[&str], expected: &[&str]) {
        let env = vec![("URL".to_owned(), words.last().copied().unwrap_or_default().to_owned())];
        let args = words.iter().map(|word| (*word).to_owned()).collect();
        let rules = HostRules::parse(rules.iter().copied()).expect("rules");
        let NamedHosts { ports, unreached } = look(&Program { args, env, ..Program::default() }, &rules);
        let ports = ports.iter().map(ToString::to_string);
        let found: Vec<String> = ports.chain(unreached.iter().map(|to| format!("!{to}"))).collect();
        assert_eq!(found, expected, "{rules:?} {words:?}");
    }

    #[test]
    fn what_a_command_line_names_is_reached_or_said() {
        let public = &["public"][..];
        check(public, &["--db=postgresql://me:p@ss@db.example.org/x"], &["5432"]);
        check(public, &["mongodb://a.test:27018,b.test"], &["27018"]);
        check(public, &["https://a.test/x?y=http://b.test:8080"], &["443", "8080"]);
        check(
            public,
            &["postgres://localhost/x", "redis://127.0.0.1:6380/0"],
            &["!localhost:5432", "!localhost:6380"],
        );
        check(public, &["http://10.0.0.7:9200", "http://93.184.215.14:81"], &["!10.0.0.7:9200"]);
        check(&["localhost:5432"], &["postgres://localhost/x"], &[]);
        check(&["10.0.0.7:9200"], &["http://10.0.0.7:9200"], &[]);
        // That it was refused is heard of when its name is looked up.
        check(&["a.test"], &["https://b.test"], &[]);
        // Without a network nothing is heard of.
        check(&[], &["https://b.test", "https://b.test/again"], &["!b.test:443"]);
        check(public, &["file:///a/b", "sqlite:///x", "odd://host", "://", "x", ""], &[]);
        check(
            public,
            &["https://user:pw@[::1]:8443/", "unknown://[fd00::1]:7"],
            &["!localhost:8443", "![fd00::1]:7"],
        );
    }

    #[test]
    fn no_more_are_looked_at_than_a_person_writes() {
        let word: String = (1..100).map(|port| format!("http://localhost:{port} ")).collect();
        let program = Program { args: vec![word], ..Program::default() };
        assert_eq!(look(&program, &HostRules::public()).unreached.len(), HOSTS_MAX);
    }
}
