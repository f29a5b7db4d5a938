//! `Watch`: holds what one server lists against its ledger.
//!
//! [`Watch::see`] is told of every list that was read, before anything of it is offered: it reads the ledger, notes what
//! is new there, and keeps it. [`Judge`] then says of each definition whether it may be offered, without waiting for
//! anything. If the ledger cannot be read or kept, what is not known to be accepted is not offered.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use super::neighbours::Place;
use super::note::{Definitions, Look, Sighting, literal};
use super::{Finding, Hash, Kept, Ledger, Pins, Scanner, What, Why};
use crate::clock::now_ms;
use crate::config::Trust;

/// How often a ledger is read and written again that another process has changed meanwhile.
const TRIES_MAX: usize = 8;

/// Most definitions of which it is remembered that they were warned of.
const WARNED_MAX: usize = 4_096;

/// Most definitions that one list warns of each on its own.
const WARNED_ONE_BY_ONE_MAX: usize = 8;

/// What one server lists against what was accepted of it.
pub(crate) struct Watch {
    name: Arc<str>,
    mode: Trust,
    key: String,
    /// Nothing for a server of which everything is offered.
    pins: Option<Pins>,
    /// Where it stands among the others, if anything of anybody is held back.
    place: Option<Place>,
    known: Mutex<Known>,
    warned: Mutex<HashSet<(What, String, Hash)>>,
    turn: tokio::sync::Mutex<()>,
    /// Told when the ledger could not be read or kept.
    failed: Notify,
}

/// What is known of the ledger.
#[derive(Clone)]
enum Known {
    /// Nobody has asked yet.
    Nothing,
    /// This was kept last.
    Ledger(Arc<Ledger>),
    /// Why it is not known.
    Failed(Arc<str>),
}

/// Says of definitions whether they may be offered.
#[derive(Clone)]
pub(crate) enum Judge {
    /// All of them.
    Everything,
    /// Those that were accepted.
    Accepted(Arc<Ledger>, Trust),
    /// None of them, for this reason.
    Nothing(Arc<str>),
}

impl Watch {
    /// For the server `name`, whose ledger has this key.
    pub(crate) fn new(name: Arc<str>, key: String, mode: Trust, pins: Option<Pins>) -> Watch {
        Watch {
            place: pins.as_ref().map(|pins| pins.neighbours.place(&name)),
            name,
            mode,
            key,
            pins: pins.filter(|_| mode != Trust::Trust),
            known: Mutex::new(Known::Nothing),
            warned: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            failed: Notify::new(),
        }
    }

    /// What decides about definitions just now; nothing if the ledger was never read.
    pub(crate) fn judge(&self) -> Option<Judge> {
        if self.pins.is_none() {
            return Some(Judge::Everything);
        }
        match &*self.known() {
            Known::Nothing => None,
            Known::Ledger(ledger) => Some(Judge::Accepted(ledger.clone(), self.mode)),
            Known::Failed(why) => Some(Judge::Nothing(why.clone())),
        }
    }

    /// What decides about lists that [`Watch::see`] was told of.
    pub(crate) fn judge_now(&self) -> Judge {
        self.judge().unwrap_or_else(|| Judge::Nothing("what was accepted of it has not been read yet".into()))
    }

    /// Knows from now on what `before` knows, if that watches the same server.
    pub(crate) fn take_over(&self, before: &Watch) {
        if self.key == before.key && self.pins.is_some() {
            let known = before.known().clone();
            *self.known() = known;
        }
    }

    /// Reads the ledger, for lists that are remembered and may be older than it: nothing is noted of them. False if there
    /// is none.
    pub(crate) async fn recall(&self, lists: &impl Definitions) -> Result<bool, Arc<str>> {
        self.introduce(lists);
        let Some(pins) = &self.pins else { return Ok(true) };
        let _turn = self.turn.lock().await;
        let kept = pins.keeper.load(&self.key).await.map_err(|error| self.fail(&error.to_string()))?;
        let ledger = match kept {
            Some(kept) => Some(self.aside(move || Ledger::read(&kept.record)).await?),
            None => None,
        };
        let is_there = ledger.is_some();
        *self.known() = ledger.map_or(Known::Nothing, |ledger| Known::Ledger(Arc::new(ledger)));
        Ok(is_there)
    }

    /// Tells the others which tools there are.
    fn introduce(&self, lists: &impl Definitions) {
        let Some(place) = &self.place else { return };
        place.say(lists.tool_names());
    }

    /// Its server is gone for good: what others show is not held against its tools any longer.
    pub(crate) fn leave(&self) {
        self.place.iter().for_each(Place::leave);
    }

