//! `Ring`: what a background task has put out last, and how much of it its caller has seen. The events of its job hold the
//! beginning, for those who come after this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ::jobs::JobId;
use bytes::Bytes;
use tool_api::{Artifact, Listener, OutputAsked, OutputPart, Progress, TaskOutput};

use super::said::said;

/// The most that is kept of one task: some 250,000 tokens, more than a model reads of any log.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// So much more may be there before the oldest is let go: each time all that stays is moved.
const SLACK_BYTES: usize = 256 * 1024;

/// The most that this process holds: each may have 1.25 MiB.
pub(super) const RINGS_MAX: usize = 128;

/// Most of them whose tasks run and are of one caller, in whichever workspaces: half, so that others have room.
pub(super) const RUNNING_OF_CALLER_MAX: usize = RINGS_MAX / 2;

/// Those that this process holds.
#[derive(Default)]
pub(super) struct Rings(HashMap<JobId, Arc<Ring>>);

impl Rings {
    pub(super) fn get(&self, id: &JobId) -> Option<Arc<Ring>> {
        self.0.get(id).cloned()
    }

    /// Whether there is room for another of the caller whose tasks that run are `own`. One has no more than its share.
    pub(super) fn have_room_of(
        &mut self,
        own: impl Fn(&JobId) -> bool,
        runs: impl Fn(&JobId) -> bool,
    ) -> bool {
        self.0.keys().filter(|id| own(id)).count() < RUNNING_OF_CALLER_MAX && self.have_room(runs)
    }

    /// Whether there is room for another. Those of tasks that are over make it.
    pub(super) fn have_room(&mut self, runs: impl Fn(&JobId) -> bool) -> bool {
        if self.0.len() >= RINGS_MAX {
            let over = self.0.keys().find(|id| !runs(id)).cloned();
            over.iter().for_each(|id| drop(self.0.remove(id)));
        }
        self.0.len() < RINGS_MAX
    }

