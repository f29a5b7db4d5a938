//! What one process counts and traces, and where it sends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::trace::{Exporter, Trace, TraceParent, Tracer};

/// What a gate counts into and traces with.
pub struct Telemetry {
    /// What the gate counts into.
    pub metrics: Metrics,
    /// Where spans go, if they are wanted.
    tracer: ArcSwapOption<Tracer>,
    /// How many calls' spans were let go, wherever they were to go.
    dropped: Arc<AtomicU64>,
    shows_metrics: AtomicBool,
}

impl Telemetry {
    /// Figures that start at zero, and no spans. `version` is the program's.
    pub fn untraced(version: &str) -> Telemetry {
        Telemetry {
            metrics: Metrics::new(version),
            tracer: ArcSwapOption::empty(),
            dropped: Arc::default(),
            shows_metrics: AtomicBool::new(true),
        }
    }

    /// Puts a section in force, which has been checked, for the calls that come from now on. If their spans go elsewhere
    /// than before, what sends them there is given back and is to be run; what sent them before ends by itself, once the
    /// calls are done that have begun by then.
    pub fn govern(&self, config: &Config) -> Option<Exporter> {
        self.shows_metrics.store(config.metrics, Ordering::Relaxed);
        let before = self.tracer.load_full();
        if before.is_some_and(|before| before.resume(&config.traces)) {
            return None;
        }
        let (tracer, exporter) = Tracer::new(&config.traces, &self.dropped).unzip();
        self.tracer.store(tracer);
        exporter
    }

    /// Begins the trace of a call, which may belong to one that its caller has told, and says who is to have it when it
    /// has ended. Nothing for one that is not traced.
    pub fn begin(&self, told: Option<TraceParent>) -> Option<(Arc<Tracer>, Trace)> {
        let tracer = self.tracer.load();
        let tracer = tracer.as_ref()?;
        Some((tracer.clone(), tracer.begin(told)?))
    }

    /// Whether the figures are served over HTTP.
    pub fn shows_metrics(&self) -> bool {
        self.shows_metrics.load(Ordering::Relaxed)
    }

    /// Tells how many calls' spans were let go until it is asked.
    pub fn spans_dropped(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let dropped = self.dropped.clone();
        move || dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TracesConfig;

    fn config(endpoint: Option<&str>, sample: f64) -> Config {
        let traces = TracesConfig { endpoint: endpoint.map(str::to_owned), sample };
        Config { metrics: false, traces }
    }

    fn is_traced(telemetry: &Telemetry) -> bool {
        telemetry.begin(None).is_some()
    }

    #[test]
    fn what_is_put_in_force_holds_for_the_next_call() {
        let (here, there) = (Some("http://127.0.0.1:1/"), Some("http://127.0.0.1:2/"));
        let telemetry = Telemetry::untraced("1");
        assert!(telemetry.shows_metrics() && !is_traced(&telemetry));
        for (endpoint, sample, is_another, traces) in [
            (None, 1.0, false, false),
            (here, 1.0, true, true),
            (here, 1.0, false, true),
            (here, 0.0, false, false),
            (here, 1.0, false, true),
            (there, 0.0, true, false),
            (here, 1.0, true, true),
            (None, 1.0, false, false),
        ] {
            let exporter = telemetry.govern(&config(endpoint, sample));
            assert_eq!(
                (exporter.is_some(), is_traced(&telemetry)),
                (is_another, traces),
                "{endpoint:?} {sample}"
            );
            assert!(!telemetry.shows_metrics());
        }
    }

    /// Whoever sends to the old place has the spans of the calls that had begun, and then no more to do.
    #[tokio::test]
    async fn a_call_goes_on_where_it_began() {
        let telemetry = Telemetry::untraced("1");
        let first = telemetry.govern(&config(Some("http://127.0.0.1:1/"), 1.0)).expect("it is new");
        let (tracer, trace) = telemetry.begin(None).expect("all are traced");
        telemetry.govern(&config(None, 1.0));
        tracer.finish(trace.finish("tools/call", "x".into(), None, "result", None));
        drop(tracer);
        let mut queue = first.into_queue();
        assert!(queue.recv().await.is_some(), "its spans");
        assert!(queue.recv().await.is_none(), "there will be no more");
    }

    #[test]
    fn what_was_let_go_is_counted_wherever_it_was_to_go() {
        let telemetry = Telemetry::untraced("1");
        let dropped = telemetry.spans_dropped();
        for (endpoint, expected) in [("http://127.0.0.1:1/", 1), ("http://127.0.0.1:2/", 2)] {
            // Nobody takes them.
            drop(telemetry.govern(&config(Some(endpoint), 1.0)));
            let (tracer, trace) = telemetry.begin(None).expect("all are traced");
            tracer.finish(trace.finish("tools/call", "x".into(), None, "result", None));
            assert_eq!(dropped(), expected);
        }
    }
}
