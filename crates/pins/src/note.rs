//! Noting what a server shows: what is accepted by being first seen, and what is held back from now on.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use crate::canonical::{Hash, literal, subject};
use crate::item::What;
use crate::pins::{Definition, Pinned, Pins};
use crate::scan::{Finding, Severity};
use crate::trust::Trust;

/// What a server adds within this time after it was first seen is part of what it was first seen with, in milliseconds:
/// some list their tools one by one while they start. Nobody looks at such a list twice, so what comes behind the first
/// list has to be beyond doubt.
const FIRST_SIGHT_MS: i64 = 30_000;

/// Most definitions that are remembered of one server, those that it has dropped included.
const PINS_MAX: usize = 60_000;

/// A definition as a server shows it.
pub struct Sighting<'l> {
    /// What it is of.
    pub what: What,
    /// Its own name or URI.
    pub key: &'l str,
    /// As it came: JSON.
    pub text: Cow<'l, str>,
    /// Of its canonical form.
    pub hash: Hash,
}

/// How definitions are looked at.
pub(crate) struct Look<'a> {
    pub(crate) mode: Trust,
    pub(crate) now_ms: i64,
    /// Searches a definition.
    pub(crate) search: &'a mut dyn FnMut(&Sighting<'_>) -> Vec<Finding>,
}

/// Everything that a server shows.
pub trait Definitions: Clone + Send + 'static {
    /// Each definition.
    fn sightings(&self) -> Vec<Sighting<'_>>;

    /// The kinds of which everything was read.
    fn complete(&self) -> Vec<What>;

    /// The names of the tools among them.
    fn tool_names(&self) -> Vec<String>;
}

impl<'l> Sighting<'l> {
    /// What a server tells models about its use.
    pub fn of_instructions(instructions: &str) -> Sighting<'l> {
        let mut text = String::with_capacity(instructions.len() + 2);
        literal(instructions, &mut text);
        let hash = Hash::of(&text);
        Sighting { what: What::Instructions, key: What::WHOLE, text: text.into(), hash }
    }
}

impl Pins {
    /// Notes everything that a server shows of the kinds `read`. True if that changes anything here.
    pub(crate) fn note(&mut self, sightings: &[Sighting<'_>], read: &[What], mut look: Look<'_>) -> bool {
        let mut has_changed = false;
        let mut present: HashSet<(What, &str)> = HashSet::with_capacity(sightings.len());
        let is_young = look.now_ms.saturating_sub(self.first_seen_ms).unsigned_abs() <= FIRST_SIGHT_MS as u64;
        let mut count = self.pins.values().map(BTreeMap::len).sum::<usize>();
        for sighting in sightings {
            // A second one of the same name is not offered whatever it says.
            if !present.insert((sighting.what, sighting.key)) {
                continue;
            }
            let comes = match self.seen.contains(&sighting.what) {
                false => Comes::First,
                true if is_young => Comes::Soon,
                true => Comes::Late,
            };
            let pins = self.pins.entry(sighting.what).or_default();
            match pins.get_mut(sighting.key) {
                Some(pinned) => has_changed |= pinned.note(sighting, look.now_ms),
                None if count < PINS_MAX => {
                    pins.insert(sighting.key.to_owned(), newcomer(sighting, comes, &mut look));
                    count += 1;
                    has_changed = true;
                }
                // It stays unknown, and what is unknown is held back.
                None => {}
            }
        }
        for &what in read {
            if !self.seen.contains(&what) {
                self.seen.push(what);
                has_changed = true;
            }
            let is_gone = |key: &str| !present.contains(&(what, key));
            has_changed |= self.note_gone(what, &is_gone, look.now_ms);
        }
        has_changed
    }

    /// What is gone stays accepted, for it may come back; what was never decided is forgotten. Resources come and go
    /// and are data, so they are forgotten, too, unless a person has rejected them.
    fn note_gone(&mut self, what: What, is_gone: &dyn Fn(&str) -> bool, now_ms: i64) -> bool {
        let mut has_changed = false;
        self.pins.entry(what).or_default().retain(|key, pinned| {
            if !is_gone(key) {
                return true;
            }
            let is_kept =
                !pinned.rejected.is_empty() || (pinned.accepted.is_some() && what != What::Resource);
            if !is_kept || pinned.gone_ms.is_none() {
                has_changed = true;
            }
            pinned.gone_ms.get_or_insert(now_ms);
            is_kept
        });
        has_changed
    }
}

impl Pinned {
    /// Notes what is shown under a known name. True if that is news.
    fn note(&mut self, sighting: &Sighting<'_>, now_ms: i64) -> bool {
        let was_gone = self.gone_ms.take().is_some();
        if self.accepted.as_ref().is_some_and(|accepted| accepted.hash == sighting.hash) {
            return self.shown.take().is_some() || was_gone;
        }
        if self.shown.as_ref().is_some_and(|shown| shown.hash == sighting.hash) {
            return was_gone;
        }
        self.shown = Some(definition(sighting, now_ms));
        self.finding = None;
        true
    }
}

/// When a definition is seen for the first time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// With the first list of its kind.
    First,
    /// Behind that, within [`FIRST_SIGHT_MS`].
    Soon,
    Late,
}

/// What is noted of a definition whose name nobody has seen here before.
fn newcomer(sighting: &Sighting<'_>, comes: Comes, look: &mut Look<'_>) -> Pinned {
    let definition = definition(sighting, look.now_ms);
    let is_resource = sighting.what == What::Resource;
    if look.mode == Trust::Review || (comes == Comes::Late && !is_resource) {
        return Pinned { shown: Some(definition), ..Pinned::default() };
    }
    // Resources are data and come all the time. What comes late has to be beyond doubt.
    let bearable = if comes == Comes::First { Severity::Medium } else { Severity::Low };
    let worst = (look.search)(sighting).into_iter().max_by_key(|finding| finding.severity);
    match worst.filter(|finding| finding.severity > bearable) {
        Some(finding) => {
            Pinned { shown: Some(definition), finding: Some(finding.to_string()), ..Pinned::default() }
        }
        None => Pinned { accepted: Some(definition), ..Pinned::default() },
    }
}

fn definition(sighting: &Sighting<'_>, now_ms: i64) -> Definition {
    let text = Some(subject(sighting.what, &sighting.text));
    Definition { hash: sighting.hash.clone(), at_ms: now_ms, text }
}
