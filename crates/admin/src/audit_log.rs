//! The audit log of calls: its records, whether it is as it was written, and what an operator signs into it.

mod export;
mod filter;
mod loss;
mod tail;
mod verify;

use std::fmt::Display;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use audit::{AuditLog, Config, PublicKey, Removed};
use redact::Redactor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;
pub use export::{Export, ExportPage, Format, Pages};
pub use filter::{Filter, Wanted, outcome_of};
pub use loss::LossReport;
pub(crate) use tail::latest;
pub use tail::{LINES_MAX, Lines, Tail};
pub use verify::{BrokenLog, GoodLog, Verify, VerifyReport};

/// What operations on the audit log work on.
pub struct AuditPart {
    /// The folder that it lies in.
    pub state: PathBuf,
    /// How long it is kept, and how it is written.
    pub config: Config,
    /// Strikes secrets out of what is written into it.
    pub redactor: Redactor,
}

/// Signs that a person knows of the records that it says were lost.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Acknowledge {
    /// What happened; it is kept in the audit log.
    pub because: Option<String>,
}

/// The losses that were acknowledged just now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledged {
    /// Nothing if it has lost nothing that somebody does not know of.
    pub acknowledged: Vec<LossReport>,
}

/// Removes segments that are older or larger than the settings keep.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prune {}

/// The segments that were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pruned {
    /// The oldest first.
    pub removed: Vec<Removed>,
}

/// The public key that it is signed with.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Key {}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyReport {
    /// 64 hexadecimal digits.
    pub key: String,
}

impl AuditPart {
    pub(crate) fn open(&self) -> AuditLog {
        AuditLog::with(&self.state, now_ms, self.config.clone(), self.redactor.clone())
    }
}

impl Operation for Acknowledge {
    const NAME: &'static str = "audit.acknowledge";
    type Part = AuditPart;
    type Output = Acknowledged;

    fn perform(self, part: &AuditPart, _: &By) -> Result<Acknowledged, Fault> {
        let because = self.because.map(|because| part.redactor.text(&because).into_owned());
        let losses = part.open().acknowledge(because.as_deref());
        let losses = losses.map_err(|error| Fault::failed(error.to_string()))?;
        Ok(Acknowledged { acknowledged: losses.into_iter().map(LossReport::from).collect() })
    }
}

impl Operation for Prune {
    const NAME: &'static str = "audit.prune";
    type Part = AuditPart;
    type Output = Pruned;

    fn perform(self, part: &AuditPart, _: &By) -> Result<Pruned, Fault> {
        let removed = part.open().prune().map_err(|error| Fault::failed(error.to_string()))?;
        Ok(Pruned { removed })
    }
}

impl Operation for Key {
    const NAME: &'static str = "audit.key";
    type Part = AuditPart;
    type Output = KeyReport;

    fn perform(self, part: &AuditPart, _: &By) -> Result<KeyReport, Fault> {
        let key = PublicKey::of_folder(&part.state).map_err(unreadable)?;
        let none = || Fault::failed("there is no key yet: it is made with the first call");
        Ok(KeyReport { key: key.ok_or_else(none)?.to_string() })
    }
}

/// What is said of an audit log that cannot be read.
pub fn unreadable(error: impl Display) -> Fault {
    Fault::failed(format!("the audit log cannot be read: {error}"))
}

/// The time by the clock of the system, in milliseconds since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
