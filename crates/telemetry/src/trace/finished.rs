//! `Finished`: the spans of one call that has ended.

use std::sync::Arc;
use std::time::Duration;

use super::parent::TraceParent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) is_good: bool,
}

/// The spans of one call that has ended.
#[derive(Debug)]
pub struct Finished {
    pub(crate) parent: TraceParent,
    pub(crate) above: Option<[u8; 8]>,
    pub(crate) begun_ns: u128,
    pub(crate) took: Duration,
    pub(crate) steps: Vec<Step>,
    pub(crate) facts: Facts,
}

/// What a span says of its call: names and words, never values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) method: &'static str,
    pub(crate) tool: Arc<str>,
    pub(crate) upstream: Option<Arc<str>>,
    pub(crate) outcome: &'static str,
    pub(crate) code: Option<String>,
}
