//! For which servers that folders declare a kept secret may be used: a record beside it, of names of servers and hosts.
//! The user's own servers need none; who refers to a secret there has said so.

use std::collections::BTreeSet;

use store::{Kind, Store};

use crate::record::Record;

/// Most servers and hosts of one secret.
const NAMES_MAX: usize = 1000;

/// The servers and hosts that the secret of this name is for.
///
/// # Errors
/// A sentence, if it cannot be read.
pub fn bound_to(store: &dyn Store, secret: &str) -> Result<BTreeSet<String>, String> {
    in_record(store, secret, |record| record.read())
}

/// Lets a secret be used for these servers and hosts as well.
///
/// # Errors
/// A sentence, if that cannot be kept.
pub fn bind(store: &dyn Store, secret: &str, names: &[String]) -> Result<(), String> {
    if let Some((name, host)) = names.iter().find_map(|name| Some((name, of_port(name)?))) {
        return Err(format!("{name}: a secret is for a host and not for a port; write {host}"));
    }
    in_record(store, secret, |record| {
        record.change(|bound: &mut BTreeSet<String>| {
            bound.extend(names.iter().map(|name| name.to_ascii_lowercase()));
            match bound.len() > NAMES_MAX {
                true => Err(format!("a secret is for {NAMES_MAX} servers and hosts at most")),
                false => Ok(()),
            }
        })
    })
}

/// Forgets what a secret was for.
///
/// # Errors
/// A sentence, if that cannot be kept.
pub fn unbind(store: &dyn Store, secret: &str) -> Result<(), String> {
    in_record(store, secret, |record| {
        record.change(|bound: &mut BTreeSet<String>| {
            bound.clear();
            Ok(())
        })
    })
}

/// The host of a text that names a port behind it, as `hosts` of a tool does. An IPv6 address without brackets has none.
fn of_port(name: &str) -> Option<&str> {
    let (host, port) = name.rsplit_once(':')?;
    let is_host = host.ends_with(']') || !host.contains(':');
    (is_host && (port == "*" || port.parse::<u16>().is_ok())).then_some(host)
}

fn in_record<T>(store: &dyn Store, secret: &str, work: impl FnOnce(Record<'_>) -> T) -> T {
    let what = format!("what the kept secret {secret} is for");
    work(Record { store, kind: Kind::SecretUse, key: secret, what: &what })
}

#[cfg(test)]
mod tests {
    use store::{CellStore as _, SqliteStore, wait};

    use super::*;

    #[test]
    fn a_secret_is_for_whom_a_person_has_named() {
        let state = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::at(state.path());
        let is_for = |name: &str| bound_to(&store, "TOKEN").expect("readable").contains(name);
        assert!(!is_for("git"));
        bind(&store, "TOKEN", &["git".to_owned(), "API.example".to_owned()]).expect("kept");
        bind(&store, "TOKEN", &["web".to_owned()]).expect("kept");
        assert!(is_for("git") && is_for("api.example") && is_for("web") && !is_for("gi"));
        bind(&store, "TOKEN", &["::1".to_owned(), "[::1]".to_owned()]).expect("addresses");
        for (name, host) in
            [("127.0.0.1:8099", "127.0.0.1"), ("[::1]:80", "[::1]"), ("a.example:*", "a.example")]
        {
            let why = format!("{name}: a secret is for a host and not for a port; write {host}");
            assert_eq!(bind(&store, "TOKEN", &["other".to_owned(), name.to_owned()]), Err(why));
        }
        assert!(!is_for("other"), "nothing of it is kept");
        assert!(!bound_to(&store, "OTHER").expect("readable").contains("git"));
        unbind(&store, "TOKEN").expect("forgotten");
        assert!(!is_for("git"));
        wait(store.overwrite(Kind::SecretUse, "TOKEN", b"5".to_vec())).expect("kept");
        assert!(bound_to(&store, "TOKEN").is_err());
    }
}
