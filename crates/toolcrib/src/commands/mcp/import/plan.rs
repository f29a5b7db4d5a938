//! What an import would do: which servers are new, under which names, and why others are not taken.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use upstream::{Config, Value};

use super::gather::Candidate;
use crate::clients::{Findings, Server};
use crate::commands::mcp::draft::Draft;
use crate::ending::Trouble;

/// Longest name of a server, in characters; `settings` of `upstream` refuses longer ones.
const NAME_CHARS_MAX: usize = 64;

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundIn {
    pub(super) client: &'static str,
    pub(super) path: PathBuf,
    pub(super) name: String,
}

/// A server that is new.
#[derive(Debug)]
pub(super) struct Planned {
    /// Under which name.
    pub(super) name: String,
    /// It is disabled if something is missing.
    pub(super) server: Server,
    pub(super) findings: Findings,
    /// The same server may be in several files.
    pub(super) from: Vec<FoundIn>,
}

/// A server that is not taken.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) from: FoundIn,
    pub(super) why: String,
}

/// What an import would do.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) add: Vec<Planned>,
    pub(super) skipped: Vec<Skipped>,
}

impl Plan {
    /// Takes those out that the configuration would not bear.
    pub(super) fn sift(&mut self, draft: &Draft) -> Result<(), Trouble> {
        let mut text = draft.text()?;
        // Mostly all of them are good, which one look says.
        let all: Vec<_> = self.add.iter().map(|new| (new.name.as_str(), &new.server)).collect();
        if draft.check(&text, &all)?.1.is_empty() {
            return Ok(());
        }
        for planned in std::mem::take(&mut self.add) {
            let (more, problems) = draft.check(&text, &[(&planned.name, &planned.server)])?;
            if problems.is_empty() {
                text = more;
                self.add.push(planned);
                continue;
            }
            let why = problems.join("; ");
            let skipped = planned.from.into_iter().map(|from| Skipped { from, why: why.clone() });
            self.skipped.extend(skipped);
        }
        Ok(())
    }
}

/// What Toolcrib itself is in other clients' files.
#[derive(Debug, Default)]
pub(super) struct Ourselves {
    /// Our own program.
    pub(super) program: Option<PathBuf>,
    /// The addresses, as host and port, that our own door has.
    pub(super) doors: Vec<String>,
}

impl Ourselves {
    /// A loop would be the end of both.
    fn are(&self, server: &Server) -> bool {
        let command = server.command.as_deref().map(Path::new);
        let is_program = command.is_some_and(|command| {
            command.file_stem().is_some_and(|name| name == "toolcrib")
                || Some(command) == self.program.as_deref()
        });
        // A bridge has the address among its arguments.
        let leads_to = |word: &&str| self.doors.iter().any(|door| word.contains(&format!("//{door}/")));
        is_program || server.endpoint().iter().any(leads_to)
    }
}

/// Holds what was found against what is configured.
pub(super) fn plan(
    candidates: Vec<Candidate>,
    configured: &BTreeMap<String, Config>,
    ourselves: &Ourselves,
) -> Plan {
    let mut plan = Plan::default();
    let mut names: HashSet<String> = configured.keys().map(|name| alike(name)).collect();
    for Candidate { client, path, found } in candidates {
        let from = FoundIn { client: client.title, path, name: found.name };
        let mut server = match taken(found.server, configured, ourselves) {
            Ok(server) => server,
            Err(why) => {
                plan.skipped.push(Skipped { from, why });
                continue;
            }
        };
        if let Some(twin) = plan.add.iter_mut().find(|planned| identity(&planned.server) == identity(&server))
        {
            twin.from.push(from);
            continue;
        }
        let name = free_name(&from.name, &mut names);
        let mut findings = found.findings;
        if name != from.name {
            findings
                .remarks
                .push(format!("called {:?} there; that name is taken or cannot be used here", from.name));
        }
        if !findings.missing.is_empty() {
            server.enabled = Some(false);
        }
        plan.add.push(Planned { name, server, findings, from: vec![from] });
    }
    plan
}

