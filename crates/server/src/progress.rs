//! Progress of a running call on its way to the client.

use gate::{Progress, ProgressSink};
use tokio::sync::mpsc;
use wire::message::Text;
use wire::{Object, Revision, patch, tools, write};

/// Writes progress as notifications under the client's own token.
pub(crate) struct Reporter {
    /// The client's token as JSON text.
    pub(crate) token: Text,
    /// What the client speaks.
    pub(crate) revision: Revision,
    /// Where frames go. A client that reads too slowly misses reports rather than holding up the call.
    pub(crate) outbox: mpsc::Sender<Vec<u8>>,
}

impl ProgressSink for Reporter {
    fn report(&self, progress: Progress) {
        let params = match progress {
            Progress::Step { done, total, message } => {
                let message = message.filter(|_| self.revision.has_progress_message());
                tools::write_progress(&self.token, done, total, message.as_deref())
            }
            Progress::Relayed(params) => {
                let Some(object) = std::str::from_utf8(&params).ok().and_then(Object::parse) else { return };
                patch::set(object, "progressToken", self.token.as_str()).into_bytes()
            }
        };
        let mut frame = Vec::with_capacity(params.len() + 64);
        write::notification(&mut frame, "notifications/progress", Some(&params));
        // A full outbox drops the report: only the latest ones matter.
        let _ = self.outbox.try_send(frame);
    }
}
