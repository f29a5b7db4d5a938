//! What a running call has to tell, on its way to the client: progress and log messages.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use gate::{Listener, Progress};
use wire::message::Text;
use wire::{LogLevel, Object, Revision, patch, tools, write};

use crate::outgoing::Outbox;

/// Writes what a call tells as notifications, as far as its client has asked for them.
pub(crate) struct Reporter {
    /// The client's progress token as JSON text, if it wants progress.
    pub(crate) token: Option<Text>,
    /// The least grave log messages it wants, if it wants any.
    pub(crate) level: Option<LogLevel>,
    /// What the client speaks.
    pub(crate) revision: Revision,
    /// Where frames go. A client that reads too slowly misses reports rather than holding up the call.
    pub(crate) outbox: Outbox,
    /// How far the call has come, as its client knows it.
    pub(crate) furthest: Furthest,
}

/// How far a call has come. Progress only grows; a server that runs the call anew in a further round begins again.
#[derive(Default)]
pub(crate) struct Furthest(Mutex<Option<f64>>);

impl Furthest {
    /// True if `progress` is news, which it then is no more.
    fn reaches(&self, progress: f64) -> bool {
        let mut furthest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = furthest.is_none_or(|furthest| progress > furthest);
        if is_news {
            *furthest = Some(progress);
        }
        is_news
    }
}

impl Reporter {
    fn tell(&self, method: &str, params: &[u8]) {
        let mut frame = Vec::with_capacity(params.len() + 64);
        write::notification(&mut frame, method, Some(params));
        // A full outbox drops the report.
        let _ = self.outbox.try_send(frame);
    }
}

impl Listener for Reporter {
    fn progress(&self, progress: Progress) {
        let Some(token) = &self.token else { return };
        let params = match progress {
            Progress::Step { done, .. } if !self.furthest.reaches(done) => return,
            Progress::Step { done, total, message } => {
                let message = message.filter(|_| self.revision.has_progress_message());
                tools::write_progress(token, done, total, message.as_deref())
            }
            Progress::Relayed(params) => {
                let Some(object) = std::str::from_utf8(&params).ok().and_then(Object::parse) else { return };
                let progress = object.get("progress").and_then(|progress| progress.parse().ok());
                // What has no number is passed on as it is: it is not ours to judge.
                if progress.is_some_and(|progress| !self.furthest.reaches(progress)) {
                    return;
                }
                patch::set(object, "progressToken", token.as_str()).into_bytes()
            }
        };
        self.tell("notifications/progress", &params);
    }

    fn log(&self, params: Bytes) {
        let Some(wanted) = self.level else { return };
        let said = std::str::from_utf8(&params).ok().and_then(Object::parse);
        let level = said.and_then(|said| said.string("level")).and_then(|name| LogLevel::parse(&name));
        if level.is_some_and(|level| level >= wanted) {
            self.tell("notifications/message", &params);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_further_is_news() {
        let furthest = Furthest::default();
        let told = [0.0, 1.0, 1.0, 0.5, 1.5, f64::NAN, 2.0].map(|progress| furthest.reaches(progress));
        assert_eq!(told, [true, true, false, false, true, false, true]);
    }
}
