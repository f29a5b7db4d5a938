//! What is asked for at every scrape.

use std::fmt::Error;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType::{self, Counter, Gauge};
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

/// Calls that outlive their request, at one moment. All words are of fixed lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobReading {
    /// Those that this process holds, by what they wait for.
    pub held: Vec<(&'static str, u64)>,
    /// Those that have ended in it, by how.
    pub ended: Vec<(&'static str, u64)>,
}

/// The program at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Readings {
    /// All upstreams.
    pub upstreams: Vec<UpstreamReading>,
    /// Its jobs.
    pub jobs: JobReading,
    /// Whether calls that change something can be noted in the audit log, and so may run.
    pub audit_log_writable: bool,
    /// Spans that were let go since nobody took them.
    pub spans_dropped: u64,
    /// When the program was started, in seconds since 1970.
    pub started_at_s: u64,
}

/// Asks, and writes what is told.
pub(super) struct Scraped(pub(super) Arc<OnceLock<Box<dyn Fn() -> Readings + Send + Sync>>>);

impl std::fmt::Debug for Scraped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scraped").finish_non_exhaustive()
    }
}

/// A figure: its name, its help, its kind, where it stands.
type Column<T> = (&'static str, &'static str, MetricType, fn(&T) -> u64);

const OF_UPSTREAMS: [Column<UpstreamReading>; 5] = [
    ("upstream_queue", "Calls that wait for their turn", Gauge, |upstream| upstream.queued),
    ("upstream_processes", "Processes of the upstream", Gauge, |upstream| upstream.processes),
    ("upstream_tools", "Tools on offer", Gauge, |upstream| upstream.tools),
    ("upstream_held_back", "What is held back until somebody accepts it", Gauge, |upstream| {
        upstream.held_back
    }),
    ("upstream_restarts", "How often it was started anew", Counter, |upstream| upstream.restarts),
];

const OF_PROGRAM: [Column<Readings>; 3] = [
    ("start_time_seconds", "When the program was started, since 1970", Gauge, |all| all.started_at_s),
    (
        "audit_log_writable",
        "1, or 0 while calls that change something are refused since the audit log cannot be written",
        Gauge,
        |all| u64::from(all.audit_log_writable),
    ),
    ("spans_dropped", "Spans that were let go since nobody took them", Counter, |all| all.spans_dropped),
];

fn write(value: u64, kind: MetricType, out: MetricEncoder<'_>) -> Result<(), Error> {
    match kind {
        Counter => ConstCounter::new(value).encode(out),
        _ => ConstGauge::new(value).encode(out),
    }
}

impl Collector for Scraped {
    fn encode(&self, mut out: DescriptorEncoder) -> Result<(), Error> {
        let Some(reader) = self.0.get() else { return Ok(()) };
        let readings = reader();
        let mut states = out.encode_descriptor("upstream_state", "1 for the state it is in", None, Gauge)?;
        for upstream in &readings.upstreams {
            let labels = [("upstream", &*upstream.name), ("state", upstream.state)];
            write(1, Gauge, states.encode_family(&labels)?)?;
        }
        for (name, help, kind, value) in OF_UPSTREAMS {
            let mut family = out.encode_descriptor(name, help, None, kind)?;
            for upstream in &readings.upstreams {
                write(value(upstream), kind, family.encode_family(&[("upstream", &*upstream.name)])?)?;
            }
        }
        let of_jobs = [
            ("jobs", "Jobs that this process holds, by state", Gauge, &readings.jobs.held),
            ("jobs_ended", "Jobs that have ended in it, by state", Counter, &readings.jobs.ended),
        ];
        for (name, help, kind, all) in of_jobs {
            let mut family = out.encode_descriptor(name, help, None, kind)?;
            for (state, value) in all {
                write(*value, kind, family.encode_family(&[("state", *state)])?)?;
            }
        }
        for (name, help, kind, value) in OF_PROGRAM {
            write(value(&readings), kind, out.encode_descriptor(name, help, None, kind)?)?;
        }
        Ok(())
    }
}
