//! The record that the tests of the audit log write; each says only what it wants to be different.

use std::borrow::Cow;
use std::sync::Arc;

use audit::{Opening, Outcome, Record};

/// When every sample was opened, in milliseconds since 1970.
pub(crate) const OPENED_AT_MS: i64 = 1_700_000_000_000;

/// The clock of an audit log that is as old as they are.
pub(crate) fn fixed() -> i64 {
    OPENED_AT_MS
}

/// A call that went well.
pub(crate) fn record(call_id: &str) -> Record {
    Record {
        opening: Opening {
            call_id: Arc::from(call_id),
            opened_at_ms: fixed(),
            caller: Arc::from("local"),
            caller_kind: Cow::Borrowed("local_user"),
            caller_roles: None,
            caller_scopes: None,
            via: Cow::Borrowed("stdio"),
            tool: Arc::from("workspace_write"),
            upstream: None,
            effect: Some(Cow::Borrowed("writes")),
            arguments_sha256: None,
            arguments_bytes: 0,
            meta_sha256: None,
            request_id: None,
            claims: None,
            arguments: None,
            definition_sha256: None,
            dry_run: None,
            trace_id: None,
        },
        verdicts: Cow::Borrowed(&[("scope", "pass")]),
        decisions: Vec::new(),
        approval: None,
        job: None,
        profile: None,
        launcher: None,
        degraded: Vec::new(),
        limits: Vec::new(),
        hosts: Vec::new(),
        hosts_more: 0,
        folders: Vec::new(),
        protected_changed: Vec::new(),
        protected_more: 0,
        artifacts: Vec::new(),
        redactions: 0,
        outcome: Outcome::Result,
        code: None,
        duration_us: 1,
        result_bytes: 2,
    }
}
