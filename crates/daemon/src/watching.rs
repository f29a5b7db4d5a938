//! `Watching`: counts what becomes of the programs of servers, and records which hosts they reach.

use std::sync::Arc;

use audit::{AuditLog, Event, What};
use sandbox::confine::{Layer, Limit};
use sandbox::egress::Entry;
use telemetry::Telemetry;
use upstream::ServerWatch;

/// For all servers of a process.
pub(crate) struct Watching {
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) audit_log: Arc<AuditLog>,
}

impl ServerWatch for Watching {
    fn started(&self, profile: &'static str) {
        self.telemetry.metrics.confined(profile);
    }

    fn not_started(&self, layer: Layer) {
        self.telemetry.metrics.confinement_missing(layer.name());
    }

    fn ended_by(&self, limit: Limit) {
        self.telemetry.metrics.confined_killed(limit.name());
    }

    fn blocked(&self, hosts: u64) {
        self.telemetry.metrics.hosts_blocked(hosts);
    }

    fn reached(&self, server: &str, since_ms: i64, entry: &Entry) {
        // The audit log strikes secrets out itself.
        let reached = gate::reached(entry, None, |host| host.into());
        let what = What::ServerReached { upstream: server.into(), hosts: [reached] };
        if let Err(error) = self.audit_log.note(Event { opened_at_ms: since_ms, what }) {
            tracing::warn!(target: "upstream", upstream = %server, %error, "what it reached could not be recorded");
        }
    }
}