/// The server that was found, or why it is not taken.
fn taken(
    found: Result<Server, String>,
    configured: &BTreeMap<String, Config>,
    ourselves: &Ourselves,
) -> Result<Server, String> {
    let server = found?;
    if ourselves.are(&server) {
        return Err("it is Toolcrib itself".to_owned());
    }
    let config = toml::from_str::<Config>(&server.to_toml());
    let config = config.map_err(|_| "it does not fit into a table of the configuration")?;
    match configured.iter().find(|(_, ours)| is_same(ours, &config)) {
        Some((name, _)) => Err(format!("it is configured already, as {name}")),
        None => Ok(server),
    }
}

/// Whether a configured server is the one that was found. People replace secrets by references after an import, and
/// that does not make it another.
fn is_same(ours: &Config, found: &Config) -> bool {
    let are_same = |ours: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>| {
        let is_same = |name: &String, value: &Value| is_reference(value) || found.get(name) == Some(value);
        ours.keys().eq(found.keys()) && ours.iter().all(|(name, value)| is_same(name, value))
    };
    (&ours.command, &ours.args, &ours.url, &ours.cwd) == (&found.command, &found.args, &found.url, &found.cwd)
        && are_same(&ours.env, &found.env)
        && are_same(&ours.headers, &found.headers)
}

fn is_reference(value: &Value) -> bool {
    match value {
        Value::Reference(_) => true,
        Value::Plain(text) => !upstream::references(text).is_empty(),
    }
}

/// What two have in common that were found and are one.
fn identity(server: &Server) -> impl PartialEq + use<'_> {
    (server.endpoint(), &server.env, &server.headers, &server.cwd)
}

