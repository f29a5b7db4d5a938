//! A gate over a catalog as it comes by default, for tests that look at something else than its settings.

use std::sync::Arc;

use gate::{Approvals, Catalog, Gate, Parts, RateConfig, Redactor, Ruleset};

/// A gate whose audit log and store lie in `folder`, which tools may read.
pub(crate) fn gate(folder: &tempfile::TempDir, catalog: Arc<Catalog>, rate: RateConfig) -> Gate {
    let policy = policy::Policy::new(&policy::Config::default()).expect("the default is sound");
    let parts = Parts {
        catalog,
        ruleset: Ruleset::new(policy, rate),
        redactor: Redactor::new(&redact::Config::default()),
        approvals: Approvals::new(Arc::new(store::SqliteStore::at(folder.path()))),
        audit_log: Arc::new(audit::AuditLog::at(folder.path(), || 0)),
        files: tool_api::Root::open(folder.path(), tool_api::Access::Read).expect("it was just made"),
    };
    Gate::new(parts).expect("the system gives randomness")
}
