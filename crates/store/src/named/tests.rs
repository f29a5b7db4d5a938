//! Named secrets on a disk, and the keys that seal them.
#![expect(clippy::disallowed_methods, reason = "files of the tests' own")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::*;
use crate::{KeyHolder, KeySource, SqliteStore};

const VALUE: &str = "planted-s3cret-value";

fn secrets(dir: &Path, source: KeySource) -> Secrets {
    Secrets::sealed_by(Arc::new(SqliteStore::at(dir)), dir, source)
}

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn name(text: &str) -> SecretName {
    SecretName::parse(text).unwrap()
}

fn value(text: &str) -> SecretValue {
    SecretValue::parse(text).unwrap()
}

#[test]
fn names_and_values_are_checked() {
    for good in ["A", "A1_B", "GITHUB_TOKEN", &"A".repeat(64)] {
        let name = SecretName::parse(good).unwrap();
        assert_eq!((name.as_str(), &*name.to_string()), (good, good));
    }
    for bad in ["", "a", "1A", "_A", "A-B", "A B", "Ä", "A\n", "A/B", &"A".repeat(65)] {
        assert_eq!(SecretName::parse(bad), Err(BadName), "{bad}");
    }
    for (text, expected) in [
        ("x".to_owned(), None),
        ("ä".repeat(4096), None),
        ("line\nline".to_owned(), None),
        (String::new(), Some(BadValue::Empty)),
        ("x".repeat(4097), Some(BadValue::TooLong)),
        ("a\0b".to_owned(), Some(BadValue::Nul)),
    ] {
        assert_eq!(SecretValue::parse(&text).err(), expected);
    }
    assert_eq!((value(VALUE).expose(), &*format!("{:?}", value(VALUE))), (VALUE, "***"));
}

#[test]
fn what_is_set_is_found_with_its_times_and_not_on_the_disk() {
    let dir = scratch();
    let first = secrets(dir.path(), KeySource::State);
    assert!(!first.may_have_named().unwrap());
    assert_eq!(first.all_named().unwrap(), []);
    assert_eq!(first.set_named(&name("B"), &value("older-value"), 5).unwrap(), WasSet::Anew);
    assert_eq!(first.set_named(&name("A"), &value("x"), 6).unwrap(), WasSet::Anew);
    assert_eq!(first.set_named(&name("B"), &value(VALUE), 9).unwrap(), WasSet::Again);
    let second = secrets(dir.path(), KeySource::State);
    assert!(second.may_have_named().unwrap());
    let named = |name_: &str, text: &str, set_at_ms, changed_at_ms| Named {
        name: name(name_),
        value: value(text),
        set_at_ms,
        changed_at_ms,
    };
    assert_eq!(second.all_named().unwrap(), [named("A", "x", 6, 6), named("B", VALUE, 5, 9)]);
    assert!(second.remove_named(&name("A")).unwrap());
    assert!(!second.remove_named(&name("A")).unwrap());
    assert_eq!(first.named(&name("A")).unwrap(), None);
    assert_eq!(first.named_names().unwrap(), [name("B")]);
    // Sign-ins lie beside them and are no secrets of this kind.
    first.replace("oauth/a", None, Some(b"token")).unwrap();
    assert_eq!(first.named_names().unwrap(), [name("B")]);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        let content = fs::read(&path).unwrap();
        assert!(!content.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()), "{path:?}");
    }
}

#[test]
fn a_secret_that_was_moved_to_another_name_does_not_open() {
    let dir = scratch();
    let secrets = secrets(dir.path(), KeySource::State);
    secrets.set_named(&name("A"), &value(VALUE), 1).unwrap();
    let sealed = secrets.sealed("secret/A").unwrap().unwrap().value;
    secrets.put("secret/B", None, Some(sealed)).unwrap();
    let error = secrets.all_named().unwrap_err().to_string();
    assert!(error.starts_with("the kept secret B cannot be opened: it was changed, or "), "{error}");
    assert!(error.ends_with("give it up with `toolcrib secrets remove B` and set it again"), "{error}");
    assert_eq!(secrets.set_named(&name("B"), &value(VALUE), 2).unwrap(), WasSet::Again);
    assert_eq!(secrets.all_named().unwrap().len(), 2);
}

