//! The `[log]` section.

use schemars::JsonSchema;
use serde::Deserialize;

/// What is logged, and how it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How much is logged. The environment variable TOOLCRIB_LOG overrides it and may name parts of the
    /// program, as in `info,upstream=debug`.
    pub level: Level,
    /// How a line looks.
    pub format: Format,
}

/// From silence to everything.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// And what its owner should look after.
    Warn,
    /// And what happens.
    #[default]
    Info,
    /// And how it happens.
    Debug,
    /// And every step of it.
    Trace,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// An object for each line.
    Json,
}