    /// Holds one, if there is room.
    pub(super) fn hold(&mut self, id: &JobId, ring: &Arc<Ring>, runs: impl Fn(&JobId) -> bool) {
        if self.have_room(runs) {
            self.0.insert(id.clone(), ring.clone());
        }
    }
}

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

    /// Whether a line of what is asked for has the words that are waited for. What was looked at before `looked` is not looked
    /// at again: who waits is woken many times a second.
    pub(super) fn has_what_is_waited_for(&self, asked: &OutputAsked<'_>, looked: &mut u64) -> bool {
        // No line has the end of one in it.
        let Some(words) = asked.until.filter(|words| !words.contains(['\n', '\r'])) else { return false };
        self.with(|kept| {
            let text = kept.from(kept.place(asked.part).max(*looked));
            // The words may have begun.
            let begun = text.ceil_char_boundary((text.len() + 1).saturating_sub(words.len()));
            *looked = kept.end() - (text.len() - begun) as u64;
            text.contains(words)
        })
    }

    /// What is asked for. From then on it is seen, unless it was asked for by its place.
    pub(super) fn take(&self, part: OutputPart) -> TaskOutput {
        self.with(|kept| {
            let place = kept.place(part);
            let text = kept.from(place).to_owned();
            let start = kept.end() - text.len() as u64;
            if !matches!(part, OutputPart::From(_)) {
                kept.seen = kept.end();
            }
            TaskOutput { text, start, missed: kept.start.saturating_sub(place), artifact: None }
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

    fn end(&self) -> u64 {
        self.start + self.text.len() as u64
    }

    /// Where in the whole output this part begins.
    fn place(&self, part: OutputPart) -> u64 {
        match part {
            OutputPart::New => self.seen,
            OutputPart::All => 0,
            OutputPart::From(place) => place,
        }
    }

    /// What is kept from this place of the whole output on. Within a character, from the next one on.
    fn from(&self, place: u64) -> &str {
        let from = usize::try_from(place.saturating_sub(self.start)).unwrap_or(usize::MAX);
        &self.text[self.text.ceil_char_boundary(from.min(self.text.len()))..]
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

    use super::OutputPart::{All, From, New};
    use super::*;

    fn waits(until: &'static str, all: bool) -> OutputAsked<'static> {
        let part = if all { OutputPart::All } else { OutputPart::New };
        OutputAsked { part, until: Some(until), within: Duration::ZERO }
    }

    #[test]
    fn what_is_new_is_given_once_and_all_that_is_kept_as_often_as_one_likes() {
        let ring = Ring::of("one\n");
        let output =
            |text: &str, start| TaskOutput { text: text.to_owned(), start, missed: 0, artifact: None };
        let has = |words, all| ring.has_what_is_waited_for(&waits(words, all), &mut 0);
        assert_eq!(ring.take(New), output("one\n", 0));
        assert_eq!(ring.take(New), output("", 4));
        ring.with(|kept| kept.push("two\nready on 80\n"));
        assert!(has("ready", false));
        assert!(!has("one", false), "it was seen before");
        assert!(has("one", true));
        assert!(!has("two ready", true) && !has("two\nready", true), "these are two lines");
        assert_eq!(ring.take(From(4)), output("two\nready on 80\n", 4), "it is no look");
        assert_eq!(ring.take(New), output("two\nready on 80\n", 4));
        assert_eq!(ring.take(All), output("one\ntwo\nready on 80\n", 0));
        assert_eq!(ring.take(New), output("", 20));
        assert_eq!(ring.take(From(99)), output("", 20), "there is no more");
        assert_eq!(Ring::of("éa").take(From(1)), output("a", 2), "no half of a character");
    }

    #[test]
    fn outputs_of_tasks_that_are_over_make_room_and_those_of_others_do_not() {
        let mut rings = Rings::default();
        let ids: Vec<_> = (0..RINGS_MAX + 2).map(|_| JobId::new().expect("an id")).collect();
        let ring = Arc::new(Ring::of(""));
        ids[..RINGS_MAX].iter().for_each(|id| rings.hold(id, &ring, |_| true));
        assert!(!rings.have_room(|_| true));
        rings.hold(&ids[RINGS_MAX], &ring, |_| true);
        assert!(rings.get(&ids[RINGS_MAX]).is_none());
        rings.hold(&ids[RINGS_MAX + 1], &ring, |id| *id != ids[3]);
        assert!(rings.get(&ids[RINGS_MAX + 1]).is_some() && rings.get(&ids[3]).is_none());
        assert_eq!(rings.0.len(), RINGS_MAX);
    }

    #[test]
    fn one_caller_takes_no_more_than_its_share() {
        let mut rings = Rings::default();
        let ids: Vec<_> = (0..RUNNING_OF_CALLER_MAX).map(|_| JobId::new().expect("an id")).collect();
        let ring = Arc::new(Ring::of(""));
        for id in &ids {
            assert!(rings.have_room_of(|_| true, |_| true));
            rings.hold(id, &ring, |_| true);
        }
        assert!(!rings.have_room_of(|_| true, |_| true));
        assert!(rings.have_room_of(|id| *id != ids[0], |_| true), "one of them has ended");
        assert!(rings.have_room_of(|_| false, |_| true), "another caller");
    }

    #[test]
    fn what_was_looked_at_is_not_looked_at_again_but_for_words_that_have_begun() {
        let (ring, mut looked) = (Ring::of("seen\n"), 0);
        ring.take(New);
        let mut has = |more: &str| {
            ring.with(|kept| kept.push(more));
            (ring.has_what_is_waited_for(&waits("é ready", false), &mut looked), looked)
        };
        // The words have 8 bytes, so the last 7 may be their beginning.
        assert_eq!(has(&"x".repeat(1000)), (false, 5 + 1000 - 7));
        assert_eq!(has("\n"), (false, 5 + 1001 - 7));
        assert_eq!(has("é123456"), (false, 5 + 1009 - 6), "between two characters");
        assert_eq!(has("é re"), (false, 5 + 1014 - 7));
        assert!(has("ady\n").0);
        // What was let go meanwhile is passed over.
        let gone = "y".repeat(KEPT_BYTES_MAX + SLACK_BYTES + 1);
        assert_eq!(has(&gone), (false, 5 + 1018 + gone.len() as u64 - 7));
    }

    #[test]
    fn the_oldest_goes_between_two_characters_and_it_is_said_how_much() {
        let ring = Ring::of("é");
        assert_eq!(ring.take(New).text, "é");
        for _ in 0..SLACK_BYTES / 2 + KEPT_BYTES_MAX {
            ring.with(|kept| kept.push("é"));
        }
        let (new, all) = (ring.take(New), ring.take(All));
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