#[test]
fn with_the_key_lost_nothing_is_sealed_over_what_a_person_has_set() {
    let dir = scratch();
    secrets(dir.path(), KeySource::State).set_named(&name("A"), &value(VALUE), 1).unwrap();
    fs::remove_file(dir.path().join("secret.key")).unwrap();
    let later = secrets(dir.path(), KeySource::State);
    let expected = "the kept secret A cannot be opened, since STATE/secret.key is gone; put it back, or name in \
                    [secrets] where the key is now, or if you have the old key in a file, run \
                    `toolcrib secrets rekey --from FILE`, or give it up with `toolcrib secrets remove A` and set it \
                    again";
    for error in [
        later.all_named().unwrap_err(),
        later.set_named(&name("B"), &value(VALUE), 2).unwrap_err(),
        later.replace("oauth/a", None, Some(b"token")).unwrap_err(),
    ] {
        assert_eq!(error.to_string().replace(&dir.path().display().to_string(), "STATE"), expected);
    }
    assert_eq!(later.named_names().unwrap(), [name("A")]);
    assert!(later.remove_named(&name("A")).unwrap());
    later.set_named(&name("A"), &value(VALUE), 3).unwrap();
    assert_eq!(later.all_named().unwrap().len(), 1);
}

/// A key file with this content and mode; what setting a secret comes to with it.
fn check_key_file(content: &[u8], mode: u32, is_credential: bool) -> Result<WasSet, String> {
    let (dir, keys) = (scratch(), scratch());
    let path = keys.path().join("key");
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    let source = KeySource::File { path, is_credential };
    let set = secrets(dir.path(), source.clone()).set_named(&name("A"), &value(VALUE), 1);
    let set = set.map_err(|error| error.to_string().replace(&keys.path().display().to_string(), "KEYS"))?;
    assert_eq!(secrets(dir.path(), source).named(&name("A")).unwrap().unwrap().value, value(VALUE));
    assert!(!dir.path().join("secret.key").exists());
    Ok(set)
}

#[test]
fn a_key_may_lie_in_a_file_of_the_owners() {
    let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
    let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
    for good in
        [&(0..32).collect::<Vec<u8>>()[..], base64.as_bytes(), &base64.as_bytes()[..43], hex.as_bytes()]
    {
        assert_eq!(check_key_file(good, 0o600, false), Ok(WasSet::Anew), "{good:?}");
    }
    assert_eq!(check_key_file(hex.as_bytes(), 0o440, true), Ok(WasSet::Anew));
    let no_key = "the key file KEYS/key holds no key: 32 random bytes, as they are or in hexadecimal digits or base64; \
                  make one with `head -c 32 /dev/urandom | base64`";
    for bad in
        [&b""[..], b"correct horse battery staple 123", &[7; 31], &[7; 33], &[255; 64], &hex.as_bytes()[1..]]
    {
        assert_eq!(check_key_file(bad, 0o600, false), Err(no_key.to_owned()), "{bad:?}");
    }
    for (mode, is_credential) in [(0o640, false), (0o604, false), (0o444, true), (0o460, true)] {
        let error = check_key_file(hex.as_bytes(), mode, is_credential).unwrap_err();
        let expected =
            format!("the key file KEYS/key may be used by others than its owner (mode {mode:o}), so that ");
        assert!(error.starts_with(&expected), "{error}");
    }
    let dir = scratch();
    let missing = KeySource::File { path: dir.path().join("none"), is_credential: false };
    let error = secrets(dir.path(), missing).set_named(&name("A"), &value(VALUE), 1).unwrap_err().to_string();
    assert!(
        error.contains("cannot be read (No such file")
            && error.ends_with("check its path and its permissions"),
        "{error}"
    );
}

