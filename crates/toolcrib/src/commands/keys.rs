//! `keys`: the API keys of callers over HTTP. Running processes know of a change within about a second.

use std::sync::Arc;
use std::time::Duration;

use gate::Approvals;
use gate::approvals::Forgotten;
use policy::{Role, Roles, Scope};
use serde_json::{Value, json};
use server::identity::{self, KeyEntry, KeyError, KeyRequest};
use store::{SqliteStore, Store};

use super::start::start_nobody;
use crate::cli::{Cli, Keys};
use crate::ending::{Ending, Trouble};
use crate::times::now_ms;
use crate::times::shown;
use crate::{person, print};

pub(super) fn run(cli: &Cli, command: Keys) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let store = loaded.settings.kept.store().clone();
    let open = loaded.settings.server.open_on_loopback;
    match command {
        Keys::Create { name, roles, scopes, person, expires } => {
            if person {
                // An agent that could make one would answer for a person by it.
                person::present(&loaded.settings.state, &[])?;
                person::pass_code(&Approvals::new(store.clone()))?;
            }
            let request = request(name, roles, scopes, expires);
            create(cli, &*store, open, KeyRequest { person, ..request })
        }
        Keys::List => {
            people(&loaded.settings.identity);
            list(cli, &store)
        }
        Keys::Revoke { key } => revoke(cli, store, open, &key),
    }
}

fn request(name: String, roles: Vec<Role>, scopes: Vec<Scope>, expires: Option<Duration>) -> KeyRequest {
    let now_ms = now_ms();
    let life_ms = |life: Duration| i64::try_from(life.as_millis()).unwrap_or(i64::MAX);
    KeyRequest {
        name,
        roles: roles.into_iter().collect::<Roles>(),
        scopes: (!scopes.is_empty()).then_some(scopes),
        person: false,
        now_ms,
        expires_ms: expires.map(|life| now_ms.saturating_add(life_ms(life))),
    }
}

fn create(cli: &Cli, store: &dyn Store, open: Option<bool>, request: KeyRequest) -> Result<Ending, Trouble> {
    let is_first = !identity::was_any(store).map_err(trouble)?;
    let (key, entry) = identity::create(store, request).map_err(trouble)?;
    if cli.json {
        let mut facts = facts(&entry);
        facts["key"] = json!(key.reveal());
        print::secret(&format!("{facts:#}"))?;
        return Ok(Ending::Good);
    }
    // Alone on standard output, so that a script can take it.
    print::secret(key.reveal())?;
    print::remark(&format!(
        "This is shown once; only a hash of it is kept. Its holder is {}, {}, and may: {}. Expires: {}.\n\
         Clients send it as `Authorization: Bearer KEY`.",
        entry.caller(),
        entry.roles.join(", "),
        rights(&entry),
        end(&entry),
    ));
    if is_first && open.is_none() {
        print::remark(
            "From now on programs on this machine need a key over HTTP, too, unless server.open_on_loopback = true.",
        );
    }
    Ok(Ending::Good)
}

/// Tells of whom else's tokens a person's answers are taken.
fn people(identity: &identity::Config) {
    for issuer in identity.issuers.iter().filter(|issuer| issuer.people) {
        print::remark(&format!(
            "tokens of {} count as people's, too (identity.issuers: people = true)",
            issuer.issuer
        ));
    }
}

fn list(cli: &Cli, store: &SqliteStore) -> Result<Ending, Trouble> {
    let entries = identity::all(store).map_err(trouble)?;
    let lost = store.lost().map_err(Trouble::because)?.filter(|lost| lost.keys);
    let nothing = match lost {
        Some(lost) => format!("there is no key any more: {lost}"),
        None => "there is no key; `toolcrib keys create NAME` makes one".to_owned(),
    };
    let titles = ["ID", "NAME", "ROLES", "PERSON", "MAY", "CREATED", "LAST USED", "EXPIRES"];
    let facts = json!({ "keys": entries.iter().map(facts).collect::<Vec<_>>() });
    print::list(cli.json, &facts, titles, &entries.iter().map(row).collect::<Vec<_>>(), &nothing)
}

fn revoke(cli: &Cli, store: Arc<dyn Store>, open: Option<bool>, key: &str) -> Result<Ending, Trouble> {
    let entry = identity::revoke(&*store, key).map_err(trouble)?;
    let was_last = identity::all(&*store).map_err(trouble)?.is_empty();
    // After the key, so that nothing is asked in between.
    let ended = Approvals::new(store).forget(&entry.caller()).map_err(Trouble::because)?;
    let mut facts = facts(&entry);
    facts["was_last"] = json!(was_last);
    facts["ended"] = json!({ "grants": ended.grants, "approvals": ended.approvals });
    print::found(cli.json, &facts, &revoked(&entry, ended))?;
    if was_last && !cli.json {
        print::remark(after_the_last(open));
    }
    Ok(Ending::Good)
}

