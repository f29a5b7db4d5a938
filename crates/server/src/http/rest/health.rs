//! How the program is doing, for somebody whom we know.

use gate::Caller;
use serde_json::json;

use super::super::answer::{Answer, fresh};
use super::super::door::Door;
use super::super::endpoint::Endpoint;
use crate::OURSELVES;

/// Tells it.
pub(super) fn report(door: &Door, endpoint: &Endpoint, caller: &Caller) -> Answer {
    let gate = endpoint.server.gate();
    let offer = gate.catalog().offer();
    let condition = gate.condition();
    let jobs = gate.jobs().map(|jobs| jobs.figures()).unwrap_or_default();
    fresh(&json!({
        "status": condition.word(),
        "problem": condition.problem(),
        "version": OURSELVES.version,
        "uptime_s": door.since.elapsed().as_secs(),
        "tools": offer.tools.iter().filter(|tool| gate.may_see(caller, tool)).count(),
        "jobs": { "queued": jobs.queued, "running": jobs.running, "waiting": jobs.waiting },
    }))
}
