//! What is said of a database that was lost.
#![expect(clippy::disallowed_methods, reason = "these tests remove and damage files")]

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};

use super::super::{SqliteStore, file};
use crate::cell::Change;
use crate::named::{SecretName, SecretValue};
use crate::secrets::Secrets;
use crate::store::replace;
use crate::{CellStore, Kind, StoreError, wait};

fn put_key(store: &SqliteStore, change: Change) -> Option<u64> {
    wait(replace(store, change)).unwrap()
}

/// What is said after `loss`, and again when something was looked for in the database since.
#[track_caller]
fn check(before: &[&str], loss: impl FnOnce(&Path), expected: Expect) {
    let dir = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(SqliteStore::at(dir.path()));
    for word in before {
        match *word {
            "database" => wait(store.overwrite(Kind::Anchor, "a", b"1".to_vec())).unwrap(),
            "keys" => drop(put_key(&store, Change::put(Kind::Key, "ci", None, "{}"))),
            "keys that were removed" => {
                let version = put_key(&store, Change::put(Kind::Key, "ci", None, "{}")).unwrap();
                put_key(&store, Change::remove(Kind::Key, "ci", version));
            }
            "secrets" => {
                let name = SecretName::parse("A").unwrap();
                let secrets = Secrets::new(store.clone(), dir.path());
                secrets.set_named(&name, &SecretValue::parse("value").unwrap(), 1).unwrap();
            }
            _ => panic!("{word}"),
        }
    }
    drop(store);
    loss(dir.path());
    let words =
        |store: &SqliteStore| store.lost().unwrap().map_or("nothing".to_owned(), |lost| lost.to_string());
    let first = words(&SqliteStore::at(dir.path()));
    let store = SqliteStore::at(dir.path());
    assert_eq!(
        wait(store.was_any(Kind::Key)).unwrap(),
        before.iter().any(|word| word.starts_with("keys")),
        "a key that was made is not forgotten"
    );
    wait(store.overwrite(Kind::Anchor, "a", Vec::new())).unwrap();
    expected.assert_eq(&format!("{first}\n{}\n", words(&store)));
}

fn gone(dir: &Path) {
    for file in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if file.file_name().to_string_lossy().starts_with(file::FILE) {
            fs::remove_file(file.path()).unwrap();
        }
    }
}

fn empty(dir: &Path) {
    gone(dir);
    fs::write(dir.join(file::FILE), "").unwrap();
}

fn nothing(_: &Path) {}

fn moved(dir: &Path) {
    fs::rename(dir.join(file::FILE), dir.join("old.db")).unwrap();
    gone(dir);
}

#[test]
fn what_is_there_or_never_was_is_not_lost() {
    for before in [&[][..], &["database"], &["keys", "secrets"], &["keys that were removed"]] {
        check(
            before,
            nothing,
            expect![[r#"
            nothing
            nothing
        "#]],
        );
    }
    check(
        &[],
        empty,
        expect![[r#"
        nothing
        nothing
    "#]],
    );
}

#[test]
fn what_was_lost_is_said_with_what_to_do() {
    check(
        &["database"],
        gone,
        expect![[r#"
        the state database toolcrib.db is gone or empty, and with it the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)
        nothing
    "#]],
    );
    check(
        &["keys"],
        gone,
        expect![[r#"
        the state database toolcrib.db is gone or empty, and with it the API keys, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true; what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)
        the state database toolcrib.db was begun anew, and what was in the old one is gone: the API keys, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true
    "#]],
    );
    check(
        &["keys"],
        empty,
        expect![[r#"
        the state database toolcrib.db is gone or empty, and with it the API keys, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true; what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)
        the state database toolcrib.db was begun anew, and what was in the old one is gone: the API keys, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true
    "#]],
    );
    check(
        &["keys that were removed"],
        moved,
        expect![[r#"
        the state database toolcrib.db is gone or empty, and with it the API keys, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true; what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)
        the state database toolcrib.db was begun anew, and what was in the old one is gone: the API keys, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true
    "#]],
    );
    check(
        &["keys", "secrets"],
        gone,
        expect![[r#"
        the state database toolcrib.db is gone or empty, and with it the API keys, the kept secrets, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true; what the secrets said is no longer struck out of anything until it is set again (`toolcrib secrets set NAME`); what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)
        the state database toolcrib.db was begun anew, and what was in the old one is gone: the API keys, the kept secrets, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless server.open_on_loopback = true; what the secrets said is no longer struck out of anything until it is set again (`toolcrib secrets set NAME`)
    "#]],
    );
    check(
        &["secrets"],
        empty,
        expect![[r#"
        the state database toolcrib.db is gone or empty, and with it the kept secrets, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; what the secrets said is no longer struck out of anything until it is set again (`toolcrib secrets set NAME`); what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)
        the state database toolcrib.db was begun anew, and what was in the old one is gone: the kept secrets, the sign-ins to servers, approvals and grants, and what the tools of servers were when they were accepted; if you have a copy, stop every toolcrib and put it back; what the secrets said is no longer struck out of anything until it is set again (`toolcrib secrets set NAME`)
    "#]],
    );
}

/// A store whose database is for reading only until it is opened anew.
fn read_only(dir: &Path) -> std::sync::Arc<SqliteStore> {
    let store = std::sync::Arc::new(SqliteStore::at(dir));
    wait(store.run(|connection| Ok(connection.pragma_update(None, "query_only", true)?))).unwrap();
    store
}

#[test]
fn a_key_that_a_database_for_reading_only_does_not_take_was_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = read_only(dir.path());
    let put = || wait(replace(&*store, Change::put(Kind::Key, "ci", None, "{}")));
    let refused = put();
    assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
    assert!(!wait(store.was_any(Kind::Key)).unwrap());
    assert_eq!(store.lost().unwrap(), None);
    // It is opened anew, as it is by now.
    assert_eq!((put().unwrap(), store.trouble(), store.losses()), (Some(1), None, 0));
    assert!(wait(store.was_any(Kind::Key)).unwrap());
}

#[test]
fn a_secret_that_a_database_for_reading_only_does_not_take_was_none() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = Secrets::new(read_only(dir.path()), dir.path());
    let (name, value) = (SecretName::parse("A").unwrap(), SecretValue::parse("value").unwrap());
    let refused = secrets.set_named(&name, &value, 1);
    assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
    assert!(!secrets.may_have_named().unwrap());
    secrets.set_named(&name, &value, 1).unwrap();
    assert!(secrets.may_have_named().unwrap());
}
