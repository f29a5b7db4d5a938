//! `keys`: the API keys of callers over HTTP.

use std::io::{self, IsTerminal as _};

use admin::keys::{self, KeyReport, Revoked};
use admin::{By, Operation as _, nearest, servers};
use config::Settings;
use daemon::http_door::connecting;
use daemon::{administration, person};
use gate::{Approvals, Role, Roles};
use server::identity;
use terminal::print;
use terminal::print::Table;
use terminal::times::{now_ms, shown};
use terminal::{Ending, Trouble};
use units::Span;

use super::start::start_nobody;
use crate::cli::{Cli, Keys};

const TITLES: [&str; 8] = ["ID", "NAME", "ROLES", "PERSON", "MAY", "CREATED", "LAST USED", "EXPIRES"];

pub(super) fn run(cli: &Cli, command: Keys) -> Result<Ending, Trouble> {
    let settings = start_nobody(cli)?.settings;
    let part = administration::keys(&settings);
    let open = settings.server.open_on_loopback;
    match command {
        Keys::Create { name, roles, scopes, servers, person, expires } => {
            let scopes = with_servers(&settings.upstreams, &roles, scopes, &servers)?;
            let by = if person { in_person(&settings.state, &part.approvals)? } else { By::owner() };
            let life_ms = expires.map(|Span(life)| u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
            let asked = keys::Create { name, roles, scopes, person, life_ms };
            create(cli, &settings, &asked.perform(&part, &by)?)
        }
        Keys::List => {
            people(&settings.identity);
            let found = keys::List {}.perform(&part, &By::owner())?;
            let nothing = match &found.lost {
                Some(lost) => format!("there is no key any more: {lost}"),
                None => "there is no key; `toolcrib keys create NAME` makes one".to_owned(),
            };
            print::list(cli.json, &found, &Table::titled(TITLES, found.keys.iter().map(row)), &nothing)
        }
        Keys::Revoke { key } => {
            let found = keys::Revoke { key }.perform(&part, &By::owner())?;
            print::found(cli.json, &found, &revoked(&found))?;
            if found.was_last && !cli.json {
                print::remark(after_the_last(open));
            }
            Ok(Ending::Good)
        }
    }
}

/// The person at this terminal, with the code if there is one.
fn in_person(state: &std::path::Path, approvals: &Approvals) -> Result<By, Trouble> {
    let person = person::present(state, &[])?;
    Ok(By::person(person.with_code(person::code(approvals)?)))
}

/// What the holder of a key may do who may call these servers: that in place of what the roles say, or beside it.
fn with_servers(
    configured: &[upstream::Settings],
    roles: &[String],
    scopes: Vec<String>,
    servers: &[String],
) -> Result<Vec<String>, Trouble> {
    let of_server = |server: &upstream::Settings| policy::scope_of(server.name(), "call");
    let known: Vec<String> = configured.iter().map(of_server).collect();
    for scope in scopes.iter().filter(|scope| scope.contains(':') && !known.contains(scope)) {
        if let Some(near) = nearest(scope, known.iter().map(String::as_str)) {
            return Err(Trouble::Misused(format!("unknown scope \"{scope}\"; did you mean \"{near}\"?")));
        }
    }
    let called = match servers {
        [] => return Ok(scopes),
        [all] if all == "all" => known,
        some => {
            let named = some.iter().map(|name| servers::named(configured, &[], name).map(of_server));
            named.collect::<Result<Vec<_>, _>>()?
        }
    };
    let of_roles: Roles = roles.iter().filter_map(|word| Role::parse(word)).collect();
    let of_roles = if of_roles.is_empty() { Role::Agent.scopes() } else { of_roles.scopes() };
    match (scopes.is_empty(), of_roles.named()) {
        // Everything has theirs in it.
        (true, None) => Ok(Vec::new()),
        (true, Some(named)) => {
            Ok(named.iter().map(|scope| scope.as_str().to_owned()).chain(called).collect())
        }
        (false, _) => Ok(scopes.into_iter().chain(called).collect()),
    }
}

fn create(cli: &Cli, settings: &Settings, created: &keys::Created) -> Result<Ending, Trouble> {
    let report = &created.report;
    if cli.json {
        let facts = serde_json::to_value(created).expect("a report has text for keys");
        print::secret(&format!("{facts:#}"))?;
        return Ok(Ending::Good);
    }
    // Alone on standard output, so that a script can take it.
    print::secret(&created.key)?;
    print::remark(&format!(
        "This is shown once; only a hash of it is kept. Its holder is {}, {}, and may: {}. Expires: {}.\n\
         Clients send it as `Authorization: Bearer KEY`.",
        report.caller,
        report.roles.join(", "),
        rights(report),
        end(report),
    ));
    let may_run = report.scopes.as_ref().is_none_or(|scopes| scopes.iter().any(|scope| scope == "run_tests"));
    if may_run && settings.tools.contains(&tools::Set::Shell) {
        print::remark(
            "With run_tests its holder runs any command in the workspace, sandboxed; `--scope` makes a key without it.",
        );
    }
    // Whoever reads the screen has the key on it; a script has it on its own.
    let key = if io::stdout().is_terminal() { created.key.as_str() } else { "KEY" };
    let url = settings.server.url(settings.server.bind);
    print::banner(&connecting(&url, Some(&format!("Bearer {key}"))));
    if created.is_first && settings.server.open_on_loopback.is_none() {
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

fn revoked(revoked: &Revoked) -> String {
    let counted = |count: usize, one: &str| (count > 0).then(|| print::counted(count, one));
    let ended = &revoked.ended;
    let with_it = [counted(ended.grants, "grant"), counted(ended.approvals, "open approval")];
    let with_it = with_it.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let with_it = if with_it.is_empty() { with_it } else { format!(", and with it {with_it}") };
    format!("{} of {} is revoked{with_it}", revoked.report.id, revoked.report.name)
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

fn row(report: &KeyReport) -> Vec<String> {
    let used = report.last_used_at_ms.map_or_else(|| "never".to_owned(), shown);
    let person = if report.person { "yes" } else { "no" }.to_owned();
    let (id, name, roles) = (report.id.clone(), report.name.clone(), report.roles.join(", "));
    vec![id, name, roles, person, rights(report), shown(report.created_at_ms), used, end(report)]
}

/// What the holder may do, in the words of its scopes.
fn rights(report: &KeyReport) -> String {
    match report.scopes.as_deref() {
        None => "everything".to_owned(),
        Some([]) => "nothing".to_owned(),
        Some(scopes) => scopes.join(", "),
    }
}

fn end(report: &KeyReport) -> String {
    match report.expires_at_ms {
        None => "never".to_owned(),
        Some(expires_ms) if expires_ms <= now_ms() => format!("{} (expired)", shown(expires_ms)),
        Some(expires_ms) => shown(expires_ms),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_key_is_a_row() {
        let plain = KeyReport {
            id: "tc_AbCd12".to_owned(),
            name: "ci".to_owned(),
            caller: "key:ci".to_owned(),
            roles: vec!["agent".to_owned()],
            person: false,
            scopes: Some(vec!["read_workspace".to_owned(), "run_tests".to_owned()]),
            created_at_ms: 1_700_000_000_000,
            last_used_at_ms: None,
            expires_at_ms: None,
        };
        let owner = KeyReport {
            id: "tc_EfGh34".to_owned(),
            name: "anna".to_owned(),
            roles: vec!["owner".to_owned()],
            person: true,
            scopes: None,
            expires_at_ms: Some(1_700_000_000_001),
            ..plain.clone()
        };
        expect![[r#"
            tc_AbCd12  ci    agent  no   read_workspace, run_tests  2023-11-14T22:13:20Z  never  never
            tc_EfGh34  anna  owner  yes  everything                 2023-11-14T22:13:20Z  never  2023-11-14T22:13:20Z (expired)"#]]
        .assert_eq(&Table::plain([row(&plain), row(&owner)]).to_string());
        let ended = |grants, approvals| {
            let ended = keys::Ended { grants, approvals };
            revoked(&Revoked { was_last: false, ended, report: plain.clone() })
        };
        expect!["tc_AbCd12 of ci is revoked"].assert_eq(&ended(0, 0));
        expect!["tc_AbCd12 of ci is revoked, and with it 1 grant and 2 open approvals"]
            .assert_eq(&ended(1, 2));
    }
}
