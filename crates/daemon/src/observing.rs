//! What operators see of this process: its figures and its spans, put together and ended.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use audit::AuditLog;
use gate::Cancel;
use gate::jobs::{JobFigures, Jobs};
use telemetry::{Config, Exporter, JobReading, Readings, Telemetry, UpstreamReading};
use tokio::task::JoinSet;
use upstream::Upstream;

use crate::upstreams::Upstreams;

/// The program's version, as figures and spans have it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is put in force of `[telemetry]`, and the tasks that send spans, if they are wanted.
pub struct Observing {
    telemetry: Arc<Telemetry>,
    ending: Cancel,
    /// The last one sends what comes; those before it, what is left of the calls that had begun.
    sending: Mutex<JoinSet<()>>,
    upstreams: Members,
    started_at_s: u64,
}

/// Figures at zero, and a task that sends spans. Must be called on the runtime.
pub(crate) fn begin(config: &Config) -> Observing {
    let telemetry = Arc::new(Telemetry::untraced(VERSION));
    let started_at_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (ending, sending, upstreams) = (Cancel::new(), Mutex::default(), Members::default());
    let observing = Observing { telemetry, ending, sending, upstreams, started_at_s };
    observing.govern(config);
    observing
}

/// Those of each workspace.
type Members = Arc<Mutex<Vec<Weak<Upstreams>>>>;

/// One for each name: what servers of the same name do in several workspaces is added up, and one that they share counts
/// once.
fn readings(members: &Members) -> Vec<UpstreamReading> {
    let members = members.lock().expect("nothing panics while it holds the lock").clone();
    let all = members.iter().filter_map(Weak::upgrade);
    let mut by_name: BTreeMap<String, UpstreamReading> = BTreeMap::new();
    let mut read: Vec<Arc<Upstream>> = Vec::new();
    for upstream in all.flat_map(|upstreams| upstreams.iter().collect::<Vec<_>>()) {
        if read.iter().any(|known| Arc::ptr_eq(known, &upstream)) {
            continue;
        }
        let one = reading(&upstream);
        match by_name.entry(upstream.name().to_owned()) {
            Entry::Vacant(free) => drop(free.insert(one)),
            Entry::Occupied(mut sum) => {
                let sum = sum.get_mut();
                sum.queued += one.queued;
                sum.processes += one.processes;
                sum.restarts += one.restarts;
            }
        }
        read.push(upstream);
    }
    by_name.into_values().collect()
}

fn reading(upstream: &Upstream) -> UpstreamReading {
    let report = upstream.status();
    UpstreamReading {
        state: report.state.word(),
        queued: upstream.queued() as u64,
        processes: report.processes as u64,
        restarts: report.restarts,
        tools: report.tools as u64,
        held_back: report.held_back as u64,
        name: report.name.into(),
    }
}

fn of_jobs(figures: JobFigures) -> JobReading {
    let JobFigures { queued, running, waiting, ended } = figures;
    JobReading { held: [("queued", queued), ("running", running), ("waiting", waiting)].into(), ended }
}

impl Observing {
    /// What is asked for at every look at the figures: these servers from now on, beside those of other workspaces.
    pub fn read_with(&self, upstreams: &Arc<Upstreams>, audit_log: &Arc<AuditLog>, jobs: &Arc<Jobs>) {
        let mut members = self.upstreams.lock().expect("nothing panics while it holds the lock");
        members.retain(|one| one.strong_count() > 0);
        members.push(Arc::downgrade(upstreams));
        drop(members);
        let all = self.upstreams.clone();
        let audit_log: Weak<AuditLog> = Arc::downgrade(audit_log);
        let spans_dropped = self.telemetry.spans_dropped();
        let started_at_s = self.started_at_s;
        let jobs = Arc::downgrade(jobs);
        self.telemetry.metrics.read_with(move || Readings {
            upstreams: readings(&all),
            audit_log_writable: audit_log
                .upgrade()
                .is_some_and(|audit_log| audit_log.takes_changes().is_ok()),
            jobs: jobs.upgrade().map(|jobs| of_jobs(jobs.figures())).unwrap_or_default(),
            spans_dropped: spans_dropped(),
            started_at_s,
        });
    }

    /// What calls are counted into.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Puts a section in force, which has been checked. Must be called on the runtime.
    pub fn govern(&self, config: &Config) {
        if let Some(exporter) = self.telemetry.govern(config) {
            self.send(exporter);
        }
    }

    fn send(&self, exporter: Exporter) {
        let ending = self.ending.clone();
        let mut sending = self.sending();
        // Those that have nothing to send any more are let go of.
        while sending.try_join_next().is_some() {}
        sending.spawn(async move { exporter.run(sandbox::Client::new(), VERSION, ending.cancelled()).await });
    }

    /// Sends what is left, for a bounded time.
    pub async fn end(&self) {
        self.ending.cancel();
        let mut sending = std::mem::take(&mut *self.sending());
        // Each ends by itself within seconds; a panic of one is logged.
        while sending.join_next().await.is_some() {}
    }

    fn sending(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.sending.lock().expect("nothing panics while it holds the lock")
    }
}
