//! The `[jobs]` section.

use std::collections::BTreeMap;
use std::time::Duration;

use ::jobs::{JOBS_MAX, JOBS_PER_CALLER, KEEP, KEEP_MAX, Limits, RUNNING, RUNNING_PER_TOOL};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize as _, Serializer};
use tool_api::BASH;
use units::Span;

use super::notify::Notify;

/// How long a client waits for a command: its own limit is seldom below a minute.
const BASH_AFTER: Duration = Duration::from_secs(50);

/// Calls that outlive their request: how many there may be, and how long they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How long a job that is over is kept with its result and its events, such as `"24h"`, at most `"30d"`.
    #[serde(deserialize_with = "keep", serialize_with = "written")]
    #[schemars(with = "Span")]
    pub keep: Duration,
    /// Jobs of one caller that may be under way, whether they run or wait.
    #[schemars(range(min = 1, max = 10_000))]
    pub per_caller: usize,
    /// Jobs that run at once. Others wait for their turn, each caller's as long as everybody's.
    #[schemars(range(min = 1, max = 1_000))]
    pub running: usize,
    /// Jobs of one tool that run at once.
    #[schemars(range(min = 1, max = 1_000))]
    pub per_tool: usize,
    /// How long a client waits for a call before it goes on as a job, such as `"50s"`: a client that knows tasks is given
    /// one then, every other a result that names the job, for `job_wait` and `job_result`. Without it every call is
    /// waited for.
    pub after: Option<Span>,
    /// The same of single tools, such as `{ Bash = "20s" }`. A command for `Bash` goes on as a background task where its
    /// client has no other way to wait, after 50 seconds unless it is said here.
    pub after_of: BTreeMap<String, Span>,
    /// Tools whose calls are jobs from the beginning, for clients that can be given tasks. Others wait.
    pub always: Vec<String>,
    /// Tools whose calls are nothing but jobs: a client of 2026-07-28 that cannot be given tasks is refused, an older one
    /// gets a result that names the job, if it may call `job_wait`.
    pub required: Vec<String>,
    /// Who is told when a job has ended.
    pub notify: Option<Notify>,
}

impl Default for Config {
    fn default() -> Config {
        let (after, always, required, notify) = (None, Vec::new(), Vec::new(), None);
        let (per_caller, running, per_tool) = (JOBS_PER_CALLER, RUNNING, RUNNING_PER_TOOL);
        let after_of = BTreeMap::new();
        Config { keep: KEEP, per_caller, running, per_tool, after, after_of, always, required, notify }
    }
}

impl Config {
    pub(super) fn limits(&self) -> Limits {
        // One caller never takes every place.
        let per_caller = self.running.div_ceil(2).max(1);
        Limits { running: self.running, per_caller, per_tool: self.per_tool }
    }

    /// How long a client waits for a call of this tool before it goes on as a job; nothing if it waits for the end.
    pub(super) fn patience(&self, tool: &str) -> Option<Duration> {
        let usual = self.after.map(|after| after.0);
        let usual = match tool {
            BASH => Some(usual.map_or(BASH_AFTER, |usual| usual.min(BASH_AFTER))),
            _ => usual,
        };
        self.after_of.get(tool).map(|after| after.0).or(usual)
    }

    pub(super) fn room(&self) -> store::Room {
        store::Room { of_owner: self.per_caller.min(JOBS_MAX), in_all: JOBS_MAX }
    }
}

fn keep<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let Span(time) = Span::deserialize(deserializer)?;
    if time <= KEEP_MAX { Ok(time) } else { Err(D::Error::custom("a job is kept at most 30d")) }
}

/// A default as people would write it.
fn written<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    Span(*time).serialize(serializer)
}
