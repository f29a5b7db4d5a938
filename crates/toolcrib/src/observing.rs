//! What operators see of this process: its figures and its spans, put together and ended.

use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use gate::Cancel;
use telemetry::{Config, Metrics, Readings, Telemetry, Tracer, UpstreamReading};
use tokio::task::JoinHandle;

use crate::upstreams::Upstreams;

/// The program's version, as figures and spans have it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The task that sends spans, if they are wanted.
pub(crate) struct Exporting(Option<(Cancel, JoinHandle<()>)>);

/// Figures at zero, and a task that sends spans. Must be called on the runtime.
pub(crate) fn begin(config: &Config) -> (Telemetry, Exporting) {
    let (tracer, exporter) = Tracer::new(&config.traces).unzip();
    let task = exporter.map(|exporter| {
        let ending = Cancel::new();
        let until = ending.clone();
        let sending = async move { exporter.run(sandbox::Client::new(), VERSION, until.cancelled()).await };
        (ending, tokio::spawn(sending))
    });
    (Telemetry { metrics: Metrics::new(VERSION), tracer, shows_metrics: config.metrics }, Exporting(task))
}

/// What is asked for at every look at the figures.
pub(crate) fn read_with(telemetry: &Telemetry, upstreams: &Arc<Upstreams>) {
    let upstreams: Weak<Upstreams> = Arc::downgrade(upstreams);
    let tracer = telemetry.tracer.clone();
    let started_at_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    telemetry.metrics.read_with(move || Readings {
        upstreams: upstreams
            .upgrade()
            .iter()
            .flat_map(|upstreams| upstreams.iter())
            .map(|one| reading(&one))
            .collect(),
        spans_dropped: tracer.as_ref().map_or(0, |tracer| tracer.dropped()),
        started_at_s,
    });
}

fn reading(upstream: &upstream::Upstream) -> UpstreamReading {
    let report = upstream.status();
    UpstreamReading {
        state: report.state.word(),
        queued: upstream.queued() as u64,
        processes: report.processes as u64,
        restarts: report.restarts,
        tools: report.tools as u64,
        held_back: report.held_back as u64,
        name: report.name,
    }
}

impl Exporting {
    /// Sends what is left, for a bounded time.
    pub(crate) async fn end(self) {
        let Some((ending, task)) = self.0 else { return };
        ending.cancel();
        // It ends by itself within seconds; a panic of it is logged.
        let _ = task.await;
    }
}
