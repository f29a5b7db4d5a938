//! What an operator sees: counters and histograms for Prometheus, spans for OpenTelemetry. Labels are bounded, and no
//! secret can be one: they are names of tools that are on offer, words of ours, and nothing that a caller writes.

mod config;
mod metrics;
mod otlp;
mod trace;

use std::sync::Arc;

pub use config::{Config, TracesConfig};
pub use metrics::{Ended, Meter, Metrics, Readings, TOOLS_MAX, UpstreamReading};
pub use trace::{Exporter, Finished, SPANS_WAITING_MAX, Trace, TraceParent, Tracer};

/// What a gate counts into and traces with.
pub struct Telemetry {
    /// The figures.
    pub metrics: Metrics,
    /// Where spans go, if they are wanted.
    pub tracer: Option<Arc<Tracer>>,
    /// Whether the figures are served over HTTP.
    pub shows_metrics: bool,
}

impl Telemetry {
    /// Figures that start at zero, and no spans. `version` is the program's.
    pub fn untraced(version: &str) -> Telemetry {
        Telemetry { metrics: Metrics::new(version), tracer: None, shows_metrics: true }
    }
}
