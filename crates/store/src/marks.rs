//! Files beside the database that tell what was once in it, so that a database that is gone is not taken for one that
//! never was: nothing in it can tell. None of them is ever removed.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crate::{SqliteStore, StoreError, folder, sqlite};

/// Only the owner learns what there is.
const MODE: u32 = 0o600;

/// What there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The database itself.
    Database,
    /// Records of the kind `key`.
    Keys,
    /// Secrets that a person has set.
    Secrets,
}

impl Mark {
    fn file(self) -> &'static str {
        match self {
            Mark::Database => "database.made",
            Mark::Keys => "keys.made",
            Mark::Secrets => "secrets.set",
        }
    }

    /// The one that tells of records of a kind, if one does.
    pub(crate) fn of_kind(kind: &str) -> Option<Mark> {
        (kind == "key").then_some(Mark::Keys)
    }

    /// Whether it was made in this folder. Looks at one file.
    pub(crate) fn is_in(self, dir: &Path) -> io::Result<bool> {
        dir.join(self.file()).try_exists()
    }

    /// Makes it, unless it is there. Once this returns it survives a crash of the machine.
    pub(crate) fn make(self, dir: &Path) -> io::Result<()> {
        folder::create_private(dir)?;
        match OpenOptions::new().write(true).create_new(true).mode(MODE).open(dir.join(self.file())) {
            Ok(file) => {
                file.sync_all()?;
                File::open(dir)?.sync_all()
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// What was in the state folder once and is not any more. As text it says what follows, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The database itself is gone or empty. If not, it was begun anew since.
    pub database: bool,
    /// API keys: whoever was let in by one is not, and nobody is let in without one.
    pub keys: bool,
    /// Kept secrets: what refers to one fails, and none is struck out of anything.
    pub secrets: bool,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.database {
            true => "the state database toolcrib.db is gone or empty, and with it ",
            false => "the state database toolcrib.db was begun anew, and what was in the old one is gone: ",
        })?;
        let what = [
            (self.keys, "the API keys"),
            (self.secrets, "the kept secrets"),
            (
                true,
                "the sign-ins to servers, approvals and grants, and what the tools of servers were when they \
                    were accepted",
            ),
        ];
        let what: Vec<&str> = what.iter().filter(|(is_lost, _)| *is_lost).map(|(_, what)| *what).collect();
        out.write_str(&what.join(", "))?;
        out.write_str("; if you have a copy, stop every toolcrib and put it back")?;
        if self.keys {
            out.write_str(
                "; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless \
                 server.open_on_loopback = true",
            )?;
        }
        if self.secrets {
            out.write_str(
                "; what the secrets said is no longer struck out of anything until it is set again \
                 (`toolcrib secrets set NAME`)",
            )?;
        }
        if self.database {
            out.write_str(
                "; what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)",
            )?;
        }
        Ok(())
    }
}

impl SqliteStore {
    /// What was lost, as far as that can be told. Whoever keeps nothing pays a few questions to the system for it.
    ///
    /// # Errors
    /// It cannot be found out.
    pub fn lost(&self) -> Result<Option<Lost>, StoreError> {
        let dir = self.dir();
        let cannot = |source| StoreError::Folder { dir: dir.to_owned(), source };
        let was = |mark: Mark| mark.is_in(dir).map_err(cannot);
        let is_there = match fs::metadata(dir.join(sqlite::FILE)) {
            Ok(found) => found.len() > 0,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(cannot(error)),
        };
        let (keys, secrets) = (was(Mark::Keys)?, was(Mark::Secrets)?);
        if !is_there {
            let database = keys || secrets || was(Mark::Database)?;
            return Ok(database.then_some(Lost { database, keys, secrets }));
        }
        let keys = keys && !self.has_kept(sqlite::Sort::Keys)?;
        let secrets = secrets && !self.has_kept(sqlite::Sort::Secrets)?;
        Ok((keys || secrets).then_some(Lost { database: false, keys, secrets }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::{SecretName, SecretValue, Secrets, Store};

    /// What is said after `loss`, and again when something was looked for in the database since.
    #[track_caller]
    fn check(before: &[&str], loss: impl FnOnce(&Path), expected: Expect) {
        let dir = tempfile::tempdir().unwrap();
        let store = std::sync::Arc::new(SqliteStore::at(dir.path()));
        for word in before {
            match *word {
                "database" => store.keep_anchor("a", "1").unwrap(),
                "keys" => drop(store.replace_record("key", "ci", None, Some("{}")).unwrap()),
                "keys that were removed" => {
                    let version = store.replace_record("key", "ci", None, Some("{}")).unwrap();
                    store.replace_record("key", "ci", version, None).unwrap();
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
        let said =
            |store: &SqliteStore| store.lost().unwrap().map_or("nothing".to_owned(), |lost| lost.to_string());
        let first = said(&SqliteStore::at(dir.path()));
        let store = SqliteStore::at(dir.path());
        assert_eq!(
            store.was_any("key").unwrap(),
            before.iter().any(|word| word.starts_with("keys")),
            "a key that was made is not forgotten"
        );
        store.anchor("a").unwrap();
        expected.assert_eq(&format!("{first}\n{}\n", said(&store)));
    }

    fn gone(dir: &Path) {
        for file in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            if file.file_name().to_string_lossy().starts_with(sqlite::FILE) {
                fs::remove_file(file.path()).unwrap();
            }
        }
    }

    fn empty(dir: &Path) {
        gone(dir);
        fs::write(dir.join(sqlite::FILE), "").unwrap();
    }

    fn nothing(_: &Path) {}

    fn moved(dir: &Path) {
        fs::rename(dir.join(sqlite::FILE), dir.join("old.db")).unwrap();
        gone(dir);
    }

    /// As a release leaves it that knew no marks.
    fn unmarked(dir: &Path) {
        fs::remove_file(dir.join(Mark::Keys.file())).unwrap();
        fs::remove_file(dir.join(Mark::Database.file())).unwrap();
        let store = SqliteStore::at(dir);
        assert!(store.was_any("key").unwrap());
        drop(store);
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
            &["keys"],
            unmarked,
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
}
