//! Reading and changing what is known of servers' definitions.

use std::collections::BTreeMap;

use daemon::shared::OURSELVES;
use pins::{PinStore, Pins, Scanner, What};
use terminal::Trouble;
use upstream::Settings;

/// How often a change is tried again that another process was faster than.
const TRIES_MAX: usize = 8;

/// What is known of the servers that anything is known of.
pub(super) struct KnownPins {
    /// The pins of each, or why they cannot be read.
    by_name: BTreeMap<String, Result<Pins, String>>,
    /// Costly to make, so there is one for all.
    scanner: Scanner,
}

impl KnownPins {
    pub(super) async fn read(store: &PinStore, servers: &[Settings]) -> Result<KnownPins, Trouble> {
        let mut by_name = BTreeMap::new();
        for settings in servers {
            let kept = store.load(&settings.trust_key()).await.map_err(Trouble::because)?;
            by_name.extend(kept.map(|(_, record)| (settings.name().to_owned(), Pins::read(&record))));
        }
        Ok(KnownPins { by_name, scanner: Scanner::new(Vec::new()) })
    }

    pub(super) fn of(&self, name: &str) -> Option<Result<&Pins, &str>> {
        self.by_name.get(name).map(|pins| pins.as_ref().map_err(String::as_str))
    }

    /// Searches the definitions of a server, beside the tools that the other servers have, and our own.
    pub(super) fn scanner(&self, name: &str) -> Scanner {
        let others = self.by_name.iter().filter(|(other, _)| *other != name);
        let known = others.filter_map(|(other, pins)| Some((other, pins.as_ref().ok()?)));
        let tools = known.flat_map(|(other, pins)| {
            let tools = pins.all().filter(|(what, ..)| *what == What::Tool);
            tools.map(move |(_, key, _)| (other.clone(), key.to_owned()))
        });
        let ours = tools::all(&tools::Set::ALL);
        let ours = ours.iter().map(|tool| (OURSELVES.to_owned(), tool.definition().name.to_string()));
        self.scanner.beside(tools.chain(ours).collect())
    }
}

/// Changes what is known of a server.
pub(super) async fn change(
    store: &PinStore,
    settings: &Settings,
    change: impl Fn(&mut Pins) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let key = settings.trust_key();
    for _ in 0..TRIES_MAX {
        let kept = store.load(&key).await.map_err(Trouble::because)?;
        let Some((version, record)) = kept else { break };
        let mut pins = Pins::read(&record).map_err(Trouble::Failed)?;
        change(&mut pins)?;
        let replaced = store.replace(&key, Some(version), store.record(&pins)).await;
        if replaced.map_err(Trouble::because)? {
            return Ok(());
        }
    }
    Err(Trouble::Failed("it changes all the time; try again".to_owned()))
}
