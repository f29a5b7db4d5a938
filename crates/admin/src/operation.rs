//! What an operation is, and how it is carried as JSON.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::admin::Admin;
use crate::by::By;
use crate::fault::Fault;

/// One act of an operator: the type is its input. What waits, waits for the disk or for other processes, so it is not for a
/// thread that answers.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema {
    /// Its noun and its verb: `approvals.list`.
    const NAME: &'static str;
    /// What it works on.
    type Part: ?Sized;
    /// What comes of it. Without secrets, but for a key that was just created.
    type Output: Serialize + DeserializeOwned + JsonSchema;

    /// Whether the output holds a secret that is shown this once.
    const REVEALS: bool = false;

    /// Does it.
    ///
    /// # Errors
    /// Why not.
    fn perform(self, part: &Self::Part, by: &By) -> Result<Self::Output, Fault>;
}

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
    pub(crate) perform: fn(&Admin, Value, &By) -> Result<Value, Fault>,
}

impl Listed {
    pub(crate) const fn of<O: Operation>() -> Listed
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
