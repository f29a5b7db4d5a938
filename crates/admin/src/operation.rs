//! What an operation is.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
