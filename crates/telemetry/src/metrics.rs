//! Counters and histograms, and the text that Prometheus reads.

mod readings;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use readings::Scraped;
pub use readings::{JobReading, Readings, UpstreamReading};

/// Most tools with figures of their own. Those beyond it share one meter under the name `other`.
pub const TOOLS_MAX: usize = 2_000;

/// The name of the meter that tools beyond the limit share, and calls for which there is no tool.
const OTHER: &str = "other";

/// Upper bounds of the classes of durations, in seconds: from a call of our own to one that a person waited for.
const SECONDS: [f64; 17] = [
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
    30.0, 300.0,
];

/// The outcome of a call whose tool did its work: nearly all of them.
const RESULT: &str = "result";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: Arc<str>,
    outcome: &'static str,
}

type ToolLabel = [(&'static str, Arc<str>); 1];

type RefusalLabels = [(&'static str, &'static str); 2];

/// One word of a fixed list.
type WordLabel = [(&'static str, &'static str); 1];

/// All figures of one process. Counting takes no lock that a scrape holds for long.
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    durations: Family<ToolLabel, Histogram, fn() -> Histogram>,
    refusals: Family<RefusalLabels, Counter>,
    redactions: Counter,
    running: Gauge,
    confined: Confined,
    artifacts: Counter,
    artifact_bytes: Counter,
    meters: Mutex<HashMap<Arc<str>, Arc<Meter>>>,
    other: Arc<Meter>,
    reader: Arc<OnceLock<Box<dyn Fn() -> Readings + Send + Sync>>>,
}

/// The figures of programs that ran confined, or were to.
#[derive(Default)]
struct Confined {
    starts: Family<WordLabel, Counter>,
    kills: Family<WordLabel, Counter>,
    missing: Family<WordLabel, Counter>,
    blocked: Counter,
}

/// The figures of one tool. Whoever calls it often keeps the meter.
pub struct Meter {
    calls: Family<CallLabels, Counter>,
    tool: Arc<str>,
    /// The one that most calls count.
    results: Counter,
    duration: Histogram,
}

impl Meter {
    /// Counts a call that has ended. The outcome is a word of a fixed list.
    pub fn ended(&self, outcome: &'static str, took: Duration) {
        if outcome == RESULT {
            self.results.inc();
        } else {
            self.calls.get_or_create(&CallLabels { tool: self.tool.clone(), outcome }).inc();
        }
        self.duration.observe(took.as_secs_f64());
    }
}

impl Metrics {
    /// All figures at zero. `version` is the program's.
    pub fn new(version: &str) -> Metrics {
        let mut registry = Registry::with_prefix("toolcrib");
        let calls = Family::<CallLabels, Counter>::default();
        let durations: Family<ToolLabel, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let refusals = Family::<RefusalLabels, Counter>::default();
        let (redactions, running) = (Counter::default(), Gauge::default());
        registry.register(
            "build",
            "The program",
            Info::new(vec![("version".to_owned(), version.to_owned())]),
        );
        registry.register("calls", "Calls that have ended, by tool and outcome", calls.clone());
        registry.register("call_duration_seconds", "From a call's arrival to its answer", durations.clone());
        registry.register("refusals", "Calls that were not let through, by step and code", refusals.clone());
        registry.register("redactions", "Places that were struck out of results", redactions.clone());
        registry.register("calls_running", "Calls on their way", running.clone());
        let confined = Confined::registered(&mut registry);
        let (artifacts, artifact_bytes) = (Counter::default(), Counter::default());
        registry.register("artifacts", "Artifacts that calls have made", artifacts.clone());
        registry.register(
            "artifact_bytes",
            "Bytes in artifacts that calls have made",
            artifact_bytes.clone(),
        );
        let reader = Arc::new(OnceLock::new());
        registry.register_collector(Box::new(Scraped(reader.clone())));
        let other = Arc::new(Meter::of(&calls, &durations, OTHER.into()));
        let meters = Mutex::default();
        Metrics {
            registry,
            calls,
            durations,
            refusals,
            redactions,
            running,
            confined,
            artifacts,
            artifact_bytes,
            meters,
            other,
            reader,
        }
    }

    /// What is asked for at every scrape, besides what is counted here. Told once.
    pub fn read_with(&self, reader: impl Fn() -> Readings + Send + Sync + 'static) {
        // Whoever comes second tells the same.
        let _ = self.reader.set(Box::new(reader));
    }

    /// The meter of a tool that is on offer.
    pub fn meter(&self, tool: &Arc<str>) -> Arc<Meter> {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meter) = meters.get(tool) {
            return meter.clone();
        }
        if meters.len() >= TOOLS_MAX {
            return self.other.clone();
        }
        let meter = Arc::new(Meter::of(&self.calls, &self.durations, tool.clone()));
        meters.insert(tool.clone(), meter.clone());
        meter
    }

    /// The meter of calls for which there is no tool.
    pub fn nobody(&self) -> &Arc<Meter> {
        &self.other
    }

    /// Counts a refusal. Both words are of a fixed list.
    pub fn refused(&self, check: &'static str, code: &'static str) {
        self.refusals.get_or_create(&[("check", check), ("code", code)]).inc();
    }

    /// Counts places that were struck out.
    pub fn redacted(&self, places: u32) {
        self.redactions.inc_by(u64::from(places));
    }

    /// Counts a program that was started confined, by the name of its profile.
    pub fn confined(&self, profile: &'static str) {
        self.confined.starts.get_or_create(&[("profile", profile)]).inc();
    }

    /// Counts a program that a limit has ended, by the limit's name.
    pub fn confined_killed(&self, limit: &'static str) {
        self.confined.kills.get_or_create(&[("limit", limit)]).inc();
    }

    /// Counts a program that was not run because a layer of the sandbox is missing, by the layer's name.
    pub fn confinement_missing(&self, layer: &'static str) {
        self.confined.missing.get_or_create(&[("layer", layer)]).inc();
    }

    /// Counts hosts that the programs of a call or of a server, or a tool, were refused. Which, records say.
    pub fn hosts_blocked(&self, hosts: u64) {
        self.confined.blocked.inc_by(hosts);
    }

    /// Counts an artifact that a call has made.
    pub fn artifact(&self, bytes: u64) {
        self.artifacts.inc();
        self.artifact_bytes.inc_by(bytes);
    }

    /// Counts a call that has come.
    pub fn began(&self) {
        self.running.inc();
    }

    /// Counts a call that has gone.
    pub fn went(&self) {
        self.running.dec();
    }

    /// All figures as OpenMetrics text, which Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("memory takes every byte");
        text
    }
}

