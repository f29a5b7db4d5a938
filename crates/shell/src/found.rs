//! `Found`: what was found in a text so far, and what is still to be read.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::unclear::Unclear;
use crate::word::Word;

/// A text of the greatest length takes some milliseconds. On a machine that is busy it takes no more of this.
const TIME_MAX: Duration = Duration::from_millis(20);

/// A shell that is given a text in the text for another, and so on.
const DEPTH_MAX: usize = 4;

/// More programs than anybody reads.
const CALLS_MAX: usize = 1_000;

/// One program with its arguments. Its name, without the folders before it, is written in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) args: Vec<Word>,
    /// Whether more arguments follow that are not in the text.
    pub(crate) is_open: bool,
}

/// Where a text stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// In how many other texts.
    pub(crate) depth: usize,
    /// Whether bash reads it, and not some other shell that takes less for syntax.
    pub(crate) is_for_bash: bool,
}

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) calls: Vec<Call>,
    /// Why there may be others.
    pub(crate) unclear: Option<Unclear>,
    /// Texts that are still to be read, and where each stands.
    pub(crate) texts: Vec<(String, Place)>,
    /// How long this thread has computed when reading is given up.
    until: Duration,
}

impl Found {
    /// Nothing yet of this text.
    pub(crate) fn new(text: &str) -> Found {
        let texts = vec![(text.to_owned(), Place { depth: 0, is_for_bash: true })];
        Found { calls: Vec::new(), unclear: None, texts, until: computed() + TIME_MAX }
    }

    pub(crate) fn doubt(&mut self, why: Unclear) {
        self.unclear = self.unclear.or(Some(why));
    }

    /// Notes a program; false if there are too many.
    pub(crate) fn note(&mut self, call: Call) -> bool {
        let has_room = self.calls.len() < CALLS_MAX;
        match has_room {
            true => self.calls.push(call),
            false => self.doubt(Unclear::Much),
        }
        has_room
    }

    /// A text for a shell, in a text that stands at `place`.
    pub(crate) fn text(&mut self, text: String, place: Place, is_for_bash: bool) {
        match place.depth < DEPTH_MAX {
            true => self.texts.push((text, Place { depth: place.depth + 1, is_for_bash })),
            false => self.doubt(Unclear::Much),
        }
    }

    /// Whether reading is to be given up.
    pub(crate) fn is_late(&self) -> bool {
        computed() > self.until
    }
}

/// How long this thread has computed.
fn computed() -> Duration {
    // It starts at nothing, so this cannot fail.
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or(Duration::MAX)
}