#[test]
fn what_waits_for_a_writer_is_no_key_file() {
    for (source, expected) in
        [("key", "is no file; make one with"), ("secret.key", "is no file; put the right one back")]
    {
        let dir = scratch();
        let path = dir.path().join(source);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let source = match source {
            "key" => KeySource::File { path, is_credential: false },
            _ => KeySource::State,
        };
        let error = secrets(dir.path(), source).check_key().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_key_is_known_in_every_spelling() {
    let spelt = |text: &str| crate::key_spellings(text).collect::<Vec<_>>();
    let hex = "fbff".repeat(16);
    let all = spelt(&hex);
    assert_eq!(all, spelt(&format!(" {}\n", hex.to_uppercase())));
    assert_eq!(all, spelt(&format!("{}=", all[2])));
    assert_eq!((all[0].as_str(), all[1].as_str()), (hex.to_uppercase().as_str(), hex.as_str()));
    assert!(all[2].starts_with("+//7/") && all[3].starts_with("-__7_"), "{all:?}");
    assert!(spelt("correct horse").is_empty());
}

/// Holds a key if it was given one, and gives it back if it is `honest`.
struct Holder {
    held: Mutex<Option<String>>,
    honest: bool,
}

impl KeyHolder for Holder {
    fn name(&self) -> String {
        "the test's keyring".to_owned()
    }

    fn load(&self) -> Result<Option<String>, String> {
        Ok(self.held.lock().unwrap().clone().filter(|_| self.honest))
    }

    fn keep(&self, key: &str) -> Result<(), String> {
        *self.held.lock().unwrap() = Some(key.to_owned());
        Ok(())
    }
}

fn holder(held: Option<&str>, honest: bool) -> Arc<Holder> {
    Arc::new(Holder { held: Mutex::new(held.map(str::to_owned)), honest })
}

#[test]
fn a_key_may_be_held_by_somebody_else() {
    let dir = scratch();
    let keyring = holder(None, true);
    let held_by = |keyring: Arc<Holder>| secrets(dir.path(), KeySource::Holder(keyring));
    assert_eq!(held_by(keyring.clone()).all_named().unwrap(), []);
    assert!(keyring.held.lock().unwrap().is_none(), "nothing was sealed yet");
    held_by(keyring.clone()).set_named(&name("A"), &value(VALUE), 1).unwrap();
    assert_eq!(held_by(keyring).all_named().unwrap().len(), 1);
    let check = |keyring, expected: &str| {
        let error = held_by(keyring).all_named().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        holder(None, true),
        "the kept secret A cannot be opened, since what the test's keyring holds is gone",
    );
    let other = "6f".repeat(32);
    check(
        holder(Some(&other), true),
        "or what the test's keyring holds is not the key that it was sealed with",
    );
    check(
        holder(Some("pass phrase"), true),
        "the test's keyring holds no key: 64 hexadecimal digits, or 32 bytes",
    );
    assert_eq!(secrets(dir.path(), KeySource::State).named_names().unwrap().len(), 1);

    let other = scratch();
    let liar = secrets(other.path(), KeySource::Holder(holder(None, false)));
    let error = liar.set_named(&name("A"), &value(VALUE), 1).unwrap_err().to_string();
    assert_eq!(error, "the test's keyring does not give back the key that it was given");
}

#[test]
fn what_is_kept_can_be_sealed_with_another_key() {
    let (dir, keys) = (scratch(), scratch());
    let before = secrets(dir.path(), KeySource::State);
    before.set_named(&name("A"), &value(VALUE), 1).unwrap();
    before.replace("oauth/a", None, Some(b"token")).unwrap();

    // From the state's own key to a keyring.
    let keyring = holder(None, true);
    let after = secrets(dir.path(), KeySource::Holder(keyring.clone()));
    assert_eq!(after.reseal(&KeySource::State).unwrap(), 2);
    assert_eq!(after.reseal(&KeySource::State).unwrap(), 0, "it is done");
    assert_eq!(after.named(&name("A")).unwrap().unwrap().value, value(VALUE));
    assert_eq!(after.load("oauth/a").unwrap().unwrap().value, b"token");
    assert!(before.named(&name("A")).is_err());

    // From one key of the state to a new one, half of which was done before.
    let old = keys.path().join("old.key");
    fs::write(&old, keyring.held.lock().unwrap().clone().unwrap()).unwrap();
    fs::set_permissions(&old, Permissions::from_mode(0o600)).unwrap();
    let old = KeySource::File { path: old, is_credential: false };
    fs::remove_file(dir.path().join("secret.key")).unwrap();
    let rotated = secrets(dir.path(), KeySource::State);
    assert!(rotated.named(&name("A")).is_err(), "the key is gone");
    assert_eq!(rotated.reseal(&old).unwrap(), 2);
    assert_eq!(rotated.set_named(&name("B"), &value(VALUE), 2).unwrap(), WasSet::Anew);
    assert_eq!(rotated.reseal(&old).unwrap(), 0);
    assert_eq!(rotated.all_named().unwrap().len(), 2);
    assert!(after.named(&name("A")).is_err());

    // What opens with neither is named, and nothing is lost.
    let sealed = rotated.sealed("secret/A").unwrap().unwrap();
    rotated.put("secret/A", Some(sealed.version), Some(b"spoilt".to_vec())).unwrap();
    let error = rotated.reseal(&old).unwrap_err().to_string();
    assert!(error.starts_with("the kept secret A cannot be opened: it was changed, or "), "{error}");
    let nowhere = secrets(keys.path(), KeySource::State).reseal(&KeySource::State).unwrap_err();
    assert!(nowhere.to_string().starts_with("there is no key at "), "{nowhere}");
}
