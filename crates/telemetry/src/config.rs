//! The `[telemetry]` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::collector::Signal;

/// What operators can see of a running Toolcrib: figures and spans. They are about all folders, so only your own file, or
/// one that is named, says anything here.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether `/metrics` is served over HTTP, in the format of Prometheus. Whoever asks must be an owner, a maintainer or
    /// an auditor, or have the scope `metrics:read`.
    pub metrics: bool,
    /// Where spans go.
    pub traces: TracesConfig,
}

/// Where the spans of calls go.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TracesConfig {
    /// Address of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`; that
    /// path is added unless one is given. Without an address there are no spans.
    pub endpoint: Option<String>,
    /// Which part of the calls is traced that belong to no trace yet: 1 for all, 0.01 for one in a hundred. A call that
    /// belongs to one is traced if that is.
    #[schemars(range(min = 0, max = 1))]
    pub sample: f64,
}

impl Default for Config {
    fn default() -> Config {
        Config { metrics: true, traces: TracesConfig::default() }
    }
}

impl Default for TracesConfig {
    fn default() -> TracesConfig {
        TracesConfig { endpoint: None, sample: 1.0 }
    }
}

impl TracesConfig {
    /// What is wrong with it, as the key and a sentence.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.endpoint.as_deref().is_some_and(|endpoint| Signal::Traces.address(endpoint).is_none()) {
            let why = "must be an http or https address, such as http://127.0.0.1:4318/v1/traces".to_owned();
            problems.push(("endpoint", why));
        }
        if !(0.0..=1.0).contains(&self.sample) {
            problems.push(("sample", format!("must be between 0 and 1, not {}", self.sample)));
        }
        problems
    }
}
