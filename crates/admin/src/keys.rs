//! The API keys of callers over HTTP. Running processes know of a change within about a second.

use std::sync::Arc;

use gate::Approvals;
use gate::keys::{self, KeyEntry, KeyError, KeyRequest};
use policy::{Role, Roles, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SqliteStore;

use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// The shortest life of a key, in milliseconds: an hour.
const LIFE_MS_MIN: u64 = 60 * 60 * 1000;

/// The longest life of a key that is not for ever, in milliseconds: 3650 days.
const LIFE_MS_MAX: u64 = 3_650 * 24 * 60 * 60 * 1000;

/// What operations on keys work on.
pub struct Keys {
    /// Where they are kept.
    pub store: Arc<SqliteStore>,
    /// What ends with the key of whoever asked or gave it.
    pub approvals: Arc<Approvals>,
}

/// Makes a key.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Who will hold it; records and rules know the caller as `key:NAME`.
    pub name: String,
    /// What its holder is here; an agent if nothing is said.
    #[serde(default)]
    pub roles: Vec<String>,
    /// What its holder may do, in place of what the roles say.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// A person will hold it, and no agent. Takes a person to say.
    #[serde(default)]
    pub person: bool,
    /// How long it is good, in milliseconds; until it is revoked if nothing is said.
    #[serde(default)]
    pub life_ms: Option<u64>,
}

/// A key that was made: the one time that it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    /// The whole key, for the one who will hold it.
    pub key: String,
    /// True if there was none before: from now on nobody is let in over HTTP who shows nothing, unless
    /// `server.open_on_loopback` says so.
    pub is_first: bool,
    /// What is known of it.
    #[serde(flatten)]
    pub report: KeyReport,
}

/// The keys that there are.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// All keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyList {
    /// In the order in which they were created.
    pub keys: Vec<KeyReport>,
    /// How it came that there are none any more, if they were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyReport {
    /// What it begins with.
    pub id: String,
    /// Who holds it.
    pub name: String,
    /// The same as a caller.
    pub caller: String,
    /// What its holder is here.
    pub roles: Vec<String>,
    /// Whether a person holds it, whose answers count.
    pub person: bool,
    /// What its holder may do; nothing for everything.
    pub scopes: Option<Vec<String>>,
    /// When it was created, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it was last used, in milliseconds since 1970, to the hour.
    pub last_used_at_ms: Option<i64>,
    /// From when on it is no longer good, in milliseconds since 1970.
    pub expires_at_ms: Option<i64>,
}

/// Makes a key worthless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// Its id, or its name.
    pub key: String,
}

/// A key that is worthless now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revoked {
    /// True if there is none any more.
    pub was_last: bool,
    /// What ended with it.
    pub ended: Ended,
    /// What was known of it.
    #[serde(flatten)]
    pub report: KeyReport,
}

/// What ended with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// Standing permissions.
    pub grants: usize,
    /// Questions that were open, and permissions that were not used yet.
    pub approvals: usize,
}

impl Operation for Create {
    const NAME: &'static str = "keys.create";
    const REVEALS: bool = true;
    type Part = Keys;
    type Output = Created;

    fn perform(self, part: &Keys, by: &By) -> Result<Created, Fault> {
        if self.person {
            // An agent that could make one would answer for a person by it.
            by.in_person()?.pass(&part.approvals)?;
        }
        let is_first = !keys::was_any(&*part.store)?;
        let (key, entry) = keys::create(&*part.store, self.request(part.approvals.now_ms())?)?;
        Ok(Created { key: key.reveal().to_owned(), is_first, report: KeyReport::of(&entry) })
    }
}

impl Create {
    fn request(self, now_ms: i64) -> Result<KeyRequest, Fault> {
        let expires_ms = self.life_ms.map(|life_ms| match (LIFE_MS_MIN..=LIFE_MS_MAX).contains(&life_ms) {
            true => Ok(now_ms.saturating_add_unsigned(life_ms)),
            false => Err(Fault::misused(
                "a key is good for an hour at least and 3650 days at most; leave the time out for one without an end",
            )),
        });
        let roles = self.roles.iter().map(|word| role(word)).collect::<Result<Roles, Fault>>()?;
        let scopes: Result<Vec<Scope>, _> = self.scopes.iter().map(|name| Scope::parse(name)).collect();
        let scopes = scopes.map_err(|error| Fault::misused(error.to_string()))?;
        Ok(KeyRequest {
            name: self.name,
            roles,
            scopes: (!scopes.is_empty()).then_some(scopes),
            person: self.person,
            now_ms,
            expires_ms: expires_ms.transpose()?,
        })
    }
}

fn role(word: &str) -> Result<Role, Fault> {
    let known = || Role::ALL.map(Role::as_str).join(", ");
    let wrong = || Fault::misused(format!("there is no role `{word}`; use one of {}", known()));
    Role::parse(word).ok_or_else(wrong)
}

impl Operation for List {
    const NAME: &'static str = "keys.list";
    type Part = Keys;
    type Output = KeyList;

    fn perform(self, part: &Keys, _: &By) -> Result<KeyList, Fault> {
        let entries = keys::all(&*part.store)?;
        let lost = part.store.lost()?.filter(|lost| lost.keys).map(|lost| lost.to_string());
        Ok(KeyList { keys: entries.iter().map(KeyReport::of).collect(), lost })
    }
}

impl Operation for Revoke {
    const NAME: &'static str = "keys.revoke";
    type Part = Keys;
    type Output = Revoked;

    fn perform(self, part: &Keys, _: &By) -> Result<Revoked, Fault> {
        let entry = keys::revoke(&*part.store, &self.key)?;
        let was_last = keys::all(&*part.store)?.is_empty();
        // After the key, so that nothing is asked in between.
        let ended = part.approvals.forget(&entry.caller())?;
        let ended = Ended { grants: ended.grants, approvals: ended.approvals };
        Ok(Revoked { was_last, ended, report: KeyReport::of(&entry) })
    }
}

impl KeyReport {
    fn of(entry: &KeyEntry) -> KeyReport {
        let granted = || {
            let roles: Roles = entry.roles.iter().filter_map(|word| Role::parse(word)).collect();
            let scopes = roles.scopes();
            scopes.named().map(|named| named.iter().map(|scope| scope.as_str().to_owned()).collect())
        };
        KeyReport {
            id: format!("tc_{}", entry.id),
            name: entry.name.clone(),
            caller: entry.caller(),
            roles: entry.roles.clone(),
            person: entry.person,
            scopes: entry.scopes.clone().or_else(granted),
            created_at_ms: entry.created_ms,
            last_used_at_ms: entry.used_ms,
            expires_at_ms: entry.expires_ms,
        }
    }
}

impl From<KeyError> for Fault {
    fn from(error: KeyError) -> Fault {
        match error {
            KeyError::Unknown(_) => Fault::unknown("unknown_key", error.to_string()),
            KeyError::Name(_) | KeyError::Taken { .. } | KeyError::TooMany => {
                Fault::misused(error.to_string())
            }
            KeyError::NoRandomness(_) => Fault::failed(error.to_string()),
            KeyError::Store(error) => error.into(),
        }
    }
}
