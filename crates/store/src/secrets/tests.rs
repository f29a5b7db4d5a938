//! Secrets on a disk: what is found there, what is not, and what is refused.
#![expect(clippy::disallowed_methods, reason = "files of the tests' own")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::thread;

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
    secrets.load(name).unwrap().map(|opened| opened.value)
}

#[test]
fn what_is_kept_is_found_by_others_and_not_on_the_disk() {
    let dir = scratch();
    let first = secrets(&dir);
    assert_eq!(first.load("oauth/a").unwrap(), None);
    assert!(!dir.path().join(master_key::FILE).exists(), "nothing was sealed yet");
    let version = first.replace("oauth/a", None, Some(PLANTED)).unwrap().unwrap();
    let second = secrets(&dir);
    assert_eq!(
        second.load("oauth/a").unwrap(),
        Some(Cell { key: "oauth/a".to_owned(), version, value: PLANTED.to_vec() })
    );
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
    assert_eq!(files, ["database.made", "secret.key", "toolcrib.db", "toolcrib.db-shm", "toolcrib.db-wal"]);
}

#[test]
fn a_record_is_sealed_to_its_name_and_as_it_was() {
    let dir = scratch();
    let secrets = secrets(&dir);
    secrets.replace("a", None, Some(PLANTED)).unwrap();
    let sealed = secrets.sealed("a").unwrap().unwrap().value;
    secrets.replace("same", None, Some(PLANTED)).unwrap();
    assert_ne!(secrets.sealed("same").unwrap().unwrap().value, sealed, "a nonce was used twice");

    let check_broken = |name: &str, sealed: &[u8]| {
        let version = secrets.sealed(name).unwrap().map(|found| found.version);
        secrets.put(name, version, Some(sealed.to_owned())).unwrap();
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
    secrets.put("a", version, Some(b"spoilt".to_vec())).unwrap();
    assert!(secrets.load("a").is_err());
    fs::write(dir.path().join(master_key::FILE), b"spoilt").unwrap();
    secrets.held().key = None;
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
                 seals is no secret; run `chmod 600` on it if nobody else has read it, or else put the right one \
                 back, or move it away, and sign in to your servers again"
            ),
        );
    }
    for bytes in [0, 31, 33] {
        check_key_file(
            |path| fs::write(path, vec![7; bytes]).unwrap(),
            "the key file STATE/secret.key holds no key: 32 random bytes, as they are or in hexadecimal digits or base64; \
             put the right one back, or move it away, and sign in to your servers again",
        );
    }
    check_key_file(
        |path| {
            fs::remove_file(path).unwrap();
            fs::DirBuilder::new().create(path).unwrap();
        },
        "the key file STATE/secret.key is no file; put the right one back, or move it away, and sign in to your servers again",
    );
    // There is something of that name, though nobody can tell what.
    check_key_file(
        |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink(path, path).unwrap();
        },
        "the key file STATE/secret.key cannot be read (Too many levels of symbolic links (os error 40)); check its path \
         and its permissions",
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

/// A key of somebody's own, in a file.
fn key_file(dir: &TempDir, name: &str, byte: u8) -> KeySource {
    let path = dir.path().join(name);
    fs::write(&path, [byte; 32]).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    KeySource::File { path, is_credential: false }
}

#[test]
fn who_holds_the_old_key_takes_the_new_one_from_the_same_place() {
    let (dir, elsewhere) = (scratch(), scratch());
    let (running, idle) = (secrets(&dir), secrets(&dir));
    running.replace("a", None, Some(PLANTED)).unwrap();
    let (key, old) = (dir.path().join(master_key::FILE), elsewhere.path().join("old.key"));
    fs::copy(&key, &old).unwrap();
    fs::remove_file(&key).unwrap();
    let old = KeySource::File { path: old, is_credential: false };
    assert_eq!(secrets(&dir).reseal(&old).unwrap(), 1);
    // It seals before it has read anything.
    running.replace("b", None, Some(PLANTED)).unwrap();
    for name in ["a", "b"] {
        for secrets in [&running, &idle, &secrets(&dir)] {
            assert_eq!(record(secrets, name).unwrap(), PLANTED, "{name}");
        }
    }
    assert_eq!(running.names("").unwrap(), ["a", "b"], "what tells of it is nobody's record");
    assert_eq!(secrets(&dir).reseal(&old).unwrap(), 0);
}

