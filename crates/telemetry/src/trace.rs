//! Spans: one for a call, one for each of its steps, in the trace that its caller has begun or in a new one.

mod export;
mod finished;
mod otlp;
mod parent;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use http::Uri;
use tokio::sync::mpsc;

use crate::collector::Signal;
use crate::config::TracesConfig;
pub use export::Exporter;
use finished::STEPS_MAX;
pub use finished::{Finished, Trace};
pub use parent::TraceParent;

/// Calls whose spans wait to be sent; more are let go, and counted.
pub const SPANS_WAITING_MAX: usize = 2_048;

/// Begins traces and takes in finished ones. Costs a call that is not traced one comparison.
pub struct Tracer {
    endpoint: Uri,
    finished: mpsc::Sender<Finished>,
    /// Below this, a random number makes a trace.
    threshold: AtomicU64,
    dropped: Arc<AtomicU64>,
}

impl Tracer {
    /// A tracer, and the other end of its queue. Nothing if there is nowhere to send spans to. What is let go is counted
    /// in `dropped`.
    pub(crate) fn new(config: &TracesConfig, dropped: &Arc<AtomicU64>) -> Option<(Arc<Tracer>, Exporter)> {
        let endpoint = endpoint(config)?;
        let (finished, queue) = mpsc::channel(SPANS_WAITING_MAX);
        let threshold = AtomicU64::new(threshold(config));
        let tracer = Tracer { endpoint: endpoint.clone(), finished, threshold, dropped: dropped.clone() };
        Some((Arc::new(tracer), Exporter { endpoint, queue, dropped: dropped.clone() }))
    }

    /// Goes by another section. False, and no change, if that has spans go elsewhere.
    pub(crate) fn resume(&self, config: &TracesConfig) -> bool {
        let is_here = endpoint(config).is_some_and(|endpoint| endpoint == self.endpoint);
        if is_here {
            self.threshold.store(threshold(config), Ordering::Relaxed);
        }
        is_here
    }

    /// Begins the trace of a call, which may belong to one that its caller has told. Nothing for one that
    /// is not traced.
    pub fn begin(&self, told: Option<TraceParent>) -> Option<Trace> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).ok()?;
        let [trace @ .., _, _, _, _, _, _, _, _] = random;
        let number = u64::from_le_bytes(trace[16..].try_into().expect("eight bytes are left"));
        let threshold = self.threshold.load(Ordering::Relaxed);
        let is_sampled = told.as_ref().map_or(number <= threshold && threshold > 0, |told| told.sampled);
        if !is_sampled {
            return None;
        }
        let span = random[24..].try_into().expect("eight of 32 bytes");
        let own = trace[..16].try_into().expect("sixteen of 24 bytes");
        let trace = told.as_ref().map_or(own, |told| told.trace);
        Some(Trace {
            parent: TraceParent { trace, span, sampled: true },
            above: told.map(|told| told.span),
            begun_at: SystemTime::now(),
            begun: Instant::now(),
            steps: Vec::with_capacity(STEPS_MAX),
        })
    }

    /// Takes in a call's spans. Never waits: what there is no room for is let go.
    pub fn finish(&self, finished: Finished) {
        if self.finished.try_send(finished).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn endpoint(config: &TracesConfig) -> Option<Uri> {
    Signal::Traces.address(config.endpoint.as_deref()?)
}

fn threshold(config: &TracesConfig) -> u64 {
    // The product is at most 2^64, and a number above the largest becomes that.
    (config.sample * u64::MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    #[track_caller]
    fn check(sample: f64, told: Option<&str>, is_traced: bool) {
        let config = TracesConfig { endpoint: Some("http://127.0.0.1:1/v1/traces".to_owned()), sample };
        let (tracer, _exporter) = Tracer::new(&config, &Arc::default()).expect("it has an endpoint");
        assert_eq!(tracer.begin(told.and_then(TraceParent::parse)).is_some(), is_traced, "{sample} {told:?}");
    }

    #[test]
    fn a_trace_that_was_begun_goes_on_and_others_are_chosen() {
        check(1.0, None, true);
        check(0.0, None, false);
        check(0.0, Some(TOLD), true);
        check(1.0, Some(UNSAMPLED), false);
        check(1.0, Some("nonsense"), true);
        assert!(Tracer::new(&TracesConfig::default(), &Arc::default()).is_none());
    }

    #[test]
    fn what_nobody_takes_is_let_go_and_counted() {
        let config = TracesConfig { endpoint: Some("http://127.0.0.1:1/".to_owned()), sample: 1.0 };
        let (tracer, _exporter) = Tracer::new(&config, &Arc::default()).expect("it has an endpoint");
        for _ in 0..SPANS_WAITING_MAX + 3 {
            let trace = tracer.begin(None).expect("all are traced");
            tracer.finish(trace.finish("tools/call", "x".into(), None, "result", None));
        }
        assert_eq!(tracer.dropped.load(Ordering::Relaxed), 3);
    }
}
