//! What is asked for at every scrape.

use std::fmt::Error;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// One upstream at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamReading {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Its state, as `mcp status` says it.
    pub state: &'static str,
    /// Calls that wait for their turn.
    pub queued: u64,
    /// Its processes.
    pub processes: u64,
    /// How often it was started anew.
    pub restarts: u64,
    /// Its tools on offer.
    pub tools: u64,
    /// What is held back until somebody accepts it.
    pub held_back: u64,
}

/// The program at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Readings {
    /// All upstreams.
    pub upstreams: Vec<UpstreamReading>,
    /// Whether calls that change something can be noted in the audit log, and so may run.
    pub audit_log_writable: bool,
    /// Spans that were let go since nobody took them.
    pub spans_dropped: u64,
    /// When the program was started, in seconds since 1970.
    pub started_at_s: u64,
}

type Reader = Arc<OnceLock<Box<dyn Fn() -> Readings + Send + Sync>>>;

/// Asks, and writes what is told.
pub(super) struct Scraped(Reader);

impl Scraped {
    pub(super) fn new(reader: Reader) -> Scraped {
        Scraped(reader)
    }
}

impl std::fmt::Debug for Scraped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scraped").finish_non_exhaustive()
    }
}

/// A figure of every upstream: its name, its help, where it stands.
type Column = (&'static str, &'static str, fn(&UpstreamReading) -> u64);

const UPSTREAM_GAUGES: [Column; 4] = [
    ("upstream_queue", "Calls that wait for their turn", |upstream| upstream.queued),
    ("upstream_processes", "Processes of the upstream", |upstream| upstream.processes),
    ("upstream_tools", "Tools on offer", |upstream| upstream.tools),
    ("upstream_held_back", "What is held back until somebody accepts it", |upstream| upstream.held_back),
];

impl Collector for Scraped {
    fn encode(&self, mut out: DescriptorEncoder) -> Result<(), Error> {
        let Some(reader) = self.0.get() else { return Ok(()) };
        let readings = reader();
        let mut states =
            out.encode_descriptor("upstream_state", "1 for the state it is in", None, MetricType::Gauge)?;
        for upstream in &readings.upstreams {
            let labels = [("upstream", &*upstream.name), ("state", upstream.state)];
            ConstGauge::new(1_u64).encode(states.encode_family(&labels)?)?;
        }
        for (name, help, value) in UPSTREAM_GAUGES {
            let mut family = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for upstream in &readings.upstreams {
                let labels = [("upstream", &*upstream.name)];
                ConstGauge::new(value(upstream)).encode(family.encode_family(&labels)?)?;
            }
        }
        let help = "How often it was started anew";
        let mut restarts = out.encode_descriptor("upstream_restarts", help, None, MetricType::Counter)?;
        for upstream in &readings.upstreams {
            let labels = [("upstream", &*upstream.name)];
            ConstCounter::new(upstream.restarts).encode(restarts.encode_family(&labels)?)?;
        }
        let help = "When the program was started, since 1970";
        let started = out.encode_descriptor("start_time_seconds", help, None, MetricType::Gauge)?;
        ConstGauge::new(readings.started_at_s).encode(started)?;
        let help =
            "1, or 0 while calls that change something are refused since the audit log cannot be written";
        let audit_log = out.encode_descriptor("audit_log_writable", help, None, MetricType::Gauge)?;
        ConstGauge::new(u64::from(readings.audit_log_writable)).encode(audit_log)?;
        let help = "Spans that were let go since nobody took them";
        let dropped = out.encode_descriptor("spans_dropped", help, None, MetricType::Counter)?;
        ConstCounter::new(readings.spans_dropped).encode(dropped)
    }
}
