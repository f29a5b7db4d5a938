//! The keys that were created, as they are kept: by whom they are held and what their holders may do, and of the key
//! itself a hash. For the command line, which waits for the disk.

use data_encoding::HEXLOWER;
use policy::{Caller, Role, Roles, Scope, Scopes};
use serde::{Deserialize, Serialize};
use store::{Cell, Change, Content, Kind, Query, Store, StoreError, every, replace, wait};

use super::key::{self, Key};

/// What a holder's name as a caller begins with.
pub const CALLER_PREFIX: &str = "key:";

/// Most keys: all of them are in the memory of each process that serves over HTTP.
pub const KEYS_MAX: usize = 1_000;

/// Longest name of a key, in bytes: it stands in each record of its holder's calls.
const NAME_BYTES_MAX: usize = 64;

/// How exactly it is noted when a key was last used, in milliseconds.
pub const USE_NOTED_MS: i64 = 60 * 60 * 1000;

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyEntry {
    /// What the key begins with behind `tc_`.
    pub id: String,
    /// What its holder is called: as a caller, `key:NAME`.
    pub name: String,
    /// Lower-case hexadecimal digits of the SHA-256 of the whole key.
    sha256: String,
    /// What its holder is here.
    pub roles: Vec<String>,
    /// What its holder may do, by name; without it, what the roles say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Whether it was given to a person, whose answers count. Keys of before it could be said were not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: i64,
    /// From when on it is no longer good, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
    /// When it was last used, in milliseconds since 1970, to the hour.
    #[serde(skip)]
    pub used_ms: Option<i64>,
}

/// A key to be created.
#[derive(Debug, Clone)]
pub struct KeyRequest {
    /// What its holder is called.
    pub name: String,
    /// What its holder is here; an agent, if nothing is said.
    pub roles: Roles,
    /// What its holder may do, if not what the roles say.
    pub scopes: Option<Vec<Scope>>,
    /// Whether a person will hold it, whose answers count, and no agent.
    pub person: bool,
    /// The time now, in milliseconds since 1970.
    pub now_ms: i64,
    /// From when on it is no longer good, in milliseconds since 1970.
    pub expires_ms: Option<i64>,
}

/// Why a key cannot be created or revoked.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It could be taken for something else.
    #[error(
        "{0:?} cannot be the name of a key; use 1 to {NAME_BYTES_MAX} letters, digits, `.`, `-` and `_`, such as `ci` or \
         `anna-laptop`"
    )]
    Name(String),
    /// Who called what must be told apart.
    #[error(
        "there is a key of this name, tc_{id}; take another name, or revoke that one first: toolcrib keys revoke {name}"
    )]
    Taken {
        /// The name.
        name: String,
        /// The id of the key that has it.
        id: String,
    },
    /// There are too many.
    #[error("there are {KEYS_MAX} keys, which is the most; revoke some that nobody uses: toolcrib keys list")]
    TooMany,
    /// There is none of this id and name.
    #[error("there is no key {0:?}; `toolcrib keys list` shows those there are")]
    Unknown(String),
    /// Nothing secret can be made.
    #[error("the system gives no randomness: {0}")]
    NoRandomness(getrandom::Error),
    /// They cannot be kept or read.
    #[error("the keys cannot be reached: {0}")]
    Store(#[from] StoreError),
}

impl KeyEntry {
    /// The entry that a cell holds; nothing if it does not read as one.
    pub fn of(cell: &Cell) -> Option<KeyEntry> {
        serde_json::from_slice(&cell.value).ok()
    }

    /// What is kept of the key itself.
    pub fn hash(&self) -> Option<[u8; 32]> {
        let mut hash = [0; 32];
        let digits = self.sha256.as_bytes();
        (digits.len() == 2 * hash.len()).then(|| HEXLOWER.decode_mut(digits, &mut hash).ok())??;
        Some(hash)
    }

    /// What its holder is called as a caller.
    pub fn caller(&self) -> String {
        format!("{CALLER_PREFIX}{}", self.name)
    }

    /// What its holder is and may do; nothing if a word of it means nothing to us, as of a later release.
    pub fn rights(&self) -> Option<(Roles, Scopes)> {
        let roles: Roles = self.roles.iter().map(|word| Role::parse(word)).collect::<Option<_>>()?;
        let scopes = match &self.scopes {
            None => roles.scopes(),
            Some(names) => {
                let scopes: Result<Scopes, _> = names.iter().map(|name| Scope::parse(name)).collect();
                scopes.ok()?
            }
        };
        Some((roles, scopes))
    }
}