#[test]
fn who_cannot_have_the_new_key_neither_reads_nor_seals_until_told_where_it_is() {
    let (dir, keys) = (scratch(), scratch());
    let running = secrets(&dir);
    let version = running.replace("a", None, Some(PLANTED)).unwrap();
    let new = key_file(&keys, "new", 7);
    let store: Arc<dyn Store> = Arc::new(SqliteStore::at(dir.path()));
    assert_eq!(Secrets::sealed_by(store, dir.path(), new.clone()).reseal(&KeySource::State).unwrap(), 1);
    let sealed = running.sealed("a").unwrap().unwrap();
    // However often it tries.
    for _ in 0..2 {
        let refused = [
            running.load("a").map(drop),
            running.replace("a", version, Some(b"late")).map(drop),
            running.replace("b", None, Some(b"new")).map(drop),
        ];
        for refused in refused {
            let said = refused.unwrap_err().to_string();
            let expected = format!(
                "{} is not the key that it was sealed with",
                dir.path().join(master_key::FILE).display()
            );
            assert!(said.starts_with("what is kept was sealed anew by `toolcrib secrets rekey`"), "{said}");
            assert!(said.contains(&expected) && said.contains("`toolcrib mcp reload`"), "{said}");
        }
    }
    assert_eq!(running.sealed("a").unwrap().unwrap().version, sealed.version);
    assert_eq!(running.names("").unwrap(), ["a"]);
    // A third key is as good as the old one.
    running.use_key_from(key_file(&keys, "third", 8));
    assert!(matches!(running.replace("b", None, Some(b"new")), Err(StoreError::Resealed { .. })));
    running.use_key_from(new);
    assert_eq!(record(&running, "a").unwrap(), PLANTED);
    assert!(running.replace("b", None, Some(b"new")).unwrap().is_some());
}

#[test]
fn what_is_sealed_while_everything_is_sealed_anew_is_sealed_again() {
    struct Meanwhile {
        dir: std::path::PathBuf,
        new: KeySource,
        asked: std::sync::atomic::AtomicU32,
    }
    impl crate::KeyHolder for Meanwhile {
        fn name(&self) -> String {
            "a keyring".to_owned()
        }

        /// The old key the first time; while it is on its way, everything is sealed with the new one.
        fn load(&self) -> Result<Option<String>, String> {
            if self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0 {
                return Ok(Some("07".repeat(32)));
            }
            let store: Arc<dyn Store> = Arc::new(SqliteStore::at(&self.dir));
            Secrets::sealed_by(store, &self.dir, self.new.clone()).reseal(&KeySource::State).unwrap();
            let old: String = fs::read(self.dir.join(master_key::FILE))
                .unwrap()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            Ok(Some(old))
        }

        fn keep(&self, _key: &str) -> Result<(), String> {
            unreachable!("it has one")
        }
    }
    let (dir, keys) = (scratch(), scratch());
    secrets(&dir).replace("a", None, Some(PLANTED)).unwrap();
    let new = key_file(&keys, "new", 7);
    let holder = Meanwhile { dir: dir.path().to_owned(), new: new.clone(), asked: 0.into() };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::at(dir.path()));
    let running = Secrets::sealed_by(store.clone(), dir.path(), KeySource::Holder(Arc::new(holder)));
    assert!(running.replace("b", None, Some(PLANTED)).unwrap().is_some());
    assert_eq!(record(&Secrets::sealed_by(store, dir.path(), new), "b").unwrap(), PLANTED);
}

#[test]
fn all_is_sealed_anew_or_nothing() {
    let (dir, keys) = (scratch(), scratch());
    let [old, other, new] = [1, 2, 3].map(|byte| key_file(&keys, &byte.to_string(), byte));
    let store: Arc<dyn Store> = Arc::new(SqliteStore::at(dir.path()));
    let by = |source: &KeySource| Secrets::sealed_by(store.clone(), dir.path(), source.clone());
    by(&old).replace("a", None, Some(PLANTED)).unwrap();
    by(&other).replace("b", None, Some(PLANTED)).unwrap();
    let failed = by(&new).reseal(&old);
    assert!(matches!(failed, Err(StoreError::Sealed { name, .. }) if name == "b"));
    assert_eq!(record(&by(&old), "a").unwrap(), PLANTED);
    assert!(by(&new).remove("b").unwrap());
    assert_eq!(by(&new).reseal(&old).unwrap(), 1);
    assert_eq!(record(&by(&new), "a").unwrap(), PLANTED);
    assert!(by(&old).load("a").is_err());
}
