//! `Trace`, the spans of one call on its way, and `Finished`, those of one that has ended.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::parent::TraceParent;

/// Most steps of one call: those of the gate, with room for more.
pub(super) const STEPS_MAX: usize = 16;

/// The spans of one call on its way.
#[derive(Debug)]
pub struct Trace {
    pub(super) parent: TraceParent,
    /// The span that our own is below, if the caller told one.
    pub(super) above: Option<[u8; 8]>,
    pub(super) begun_at: SystemTime,
    pub(super) begun: Instant,
    pub(super) steps: Vec<Step>,
}

/// One step of a call, by how far into the call it began and ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) is_good: bool,
}

/// The spans of one call that has ended. What they say of it are names and words, never values.
#[derive(Debug)]
pub struct Finished {
    pub(super) trace: Trace,
    pub(super) took: Duration,
    pub(super) method: &'static str,
    pub(super) tool: Arc<str>,
    pub(super) upstream: Option<Arc<str>>,
    pub(super) outcome: &'static str,
    pub(super) code: Option<String>,
}

impl Trace {
    /// Who stands above whatever this call calls: for the `traceparent` of an upstream.
    pub fn parent(&self) -> &TraceParent {
        &self.parent
    }

    /// Notes a step that lasted from `from` until now.
    pub fn step(&mut self, name: &'static str, from: Instant, is_good: bool) {
        if self.steps.len() < STEPS_MAX {
            let from = from.saturating_duration_since(self.begun);
            self.steps.push(Step { name, from, to: self.begun.elapsed(), is_good });
        }
    }

    /// The call is over. `code` is a stable word for what went wrong.
    pub fn finish(
        self,
        method: &'static str,
        tool: Arc<str>,
        upstream: Option<Arc<str>>,
        outcome: &'static str,
        code: Option<String>,
    ) -> Finished {
        let took = self.begun.elapsed();
        Finished { trace: self, took, method, tool, upstream, outcome, code }
    }
}
