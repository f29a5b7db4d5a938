//! `SandboxRefusal`: what a confined server was refused, and the command by which a person allows it, if one does.

use std::path::Path;

use sandbox::confine::LeftOut;
use sandbox::egress::{Attempt, Destination, Entry, Host, Kind, Outcome, Reason};
use sandbox::text_file;
use serde::Serialize;

use crate::connection::SandboxReport;
use crate::settings::{Settings, quoted};

/// The ports of a host that is named without one.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Something that a server tried or named, and did not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxRefusal {
    /// What, such as `connect db.internal:5432`.
    pub what: String,
    /// Why, as the end of a sentence.
    pub why: String,
    /// How often.
    pub times: u64,
    /// The command that allows it; nothing where none does, or none should.
    pub allow: Option<String>,
}

impl SandboxReport {
    /// What the server was refused, in the order in which it first tried, and what it does not see of what its table names.
    pub fn refusals(&self, settings: &Settings) -> Vec<SandboxRefusal> {
        let unseen = self.left_out.iter().map(|left_out| unseen(settings, left_out));
        let blocked = self.journal.blocked();
        let unreached = untried(&self.unreached, &blocked).map(|to| named(settings, to));
        unseen
            .chain(unreached)
            .chain(blocked.iter().filter_map(|entry| blocked_entry(settings, entry)))
            .collect()
    }
}

fn unseen(settings: &Settings, LeftOut { path, why }: &LeftOut) -> SandboxRefusal {
    SandboxRefusal {
        what: format!("see {}", settings.masked_path(path)),
        why: (*why).to_owned(),
        times: 1,
        allow: seeing(settings, path),
    }
}

/// Those of the hosts of which nothing is heard.
fn untried<'r>(unreached: &'r [Destination], blocked: &[Entry]) -> impl Iterator<Item = &'r Destination> {
    let tried = |to: &Destination| Attempt::Connect(to.clone());
    unreached.iter().filter(move |to| blocked.iter().all(|entry| entry.attempt != tried(to)))
}

/// A host that it names, and that it would try in vain within its own network.
fn named(settings: &Settings, to: &Destination) -> SandboxRefusal {
    let attempt = Attempt::Connect(to.clone());
    SandboxRefusal {
        what: settings.masked(&attempt.to_string()),
        why: format!("it is named, and {}", Reason::NoRule),
        times: 1,
        allow: reaching(settings, &attempt, Reason::NoRule),
    }
}

/// Only where nothing is said of that yet: what is known here of its paths is not as they are written.
fn seeing(settings: &Settings, path: &Path) -> Option<String> {
    let sandbox = settings.sandbox();
    let (key, path, is_said) = match text_file::exists(path) {
        true => ("read", path, !sandbox.read.is_empty()),
        // It is going to make it.
        false => ("write", path.parent()?, !sandbox.write.is_empty()),
    };
    let path = path.to_str().filter(|text| !is_said && settings.masked_path(path) == **text)?;
    Some(set(settings, key, &[path]))
}

fn blocked_entry(settings: &Settings, entry: &Entry) -> Option<SandboxRefusal> {
    let Outcome::Blocked(reason) = entry.outcome else { return None };
    Some(SandboxRefusal {
        // A server may put a secret into a name that it looks up.
        what: settings.masked(&entry.attempt.to_string()),
        why: format!("{reason}{}", ports(settings, &entry.attempt, reason).unwrap_or_default()),
        times: entry.connections,
        allow: reaching(settings, &entry.attempt, reason),
    })
}

fn reaching(settings: &Settings, attempt: &Attempt, reason: Reason) -> Option<String> {
    let word = match (attempt, reason) {
        (Attempt::Connect(to), Reason::NoRule | Reason::Private) => host_word(to)?,
        (Attempt::LookUp(name), Reason::NoRule | Reason::Private) => match Host::parse(name).ok()? {
            Host::Name(name) => name,
            Host::Localhost | Host::Address(_) => return None,
        },
        _ => return None,
    };
    let mut words: Vec<&str> = settings.sandbox().network.words().iter().map(String::as_str).collect();
    // It is there: a folder's file narrows what the user's says.
    if words.contains(&word.as_str()) {
        return None;
    }
    words.push(&word);
    if settings.masked(&word) != word {
        return None;
    }
    Some(set(settings, "network", &words))
}

