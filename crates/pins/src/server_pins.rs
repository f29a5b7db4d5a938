//! `ServerPins`: holds what one server lists against what was accepted of it.
//!
//! [`ServerPins::see`] is given every list that was read, before anything of it is offered: it reads the pins, notes what
//! is new there, and keeps them. [`Judge`] then says of each definition whether it may be offered, without waiting for
//! anything. If the pins cannot be read or kept, what is not known to be accepted is not offered.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::canonical::Hash;
use crate::held_back::Why;
use crate::item::What;
use crate::neighbours::Neighbour;
use crate::note::{Definitions, Look, Sighting};
use crate::pinning::Pinning;
use crate::pins::Pins;
use crate::scan::{Finding, Scanner};
use crate::trust::Trust;

/// How often pins are read and written again that another process has changed meanwhile.
const TRIES_MAX: usize = 8;

/// Most definitions of which it is remembered that they were warned of.
const WARNED_MAX: usize = 4_096;

/// Most definitions that one list warns of each on its own.
const WARNED_ONE_BY_ONE_MAX: usize = 8;

/// What one server lists against what was accepted of it.
pub struct ServerPins {
    name: Arc<str>,
    mode: Trust,
    key: String,
    /// Nothing for a server of which everything is offered.
    pinning: Option<Pinning>,
    /// It among the others, if anything of anybody is held back.
    neighbour: Option<Neighbour>,
    /// What decides about definitions; nothing if the pins were never read.
    known: Mutex<Option<Judge>>,
    warned: Mutex<HashSet<(What, String, Hash)>>,
    /// One look at what is kept at a time.
    looking: tokio::sync::Mutex<()>,
    /// Notified when the pins could not be read or kept.
    failed: Notify,
}

/// Says of definitions whether they may be offered.
#[derive(Clone)]
pub enum Judge {
    /// All of them.
    Everything,
    /// Those that were accepted.
    Accepted(Arc<Pins>, Trust),
    /// None of them, for this reason.
    Nothing(Arc<str>),
}

impl ServerPins {
    /// For the server `name`, whose pins are kept under this key.
    pub fn new(name: Arc<str>, key: String, mode: Trust, pinning: Option<Pinning>) -> ServerPins {
        let neighbour = pinning.as_ref().map(|pinning| pinning.neighbours.join(&name));
        let pinning = pinning.filter(|_| mode != Trust::Trust);
        ServerPins {
            neighbour,
            name,
            mode,
            key,
            known: Mutex::new(pinning.is_none().then_some(Judge::Everything)),
            pinning,
            warned: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            failed: Notify::new(),
        }
    }

    /// What decides about definitions just now; nothing if the pins were never read.
    pub fn judge(&self) -> Option<Judge> {
        self.known().clone()
    }

    /// What decides about lists that [`ServerPins::see`] was given.
    pub fn judge_now(&self) -> Judge {
        self.judge().unwrap_or_else(|| Judge::Nothing("what was accepted of it has not been read yet".into()))
    }

    /// Knows from now on what `before` knows, if that is of the same server.
    pub fn take_over(&self, before: &ServerPins) {
        if self.key == before.key && self.pinning.is_some() {
            let known = before.known().clone();
            *self.known() = known;
        }
    }

