//! Whether a server is started again.

use schemars::JsonSchema;
use serde::Deserialize;

/// Whether a server is started, or dialled, again after it has ended by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Whenever it has ended, sooner or later as it fails less or more often.
    #[default]
    Always,
    /// Unless it has ended well (a program: with exit code 0); the next call then starts it.
    OnFailure,
    /// Not until somebody says so: calls fail.
    Never,
}
