//! What an operator sees: counters and histograms for Prometheus, spans for OpenTelemetry. Labels are bounded, and no
//! secret can be one: they are names of tools that are on offer, words of ours, and nothing that a caller writes.

mod collector;
mod config;
mod metrics;
mod telemetry;
mod trace;

pub use collector::{Collector, SendError, Signal};
pub use config::{Config, TracesConfig};
pub use metrics::{JobReading, Meter, Metrics, Readings, TOOLS_MAX, UpstreamReading};
pub use telemetry::Telemetry;
pub use trace::{Exporter, Finished, SPANS_WAITING_MAX, Trace, TraceParent, Tracer};