    /// Reads the pins, for lists that are remembered and may be older than it: nothing is noted of them. False if there
    /// are none.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub async fn recall(&self, lists: &impl Definitions) -> Result<bool, Arc<str>> {
        self.introduce(lists);
        let Some(pinning) = &self.pinning else { return Ok(true) };
        let _looking = self.looking.lock().await;
        let kept = pinning.store.load(&self.key).await.map_err(|error| self.fail(&error.to_string()))?;
        let pins = match kept {
            Some((_, record)) => Some(self.aside(move || Pins::read(&record)).await?),
            None => None,
        };
        let is_there = pins.is_some();
        *self.known() = pins.map(|pins| self.accepted(pins));
        Ok(is_there)
    }

    /// Tells the others which tools there are.
    fn introduce(&self, lists: &impl Definitions) {
        let Some(neighbour) = &self.neighbour else { return };
        neighbour.say(lists.tool_names());
    }

    /// Its server is gone for good: what others show is not held against its tools any longer.
    pub fn leave(&self) {
        self.neighbour.iter().for_each(Neighbour::leave);
    }

    /// Does work that takes its time where nobody's call waits for it. What goes wrong there is the record's fault.
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

    /// Takes note of everything that was read, before it is offered. The judge says why that failed, too.
    ///
    /// # Errors
    /// Why the pins cannot be read or kept.
    pub async fn see(&self, lists: &impl Definitions, now_ms: i64) -> Result<(), Arc<str>> {
        let seen = match &self.pinning {
            Some(pinning) => {
                let _looking = self.looking.lock().await;
                self.note(pinning, lists, now_ms).await
            }
            None => Ok(()),
        };
        self.introduce(lists);
        seen
    }

    async fn note(&self, pinning: &Pinning, lists: &impl Definitions, now_ms: i64) -> Result<(), Arc<str>> {
        for _ in 0..TRIES_MAX {
            let kept = pinning.store.load(&self.key).await.map_err(|error| self.fail(&error.to_string()))?;
            let (version, kept) = kept.unzip();
            let (lists, mode, name, pinning_there) =
                (lists.clone(), self.mode, self.name.clone(), pinning.clone());
            let work = move || noted(kept, &lists, &pinning_there, &name, (mode, now_ms));
            let noted = self.aside(work).await?;
            let is_kept = match noted.record {
                Some(record) => pinning.store.replace(&self.key, version, record).await,
                None => Ok(true),
            };
            match is_kept {
                Ok(true) => {
                    *self.known() = Some(self.accepted(noted.pins));
                    return Ok(());
                }
                // Another process was faster, and what it has written counts.
                Ok(false) => {}
                Err(error) => {
                    let why = self.fail(&error.to_string());
                    // What was accepted before is still known to be.
                    if let Some(before) = noted.before {
                        *self.known() = Some(self.accepted(before));
                    }
                    return Err(why);
                }
            }
        }
        Err(self.fail("other processes change it all the time"))
    }

    /// Resolves when the pins could not be read or kept.
    pub async fn failed(&self) {
        self.failed.notified().await;
    }

    fn fail(&self, why: &str) -> Arc<str> {
        let why: Arc<str> = why.into();
        *self.known() = Some(Judge::Nothing(why.clone()));
        self.failed.notify_one();
        why
    }

    /// Warns of what is held back, once for each definition.
    pub fn warn(&self, lists: &impl Definitions, judge: &Judge, shown: impl Fn(&str) -> String) {
        let Judge::Accepted(pins, mode) = judge else { return };
        let mut warned = self.warned.lock().expect("nothing panics while it holds the lock");
        let mut news = Vec::new();
        for Sighting { what, key, hash, .. } in lists.sightings() {
            let why = pins.objection(what, key, &hash, *mode).filter(Why::awaits);
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

    fn accepted(&self, pins: Pins) -> Judge {
        Judge::Accepted(Arc::new(pins), self.mode)
    }

    fn known(&self) -> MutexGuard<'_, Option<Judge>> {
        self.known.lock().expect("nothing panics while it holds the lock")
    }
}

/// Pins that have taken note of what a server lists.
struct Noted {
    pins: Pins,
    /// What they were before; nothing if there were none.
    before: Option<Pins>,
    /// What is to be kept, if that has changed them.
    record: Option<Vec<u8>>,
}

/// Takes note of what a server lists in what is kept of it.
fn noted(
    kept: Option<Vec<u8>>,
    lists: &impl Definitions,
    pinning: &Pinning,
    name: &str,
    (mode, now_ms): (Trust, i64),
) -> Result<Noted, String> {
    let before = kept.map(|record| Pins::read(&record)).transpose()?;
    let mut pins = before.clone().unwrap_or_else(|| Pins::new(now_ms));
    let mut made = None;
    let mut search = |sighting: &Sighting<'_>| -> Vec<Finding> {
        let scanner: &mut Scanner = made.get_or_insert_with(|| pinning.neighbours.scanner(name));
        scanner.search(sighting.what, sighting.key, &sighting.text)
    };
    let look = Look { mode, now_ms, search: &mut search };
    let has_changed = pins.note(&lists.sightings(), &lists.complete(), look) || before.is_none();
    let record = has_changed.then(|| pinning.store.record(&pins));
    Ok(Noted { pins, before, record })
}

impl Judge {
    /// Why a definition is held back; nothing if it may be offered.
    pub fn objection<'h>(&self, what: What, key: &str, hash: impl FnOnce() -> &'h Hash) -> Option<Why> {
        match self {
            Judge::Everything => None,
            Judge::Nothing(why) => Some(Why::Unknown(why.to_string())),
            Judge::Accepted(pins, mode) => pins.objection(what, key, hash(), *mode),
        }
    }

    /// The same of what a server says of itself.
    pub fn objection_to_instructions(&self, instructions: &str) -> Option<Why> {
        let sighting = Sighting::of_instructions(instructions);
        self.objection(sighting.what, sighting.key, || &sighting.hash)
    }

    /// True if nothing is offered that was not accepted, so that what is not listed is not either.
    pub fn wants_all_accepted(&self) -> bool {
        matches!(self, Judge::Accepted(_, Trust::Review))
    }

    /// True if nothing at all can be offered.
    pub fn is_blind(&self) -> bool {
        matches!(self, Judge::Nothing(_))
    }
}
