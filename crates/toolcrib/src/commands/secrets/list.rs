//! `secrets list`: everything about the secrets that are kept but what they say.

use serde_json::{Value, json};
use store::{Named, SecretName};

use crate::cli::Cli;
use crate::config::Uses;
use crate::ending::{Ending, Trouble};
use crate::error_chain::chain;
use crate::print;
use crate::secrets::{Kept, bound_to, weakness};
use crate::times::shown;

const TITLES: [&str; 6] = ["NAME", "STATE", "SET", "CHANGED", "FOR", "USED BY"];

/// One secret as it is listed.
struct Row {
    name: String,
    state: State,
    used: Vec<String>,
    /// The servers of folders, and hosts, that may use it.
    bound: Vec<String>,
}

enum State {
    Kept(Named),
    /// It cannot be opened.
    Closed(String),
    /// Something refers to it, but it is not kept.
    Missing,
}

pub(super) fn run(cli: &Cli, kept: &Kept, uses: &Uses) -> Result<Ending, Trouble> {
    let rows = rows(kept, uses)?;
    let facts = json!({ "secrets": rows.iter().map(Row::to_json).collect::<Vec<_>>() });
    let cells: Vec<_> = rows.iter().map(Row::cells).collect();
    print::list(
        cli.json,
        &facts,
        TITLES,
        &cells,
        "no secrets are kept; `toolcrib secrets set NAME` keeps one",
    )?;
    if !cli.json {
        remarks(&rows).iter().for_each(|remark| print::remark(remark));
    }
    let is_good = rows.iter().all(|row| matches!(row.state, State::Kept(_)));
    Ok(if is_good { Ending::Good } else { Ending::Failed })
}

fn rows(kept: &Kept, uses: &Uses) -> Result<Vec<Row>, Trouble> {
    let secrets = kept.sealed();
    let is_there = secrets.may_have_named().map_err(Trouble::because)?;
    let names = if is_there { secrets.named_names().map_err(Trouble::because)? } else { Vec::new() };
    let used = |name: &str| uses.of_secret(name).into_iter().map(str::to_owned).collect();
    let mut rows = Vec::with_capacity(names.len());
    for name in &names {
        let state = match secrets.named(name) {
            Ok(Some(named)) => State::Kept(named),
            // Removed meanwhile.
            Ok(None) => continue,
            Err(error) => State::Closed(chain(&error)),
        };
        let bound = bound_to(&**kept.store(), name.as_str()).map_err(Trouble::Failed)?.into_iter().collect();
        rows.push(Row { name: name.to_string(), state, used: used(name.as_str()), bound });
    }
    let is_missing = |name: &&str| !names.iter().map(SecretName::as_str).any(|kept| kept == *name);
    rows.extend(uses.names().filter(is_missing).map(|name| Row {
        name: name.to_owned(),
        state: State::Missing,
        used: used(name),
        bound: Vec::new(),
    }));
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(rows)
}

impl Row {
    fn to_json(&self) -> Value {
        let mut object = match &self.state {
            State::Kept(Named { value, set_at_ms, changed_at_ms, .. }) => json!({
                "state": "kept", "set_at_ms": set_at_ms, "changed_at_ms": changed_at_ms,
                "warning": weakness(value.expose()),
            }),
            State::Closed(why) => json!({ "state": "closed", "error": why }),
            State::Missing => json!({ "state": "missing" }),
        };
        object["name"] = json!(self.name);
        object["used_by"] = json!(self.used);
        object["for"] = json!(self.bound);
        object
    }

    fn cells(&self) -> Vec<String> {
        let [state, set, changed] = match &self.state {
            State::Kept(Named { set_at_ms, changed_at_ms, .. }) => {
                ["kept".to_owned(), shown(*set_at_ms), shown(*changed_at_ms)]
            }
            State::Closed(_) => ["cannot be opened", "-", "-"].map(str::to_owned),
            State::Missing => ["not kept", "-", "-"].map(str::to_owned),
        };
        let [bound, used] = [&self.bound, &self.used]
            .map(|names| if names.is_empty() { "-".to_owned() } else { names.join(", ") });
        vec![self.name.clone(), state, set, changed, bound, used]
    }

    /// What somebody should do about it.
    fn remark(&self) -> Option<String> {
        let Row { name, state, .. } = self;
        match state {
            State::Kept(named) => {
                Some(format!("warning: {name} is a poor secret: {}", weakness(named.value.expose())?))
            }
            State::Closed(why) => Some(why.clone()),
            State::Missing => Some(format!("{name} is not kept: `toolcrib secrets set {name}`")),
        }
    }
}

/// What somebody should do, each thing once: what is wrong with the key is wrong for all of them.
fn remarks(rows: &[Row]) -> Vec<String> {
    let mut remarks = Vec::new();
    for remark in rows.iter().filter_map(Row::remark) {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn row(name: &str, state: State, used: &[&str]) -> Row {
        let used = used.iter().map(|place| (*place).to_owned()).collect();
        let bound = if name == "GITHUB" { vec!["api.github.example".to_owned()] } else { Vec::new() };
        Row { name: name.to_owned(), state, used, bound }
    }

    fn kept(value: &str) -> State {
        let name = SecretName::parse("A").expect("a name");
        let value = store::SecretValue::parse(value).expect("a value");
        State::Kept(Named { name, value, set_at_ms: 1_700_000_000_000, changed_at_ms: 1_800_000_000_000 })
    }

    #[test]
    fn nothing_is_listed_of_what_they_say() {
        let rows = [
            row(
                "CLOSED",
                State::Closed("the kept secret CLOSED cannot be opened: it was changed".into()),
                &[],
            ),
            row("DARK", State::Closed("the key file k cannot be read".into()), &[]),
            row("DEEP", State::Closed("the key file k cannot be read".into()), &[]),
            row("GITHUB", kept("ghp_0123456789abcdef"), &["mcp.git.env.TOKEN (t.toml:3:9)"]),
            row("MISSING", State::Missing, &["mcp.a.url (t.toml:5:7)"]),
            row("ONE", kept("x"), &[]),
        ];
        let remarks = remarks(&rows);
        expect![[r#"
            NAME     STATE             SET                   CHANGED               FOR                 USED BY
            CLOSED   cannot be opened  -                     -                     -                   -
            DARK     cannot be opened  -                     -                     -                   -
            DEEP     cannot be opened  -                     -                     -                   -
            GITHUB   kept              2023-11-14T22:13:20Z  2027-01-15T08:00:00Z  api.github.example  mcp.git.env.TOKEN (t.toml:3:9)
            MISSING  not kept          -                     -                     -                   mcp.a.url (t.toml:5:7)
            ONE      kept              2023-11-14T22:13:20Z  2027-01-15T08:00:00Z  -                   -
            the kept secret CLOSED cannot be opened: it was changed
            the key file k cannot be read
            MISSING is not kept: `toolcrib secrets set MISSING`
            warning: ONE is a poor secret: it has fewer than 4 characters, so it is NOT struck out of results, errors, logs and records: it would stand in every text"#]]
        .assert_eq(&format!("{}\n{}", print::titled(TITLES, rows.iter().map(Row::cells)), remarks.join("\n")));
        let json = rows.iter().map(|row| row.to_json().to_string()).collect::<Vec<_>>().join("\n");
        assert!(!json.contains("ghp_"), "{json}");
        assert_eq!(rows[3].to_json()["changed_at_ms"], 1_800_000_000_000_i64);
        assert_eq!(rows[4].to_json()["state"], "missing");
    }
}
