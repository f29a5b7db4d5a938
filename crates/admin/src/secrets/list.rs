//! Everything about the secrets that are kept but what they say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SecretName;

use super::{SecretPart, bound_to, weakness};
use crate::by::By;
use crate::chain;
use crate::fault::Fault;
use crate::operation::Operation;

/// The secrets that are kept, or referred to.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// All secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretList {
    /// By their names.
    pub secrets: Vec<SecretReport>,
}

/// One secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReport {
    /// Its name.
    pub name: String,
    /// How it is doing.
    #[serde(flatten)]
    pub state: SecretState,
    /// The places of the configuration that refer to it.
    pub used_by: Vec<String>,
    /// The servers of folders, and hosts, that may use it.
    #[serde(rename = "for")]
    pub bound: Vec<String>,
}

/// How a secret is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SecretState {
    /// It is kept.
    Kept {
        /// When it was first set, in milliseconds since 1970.
        set_at_ms: i64,
        /// When it was last set, in milliseconds since 1970.
        changed_at_ms: i64,
        /// What is wrong with its value, if it is a poor one.
        warning: Option<String>,
    },
    /// It cannot be opened.
    Closed {
        /// Why.
        error: String,
    },
    /// Something refers to it, but it is not kept.
    Missing,
}

impl Operation for List {
    const NAME: &'static str = "secrets.list";
    type Part = SecretPart;
    type Output = SecretList;

    fn perform(self, part: &SecretPart, _: &By) -> Result<SecretList, Fault> {
        let names = part.names()?;
        let mut secrets = Vec::with_capacity(names.len());
        for name in &names {
            let state = match part.sealed.named(name) {
                Ok(Some(named)) => SecretState::Kept {
                    set_at_ms: named.set_at_ms,
                    changed_at_ms: named.changed_at_ms,
                    warning: weakness(named.value.expose()),
                },
                // Removed meanwhile.
                Ok(None) => continue,
                Err(error) => SecretState::Closed { error: chain(&error) },
            };
            let bound = bound_to(&**part.sealed.store(), name.as_str()).map_err(Fault::failed)?;
            let (bound, used_by) = (bound.into_iter().collect(), part.used_by(name.as_str()));
            secrets.push(SecretReport { name: name.to_string(), state, used_by, bound });
        }
        let is_missing = |name: &&String| !names.iter().map(SecretName::as_str).any(|kept| kept == **name);
        secrets.extend(part.uses.keys().filter(is_missing).map(|name| SecretReport {
            name: name.clone(),
            state: SecretState::Missing,
            used_by: part.used_by(name),
            bound: Vec::new(),
        }));
        secrets.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(SecretList { secrets })
    }
}
