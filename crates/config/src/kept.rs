//! The secrets of one run: those that `toolcrib secrets set` has kept, where the key comes from that seals them, and who
//! must know them to strike them out.

mod config;
mod keyring;
mod learner;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use admin::secrets::bound_to;
use admin::{chain, nearest};
use redact::Known;
use store::{KeySource, Named, SecretName, Secrets, SqliteStore};
use upstream::NotFollowed;

pub(crate) use config::Config;
pub use learner::Learner;

/// Under which name the redactor is told of the kept secrets.
const STORE: &str = "store";

/// Under which name it is told of what the configuration refers to, or holds itself.
const CONFIGURATION: &str = "config";

/// The kept secrets of one state folder, opened at most once, and not before somebody asks for them; and the store that
/// they lie in, with everything else that survives the process.
pub struct Kept {
    state: PathBuf,
    store: Arc<SqliteStore>,
    source: KeySource,
    opened: OnceLock<Result<Vec<Named>, String>>,
}

/// The same, to be opened anew.
impl Clone for Kept {
    fn clone(&self) -> Kept {
        self.sealed_by(&self.source)
    }
}

impl Kept {
    /// Those in the folder `state`, sealed with the key from `source`.
    pub fn new(state: &Path, source: KeySource) -> Kept {
        Kept {
            state: state.to_owned(),
            store: Arc::new(SqliteStore::at(state)),
            source,
            opened: OnceLock::new(),
        }
    }

    /// The same, sealed with the key from `source`, to be opened anew.
    pub fn sealed_by(&self, source: &KeySource) -> Kept {
        let (state, store) = (self.state.clone(), self.store.clone());
        Kept { state, store, source: source.clone(), opened: OnceLock::new() }
    }

    /// The same in a store of this folder that others use, too.
    pub fn in_store(&self, store: &Arc<SqliteStore>) -> Kept {
        Kept { store: store.clone(), ..self.clone() }
    }

    /// The store that they lie in.
    pub fn store(&self) -> &Arc<SqliteStore> {
        &self.store
    }

    /// The state folder.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where the key comes from.
    pub fn source(&self) -> &KeySource {
        &self.source
    }

    /// What is sealed in the store, sign-ins among it.
    pub fn sealed(&self) -> Secrets {
        Secrets::sealed_by(self.store.clone(), &self.state, self.source.clone())
    }

    /// False if there are none for sure. Looks at one file.
    pub fn may_be_there(&self) -> bool {
        self.sealed().may_have_named().unwrap_or(true)
    }

    /// All of them. Touches one file if there are none.
    ///
    /// # Errors
    /// If one of them cannot be opened, a sentence with what to do.
    pub fn all(&self) -> Result<&[Named], String> {
        let open = || {
            let secrets = self.sealed();
            let may = secrets.may_have_named();
            may.and_then(|may| if may { secrets.all_named() } else { Ok(Vec::new()) })
                .map_err(|error| chain(&error))
        };
        self.opened.get_or_init(open).as_deref().map_err(Clone::clone)
    }

    /// What the secret of this name says.
    ///
    /// # Errors
    /// That it is missing if there is none, and else that it cannot be opened: a sentence with what to do, and nothing of
    /// any secret.
    pub fn value(&self, name: &str) -> Result<String, NotFollowed> {
        let no_name = |error| NotFollowed::Wrong(format!("`{name}` is no secret's name: {error}"));
        SecretName::parse(name).map_err(no_name)?;
        let all = self.all().map_err(NotFollowed::Wrong)?;
        if let Some(found) = all.iter().find(|named| named.name.as_str() == name) {
            return Ok(found.value.expose().to_owned());
        }
        let how = format!("toolcrib secrets set {name}`, then run `toolcrib mcp reload");
        Err(NotFollowed::Missing(self.missing(name, &how)))
    }

