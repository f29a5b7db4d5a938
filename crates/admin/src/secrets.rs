//! Keeping secrets for tools. Values come in and never go out.

mod bound;
mod list;
mod name;
mod weak;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{KeySource, SecretName, SecretValue, WasSet};

use crate::by::By;
use crate::fault::Fault;
use crate::nearest::nearest;
use crate::operation::Operation;
use crate::running::{Running, Told};
pub use bound::{bind, bound_to, unbind};
pub use list::{List, SecretList, SecretReport, SecretState};
pub use name::ON_THE_LINE;
pub use weak::{is_struck_out, weakness};

/// What becomes of a secret in a process that does not hear of it.
const NOT_STRUCK_OUT: &str = "does not strike it out before it is started again";

/// What becomes of a process that does not hear of a new key.
const NOT_TAKEN: &str =
    "has not taken the new key, and neither reads nor keeps sign-ins and secrets before it is started again";

/// What operations on secrets work on.
pub struct SecretPart {
    /// What is sealed, with the key that the configuration names.
    pub sealed: store::Secrets,
    /// Where that key comes from.
    pub source: KeySource,
    /// The places of the configuration that refer to secrets, by the secrets' names.
    pub uses: BTreeMap<String, BTreeSet<String>>,
    /// Those who strike them out.
    pub running: Arc<dyn Running>,
    /// The time in milliseconds since 1970.
    pub now_ms: fn() -> i64,
}

/// A value on its way in. Prints as `***`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Value(pub String);

/// Keeps a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// The value; nothing to leave it as it is, and only say for whom it is.
    #[serde(default)]
    pub value: Option<Value>,
    /// Servers that folders declare, and hosts, which may use it from now on.
    #[serde(default, rename = "for")]
    pub whom: Vec<String>,
}

/// A secret that was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WasKept {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub was: Change,
    /// Servers and hosts which may use it from now on.
    #[serde(default, rename = "for", skip_serializing_if = "Vec::is_empty")]
    pub whom: Vec<String>,
    /// What is wrong with the value, if it is a poor one.
    pub warning: Option<String>,
    /// The places of the configuration that refer to it.
    pub used_by: Vec<String>,
    /// How many running Toolcribs strike it out from now on.
    pub told: usize,
    /// A sentence for each that does not.
    pub untold: Vec<String>,
}

/// What became of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// There was none of this name.
    New,
    /// It has another value.
    Changed,
    /// It has the value that it had.
    Unchanged,
}

/// Gives a secret up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Its name.
    pub name: String,
}

/// A secret that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// The places of the configuration that still refer to it.
    pub used_by: Vec<String>,
    /// A sentence for each running Toolcrib that does not know it.
    pub untold: Vec<String>,
}

/// Seals what is kept with the key that the configuration names now.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rekey {
    /// The absolute path of the file with the old key; `secret.key` in the state folder if nothing is said.
    pub from: Option<PathBuf>,
}

/// What was sealed with another key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rekeyed {
    /// How many records.
    pub resealed: usize,
    /// How many running Toolcribs have taken the new key.
    pub told: usize,
    /// A sentence for each that has not.
    pub untold: Vec<String>,
}

impl SecretPart {
    fn used_by(&self, name: &str) -> Vec<String> {
        self.uses.get(name).into_iter().flatten().cloned().collect()
    }

    /// Has the running Toolcribs read what is kept: how many have, and a sentence for each that has not, with what comes of
    /// it.
    fn tell(&self, otherwise: &str) -> Result<(usize, Vec<String>), Fault> {
        let asked = self.running.learn().map_err(Fault::because)?;
        let sentence = |Told { pid, error, .. }: &Told| {
            let why = error.as_ref()?;
            Some(format!("the running Toolcrib (process {pid}) {otherwise}: {why}"))
        };
        Ok((asked.iter().filter(|one| one.ok).count(), asked.iter().filter_map(sentence).collect()))
    }

