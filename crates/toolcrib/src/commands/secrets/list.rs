//! `secrets list`: everything about the secrets that are kept but what they say, in words.

use admin::secrets::{SecretList, SecretReport, SecretState};
use terminal::print::{self, Table};
use terminal::times::shown;
use terminal::{Ending, Trouble};

use crate::cli::Cli;

const TITLES: [&str; 6] = ["NAME", "STATE", "SET", "CHANGED", "FOR", "USED BY"];

pub(super) fn print(cli: &Cli, list: &SecretList) -> Result<Ending, Trouble> {
    let nothing = "no secrets are kept; `toolcrib secrets set NAME` keeps one";
    print::list(cli.json, list, &Table::titled(TITLES, list.secrets.iter().map(row)), nothing)?;
    if !cli.json {
        remarks(&list.secrets).iter().for_each(|remark| print::remark(remark));
    }
    let is_good = list.secrets.iter().all(|secret| matches!(secret.state, SecretState::Kept { .. }));
    Ok(if is_good { Ending::Good } else { Ending::Failed })
}

fn row(secret: &SecretReport) -> Vec<String> {
    let [state, set, changed] = match &secret.state {
        SecretState::Kept { set_at_ms, changed_at_ms, .. } => {
            ["kept".to_owned(), shown(*set_at_ms), shown(*changed_at_ms)]
        }
        SecretState::Closed { .. } => ["cannot be opened", "-", "-"].map(str::to_owned),
        SecretState::Missing => ["not kept", "-", "-"].map(str::to_owned),
    };
    let [bound, used] = [&secret.bound, &secret.used_by]
        .map(|names| if names.is_empty() { "-".to_owned() } else { names.join(", ") });
    vec![secret.name.clone(), state, set, changed, bound, used]
}

/// What somebody should do, each thing once: what is wrong with the key is wrong for all of them.
fn remarks(secrets: &[SecretReport]) -> Vec<String> {
    let mut remarks = Vec::new();
    for SecretReport { name, state, .. } in secrets {
        let remark = match state {
            SecretState::Kept { warning: None, .. } => continue,
            SecretState::Kept { warning: Some(why), .. } => {
                format!("warning: {name} is a poor secret: {why}")
            }
            SecretState::Closed { error } => error.clone(),
            SecretState::Missing => format!("{name} is not kept: `toolcrib secrets set {name}`"),
        };
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn secret(name: &str, state: SecretState, used: &[&str]) -> SecretReport {
        let used_by = used.iter().map(|place| (*place).to_owned()).collect();
        let bound = if name == "GITHUB" { vec!["api.github.example".to_owned()] } else { Vec::new() };
        SecretReport { name: name.to_owned(), state, used_by, bound }
    }

    fn kept(warning: Option<&str>) -> SecretState {
        let warning = warning.map(str::to_owned);
        SecretState::Kept { set_at_ms: 1_700_000_000_000, changed_at_ms: 1_800_000_000_000, warning }
    }

    fn closed(why: &str) -> SecretState {
        SecretState::Closed { error: why.to_owned() }
    }

    #[test]
    fn a_list_says_what_to_do_about_each() {
        let secrets = [
            secret("CLOSED", closed("the kept secret CLOSED cannot be opened: it was changed"), &[]),
            secret("DARK", closed("the key file k cannot be read"), &[]),
            secret("DEEP", closed("the key file k cannot be read"), &[]),
            secret("GITHUB", kept(None), &["mcp.git.env.TOKEN (t.toml:3:9)"]),
            secret("MISSING", SecretState::Missing, &["mcp.a.url (t.toml:5:7)"]),
            secret("ONE", kept(Some("it has fewer than 4 characters")), &[]),
        ];
        let table = Table::titled(TITLES, secrets.iter().map(row));
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
            warning: ONE is a poor secret: it has fewer than 4 characters"#]]
        .assert_eq(&format!("{table}\n{}", remarks(&secrets).join("\n")));
        assert_eq!(
            json!(secrets[3]),
            json!({ "name": "GITHUB", "state": "kept", "set_at_ms": 1_700_000_000_000_i64, "warning": null,
                "changed_at_ms": 1_800_000_000_000_i64, "for": ["api.github.example"],
                "used_by": ["mcp.git.env.TOKEN (t.toml:3:9)"] })
        );
        assert_eq!(json!(secrets[4])["state"], "missing");
    }
}