/// Whether there has ever been a key, be it revoked by now: from then on nobody is let in who shows nothing, unless
/// `server.open_on_loopback` says so. That the store has been lost since makes no difference.
///
/// # Errors
/// It cannot be read.
pub fn was_any(store: &dyn Store) -> Result<bool, KeyError> {
    Ok(wait(store.was_any(Kind::Key))?)
}

/// Whether this caller, if it holds a key, may still come by it: one that was revoked is good for nothing, even if there
/// is another of its name by now. Blocks on the disk.
///
/// # Errors
/// The keys cannot be read.
pub fn is_held(store: &dyn Store, caller: &Caller) -> Result<bool, StoreError> {
    let Some(id) = caller.key_id() else { return Ok(true) };
    let name = caller.id().strip_prefix(CALLER_PREFIX).unwrap_or_default();
    let entry = wait(store.cell(Kind::Key, name))?.as_ref().and_then(KeyEntry::of);
    Ok(entry.is_some_and(|entry| *entry.id == **id))
}

/// Creates a key. Serving processes know it as soon as it is used.
///
/// # Errors
/// Says what to change.
pub fn create(store: &dyn Store, request: KeyRequest) -> Result<(Key, KeyEntry), KeyError> {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let name = request.name;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(sound) {
        return Err(KeyError::Name(name));
    }
    let there = all(store)?;
    if there.len() >= KEYS_MAX {
        return Err(KeyError::TooMany);
    }
    let key = loop {
        let key = Key::new().map_err(KeyError::NoRandomness)?;
        if there.iter().all(|entry| entry.id != key.id()) {
            break key;
        }
    };
    let roles = if request.roles.is_empty() { Role::Agent.into() } else { request.roles };
    let entry = KeyEntry {
        id: key.id().to_owned(),
        name,
        sha256: HEXLOWER.encode(&key::hash(key.reveal())),
        roles: roles.iter().map(|role| role.as_str().to_owned()).collect(),
        scopes: request.scopes.map(|scopes| scopes.iter().map(|scope| scope.as_str().to_owned()).collect()),
        person: request.person,
        created_ms: request.now_ms,
        expires_ms: request.expires_ms,
        used_ms: None,
    };
    let record = serde_json::to_string(&entry).expect("plain text and numbers");
    let content = Content { topic: entry.id.clone(), ..Content::from(record) };
    match wait(replace(store, Change::put(Kind::Key, &entry.name, None, content)))? {
        Some(_) => Ok((key, entry)),
        None => {
            let id = wait(store.cell(Kind::Key, &entry.name))?.as_ref().and_then(KeyEntry::of);
            Err(KeyError::Taken { name: entry.name, id: id.map(|taken| taken.id).unwrap_or_default() })
        }
    }
}

/// All keys, in the order in which they were created, with their last use.
///
/// # Errors
/// They cannot be read.
pub fn all(store: &dyn Store) -> Result<Vec<KeyEntry>, KeyError> {
    let uses = wait(every(store, Query::all(Kind::KeyUse)))?;
    let used_ms = |id: &str| {
        let used = uses.iter().find(|used| used.key == id)?;
        std::str::from_utf8(&used.value).ok()?.parse().ok()
    };
    let keys = wait(store.cells(&Query::all(Kind::Key)))?;
    let mut entries: Vec<KeyEntry> = keys.iter().filter_map(KeyEntry::of).collect();
    entries.sort_by_key(|entry| entry.created_ms);
    entries.iter_mut().for_each(|entry| entry.used_ms = used_ms(&entry.id));
    Ok(entries)
}

