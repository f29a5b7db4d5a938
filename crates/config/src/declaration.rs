//! What a folder's file declares that needs a person's agreement: a server of its own. Each is known by a hash of what
//! matters in it, and shown whole; what is kept of it names variables and headers, and no values.

use std::collections::BTreeMap;

use admin::folders::Line;
use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use upstream::{Reference, references};

use crate::secret::is_secret;
use redact::without_credentials;

/// Keys of a server's table that start, send and loosen nothing: another value does not ask again.
const SWITCHES: [&str; 13] = [
    "enabled",
    "timeout",
    "start_timeout",
    "list_timeout",
    "max_timeout",
    "include",
    "exclude",
    "on_demand",
    "idle_timeout",
    "restart",
    "concurrency",
    "processes",
    "isolation",
];

/// The one key of a reference that stands alone.
const REFERENCES: [&str; 3] = ["env", "file", "store"];

/// What is declared by the table of a server of the folder's own.
pub(crate) fn of_server(name: &str, table: &Value) -> (String, Vec<Line>, Vec<String>) {
    let nothing = Map::new();
    let table = table.as_object().unwrap_or(&nothing);
    let what: BTreeMap<&String, &Value> =
        table.iter().filter(|(key, _)| !SWITCHES.contains(&key.as_str())).collect();
    let mut lines = Vec::new();
    if let Some(command) = table.get("command") {
        let words =
            std::iter::once(command).chain(table.get("args").and_then(Value::as_array).into_iter().flatten());
        lines.push(plain(format!("starts {}", words.map(word).collect::<Vec<_>>().join(" "))));
    }
    for key in ["url", "socket"] {
        if let Some(address) = table.get(key) {
            let address = address.as_str().map(|address| Value::from(without_credentials(address)));
            lines.push(plain(format!("connects to {}", word(&address.unwrap_or_default()))));
        }
    }
    for (key, value) in &what {
        match (key.as_str(), value) {
            ("command" | "args" | "url" | "socket", _) => {}
            ("env", Value::Object(variables)) => {
                lines.extend(variables.iter().map(|(variable, value)| of_variable(variable, value)));
            }
            ("headers", Value::Object(headers)) => {
                lines.extend(headers.iter().map(|(header, value)| of_header(header, value)));
            }
            ("sandbox", Value::Object(sandbox)) => {
                lines.extend(sandbox.iter().flat_map(|(key, value)| of_sandbox(key, value)).map(plain));
            }
            (key, value) => lines.push(plain(format!("{key} = {}", masked(name, &[key], value)))),
        }
    }
    let mut secrets = Vec::new();
    what.values().for_each(|value| kept_secrets(value, &mut secrets));
    secrets.sort_unstable();
    secrets.dedup();
    (digest(&what), lines, secrets)
}

fn plain(text: String) -> Line {
    Line { shown: text.clone(), kept: text }
}

fn digest(what: &impl serde::Serialize) -> String {
    let text = serde_json::to_vec(what).expect("values of a file are JSON");
    HEXLOWER.encode(&Sha256::digest(&text))
}

/// A variable's value may decide what a program runs, so it is shown.
fn of_variable(name: &str, value: &Value) -> Line {
    match origin(value) {
        Some(origin) => plain(format!("sets the variable {name} from {origin}")),
        None => Line {
            shown: format!("sets the variable {name} to {}", word(value)),
            kept: format!("sets the variable {name}"),
        },
    }
}

fn of_header(name: &str, value: &Value) -> Line {
    match origin(value) {
        Some(origin) => plain(format!("sends the header {name} from {origin}")),
        None => plain(format!("sends the header {name}")),
    }
}

/// What a server may touch, each by itself: this is what a person lets it do.
fn of_sandbox(key: &str, value: &Value) -> Vec<String> {
    let each =
        |verb: &str, items: &[Value]| items.iter().map(|item| format!("{verb} {}", word(item))).collect();
    match (key, value) {
        ("read", Value::Array(paths)) => each("reads", paths),
        ("write", Value::Array(paths)) => each("reads and writes", paths),
        ("sockets", Value::Array(paths)) => each("uses the socket", paths),
        ("network", Value::Array(hosts)) if !hosts.is_empty() => {
            hosts.iter().map(|host| format!("reaches {}", host_word(host))).collect()
        }
        ("network", Value::String(public)) if public == "public" => Vec::new(),
        ("network", Value::String(none)) if none == "none" => vec!["reaches no network".to_owned()],
        ("network", Value::Array(_)) => vec!["reaches no network".to_owned()],
        ("profile", _) => Vec::new(),
        _ => vec![format!("sandbox.{key} = {value}")],
    }
}

fn host_word(host: &Value) -> String {
    if host == "public" { "every host with a public address".to_owned() } else { word(host) }
}

/// Where a value comes from that is no plain text.
fn origin(value: &Value) -> Option<String> {
    let reference = |reference: &Reference| match reference {
        Reference::Env(name) => format!("your environment variable {name}"),
        Reference::File(path) => format!("the file {path}"),
        Reference::Store(name) => format!("your kept secret {name}"),
    };
    let found = found_in(value);
    (!found.is_empty()).then(|| found.iter().map(reference).collect::<Vec<_>>().join(" and "))
}

