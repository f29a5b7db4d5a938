//! Secrets on a disk: what is found there, what is not, and what is refused.
#![expect(clippy::disallowed_methods, reason = "files of the tests' own")]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    thread,
};

use tempfile::TempDir;

use super::*;
use crate::{SqliteStore, master_key};

/// What must not be found anywhere.
const PLANTED: &[u8] = b"planted-s3cret-refresh-token";

fn secrets(dir: &TempDir) -> Secrets {
    Secrets::new(Arc::new(SqliteStore::at(dir.path())), dir.path())
}

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn record(secrets: &Secrets, name: &str) -> Option<Vec<u8>> {
    secrets.load(name).unwrap().map(|opened| opened.record)
}

#[test]
fn what_is_kept_is_found_by_others_and_not_on_the_disk() {
    let dir = scratch();
    let first = secrets(&dir);
    assert_eq!(first.load("oauth/a").unwrap(), None);
    assert!(!dir.path().join(master_key::FILE).exists(), "nothing was sealed yet");
    let version = first.replace("oauth/a", None, Some(PLANTED)).unwrap().unwrap();
    let second = secrets(&dir);
    assert_eq!(second.load("oauth/a").unwrap(), Some(Opened { version, record: PLANTED.to_vec() }));
    assert_eq!(second.names("oauth/").unwrap(), ["oauth/a"]);
    let next = second.replace("oauth/a", Some(version), Some(b"")).unwrap();
    assert_eq!(first.replace("oauth/a", Some(version), Some(b"late")).unwrap(), None);
    assert_eq!(record(&first, "oauth/a"), Some(Vec::new()));
    assert_eq!(first.replace("oauth/a", next, None).unwrap(), Some(0));
    assert_eq!(record(&second, "oauth/a"), None);

    let mut files: Vec<String> = Vec::new();
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        let content = fs::read(&path).unwrap();
        assert!(!content.windows(PLANTED.len()).any(|part| part == PLANTED), "{path:?}");
        files.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    files.sort();
    assert_eq!(files, ["secret.key", "toolcrib.db", "toolcrib.db-shm", "toolcrib.db-wal"]);
}

#[test]
fn a_record_is_sealed_to_its_name_and_as_it_was() {
    let dir = scratch();
    let secrets = secrets(&dir);
    secrets.replace("a", None, Some(PLANTED)).unwrap();
    let sealed = secrets.store().secret("a").unwrap().unwrap().sealed;
    secrets.replace("same", None, Some(PLANTED)).unwrap();
    assert_ne!(secrets.store().secret("same").unwrap().unwrap().sealed, sealed, "a nonce was used twice");

    let check_broken = |name: &str, sealed: &[u8]| {
        let version = secrets.store().secret(name).unwrap().map(|found| found.version);
        secrets.store().replace_secret(name, version, Some(sealed)).unwrap();
        let error = secrets.load(name).unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(
            said.starts_with(&format!("the kept secret {name} cannot be opened: it was changed")),
            "{said}"
        );
        assert!(!said.contains("planted"), "{said}");
    };
    check_broken("moved", &sealed);
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        check_broken("b", &changed);
    }
    for length in [0, 1, 12, 13, 28, sealed.len() - 1] {
        check_broken("b", &sealed[..length]);
    }
    check_broken("b", &[&sealed[..], b"x"].concat());
    assert_eq!(record(&secrets, "a").unwrap(), PLANTED);
}

#[test]
fn what_does_not_open_can_be_removed() {
    let dir = scratch();
    let secrets = secrets(&dir);
    let version = secrets.replace("a", None, Some(PLANTED)).unwrap();
    secrets.store().replace_secret("a", version, Some(b"spoilt")).unwrap();
    assert!(secrets.load("a").is_err());
    fs::write(dir.path().join(master_key::FILE), b"spoilt").unwrap();
    secrets.forget_key();
    assert!(secrets.remove("a").unwrap());
    assert!(!secrets.remove("a").unwrap());
    assert_eq!(secrets.names("").unwrap(), [""; 0]);
}

#[track_caller]
fn check_key_file(spoil: impl FnOnce(&Path), expected: &str) {
    let dir = scratch();
    secrets(&dir).replace("a", None, Some(PLANTED)).unwrap();
    spoil(&dir.path().join(master_key::FILE));
    let later = secrets(&dir);
    let error = later.load("a").unwrap_err().to_string();
    let folder = dir.path().display().to_string();
    assert_eq!(error.replace(&folder, "STATE"), expected);
    // What is wrong with the file stands in the way of sealing, too; another key does not.
    let sealed = later.replace("b", None, Some(PLANTED));
    if expected.starts_with("the key file") {
        assert_eq!(sealed.unwrap_err().to_string(), error);
    } else {
        assert!(sealed.is_ok() && later.load("b").is_ok());
    }
}

#[test]
fn a_key_file_that_cannot_be_trusted_is_named() {
    for mode in [0o640, 0o604, 0o660, 0o620] {
        check_key_file(
            |path| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap(),
            &format!(
                "the key file STATE/secret.key may be used by others than its owner (mode {mode:o}), so that what it \
                 seals is no secret; run `chmod 600` on it if nobody else has read it, or else move it away, and \
                 sign in to your servers again"
            ),
        );
    }
    for bytes in [0, 31, 33] {
        check_key_file(
            |path| fs::write(path, vec![7; bytes]).unwrap(),
            &format!(
                "the key file STATE/secret.key has {bytes} bytes and not 32; put the right one back, or move it away, \
                 and sign in to your servers again"
            ),
        );
    }
    check_key_file(
        |path| {
            fs::remove_file(path).unwrap();
            fs::DirBuilder::new().create(path).unwrap();
        },
        "the key file STATE/secret.key is no file; move it away, and sign in to your servers again",
    );
}

#[test]
fn with_another_key_nothing_opens() {
    check_key_file(
        |path| fs::write(path, [7; 32]).unwrap(),
        "the kept secret a cannot be opened: it was changed, or STATE/secret.key is not the key that it was sealed \
         with; put the right key back, or forget the record with `toolcrib mcp logout` and sign in again",
    );
}

#[test]
fn who_has_lost_the_key_begins_anew() {
    let dir = scratch();
    let running = secrets(&dir);
    for name in ["a", "b"] {
        running.replace(name, None, Some(PLANTED)).unwrap();
    }
    fs::remove_file(dir.path().join(master_key::FILE)).unwrap();
    let later = secrets(&dir);
    assert_eq!(later.load("a").unwrap(), None);
    assert!(later.replace("a", None, Some(b"new")).unwrap().is_some());
    assert_eq!(later.names("").unwrap(), ["a"], "what nobody can open any more is gone");
    // Whoever had the old key finds the new one, and what it has sealed.
    assert_eq!(record(&running, "a").unwrap(), b"new");
    running.replace("b", None, Some(b"too")).unwrap();
    assert_eq!(record(&later, "b").unwrap(), b"too");
}

#[test]
fn many_first_uses_at_once_make_one_key() {
    for _ in 0..10 {
        let dir = scratch();
        thread::scope(|scope| {
            for nth in 0..8 {
                let secrets = secrets(&dir);
                scope.spawn(move || secrets.replace(&format!("{nth}"), None, Some(PLANTED)).unwrap());
            }
        });
        let later = secrets(&dir);
        for nth in 0..8 {
            assert_eq!(record(&later, &format!("{nth}")).unwrap(), PLANTED);
        }
        let left = fs::read_dir(dir.path()).unwrap().filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(master_key::FILE)
        });
        assert_eq!(left.count(), 1, "drafts are left");
    }
}