    /// Does work that takes its time where nobody's call waits for it. What goes wrong there is the ledger's fault.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, Arc<str>> {
        let done = tokio::task::spawn_blocking(work).await.map_err(|_| self.fail("the program is ending"))?;
        done.map_err(|why| {
            let name = &self.name;
            self.fail(&format!(
                "{why}; `toolcrib mcp trust {name} --reset` forgets it, and accepts what is there then"
            ))
        })
    }

    /// Takes note of everything that was read, before it is offered. Why that failed is said by the judge, and here.
    pub(crate) async fn see(&self, lists: &impl Definitions) -> Result<(), Arc<str>> {
        let seen = match &self.pins {
            Some(pins) => {
                let _turn = self.turn.lock().await;
                self.note(pins, lists).await
            }
            None => Ok(()),
        };
        self.introduce(lists);
        seen
    }

    async fn note(&self, pins: &Pins, lists: &impl Definitions) -> Result<(), Arc<str>> {
        for _ in 0..TRIES_MAX {
            let kept = pins.keeper.load(&self.key).await.map_err(|error| self.fail(&error.to_string()))?;
            let version = kept.as_ref().map(|kept| kept.version);
            let (lists, mode, neighbours) = (lists.clone(), self.mode, pins.neighbours.clone());
            let name = self.name.clone();
            let noted = self.aside(move || noted(kept, &lists, mode, &|| neighbours.scanner(&name))).await?;
            let Some(record) = &noted.record else {
                *self.known() = Known::Ledger(Arc::new(noted.ledger));
                return Ok(());
            };
            match pins.keeper.replace(&self.key, version, Some(record)).await {
                Ok(Some(_)) => {
                    *self.known() = Known::Ledger(Arc::new(noted.ledger));
                    return Ok(());
                }
                // Another process was faster, and what it has written counts.
                Ok(None) => {}
                Err(error) => {
                    let why = self.fail(&error.to_string());
                    // What was accepted before is still known to be.
                    if let Some(before) = noted.before {
                        *self.known() = Known::Ledger(Arc::new(before));
                    }
                    return Err(why);
                }
            }
        }
        Err(self.fail("other processes change it all the time"))
    }

    /// Resolves when the ledger could not be read or kept.
    pub(crate) async fn failed(&self) {
        self.failed.notified().await;
    }

    fn fail(&self, why: &str) -> Arc<str> {
        let why: Arc<str> = why.into();
        *self.known() = Known::Failed(why.clone());
        self.failed.notify_one();
        why
    }

    /// Warns of what is held back, once for each definition.
    pub(crate) fn warn(&self, lists: &impl Definitions, judge: &Judge, shown: impl Fn(&str) -> String) {
        let Judge::Accepted(ledger, mode) = judge else { return };
        let mut warned = self.warned.lock().expect("nothing panics while it holds the lock");
        let mut news = Vec::new();
        for Sighting { what, key, hash, .. } in lists.sightings() {
            let why = ledger.objection(what, key, &hash, *mode).filter(Why::awaits);
            let Some(why) = why.filter(|_| warned.len() < WARNED_MAX) else { continue };
            if warned.insert((what, key.to_owned(), hash)) {
                news.push((what, shown(key), why));
            }
        }
        for (what, name, why) in news.iter().take(WARNED_ONE_BY_ONE_MAX) {
            tracing::warn!(
                target: "upstream", upstream = %self.name, %what, name, %why,
                "held back; `toolcrib mcp trust` shows it"
            );
        }
        if let Some(more) = news.len().checked_sub(WARNED_ONE_BY_ONE_MAX).filter(|more| *more > 0) {
            tracing::warn!(
                target: "upstream", upstream = %self.name, more,
                "more is held back; `toolcrib mcp trust` shows all of it"
            );
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("nothing panics while it holds the lock")
    }
}

/// A ledger that has taken note of what a server lists.
struct Noted {
    ledger: Ledger,
    /// What it was before; nothing if there was none.
    before: Option<Ledger>,
    /// What is to be kept, if that has changed it.
    record: Option<String>,
}

/// Takes note of what a server lists in what is kept of it.
fn noted(
    kept: Option<Kept>,
    lists: &impl Definitions,
    mode: Trust,
    scanner: &dyn Fn() -> Scanner,
) -> Result<Noted, String> {
    let before = kept.map(|kept| Ledger::read(&kept.record)).transpose()?;
    let mut ledger = before.clone().unwrap_or_else(|| Ledger::new(now_ms()));
    let mut made = None;
    let mut search = |sighting: &Sighting<'_>| -> Vec<Finding> {
        let scanner = made.get_or_insert_with(scanner);
        scanner.search(sighting.what, sighting.key, &sighting.text)
    };
    let look = Look { mode, now_ms: now_ms(), search: &mut search };
    let has_changed = ledger.note(&lists.sightings(), &lists.complete(), look) || before.is_none();
    let record = has_changed.then(|| ledger.written());
    Ok(Noted { ledger, before, record })
}

impl Judge {
    /// Why a definition is held back; nothing if it may be offered.
    pub(crate) fn objection<'h>(
        &self,
        what: What,
        key: &str,
        hash: impl FnOnce() -> &'h Hash,
    ) -> Option<Why> {
        match self {
            Judge::Everything => None,
            Judge::Nothing(why) => Some(Why::Unknown(why.to_string())),
            Judge::Accepted(ledger, mode) => ledger.objection(what, key, hash(), *mode),
        }
    }

    /// The same of what a server says of itself.
    pub(crate) fn objection_to_instructions(&self, said: &str) -> Option<Why> {
        let hash = Hash::of(&literal(said));
        self.objection(What::Instructions, What::WHOLE, || &hash)
    }

    /// True if nothing is offered that was not accepted, so that what is not listed is not either.
    pub(crate) fn wants_all_accepted(&self) -> bool {
        matches!(self, Judge::Accepted(_, Trust::Review))
    }

    /// True if nothing at all can be offered.
    pub(crate) fn is_blind(&self) -> bool {
        matches!(self, Judge::Nothing(_))
    }
}