impl Confined {
    fn registered(registry: &mut Registry) -> Confined {
        let confined = Confined::default();
        let Confined { starts, kills, missing, blocked } = &confined;
        registry.register("programs", "Programs that were started confined, by profile", starts.clone());
        registry.register("programs_killed", "Programs that a limit has ended, by limit", kills.clone());
        registry.register(
            "programs_refused",
            "Programs that were not run because a layer of the sandbox is missing, by layer",
            missing.clone(),
        );
        registry.register(
            "hosts_blocked",
            "Hosts that programs, servers and tools were refused",
            blocked.clone(),
        );
        confined
    }
}

impl Meter {
    fn of(
        calls: &Family<CallLabels, Counter>,
        durations: &Family<ToolLabel, Histogram, fn() -> Histogram>,
        tool: Arc<str>,
    ) -> Meter {
        let labels = CallLabels { tool: tool.clone(), outcome: RESULT };
        let results = calls.get_or_create(&labels).clone();
        let duration = durations.get_or_create(&[("tool", tool.clone())]).clone();
        Meter { calls: calls.clone(), tool, results, duration }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// The lines that hold one of these words, but for help and types. Within a metric they come in any order, so
    /// here they are sorted.
    #[track_caller]
    fn check(metrics: &Metrics, words: &[&str], expected: Expect) {
        let text = metrics.text();
        assert!(text.ends_with("# EOF\n"), "{text}");
        let wanted = |line: &&str| !line.starts_with('#') && words.iter().any(|word| line.contains(word));
        let mut lines: Vec<_> = text.lines().filter(wanted).collect();
        lines.sort_unstable();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn calls_are_counted_by_tool_and_outcome() {
        let metrics = Metrics::new("1.2.3");
        let meter = metrics.meter(&"git_log".into());
        metrics.began();
        metrics.began();
        meter.ended(RESULT, Duration::from_micros(80));
        metrics.meter(&"git_log".into()).ended("refused", Duration::from_secs(2));
        metrics.nobody().ended("refused", Duration::ZERO);
        metrics.refused("policy", "policy_denied");
        metrics.went();
        metrics.redacted(3);
        check(
            &metrics,
            &["calls", "refusals", "redactions", "le=\"0.0001\"", "build"],
            expect![[r#"
                toolcrib_build_info{version="1.2.3"} 1
                toolcrib_call_duration_seconds_bucket{le="0.0001",tool="git_log"} 1
                toolcrib_call_duration_seconds_bucket{le="0.0001",tool="other"} 1
                toolcrib_calls_running 1
                toolcrib_calls_total{tool="git_log",outcome="refused"} 1
                toolcrib_calls_total{tool="git_log",outcome="result"} 1
                toolcrib_calls_total{tool="other",outcome="refused"} 1
                toolcrib_calls_total{tool="other",outcome="result"} 0
                toolcrib_redactions_total 3
                toolcrib_refusals_total{check="policy",code="policy_denied"} 1"#]],
        );
    }

    #[test]
    fn programs_are_counted_by_profile_limit_and_layer() {
        let metrics = Metrics::new("1");
        metrics.confined("shell");
        metrics.confined("write");
        metrics.confined("shell");
        metrics.confined_killed("time");
        metrics.confinement_missing("landlock");
        metrics.hosts_blocked(2);
        check(
            &metrics,
            &["programs", "hosts"],
            expect![[r#"
                toolcrib_hosts_blocked_total 2
                toolcrib_programs_killed_total{limit="time"} 1
                toolcrib_programs_refused_total{layer="landlock"} 1
                toolcrib_programs_total{profile="shell"} 2
                toolcrib_programs_total{profile="write"} 1"#]],
        );
    }

    #[test]
    fn beyond_the_limit_tools_share_a_meter() {
        let metrics = Metrics::new("1");
        for nth in 0..TOOLS_MAX + 10 {
            metrics.meter(&format!("tool_{nth}").into()).ended(RESULT, Duration::ZERO);
        }
        check(
            &metrics,
            &["tool=\"other\",outcome"],
            expect![[r#"toolcrib_calls_total{tool="other",outcome="result"} 10"#]],
        );
    }

    #[test]
    fn a_scrape_asks_for_what_is_not_counted() {
        let metrics = Metrics::new("1");
        metrics.read_with(|| Readings {
            upstreams: vec![UpstreamReading {
                name: "a \"quoted\" name".into(),
                state: "connected",
                queued: 3,
                processes: 1,
                restarts: 2,
                tools: 4,
                held_back: 1,
            }],
            jobs: JobReading { held: vec![("queued", 2)], ended: vec![("failed", 5)] },
            audit_log_writable: true,
            spans_dropped: 1,
            started_at_s: 1_700_000_000,
        });
        check(
            &metrics,
            &["upstream", "spans", "start_time", "audit_log", "jobs"],
            expect![[r#"
                toolcrib_audit_log_writable 1
                toolcrib_jobs_ended_total{state="failed"} 5
                toolcrib_jobs{state="queued"} 2
                toolcrib_spans_dropped_total 1
                toolcrib_start_time_seconds 1700000000
                toolcrib_upstream_held_back{upstream="a \"quoted\" name"} 1
                toolcrib_upstream_processes{upstream="a \"quoted\" name"} 1
                toolcrib_upstream_queue{upstream="a \"quoted\" name"} 3
                toolcrib_upstream_restarts_total{upstream="a \"quoted\" name"} 2
                toolcrib_upstream_state{upstream="a \"quoted\" name",state="connected"} 1
                toolcrib_upstream_tools{upstream="a \"quoted\" name"} 4"#]],
        );
    }
}
