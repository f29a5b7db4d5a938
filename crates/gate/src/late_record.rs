//! `LateRecord`: the record of a call whose caller went away while its programs ran. It is closed once they are gone, since only
//! then it is known what they have changed.

use std::sync::Arc;

use audit::{AuditLog, IntentId, Plain, Record};
use redact::Redactor;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::hands::Notes;
use crate::kept_name::kept_of;

/// What the audit log is given of a call that is over.
pub(crate) struct Closing {
    pub(crate) record: Record,
    pub(crate) arguments: Option<Plain>,
    pub(crate) intent: Option<IntentId>,
}

/// Notes which protected files have changed by now, and which limits were reached.
pub(crate) fn note_changed(record: &mut Record, notes: &Notes, redactor: &Redactor) {
    let (changed, count) = notes.changed(|path| kept_of(&redactor.text(path), redactor));
    record.protected_more = u32::try_from(count - changed.len()).unwrap_or(u32::MAX);
    record.protected_changed = changed;
    record.limits = notes.limits();
    if let Some(sandboxed) = notes.sandboxed() {
        record.degraded = sandboxed.degraded;
    }
}

/// A record that is closed when this is dropped, with what is known by then.
pub(crate) struct LateRecord {
    closing: Option<Closing>,
    notes: Arc<Notes>,
    audit_log: Arc<AuditLog>,
    redactor: Redactor,
}

impl LateRecord {
    pub(crate) fn new(
        closing: Closing,
        notes: Arc<Notes>,
        audit_log: &Arc<AuditLog>,
        redactor: &Redactor,
    ) -> LateRecord {
        LateRecord { closing: Some(closing), notes, audit_log: audit_log.clone(), redactor: redactor.clone() }
    }

    /// Closes it after a bounded time, in a task that `late` waits for, or at once where nobody can wait.
    pub(crate) fn close_once_all_are_gone(self, late: &TaskTracker) {
        if let Ok(runtime) = Handle::try_current() {
            let closing = async move {
                self.notes.all_gone().await;
                drop(self);
            };
            late.spawn_on(closing, &runtime);
        }
    }
}

impl Drop for LateRecord {
    fn drop(&mut self) {
        let Some(Closing { mut record, arguments, intent }) = self.closing.take() else { return };
        note_changed(&mut record, &self.notes, &self.redactor);
        if !record.protected_changed.is_empty() {
            let call = &record.opening.call_id;
            tracing::warn!(%call, "protected files have changed while programs ran whose caller left; its record names them");
        }
        self.audit_log.close(record, arguments, intent);
    }
}
