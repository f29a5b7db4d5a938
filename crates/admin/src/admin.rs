//! `Admin`: everything that operations work on, and the list of all operations, as they are carried as JSON.

use std::sync::Arc;

use gate::Approvals;
use schemars::{Schema, schema_for};
use serde_json::Value;

use crate::approvals;
use crate::artifacts::{self, ArtifactPart};
use crate::audit_log::{self, AuditPart};
use crate::by::By;
use crate::fault::Fault;
use crate::folders::{self, FoldersPart};
use crate::import::{self, ImportSource};
use crate::jobs::{self, JobsPart};
use crate::keys::{self, Keys};
use crate::nearest::nearest;
use crate::operation::Operation;
use crate::policy::{self, PolicyPart};
use crate::questions;
use crate::rules::{self, RulesPart};
use crate::secrets::{self, SecretPart};
use crate::servers::{self, ServersPart};
use crate::trust::{self, TrustPart};

/// Everything that operations work on, for whoever carries all of them.
pub struct Admin {
    /// Questions, answers and standing permissions.
    pub approvals: Arc<Approvals>,
    /// Results that were too large for an answer.
    pub artifacts: ArtifactPart,
    /// API keys.
    pub keys: Keys,
    /// Calls that outlive their request.
    pub jobs: JobsPart,
    /// Kept secrets.
    pub secrets: SecretPart,
    /// The audit log.
    pub audit_log: AuditPart,
    /// The servers that are configured, and those that run.
    pub servers: ServersPart,
    /// What folders declare, and what was agreed to of it.
    pub folders: FoldersPart,
    /// What other clients have configured.
    pub import: ImportSource,
    /// The policy.
    pub policy: PolicyPart,
    /// The rules for AI.
    pub rules: RulesPart,
    /// Definitions of servers, and what was accepted of them.
    pub trust: TrustPart,
}

/// All operations, by noun.
pub const OPERATIONS: &[Listed] = &[
    Listed::of::<approvals::List>(),
    Listed::of::<approvals::Show>(),
    Listed::of::<approvals::Answer>(),
    Listed::of::<approvals::Grants>(),
    Listed::of::<approvals::ShowGrant>(),
    Listed::of::<approvals::Revoke>(),
    Listed::of::<approvals::Reset>(),
    Listed::of::<artifacts::List>(),
    Listed::of::<artifacts::Read>(),
    Listed::of::<artifacts::Remove>(),
    Listed::of::<keys::Create>(),
    Listed::of::<keys::List>(),
    Listed::of::<keys::Revoke>(),
    Listed::of::<jobs::List>(),
    Listed::of::<jobs::Show>(),
    Listed::of::<jobs::Events>(),
    Listed::of::<jobs::Wait>(),
    Listed::of::<jobs::Cancel>(),
    Listed::of::<jobs::Pause>(),
    Listed::of::<jobs::Resume>(),
    Listed::of::<jobs::Asked>(),
    Listed::of::<jobs::Answer>(),
    Listed::of::<jobs::Purge>(),
    Listed::of::<secrets::Set>(),
    Listed::of::<secrets::List>(),
    Listed::of::<secrets::Remove>(),
    Listed::of::<secrets::Rekey>(),
    Listed::of::<audit_log::Tail>(),
    Listed::of::<audit_log::Verify>(),
    Listed::of::<audit_log::Acknowledge>(),
    Listed::of::<audit_log::Prune>(),
    Listed::of::<audit_log::Key>(),
    Listed::of::<audit_log::Export>(),
    Listed::of::<servers::List>(),
    Listed::of::<servers::Status>(),
    Listed::of::<servers::Reload>(),
    Listed::of::<servers::Reconnect>(),
    Listed::of::<servers::Stderr>(),
    Listed::of::<folders::List>(),
    Listed::of::<folders::Show>(),
    Listed::of::<folders::Agree>(),
    Listed::of::<folders::Revoke>(),
    Listed::of::<import::Preview>(),
    Listed::of::<policy::Explain>(),
    Listed::of::<policy::Test>(),
    Listed::of::<policy::Replay>(),
    Listed::of::<questions::Answer>(),
    Listed::of::<rules::Check>(),
    Listed::of::<rules::Show>(),
    Listed::of::<rules::Test>(),
    Listed::of::<trust::List>(),
    Listed::of::<trust::Show>(),
    Listed::of::<trust::Decide>(),
    Listed::of::<trust::Reset>(),
];

/// An operation in the list of all, for whoever carries it as JSON.
pub struct Listed {
    /// Its noun and its verb.
    pub name: &'static str,
    /// The schema of its input; nothing else is taken.
    pub input: fn() -> Schema,
    /// The schema of its output.
    pub output: fn() -> Schema,
    /// Whether the output holds a secret that is shown this once, and must not be struck out on its way.
    pub reveals: bool,
    perform: fn(&Admin, Value, &By) -> Result<Value, Fault>,
}

impl Listed {
    const fn of<O: Operation>() -> Listed
    where
        Admin: AsRef<O::Part>,
    {
        Listed {
            name: O::NAME,
            input: || schema_for!(O),
            output: || schema_for!(O::Output),
            reveals: O::REVEALS,
            perform: |admin, input, by| {
                let wrong = |error| Fault::misused(format!("{}: {error}", O::NAME));
                let operation: O = serde_json::from_value(input).map_err(wrong)?;
                let output = operation.perform(admin.as_ref(), by)?;
                Ok(serde_json::to_value(output).expect("an output has text for keys"))
            },
        }
    }
}

/// Whether the output of the operation of this name holds a secret that is shown this once.
pub fn reveals(name: &str) -> bool {
    OPERATIONS.iter().any(|listed| listed.name == name && listed.reveals)
}

impl Admin {
    /// Does the operation of this name with an input as JSON.
    ///
    /// # Errors
    /// There is no such operation, the input is not its input, or why it was not done.
    pub fn perform(&self, name: &str, input: Value, by: &By) -> Result<Value, Fault> {
        let Some(listed) = OPERATIONS.iter().find(|listed| listed.name == name) else {
            let near = nearest(name, OPERATIONS.iter().map(|listed| listed.name));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(Fault::unknown("unknown_operation", format!("there is no operation `{name}`{near}")));
        };
        (listed.perform)(self, input, by)
    }
}

/// Gives an operation its part of everything.
macro_rules! parts {
    ($($part:ty: $field:ident),* $(,)?) => {
        $(impl AsRef<$part> for Admin {
            fn as_ref(&self) -> &$part {
                &self.$field
            }
        })*
    };
}

parts! {
    Approvals: approvals,
    ArtifactPart: artifacts,
    Keys: keys,
    JobsPart: jobs,
    SecretPart: secrets,
    AuditPart: audit_log,
    ServersPart: servers,
    FoldersPart: folders,
    ImportSource: import,
    PolicyPart: policy,
    RulesPart: rules,
    TrustPart: trust,
}