fn revoked(entry: &KeyEntry, ended: Forgotten) -> String {
    let counted = |count: usize, one: &str| (count > 0).then(|| print::counted(count, one));
    let with_it = [counted(ended.grants, "grant"), counted(ended.approvals, "open approval")];
    let with_it = with_it.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let with_it = if with_it.is_empty() { with_it } else { format!(", and with it {with_it}") };
    format!("tc_{} of {} is revoked{with_it}", entry.id, entry.name)
}

/// What follows from there being no key any more.
fn after_the_last(open: Option<bool>) -> &'static str {
    match open {
        Some(true) => {
            "That was the last key; whoever is on this machine may still call over HTTP without one, since \
             server.open_on_loopback = true."
        }
        Some(false) | None => {
            "That was the last key; over HTTP nobody is let in by one now, nor without one: `toolcrib keys create NAME` \
             makes another, and server.open_on_loopback = true lets in whoever is on this machine."
        }
    }
}

fn trouble(error: KeyError) -> Trouble {
    match error {
        KeyError::Unknown(_) => Trouble::Unknown { code: "unknown_key", said: error.to_string() },
        KeyError::Name(_) | KeyError::Taken { .. } | KeyError::TooMany => Trouble::Misused(error.to_string()),
        KeyError::NoRandomness(_) => Trouble::Failed(error.to_string()),
        KeyError::Store(error) => Trouble::because(error),
    }
}

fn row(entry: &KeyEntry) -> Vec<String> {
    let used = entry.used_ms.map_or_else(|| "never".to_owned(), shown);
    let (id, roles) = (format!("tc_{}", entry.id), entry.roles.join(", "));
    let person = if entry.person { "yes" } else { "no" }.to_owned();
    vec![id, entry.name.clone(), roles, person, rights(entry), shown(entry.created_ms), used, end(entry)]
}

/// What the holder may do, in the words of its scopes.
fn rights(entry: &KeyEntry) -> String {
    let Some(scopes) = scopes(entry) else { return "everything".to_owned() };
    if scopes.is_empty() { "nothing".to_owned() } else { scopes.join(", ") }
}

/// The scopes in effect; nothing for all.
fn scopes(entry: &KeyEntry) -> Option<Vec<String>> {
    entry.scopes.clone().or_else(|| {
        let roles: Roles = entry.roles.iter().filter_map(|word| Role::parse(word)).collect();
        let scopes = roles.scopes();
        scopes.named().map(|named| named.iter().map(|scope| scope.as_str().to_owned()).collect())
    })
}

fn end(entry: &KeyEntry) -> String {
    match entry.expires_ms {
        None => "never".to_owned(),
        Some(expires_ms) if expires_ms <= now_ms() => format!("{} (expired)", shown(expires_ms)),
        Some(expires_ms) => shown(expires_ms),
    }
}

fn facts(entry: &KeyEntry) -> Value {
    json!({
        "id": format!("tc_{}", entry.id),
        "name": entry.name,
        "caller": entry.caller(),
        "roles": entry.roles,
        "person": entry.person,
        "scopes": scopes(entry),
        "created_at_ms": entry.created_ms,
        "last_used_at_ms": entry.used_ms,
        "expires_at_ms": entry.expires_ms,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_key_is_a_row_and_an_object_without_its_secret() {
        let folder = tempdir().expect("a folder");
        let store = SqliteStore::at(folder.path());
        let request = |name: &str, expires_ms| KeyRequest {
            name: name.into(),
            roles: Roles::default(),
            scopes: None,
            person: false,
            now_ms: 1_700_000_000_000,
            expires_ms,
        };
        let (key, plain) = identity::create(&store, request("ci", None)).expect("created");
        let owner = KeyRequest {
            roles: Role::Owner.into(),
            person: true,
            ..request("anna", Some(1_700_000_000_001))
        };
        let (_, owner) = identity::create(&store, owner).expect("created");
        let shown = print::table(&[row(&plain), row(&owner)]);
        let shown = shown.replace(&plain.id, "AbCd12").replace(&owner.id, "EfGh34");
        expect![[r#"
            tc_AbCd12  ci    agent  no   read_workspace, run_tests, write_workspace  2023-11-14T22:13:20Z  never  never
            tc_EfGh34  anna  owner  yes  everything                                  2023-11-14T22:13:20Z  never  2023-11-14T22:13:20Z (expired)"#]].assert_eq(&shown);
        let ended =
            |grants, approvals| revoked(&plain, Forgotten { grants, approvals }).replace(&plain.id, "AbCd12");
        expect!["tc_AbCd12 of ci is revoked"].assert_eq(&ended(0, 0));
        expect!["tc_AbCd12 of ci is revoked, and with it 1 grant and 2 open approvals"]
            .assert_eq(&ended(1, 2));
        let facts = facts(&plain).to_string();
        assert!(!facts.contains("sha256") && !facts.contains(&key.reveal()[10..]), "{facts}");
        let facts = facts.replace(&plain.id, "AbCd12");
        expect![[r#"{"caller":"key:ci","created_at_ms":1700000000000,"expires_at_ms":null,"id":"tc_AbCd12","last_used_at_ms":null,"name":"ci","person":false,"roles":["agent"],"scopes":["read_workspace","run_tests","write_workspace"]}"#]].assert_eq(&facts);
    }
}
