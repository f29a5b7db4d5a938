//! The `[secrets]` section: where the key comes from that seals what is kept.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use store::{KeyHolder, KeySource};

use super::keyring::Keyring;

/// Where the system puts what a service is to know.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// How secrets and sign-ins are sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Where the key comes from that seals them: 32 random bytes, as they are or in hexadecimal digits or base64, such as
    /// `head -c 32 /dev/urandom | base64` makes. `{ file = "PATH" }`, which only its owner may read;
    /// `{ credential = "NAME" }`, a credential of the systemd service; `{ env = "NAME" }`, an environment variable; or
    /// `"keyring"`, the desktop's keyring, through the program `secret-tool`, where a key is put when it is first needed.
    /// By default the file `secret.key` in the state folder, which is made when it is first needed; a copy of the whole
    /// folder can then be opened by whoever has it. With another key, what was kept before does not open.
    pub key: Option<Key>,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Key {
    /// This file; relative to the configuration.
    File(PathBuf),
    /// This credential of the systemd service.
    Credential(String),
    /// This environment variable.
    Env(String),
    /// The keyring of the desktop.
    Keyring,
}

/// An environment variable by its name; nothing if it is not set or empty.
type Variable<'a> = &'a dyn Fn(&str) -> Option<&'a OsStr>;

impl Config {
    /// The environment variable that holds the key, if one does.
    pub(crate) fn variable(&self) -> Option<&str> {
        match &self.key {
            Some(Key::Env(name)) => Some(name),
            None | Some(Key::File(_) | Key::Credential(_) | Key::Keyring) => None,
        }
    }

    /// Where the key comes from, with `variable` for the environment and `located` for the path of a file.
    ///
    /// # Errors
    /// A sentence about `secrets.key`.
    pub(crate) fn source(
        &self,
        variable: Variable<'_>,
        located: &dyn Fn(&Path) -> PathBuf,
    ) -> Result<KeySource, String> {
        let set =
            |name: &str| variable(name).ok_or_else(|| format!("the environment variable {name} is not set"));
        match &self.key {
            None => Ok(KeySource::State),
            Some(Key::Keyring) => Ok(KeySource::Holder(Arc::new(Keyring))),
            Some(Key::File(path)) => Ok(KeySource::File { path: located(path), is_credential: false }),
            Some(Key::Credential(name)) => {
                if name.is_empty() || name.contains('/') || name == ".." {
                    return Err("a credential is named, not given by a path; `file` takes one".to_owned());
                }
                let folder = set(CREDENTIALS).map_err(|why| {
                    format!("{why}: only a systemd service with LoadCredential= or the like has credentials")
                })?;
                Ok(KeySource::File { path: Path::new(folder).join(name), is_credential: true })
            }
            Some(Key::Env(name)) => {
                let text = set(name)?;
                let text =
                    text.to_str().ok_or_else(|| format!("the environment variable {name} is no text"))?;
                Ok(KeySource::Holder(Arc::new(Held { name: name.clone(), key: text.into() })))
            }
        }
    }
}

/// A key that stands in a variable.
struct Held {
    name: String,
    key: Box<str>,
}

impl KeyHolder for Held {
    fn name(&self) -> String {
        format!("the environment variable {}", self.name)
    }

    fn load(&self) -> Result<Option<String>, String> {
        Ok(Some(self.key.to_string()))
    }

    fn keep(&self, _key: &str) -> Result<(), String> {
        Err("is set by whoever starts the program".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is the file, whether it is a credential, and the holder; or what is wrong.
    #[track_caller]
    fn check(toml: &str, expected: &str) {
        let config: Config = toml::from_str(toml).expect("a section by its form");
        let variable = |name: &str| match name {
            "KEY" => Some(OsStr::new("6f6f")),
            "CREDENTIALS_DIRECTORY" => Some(OsStr::new("/run/credentials/x")),
            _ => None,
        };
        let source = config.source(&variable, &|path| Path::new("/etc/toolcrib").join(path));
        let shown = source.map_or_else(|why| why, |source| format!("{source:?}"));
        assert_eq!(shown, expected, "{toml}");
    }

    #[test]
    fn a_key_comes_from_one_place() {
        check("", "(None, false, None)");
        check("key = { file = \"k\" }", "(Some(\"/etc/toolcrib/k\"), false, None)");
        check("key = { credential = \"k\" }", "(Some(\"/run/credentials/x/k\"), true, None)");
        check("key = \"keyring\"", "(None, false, Some(\"the keyring\"))");
        check("key = { env = \"KEY\" }", "(None, false, Some(\"the environment variable KEY\"))");
        check("key = { env = \"NONE\" }", "the environment variable NONE is not set");
        for path in ["", "a/b", ".."] {
            check(
                &format!("key = {{ credential = \"{path}\" }}"),
                "a credential is named, not given by a path; `file` takes one",
            );
        }
        let nowhere = Config { key: Some(Key::Credential("k".to_owned())) };
        let why = nowhere.source(&|_| None, &Path::to_owned).expect_err("no service");
        assert!(
            why.starts_with("the environment variable CREDENTIALS_DIRECTORY is not set: only a systemd"),
            "{why}"
        );
    }

    #[test]
    fn a_key_that_stands_in_a_variable_is_not_shown_and_not_replaced() {
        let held = Held { name: "KEY".to_owned(), key: "6f6f".into() };
        assert!(held.keep("7a7a").is_err());
        assert_eq!(held.load(), Ok(Some("6f6f".to_owned())));
        assert!(!format!("{:?}", KeySource::Holder(Arc::new(held))).contains("6f6f"));
    }

    #[test]
    fn two_places_are_no_place() {
        for toml in ["key = { file = \"a\", env = \"B\" }", "key = \"a\"", "key = {}", "kee = 1"] {
            assert!(toml::from_str::<Config>(toml).is_err(), "{toml}");
        }
    }
}