/// Of a name that was only looked up nobody knows the port: what a person writes for another than the command does.
fn ports(settings: &Settings, attempt: &Attempt, reason: Reason) -> Option<String> {
    let Attempt::LookUp(name) = attempt else { return None };
    let Ok(Host::Name(name)) = Host::parse(name) else { return None };
    let name = settings.masked(&name);
    match reason {
        Reason::NoRule | Reason::Private => {
            Some(format!("; its name allows ports 80 and 443, another is \"{name}:PORT\""))
        }
        Reason::NothingCame => {
            Some(format!("; TCP at another port takes \"{name}:PORT\" in sandbox.network"))
        }
        _ => None,
    }
}

/// What a person writes for it. Where a cloud keeps credentials nobody is told to go.
fn host_word(to: &Destination) -> Option<String> {
    match &to.host {
        Host::Address(address) if matches!(Kind::of(*address), Kind::Metadata | Kind::Reserved) => None,
        Host::Localhost => Some(to.to_string()),
        host if USUAL_PORTS.contains(&to.port) => Some(host.to_string()),
        _ => Some(to.to_string()),
    }
}

/// The command that has a key of its sandbox say this.
fn set(settings: &Settings, key: &str, items: &[&str]) -> String {
    let items: Vec<String> = items.iter().map(|item| serde_json::Value::from(*item).to_string()).collect();
    let typed = format!("sandbox.{key}=[{}]", items.join(", "));
    format!("toolcrib mcp set {} {}", quoted(settings.name()), quoted(&typed))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::config::Config;

    fn settings(name: &str, sandbox: &str) -> Settings {
        let table: Config = toml::from_str(&format!("command = 'x'\n[sandbox]\n{sandbox}")).expect("a table");
        let settled = table.settle(name, Duration::from_secs(1), &|_| unreachable!("no reference"));
        settled.expect("sound")
    }

    /// What is said of an attempt that was blocked for this reason.
    #[track_caller]
    fn check(sandbox: &str, attempt: Attempt, reason: Reason, expected: &str) {
        let entry = Entry {
            attempt,
            outcome: Outcome::Blocked(reason),
            connections: 2,
            sent_bytes: 0,
            received_bytes: 0,
            last: UNIX_EPOCH,
        };
        let refusal = blocked_entry(&settings("it", sandbox), &entry).expect("it was blocked");
        let allow = refusal.allow.unwrap_or("-".to_owned());
        assert_eq!(format!("{}; {allow}", refusal.what), expected, "{sandbox}");
        assert!(refusal.why.starts_with(&reason.to_string()) && refusal.times == 2, "{}", refusal.why);
    }

    fn connect(to: &str) -> Attempt {
        Attempt::Connect(Destination::parse(to, None).expect("a destination"))
    }

    #[test]
    fn the_command_adds_the_host_to_what_is_written() {
        let command = "toolcrib mcp set it 'sandbox.network=";
        for (sandbox, to, reason, expected) in [
            ("", "db.internal:5432", Reason::Private, r#"["public", "db.internal:5432"]'"#),
            ("", "localhost:5432", Reason::NoRule, r#"["public", "localhost:5432"]'"#),
            ("", "localhost:80", Reason::NoRule, r#"["public", "localhost:80"]'"#),
            ("network = 'none'", "a.example:443", Reason::NoRule, r#"["a.example"]'"#),
            ("network = ['b.example']", "a.example:80", Reason::NoRule, r#"["b.example", "a.example"]'"#),
            ("network = []", "10.0.0.5:22", Reason::NoRule, r#"["10.0.0.5:22"]'"#),
            ("network = []", "[fd00::1]:443", Reason::NoRule, r#"["[fd00::1]"]'"#),
        ] {
            check(sandbox, connect(to), reason, &format!("connect {to}; {command}{expected}"));
        }
        let look_up = Attempt::LookUp("db.internal".to_owned());
        let expected = r#"look up db.internal; toolcrib mcp set it 'sandbox.network=["db.internal"]'"#;
        check("network = 'none'", look_up, Reason::NoRule, expected);
    }

    #[test]
    fn of_a_name_whose_port_nobody_knows_it_is_said_how_a_port_is_written() {
        let names = "; its name allows ports 80 and 443, another is \"db.internal:PORT\"";
        let nothing = "; TCP at another port takes \"db.internal:PORT\" in sandbox.network";
        let look_up = Attempt::LookUp("db.internal".to_owned());
        for (attempt, reason, said) in [
            (look_up.clone(), Reason::NoRule, Some(names)),
            (look_up, Reason::NothingCame, Some(nothing)),
            (connect("db.internal:5432"), Reason::NoRule, None),
        ] {
            assert_eq!(ports(&settings("it", ""), &attempt, reason).as_deref(), said);
        }
    }

    #[test]
    fn a_host_that_it_names_is_told_unless_it_was_tried() {
        let destination = |text| Destination::parse(text, None).expect("a destination");
        let unreached = [destination("localhost:5432"), destination("localhost:80")];
        let blocked = [Entry {
            attempt: connect("localhost:80"),
            outcome: Outcome::Blocked(Reason::NoRule),
            connections: 1,
            sent_bytes: 0,
            received_bytes: 0,
            last: UNIX_EPOCH,
        }];
        let told: Vec<_> = untried(&unreached, &blocked).map(|to| named(&settings("it", ""), to)).collect();
        let allow = r#"toolcrib mcp set it 'sandbox.network=["public", "localhost:5432"]'"#;
        let expected = SandboxRefusal {
            what: "connect localhost:5432".to_owned(),
            why: "it is named, and no rule allows it".to_owned(),
            times: 1,
            allow: Some(allow.to_owned()),
        };
        assert_eq!(told, [expected]);
    }

    #[test]
    fn what_no_host_would_allow_or_nobody_should_has_no_command() {
        for (sandbox, attempt, reason, expected) in [
            ("", connect("a.example:443"), Reason::ThisMachine, "connect a.example:443; -"),
            ("", connect("a.example:443"), Reason::Metadata, "connect a.example:443; -"),
            ("network = []", connect("169.254.169.254:80"), Reason::NoRule, "connect 169.254.169.254:80; -"),
            ("network = []", connect("0.0.0.0:80"), Reason::NoRule, "connect 0.0.0.0:80; -"),
            ("", connect("a.example:443"), Reason::OtherName, "connect a.example:443; -"),
            ("network = ['a.example']", connect("a.example:443"), Reason::NoRule, "connect a.example:443; -"),
            ("", Attempt::Unreadable("http://".to_owned()), Reason::NotAHost, "connect http://; -"),
            ("", Attempt::Others, Reason::NoRule, "other hosts; -"),
            ("network = []", Attempt::LookUp("a b".to_owned()), Reason::NoRule, "look up a b; -"),
        ] {
            check(sandbox, attempt, reason, expected);
        }
    }

    #[test]
    fn a_secret_in_a_name_is_shown_to_nobody() {
        let table = "command = 'x'\nenv.KEY = 'hunter2hunter2'\nsandbox.network = 'none'";
        let settings =
            toml::from_str::<Config>(table)
                .expect("a table")
                .settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        let entry = Entry {
            attempt: connect("hunter2hunter2.evil.example:443"),
            outcome: Outcome::Blocked(Reason::NoRule),
            connections: 1,
            sent_bytes: 0,
            received_bytes: 0,
            last: UNIX_EPOCH,
        };
        let refusal = blocked_entry(&settings.expect("sound"), &entry).expect("it was blocked");
        assert_eq!((&*refusal.what, refusal.allow), ("connect ***.evil.example:443", None));
    }

    #[test]
    fn a_path_that_a_variable_names_is_shown_unless_it_is_a_secret() {
        let table = "command = 'x'\nenv.SSL_CERT_FILE = '/etc/ssl/corp.pem'\nenv.KEY = { store = 'KEPT' }";
        let settled =
            toml::from_str::<Config>(table)
                .expect("a table")
                .settle("it", Duration::from_secs(1), &|_| Ok("/srv/kept/9fb1c2".to_owned()));
        let settings = settled.expect("sound");
        for (path, shown) in [
            ("/etc/ssl/corp.pem", "/etc/ssl/corp.pem"),
            ("/srv/kept/9fb1c2", "***"),
            ("/srv/kept/9fb1c2/x", "***/x"),
            ("/usr", "/usr"),
        ] {
            assert_eq!(settings.masked_path(Path::new(path)), shown);
        }
    }

    #[test]
    fn what_it_does_not_see_is_told_and_no_path_of_the_table_is_written_anew() {
        let left_out = |path: &str| LeftOut { path: path.into(), why: "it is so" };
        for (sandbox, path, expected) in [
            ("", "/usr", Some(r#"'sandbox.read=["/usr"]'"#)),
            ("write = ['/x']", "/usr", Some(r#"'sandbox.read=["/usr"]'"#)),
            ("read = ['/x']", "/usr", None),
            // What is not there is made in its folder.
            ("", "/no/one's/file", Some(r#"'sandbox.write=["/no/one'\''s"]'"#)),
            ("write = ['/x']", "/no/one's/file", None),
        ] {
            let refusal = unseen(&settings("a b", sandbox), &left_out(path));
            let expected = expected.map(|typed| format!("toolcrib mcp set 'a b' {typed}"));
            assert_eq!((refusal.allow, refusal.what), (expected, format!("see {path}")), "{sandbox}");
        }
    }
}