    /// Whether there is a secret of this name that it could stay with.
    ///
    /// # Errors
    /// It cannot be a name, or what is kept cannot be read.
    pub fn is_kept(&self, name: &str) -> Result<bool, Fault> {
        let name = name::parse(name)?;
        Ok(self.names()?.contains(&name))
    }

    /// The names of those that are kept. Touches one file if there are none.
    fn names(&self) -> Result<Vec<SecretName>, Fault> {
        let is_there = self.sealed.may_have_named()?;
        Ok(if is_there { self.sealed.named_names()? } else { Vec::new() })
    }
}

impl Operation for Set {
    const NAME: &'static str = "secrets.set";
    type Part = SecretPart;
    type Output = WasKept;

    fn perform(self, part: &SecretPart, _: &By) -> Result<WasKept, Fault> {
        let name = name::parse(&self.name)?;
        let value = self.value.map(|Value(text)| SecretValue::parse(&text)).transpose();
        let value = value.map_err(|error| Fault::misused(error.to_string()))?;
        let has_value = value.is_some() || (!self.whom.is_empty() && part.is_kept(&self.name)?);
        if !has_value {
            return Err(Fault::misused(format!("no value of {name} was given, so nothing was set")));
        }
        if !self.whom.is_empty() {
            bind(&**part.sealed.store(), name.as_str(), &self.whom).map_err(Fault::failed)?;
        }
        let used_by = part.used_by(name.as_str());
        let (whom, name_text) = (self.whom, name.to_string());
        let Some(value) = value else {
            let (was, told, untold) = (Change::Unchanged, 0, Vec::new());
            return Ok(WasKept { name: name_text, was, whom, warning: None, used_by, told, untold });
        };
        let was = match part.sealed.set_named(&name, &value, (part.now_ms)())? {
            WasSet::Anew => Change::New,
            WasSet::Again => Change::Changed,
        };
        let (told, untold) = part.tell(NOT_STRUCK_OUT)?;
        let warning = weakness(value.expose());
        Ok(WasKept { name: name_text, was, whom, warning, used_by, told, untold })
    }
}

impl Operation for Remove {
    const NAME: &'static str = "secrets.remove";
    type Part = SecretPart;
    type Output = Removed;

    fn perform(self, part: &SecretPart, _: &By) -> Result<Removed, Fault> {
        let name = name::parse(&self.name)?;
        let is_there = part.sealed.may_have_named()?;
        if !is_there || !part.sealed.remove_named(&name)? {
            let names = part.names()?;
            let near = nearest(name.as_str(), names.iter().map(SecretName::as_str));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(Fault::unknown("unknown_secret", format!("no secret {name} is kept here{near}")));
        }
        unbind(&**part.sealed.store(), name.as_str()).map_err(Fault::failed)?;
        // What they have learnt they strike out all the same, as long as they run.
        let (_, untold) = part.tell(NOT_STRUCK_OUT)?;
        Ok(Removed { name: name.to_string(), used_by: part.used_by(name.as_str()), untold })
    }
}

impl Operation for Rekey {
    const NAME: &'static str = "secrets.rekey";
    type Part = SecretPart;
    type Output = Rekeyed;

    fn perform(self, part: &SecretPart, _: &By) -> Result<Rekeyed, Fault> {
        let old = match self.from {
            Some(path) => KeySource::File { path, is_credential: false },
            None if matches!(part.source, KeySource::State) => {
                let how = "everything is sealed with `secret.key` in the state folder; to have another one there, move it away \
                           and name it: `toolcrib secrets rekey --from OLD_FILE`; or name another `key` in [secrets] first";
                return Err(Fault::misused(how));
            }
            None => KeySource::State,
        };
        let resealed = part.sealed.reseal(&old)?;
        let (told, untold) = part.tell(NOT_TAKEN)?;
        Ok(Rekeyed { resealed, told, untold })
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}
