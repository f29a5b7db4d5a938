//! What a server's program may touch, and what others than its table have to say of it: a folder's file that narrows it, or
//! whoever finds that it must not start.

use std::sync::Arc;

use sandbox::egress::HostRules;

use super::check::key as key_of;
use super::checked::Settings;
use super::sandbox::ServerSandbox;

impl Settings {
    /// What its program may touch; for a server that runs already nothing comes of it.
    pub fn sandbox(&self) -> &ServerSandbox {
        &self.sandbox
    }

    /// The same, reaching nothing that `outer` does not allow as well.
    #[must_use]
    pub fn reaching_within(mut self, outer: HostRules) -> Settings {
        let sandbox = Arc::make_mut(&mut self.sandbox);
        sandbox.network = std::mem::take(&mut sandbox.network).within(outer);
        self
    }

    /// The same, with a server that cannot be started for this reason, in a sentence about the table's `key`.
    #[must_use]
    pub fn lacking(mut self, key: &str, why: &str) -> Settings {
        self.lacks.get_or_insert_with(|| format!("mcp.{}.{key}: {why}", key_of(&self.name)).into());
        self
    }
}