/// What must differ between names: tools and resources of two servers are told apart by it.
fn alike(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// The name, or one with a number behind it; it is taken from then on.
fn free_name(wanted: &str, taken: &mut HashSet<String>) -> String {
    let is_usable =
        wanted.chars().any(|c| c.is_ascii_alphanumeric()) && !wanted.chars().any(char::is_control);
    let wanted = if is_usable { wanted } else { "server" };
    let mut number = 1;
    loop {
        let end = if number == 1 { String::new() } else { format!("-{number}") };
        let name = wanted.chars().take(NAME_CHARS_MAX - end.len()).collect::<String>() + &end;
        if taken.insert(alike(&name)) {
            return name;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::clients::{FoundServer, client};
    use crate::config::Surroundings;

    const CONFIGURED: &str = r#"
        [git]
        command = "uvx"
        args = ["git"]
        [my_web]
        url = "https://a.example/mcp"
        headers = { Authorization = { env = "TOKEN" } }
    "#;

    fn program(words: &str) -> Server {
        let mut words = words.split(' ').map(str::to_owned);
        Server { command: words.next(), args: words.collect(), ..Server::default() }
    }

    fn found(name: &str, server: Server) -> Candidate {
        let found = FoundServer { name: name.to_owned(), server: Ok(server), findings: Findings::default() };
        Candidate { client: client("cursor").expect("it is known"), path: "/f".into(), found }
    }

    #[track_caller]
    fn check(candidates: Vec<Candidate>, expected: Expect) {
        let configured = toml::from_str(CONFIGURED).expect("sound");
        let ourselves =
            Ourselves { program: Some("/opt/crib".into()), doors: vec!["127.0.0.1:3000".to_owned()] };
        let plan = plan(candidates, &configured, &ourselves);
        let add = plan.add.iter().map(|planned| {
            let from: Vec<&str> = planned.from.iter().map(|from| from.name.as_str()).collect();
            let off = if planned.server.enabled == Some(false) { ", off" } else { "" };
            let said = [planned.findings.remarks.as_slice(), &planned.findings.missing].concat();
            format!("+ {} ({}{off}) {}\n", planned.name, from.join(", "), said.join("; "))
        });
        let skipped =
            plan.skipped.iter().map(|skipped| format!("- {}: {}\n", skipped.from.name, skipped.why));
        expected.assert_eq(&add.chain(skipped).collect::<String>());
    }

    #[test]
    fn what_is_configured_is_not_taken_again() {
        let web = |token: &str| Server {
            url: Some("https://a.example/mcp".to_owned()),
            headers: [("Authorization".to_owned(), token.to_owned())].into(),
            ..Server::default()
        };
        check(
            vec![
                found("git", program("uvx git")),
                found("other-name", program("uvx git")),
                // The secret was replaced by a reference since the last import.
                found("web", web("Bearer hunter2")),
                found("web", Server { headers: BTreeMap::new(), ..web("") }),
            ],
            expect![[r#"
                + web (web) 
                - git: it is configured already, as git
                - other-name: it is configured already, as git
                - web: it is configured already, as my_web
            "#]],
        );
    }

    #[test]
    fn names_that_are_taken_get_a_number() {
        let long = "x".repeat(70);
        check(
            vec![
                found("git", program("npx git")),
                found("Git", program("docker git")),
                found("my-web", program("a")),
                found("!?", program("b")),
                found("?", program("c")),
                found(&long, program("d")),
                found(&long, program("e")),
                found("a\nb", program("f")),
            ],
            expect![[r#"
                + git-2 (git) called "git" there; that name is taken or cannot be used here
                + Git-3 (Git) called "Git" there; that name is taken or cannot be used here
                + my-web-2 (my-web) called "my-web" there; that name is taken or cannot be used here
                + server (!?) called "!?" there; that name is taken or cannot be used here
                + server-2 (?) called "?" there; that name is taken or cannot be used here
                + xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx) called "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" there; that name is taken or cannot be used here
                + xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-2 (xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx) called "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" there; that name is taken or cannot be used here
                + server-3 (a
                b) called "a\nb" there; that name is taken or cannot be used here
            "#]],
        );
    }

    #[test]
    fn the_same_server_in_two_files_is_one() {
        let mut missing = found("a", program("npx x"));
        missing.found.findings.missing.push("a token".to_owned());
        check(
            vec![missing, found("b", program("npx x")), found("a", program("npx y"))],
            expect![[r#"
            + a (a, b, off) a token
            + a-2 (a) called "a" there; that name is taken or cannot be used here
        "#]],
        );
    }

    #[test]
    fn toolcrib_is_not_taken_into_itself() {
        let address = |url: &str| Server { url: Some(url.to_owned()), ..Server::default() };
        check(
            vec![
                found("a", program("/usr/bin/toolcrib stdio")),
                found("b", program("/opt/crib stdio")),
                found("c", address("http://127.0.0.1:3000/mcp")),
                found("d", program("npx mcp-remote http://127.0.0.1:3000/mcp")),
                found("e", program("npx filesystem /home/ada/toolcrib")),
                found("f", address("http://127.0.0.1:30001/mcp")),
            ],
            expect![[r#"
                + e (e) 
                + f (f) 
                - a: it is Toolcrib itself
                - b: it is Toolcrib itself
                - c: it is Toolcrib itself
                - d: it is Toolcrib itself
            "#]],
        );
    }

    #[test]
    fn those_that_the_configuration_does_not_bear_are_taken_out_and_the_rest_stays_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("toolcrib.toml");
        let state =
            format!("[state]\ndir = {:?}\n[mcp.ours]\nsokcet = \"x\"\n", folder.path().display().to_string());
        crate::config_edit::hold(&target).expect("free").write(&state).expect("written");
        let surroundings = Surroundings { current_dir: folder.path().into(), ..Surroundings::default() };
        let planned = |number: usize| {
            let url = if number % 4 == 3 { "gopher://a" } else { "https://a.example/mcp" };
            let from = FoundIn { client: "Cursor", path: "/f".into(), name: number.to_string() };
            Planned {
                name: format!("s{number}"),
                server: Server { url: Some(url.to_owned()), ..Server::default() },
                findings: Findings::default(),
                from: vec![from],
            }
        };
        let mut plan = Plan { add: (0..9).map(planned).collect(), skipped: Vec::new() };
        let draft =
            Draft::new(Some(&target), surroundings).map_err(|trouble| trouble.to_string()).expect("a draft");
        plan.sift(&draft).map_err(|trouble| trouble.to_string()).expect("it can be read");
        let names: Vec<&str> = plan.add.iter().map(|planned| planned.name.as_str()).collect();
        assert_eq!(names, ["s0", "s1", "s2", "s4", "s5", "s6", "s8"]);
        let skipped: Vec<&str> = plan.skipped.iter().map(|skipped| skipped.from.name.as_str()).collect();
        assert_eq!(skipped, ["3", "7"]);
        assert!(plan.skipped.iter().all(|skipped| skipped.why.contains("url")), "{:?}", plan.skipped);
    }
}
