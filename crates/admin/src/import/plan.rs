//! What an import would do: which servers are new, under which names, and why others are not taken.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use clients::{ClientFile, Findings, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use upstream::{Config, Value};

use super::gather::Candidate;
use super::target::Target;
use crate::fault::Fault;

/// Longest name of a server, in characters; `settings` of `upstream` refuses longer ones.
const NAME_CHARS_MAX: usize = 64;

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoundIn {
    /// The client.
    pub client: String,
    /// Its file.
    pub file: String,
    /// Its name there.
    pub name: String,
}

/// An entry in a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The client's id.
    pub client: &'static str,
    /// The file.
    pub place: ClientFile,
    /// The keys that lead to the table that it stands in.
    pub table: Vec<String>,
    /// Its name there.
    pub name: String,
}

/// A server that is new.
#[derive(Debug)]
pub struct Planned {
    /// Under which name.
    pub name: String,
    /// It is disabled if something is missing.
    pub server: Server,
    /// What came up.
    pub findings: Findings,
    /// The same server may be in several files.
    pub from: Vec<FoundIn>,
    /// The entries there, one for each.
    pub entries: Vec<Entry>,
}

/// A server that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// Where it was found.
    pub from: FoundIn,
    /// A sentence.
    pub why: String,
}

/// What an import would do.
#[derive(Debug, Default)]
pub struct Plan {
    /// What is new.
    pub add: Vec<Planned>,
    /// What is not taken.
    pub skipped: Vec<Skipped>,
    /// Entries of servers that are configured already and on here, or off in both.
    pub known: Vec<Entry>,
    /// Entries of Toolcrib itself.
    pub own: Vec<Entry>,
}

impl Plan {
    /// Takes those out that the configuration would not bear.
    pub fn sift(&mut self, target: &dyn Target) -> Result<(), Fault> {
        let mut text = target.text()?;
        // Mostly all of them are good, which one look says.
        let all: Vec<_> = self.add.iter().map(|new| (new.name.as_str(), &new.server)).collect();
        if target.check(&text, &all)?.1.is_empty() {
            return Ok(());
        }
        for planned in std::mem::take(&mut self.add) {
            let (more, problems) = target.check(&text, &[(&planned.name, &planned.server)])?;
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
pub struct Ourselves {
    /// Our own program.
    pub program: Option<PathBuf>,
    /// The addresses, as host and port, that our own door has.
    pub doors: Vec<String>,
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
    for Candidate { client, place, found } in candidates {
        let (file, title) = (place.path.display().to_string(), client.title.to_owned());
        let entry = Entry { client: client.id, place, table: found.table, name: found.name.clone() };
        let from = FoundIn { client: title, file, name: found.name };
        let mut server = match taken(found.server, configured, ourselves) {
            Ok(server) => server,
            Err(not_taken) => {
                plan.skipped.push(Skipped { from, why: not_taken.to_string() });
                match not_taken {
                    NotTaken::Ourselves => plan.own.push(entry),
                    NotTaken::Known { serves: true, .. } => plan.known.push(entry),
                    NotTaken::Known { serves: false, .. } | NotTaken::Because(_) => {}
                }
                continue;
            }
        };
        if let Some(twin) = plan.add.iter_mut().find(|planned| identity(&planned.server) == identity(&server))
        {
            twin.from.push(from);
            twin.entries.push(entry);
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
        plan.add.push(Planned { name, server, findings, from: vec![from], entries: vec![entry] });
    }
    plan
}

/// Why a server is not taken.
#[derive(Debug, thiserror::Error)]
enum NotTaken {
    #[error("it is Toolcrib itself")]
    Ourselves,
    /// `serves` is false for one that is off here and on there.
    #[error("it is configured already, as {name}")]
    Known { name: String, serves: bool },
    #[error("{0}")]
    Because(String),
}

/// The server that was found, or why it is not taken.
fn taken(
    found: Result<Server, String>,
    configured: &BTreeMap<String, Config>,
    ourselves: &Ourselves,
) -> Result<Server, NotTaken> {
    let server = found.map_err(NotTaken::Because)?;
    if ourselves.are(&server) {
        return Err(NotTaken::Ourselves);
    }
    let misfit = |_| NotTaken::Because("it does not fit into a table of the configuration".to_owned());
    let config = toml::from_str::<Config>(&server.to_toml()).map_err(misfit)?;
    match configured.iter().find(|(_, ours)| is_same(ours, &config)) {
        Some((name, ours)) => {
            Err(NotTaken::Known { name: name.clone(), serves: ours.enabled.0 || !config.enabled.0 })
        }
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

    use clients::{FoundServer, client};

    use super::*;

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
        let (name, table) = (name.to_owned(), vec!["mcpServers".to_owned()]);
        let found = FoundServer { name, table, server: Ok(server), findings: Findings::default() };
        let place = ClientFile::users("/f".into());
        Candidate { client: client("cursor").expect("it is known"), place, found }
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

    /// A file that bears no other addresses than those of HTTP.
    struct Http;

    impl Target for Http {
        fn path(&self) -> &Path {
            Path::new("/crib.toml")
        }

        fn text(&self) -> Result<String, Fault> {
            Ok(String::new())
        }

        fn check(&self, text: &str, new: &[(&str, &Server)]) -> Result<(String, Vec<String>), Fault> {
            let is_wrong = |server: &Server| server.url.as_ref().is_some_and(|url| !url.starts_with("http"));
            let wrong = new.iter().filter(|(_, server)| is_wrong(server));
            let text = new.iter().fold(text.to_owned(), |text, (name, _)| text + name);
            Ok((text, wrong.map(|(name, _)| format!("{name}: url")).collect()))
        }
    }

    #[test]
    fn those_that_the_configuration_does_not_bear_are_taken_out_and_the_rest_stays_in_order() {
        let planned = |number: usize| {
            let url = if number % 4 == 3 { "gopher://a" } else { "https://a.example/mcp" };
            let from =
                FoundIn { client: "Cursor".to_owned(), file: "/f".to_owned(), name: number.to_string() };
            Planned {
                name: format!("s{number}"),
                server: Server { url: Some(url.to_owned()), ..Server::default() },
                findings: Findings::default(),
                from: vec![from],
                entries: Vec::new(),
            }
        };
        let mut plan = Plan { add: (0..9).map(planned).collect(), ..Plan::default() };
        plan.sift(&Http).expect("it can be read");
        let names: Vec<&str> = plan.add.iter().map(|planned| planned.name.as_str()).collect();
        assert_eq!(names, ["s0", "s1", "s2", "s4", "s5", "s6", "s8"]);
        let skipped: Vec<(&str, &str)> =
            plan.skipped.iter().map(|skipped| (&*skipped.from.name, &*skipped.why)).collect();
        assert_eq!(skipped, [("3", "s3: url"), ("7", "s7: url")]);
    }
}