/// Removes the key of this id, with or without `tc_` before it, or of this name. Within about a second no process
/// takes it any more.
///
/// # Errors
/// There is none, or it cannot be removed.
pub fn revoke(store: &dyn Store, id_or_name: &str) -> Result<KeyEntry, KeyError> {
    let id = id_or_name.strip_prefix(key::PREFIX).unwrap_or(id_or_name);
    let unknown = || KeyError::Unknown(id_or_name.to_owned());
    if id.is_empty() {
        return Err(unknown());
    }
    let by_id = Query { topic: Some(id.to_owned()), ..Query::all(Kind::Key) };
    let found = match wait(store.cell(Kind::Key, id_or_name))? {
        Some(found) => found,
        None => wait(store.cells(&by_id))?.pop().ok_or_else(unknown)?,
    };
    let entry = KeyEntry::of(&found);
    let mut changes = vec![Change::remove(Kind::Key, &found.key, found.version)];
    if let Some(entry) = &entry {
        let used = wait(store.cell(Kind::KeyUse, &entry.id))?;
        changes.extend(used.map(|used| Change::remove(Kind::KeyUse, &used.key, used.version)));
    }
    match wait(store.commit(changes))? {
        Some(_) => entry.ok_or_else(unknown),
        // It was used just now, or is revoked already.
        None => revoke(store, id_or_name),
    }
}

#[cfg(test)]
mod tests {
    use store::{CellStore as _, SqliteStore};

    use super::*;

    fn request(name: &str) -> KeyRequest {
        KeyRequest {
            name: name.into(),
            roles: Roles::default(),
            scopes: None,
            person: false,
            now_ms: 7,
            expires_ms: None,
        }
    }

    #[test]
    fn keys_are_created_listed_and_revoked() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::at(folder.path());
        let (key, ci) = create(&store, request("ci")).expect("created");
        let scopes = Some(vec![Scope::parse("read").expect("a scope")]);
        let more = KeyRequest {
            roles: Role::Owner.into(),
            scopes,
            expires_ms: Some(9),
            person: true,
            now_ms: 8,
            ..request("anna")
        };
        let (_, anna) = create(&store, more).expect("created");
        assert_eq!(all(&store).expect("readable"), [ci.clone(), anna.clone()]);
        assert_eq!(
            (ci.roles.as_slice(), ci.hash()),
            (&["agent".to_owned()][..], Some(key::hash(key.reveal())))
        );
        assert!(anna.person && !ci.person);
        assert_eq!(anna.rights().map(|(_, scopes)| scopes.contains("write_workspace")), Some(false));
        wait(store.overwrite(Kind::KeyUse, &ci.id, b"5".to_vec())).expect("noted");
        assert_eq!(all(&store).expect("readable")[0].used_ms, Some(5));
        assert_eq!(revoke(&store, "ci").expect("revoked").id, ci.id);
        assert_eq!(revoke(&store, &format!("tc_{}", anna.id)).expect("revoked").name, "anna");
        assert_eq!(all(&store).expect("readable"), []);
        assert_eq!(wait(store.keys(Kind::KeyUse, "")).expect("readable"), [""; 0]);
    }

    #[test]
    fn no_secret_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::at(folder.path());
        let (key, entry) = create(&store, request("ci")).expect("created");
        let kept = wait(store.cell(Kind::Key, "ci")).expect("readable").expect("kept").value;
        let kept = String::from_utf8(kept).expect("text");
        assert!(
            !kept.contains(&key.reveal()[10..]) && !format!("{entry:?}").contains(&key.reveal()[10..]),
            "{kept}"
        );
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::at(folder.path());
        let (_, ci) = create(&store, request("ci")).expect("created");
        for name in ["", "a b", "a:b", "ä", "../x", &"x".repeat(65)] {
            assert!(matches!(create(&store, request(name)), Err(KeyError::Name(_))), "{name}");
        }
        let taken = create(&store, request("ci")).expect_err("there is one").to_string();
        assert!(taken.contains(&ci.id) && taken.contains("toolcrib keys revoke ci"), "{taken}");
        for id in ["", "nobody", "tc_", "tc_ci"] {
            assert!(matches!(revoke(&store, id), Err(KeyError::Unknown(_))), "{id}");
        }
    }

    #[test]
    fn an_entry_of_which_a_word_means_nothing_gives_no_rights() {
        let entry = |roles: &str, scopes: &str| {
            let text = format!(
                r#"{{"id":"a","name":"a","sha256":"","roles":{roles},"scopes":{scopes},"created_ms":1}}"#
            );
            serde_json::from_str::<KeyEntry>(&text).expect("an entry")
        };
        assert!(entry(r#"["agent"]"#, r#"["network"]"#).rights().is_some());
        assert!(entry(r#"["agent","emperor"]"#, "null").rights().is_none());
        assert!(entry(r#"["agent"]"#, r#"["everything"]"#).rights().is_none());
        assert_eq!(entry("[]", "null").hash(), None);
    }
}