    /// What is said where there is no secret of this name, with the command that sets it.
    pub(crate) fn missing(&self, name: &str, how: &str) -> String {
        let all = self.all().unwrap_or_default();
        let near = nearest(name, all.iter().map(|named| named.name.as_str()));
        let near =
            near.map(|near| format!("; did you mean {near}? Otherwise")).unwrap_or_else(|| ";".to_owned());
        format!("no secret {name} is kept here{near} set it with `{how}`")
    }

    /// Whether a person has said that this secret is for a folder's server of this name, or for this host.
    ///
    /// # Errors
    /// A sentence, if that cannot be read.
    pub fn is_for(&self, name: &str, server: &str, host: Option<String>) -> Result<bool, String> {
        if !self.may_be_there() {
            return Ok(false);
        }
        let bound = bound_to(&*self.store, name)?;
        Ok(bound.contains(server) || host.is_some_and(|host| bound.contains(&host)))
    }

    /// All of them, for the redactor.
    ///
    /// # Errors
    /// As [`Kept::all`], since what cannot be opened cannot be struck out.
    pub fn known(&self) -> Result<Vec<Known>, String> {
        let known = |named: &Named| known(named.name.as_str(), named.value.expose());
        let all = self.all().map_err(|why| {
            format!(
                "{why}; until then nothing is served, since the kept secrets could not be struck out of it"
            )
        })?;
        Ok(all.iter().map(known).collect())
    }
}

/// A secret for the redactor.
pub fn known(name: &str, value: &str) -> Known {
    Known { name: name.into(), value: value.into() }
}

#[cfg(test)]
mod tests {
    use store::SecretValue;

    use super::*;

    fn set(state: &Path, name: &str, value: &str) {
        let name = SecretName::parse(name).expect("a name");
        let value = SecretValue::parse(value).expect("a value");
        Kept::new(state, KeySource::State).sealed().set_named(&name, &value, 1).expect("kept");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "nothing is made")]
    fn who_keeps_none_opens_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        let kept = Kept::new(&state, KeySource::State);
        assert_eq!(kept.known().map(|known| known.len()), Ok(0));
        let missing = "no secret TOKEN is kept here; set it with `toolcrib secrets set TOKEN`, then run `toolcrib mcp reload`";
        assert_eq!(kept.value("TOKEN"), Err(NotFollowed::Missing(missing.to_owned())));
        assert!(!state.exists());
    }

    #[test]
    fn what_is_kept_is_had_by_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        set(folder.path(), "TOKEN", "s3cret");
        let kept = Kept::new(folder.path(), KeySource::State);
        assert_eq!(kept.value("TOKEN").as_deref(), Ok("s3cret"));
        let near = "no secret TOKEM is kept here; did you mean TOKEN? Otherwise set it with `toolcrib secrets set TOKEM`, then run `toolcrib mcp reload`";
        assert_eq!(kept.value("TOKEM"), Err(NotFollowed::Missing(near.to_owned())));
        let why = kept.value("token").expect_err("no name");
        assert!(matches!(why, NotFollowed::Wrong(why) if why.starts_with("`token` is no secret's name: ")));
        // What it has read stays; whoever wants to know what has changed asks again.
        set(folder.path(), "LATER", "s3cret");
        assert!(kept.value("LATER").is_err());
        assert_eq!(kept.clone().value("LATER").as_deref(), Ok("s3cret"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a key to be lost")]
    fn what_cannot_be_opened_is_not_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        set(folder.path(), "TOKEN", "s3cret");
        std::fs::remove_file(folder.path().join("secret.key")).expect("removed");
        let why = Kept::new(folder.path(), KeySource::State).known().map(|_| ()).expect_err("lost");
        assert!(why.starts_with("the kept secret TOKEN cannot be opened, since "), "{why}");
        assert!(
            why.ends_with(
                "until then nothing is served, since the kept secrets could not be struck out of it"
            )
        );
    }
}
