//! `Pins`: what was accepted of one server, and what it shows instead.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::canonical::Hash;
use crate::held_back::Why;
use crate::item::What;
use crate::trust::Trust;

/// The form in which pins are written.
const VERSION: u32 = 1;

/// Longest record, in bytes. Of a server with longer definitions the hashes alone are kept, and no difference can be
/// shown.
const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Most rejected definitions of one name that are remembered.
const REJECTED_MAX: usize = 16;

/// What was accepted of one server, and what it shows instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    version: u32,
    /// When the server was first seen, in milliseconds since 1970.
    pub(crate) first_seen_ms: i64,
    /// The lists that were read at least once.
    pub(crate) seen: Vec<What>,
    pub(crate) pins: BTreeMap<What, BTreeMap<String, Pinned>>,
}

/// What is known of one definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// What is offered when the server shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Definition>,
    /// What the server shows instead, which is held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Definition>,
    /// What a person has rejected, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Hash>,
    /// What was found when it was first seen, so that it was not accepted by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// Since when the server does not show it any more, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_ms: Option<i64>,
}

/// One definition at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Of its canonical form.
    pub hash: Hash,
    /// When it was accepted or first shown, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its canonical form, a JSON text; nothing if it was too long to be kept.
    pub text: Option<String>,
}

/// What a person decides about a definition that is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// What the server shows now is offered from now on.
    Accept,
    /// What the server shows now is not to be offered, nor mentioned again. If nothing is held back, what was
    /// accepted is not offered any longer.
    Reject,
}

impl Pinned {
    /// Why this definition is held back; nothing if it is what was accepted.
    pub(crate) fn objection(&self, hash: &Hash, mode: Trust) -> Option<Why> {
        if self.accepted.as_ref().is_some_and(|accepted| accepted.hash == *hash) {
            return None;
        }
        Some(match &self.finding {
            _ if self.rejected.contains(hash) => Why::Rejected,
            _ if self.accepted.is_some() => Why::Changed,
            Some(finding) if self.shown.as_ref().is_some_and(|shown| shown.hash == *hash) => {
                Why::Suspicious(finding.clone())
            }
            _ if mode == Trust::Review => Why::Unreviewed,
            Some(_) | None => Why::New,
        })
    }

    /// Why what the server shows is held back; nothing if it shows what was accepted, or nothing.
    pub fn held(&self, mode: Trust) -> Option<Why> {
        self.objection(&self.shown.as_ref()?.hash, mode)
    }
}

impl Pins {
    /// Of a server that nobody has seen before.
    pub fn new(now_ms: i64) -> Pins {
        Pins { version: VERSION, first_seen_ms: now_ms, seen: Vec::new(), pins: BTreeMap::new() }
    }

    /// Reads a record. Takes its time for a long one.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(record: &[u8]) -> Result<Pins, String> {
        let pins: Pins =
            serde_json::from_slice(record).map_err(|error| format!("the record cannot be read: {error}"))?;
        match pins.version {
            VERSION => Ok(pins),
            other => Err(format!("the record has the form {other}, which this version does not know")),
        }
    }

    /// The record of it.
    pub(crate) fn written(&self) -> String {
        let write = |pins: &Pins| serde_json::to_string(pins).expect("a plain structure can be written");
        let whole = write(self);
        if whole.len() <= RECORD_BYTES_MAX {
            return whole;
        }
        let mut short = self.clone();
        for pinned in short.every_mut() {
            let definitions = pinned.accepted.iter_mut().chain(&mut pinned.shown);
            definitions.for_each(|definition| definition.text = None);
        }
        write(&short)
    }

    pub(crate) fn every_mut(&mut self) -> impl Iterator<Item = &mut Pinned> {
        self.pins.values_mut().flat_map(BTreeMap::values_mut)
    }

    /// Everything that is known of, by kind and name.
    pub fn all(&self) -> impl Iterator<Item = (What, &str, &Pinned)> {
        let pins = self.pins.iter();
        pins.flat_map(|(what, pins)| pins.iter().map(|(key, pinned)| (*what, key.as_str(), pinned)))
    }

    /// What is known of one definition.
    pub fn get(&self, what: What, key: &str) -> Option<&Pinned> {
        self.pins.get(&what)?.get(key)
    }

    /// Why a definition is held back; nothing if it is what was accepted.
    pub(crate) fn objection(&self, what: What, key: &str, hash: &Hash, mode: Trust) -> Option<Why> {
        match self.get(what, key) {
            Some(pinned) => pinned.objection(hash, mode),
            None if mode == Trust::Review => Some(Why::Unreviewed),
            None => Some(Why::New),
        }
    }

    /// Takes a person's decision about what the server shows under this name, which is what that person has looked at
    /// (`looked_at`). False, and no change, if there is nothing to decide or it is another one by now.
    pub fn decide(
        &mut self,
        what: What,
        key: &str,
        looked_at: &Hash,
        decision: Decision,
        now_ms: i64,
    ) -> bool {
        let Some(pinned) = self.pins.get_mut(&what).and_then(|pins| pins.get_mut(key)) else { return false };
        match (decision, pinned.shown.take()) {
            (Decision::Accept, Some(shown)) if shown.hash == *looked_at => {
                pinned.rejected.retain(|rejected| *rejected != shown.hash);
                pinned.accepted = Some(Definition { at_ms: now_ms, ..shown });
                pinned.finding = None;
                true
            }
            (Decision::Reject, Some(shown)) if shown.hash == *looked_at => {
                pinned.reject(&shown.hash);
                pinned.shown = Some(shown);
                true
            }
            (Decision::Reject, None) if pinned.is_accepted(looked_at) => {
                pinned.reject(looked_at);
                pinned.shown = pinned.accepted.take();
                true
            }
            (_, shown) => {
                pinned.shown = shown;
                false
            }
        }
    }
}

impl Pinned {
    fn reject(&mut self, hash: &Hash) {
        if !self.rejected.contains(hash) {
            self.rejected.push(hash.clone());
        }
        if self.rejected.len() > REJECTED_MAX {
            self.rejected.remove(0);
        }
    }

    fn is_accepted(&self, hash: &Hash) -> bool {
        self.accepted.as_ref().is_some_and(|accepted| accepted.hash == *hash)
    }
}