/// The references that a value is, or has in its text.
fn found_in(value: &Value) -> Vec<Reference> {
    match value {
        Value::String(text) => references(text),
        Value::Object(members) => {
            let name = |key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
            match REFERENCES.map(name) {
                [Some(env), _, _] => vec![Reference::Env(env)],
                [_, Some(file), _] => vec![Reference::File(file)],
                [_, _, Some(store)] => vec![Reference::Store(store)],
                [None, None, None] => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn kept_secrets(value: &Value, found: &mut Vec<String>) {
    let named = found_in(value).into_iter().filter_map(|reference| match reference {
        Reference::Store(name) => Some(name),
        Reference::Env(_) | Reference::File(_) => None,
    });
    found.extend(named);
    match value {
        Value::Object(members) => members.values().for_each(|value| kept_secrets(value, found)),
        Value::Array(items) => items.iter().for_each(|value| kept_secrets(value, found)),
        _ => {}
    }
}

/// A value without what may be secret in it.
fn masked(server: &str, path: &[&str], value: &Value) -> Value {
    let whole: Vec<&str> = ["mcp", server].iter().chain(path).copied().collect();
    match value {
        value if is_secret(&whole) => Value::from(origin(value).unwrap_or_else(|| redact::MASK.to_owned())),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| {
                let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
                (key.clone(), masked(server, &path, value))
            })
            .collect::<Map<_, _>>()
            .into(),
        value => value.clone(),
    }
}

/// A word of a command line, in quotes if it would not be read as one.
fn word(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@=+,%?&#~*".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) { text.clone() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(table: Value, shown: Expect, secrets: &[&str]) {
        let (_, lines, found) = of_server("it", &table);
        shown.assert_eq(&lines.iter().map(|line| line.shown.as_str()).collect::<Vec<_>>().join("\n"));
        assert_eq!(found, secrets);
        let kept = lines.iter().map(|line| line.kept.as_str()).collect::<Vec<_>>().join("\n");
        assert!(!kept.contains("hunter2"), "{kept}");
    }

    #[test]
    fn everything_that_it_does_is_shown() {
        check(
            json!({
                "command": "npx", "args": ["-y", "a b", ""], "cwd": ".", "inherit": ["AWS_*"],
                "env": { "KEY": { "store": "KEPT" }, "NODE_OPTIONS": "hunter2 --require=./x.js", "T": "x ${env:T}" },
                "enabled": true,
            }),
            expect![[r#"
                starts npx -y "a b" ""
                cwd = "."
                sets the variable KEY from your kept secret KEPT
                sets the variable NODE_OPTIONS to "hunter2 --require=./x.js"
                sets the variable T from your environment variable T
                inherit = ["AWS_*"]"#]],
            &["KEPT"],
        );
        check(
            json!({ "command": "x", "sandbox": {
                "profile": "confined", "read": ["~/a b"], "write": ["${workspace}"], "sockets": ["/run/x"],
                "network": ["public", "localhost:1"], "memory": "1 GiB",
            } }),
            expect![[r#"
                starts x
                sandbox.memory = "1 GiB"
                reaches every host with a public address
                reaches localhost:1
                reads "~/a b"
                uses the socket /run/x
                reads and writes "${workspace}""#]],
            &[],
        );
        for (network, line) in [
            (json!("none"), "\nreaches no network"),
            (json!([]), "\nreaches no network"),
            (json!("public"), ""),
            (json!(["none"]), "\nreaches none"),
            (json!({ "a": "b" }), "\nsandbox.network = {\"a\":\"b\"}"),
        ] {
            let (_, lines, _) =
                of_server("it", &json!({ "command": "x", "sandbox": { "network": network } }));
            let shown: Vec<_> = lines.iter().map(|line| line.shown.as_str()).collect();
            assert_eq!(shown.join("\n"), format!("starts x{line}"), "{network}");
        }
        check(
            json!({
                "url": "https://u:hunter2@h.example/mcp?key=${store:A}", "headers": { "X": "hunter2", "Y": { "file": "~/.ssh/id_rsa" } },
                "oauth": { "client_id": "me", "client_secret": "hunter2" }, "trust": "trust",
            }),
            expect![[r#"
                connects to https://***@h.example/mcp?key=***
                sends the header X
                sends the header Y from the file ~/.ssh/id_rsa
                oauth = {"client_id":"me","client_secret":"***"}
                trust = "trust""#]],
            &["A"],
        );
    }

    #[test]
    fn what_matters_has_another_hash_and_a_switch_has_not() {
        let hash = |table: Value| of_server("it", &table).0;
        let before = json!({ "command": "x", "args": ["a"], "env": { "A": "1" } });
        for (key, value, is_same) in [
            ("enabled", json!(false), true),
            ("timeout", json!("1s"), true),
            ("exclude", json!(["x"]), true),
            ("args", json!(["b"]), false),
            ("env", json!({ "A": "2" }), false),
            ("cwd", json!("."), false),
            ("sandbox", json!({ "sockets": ["/run/x"] }), false),
            ("trust", json!("trust"), false),
            ("a_key_of_tomorrow", json!(1), false),
        ] {
            let mut after = before.clone();
            after[key] = value;
            assert_eq!(hash(after) == hash(before.clone()), is_same, "{key}");
        }
    }
}
