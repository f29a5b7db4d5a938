//! `Ring`: what a background task has put out last, and how much of it its caller has seen. The events of its job hold the
//! beginning, for those who come after this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ::jobs::JobId;
use bytes::Bytes;
use tool_api::{Artifact, Listener, OutputAsked, Progress, TaskOutput};

use super::said::said;

/// The most that is kept of one task: some 250,000 tokens, more than a model reads of any log.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// So much more may be there before the oldest is let go: each time all that stays is moved.
const SLACK_BYTES: usize = 256 * 1024;

/// Those that this process knows.
pub(super) type Rings = HashMap<JobId, Arc<Ring>>;

/// The output of one task. Hears its call, and passes everything on.
pub(super) struct Ring {
    kept: Mutex<Kept>,
    next: Option<Arc<dyn Listener>>,
}

#[derive(Default)]
struct Kept {
    text: String,
    /// Where in the whole output it begins.
    start: u64,
    /// Up to where its caller has seen it.
    seen: u64,
}

impl Ring {
    /// Of a task that begins.
    pub(super) fn before(next: Arc<dyn Listener>) -> Ring {
        Ring { kept: Mutex::default(), next: Some(next) }
    }

    /// Of one that is over, from what is kept of it elsewhere.
    pub(super) fn of(text: &str) -> Ring {
        let ring = Ring { kept: Mutex::default(), next: None };
        ring.with(|kept| kept.push(text));
        ring
    }

    /// Whether a line of what is asked for has the words that are waited for.
    pub(super) fn has_what_is_waited_for(&self, asked: &OutputAsked<'_>) -> bool {
        let Some(words) = asked.until else { return false };
        self.with(|kept| kept.from(asked.all).lines().any(|line| line.contains(words)))
    }

    /// What is asked for. From then on it is seen.
    pub(super) fn take(&self, all: bool) -> TaskOutput {
        self.with(|kept| {
            let text = kept.from(all).to_owned();
            let missed = if all { kept.start } else { kept.start.saturating_sub(kept.seen) };
            kept.seen = kept.start + kept.text.len() as u64;
            TaskOutput { text, missed }
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        act(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn push(&mut self, more: &str) {
        self.text.push_str(more);
        if self.text.len() > KEPT_BYTES_MAX + SLACK_BYTES {
            let over = self.text.ceil_char_boundary(self.text.len() - KEPT_BYTES_MAX);
            self.text.drain(..over);
            self.start += over as u64;
        }
    }

    fn from(&self, all: bool) -> &str {
        let from = if all { 0 } else { self.seen.saturating_sub(self.start) };
        usize::try_from(from).ok().and_then(|from| self.text.get(from..)).unwrap_or_default()
    }
}

impl Listener for Ring {
    fn progress(&self, progress: Progress) {
        self.next.iter().for_each(|next| next.progress(progress.clone()));
    }

    fn log(&self, params: Bytes) {
        if let Some((_, text)) = said(&params) {
            self.with(|kept| kept.push(&text));
        }
        self.next.iter().for_each(|next| next.log(params.clone()));
    }

    fn artifact(&self, artifact: &Artifact) {
        self.next.iter().for_each(|next| next.artifact(artifact));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn waits(until: &'static str, all: bool) -> OutputAsked<'static> {
        OutputAsked { all, until: Some(until), within: Duration::ZERO }
    }

    #[test]
    fn what_is_new_is_given_once_and_all_that_is_kept_as_often_as_one_likes() {
        let ring = Ring::of("one\n");
        let output = |text: &str, missed| TaskOutput { text: text.to_owned(), missed };
        assert_eq!(ring.take(false), output("one\n", 0));
        assert_eq!(ring.take(false), output("", 0));
        ring.with(|kept| kept.push("two\nready on 80\n"));
        assert!(ring.has_what_is_waited_for(&waits("ready", false)));
        assert!(!ring.has_what_is_waited_for(&waits("one", false)), "it was seen before");
        assert!(ring.has_what_is_waited_for(&waits("one", true)));
        assert!(!ring.has_what_is_waited_for(&waits("two ready", true)), "these are two lines");
        assert_eq!(ring.take(true), output("one\ntwo\nready on 80\n", 0));
        assert_eq!(ring.take(false), output("", 0));
    }

    #[test]
    fn the_oldest_goes_between_two_characters_and_it_is_said_how_much() {
        let ring = Ring::of("é");
        assert_eq!(ring.take(false).text, "é");
        for _ in 0..SLACK_BYTES / 2 + KEPT_BYTES_MAX {
            ring.with(|kept| kept.push("é"));
        }
        let (new, all) = (ring.take(false), ring.take(true));
        assert!(
            (KEPT_BYTES_MAX..=KEPT_BYTES_MAX + SLACK_BYTES).contains(&new.text.len()),
            "{}",
            new.text.len()
        );
        assert_eq!(new.text, all.text);
        assert_eq!(
            (new.missed + 2, new.text.len() as u64 + all.missed),
            (all.missed, 2 + 2 * (SLACK_BYTES / 2 + KEPT_BYTES_MAX) as u64)
        );
    }
}
