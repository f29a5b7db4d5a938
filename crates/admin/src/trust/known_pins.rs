//! Reading and changing what is known of servers' definitions.

use std::collections::BTreeMap;

use pins::{PinStore, Pins, Scanner, Trust, What};
use store::wait;
use upstream::Settings;

use super::item::unknown_item;
use crate::fault::Fault;

/// How often a change is tried again that another process was faster than.
const TRIES_MAX: usize = 8;

/// What is known of the servers that anything is known of.
pub(super) struct KnownPins<'a> {
    /// The pins of each, or why they cannot be read.
    by_name: BTreeMap<&'a str, Result<Pins, String>>,
    /// Our own tools.
    own: &'a [(String, String)],
    /// Costly to make, so there is one for all.
    scanner: Scanner,
}

impl<'a> KnownPins<'a> {
    pub(super) fn read(
        store: &PinStore,
        servers: &'a [Settings],
        own: &'a [(String, String)],
    ) -> Result<KnownPins<'a>, Fault> {
        let mut by_name = BTreeMap::new();
        for settings in servers {
            let kept = wait(store.load(&settings.trust_key())).map_err(Fault::because)?;
            by_name.extend(kept.map(|(_, record)| (settings.name(), Pins::read(&record))));
        }
        Ok(KnownPins { by_name, own, scanner: Scanner::new(Vec::new()) })
    }

    pub(super) fn of(&self, name: &str) -> Option<Result<&Pins, &str>> {
        self.by_name.get(name).map(|pins| pins.as_ref().map_err(String::as_str))
    }

    /// The pins of a server that there is one of.
    pub(super) fn pins_of(&self, settings: &Settings) -> Result<&Pins, Fault> {
        self.of(settings.name()).and_then(Result::ok).ok_or_else(|| {
            let why = match settings.trust {
                Trust::Trust => "its table says `trust = \"trust\"`, so everything is offered as it comes",
                Trust::Pin | Trust::Review => "it has not been connected to yet",
            };
            unknown_item(format!("nothing is held back of `{}`: {why}", settings.name()))
        })
    }

    /// Searches the definitions of a server, beside the tools that the other servers have, and our own.
    pub(super) fn scanner(&self, name: &str) -> Scanner {
        let others = self.by_name.iter().filter(|(other, _)| **other != name);
        let known = others.filter_map(|(other, pins)| Some((other, pins.as_ref().ok()?)));
        let tools = known.flat_map(|(other, pins)| {
            let tools = pins.all().filter(|(what, ..)| *what == What::Tool);
            tools.map(move |(_, key, _)| ((*other).to_owned(), key.to_owned()))
        });
        self.scanner.beside(tools.chain(self.own.iter().cloned()).collect())
    }
}

/// Changes what is known of a server.
pub(super) fn change(
    store: &PinStore,
    settings: &Settings,
    change: impl Fn(&mut Pins) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let key = settings.trust_key();
    for _ in 0..TRIES_MAX {
        let Some((version, record)) = wait(store.load(&key)).map_err(Fault::because)? else { break };
        let mut pins = Pins::read(&record).map_err(Fault::failed)?;
        change(&mut pins)?;
        let replaced = wait(store.replace(&key, Some(version), store.record(&pins)));
        if replaced.map_err(Fault::because)? {
            return Ok(());
        }
    }
    Err(Fault::failed("it changes all the time; try again"))
}
