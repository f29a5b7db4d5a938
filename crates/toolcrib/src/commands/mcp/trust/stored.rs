//! Reading and changing what is known of servers' definitions.

use std::collections::BTreeMap;

use pins::{PinStore, Pins, What};
use upstream::Settings;

use crate::assemble::OURSELVES;
use crate::ending::Trouble;

/// How often a change is tried again that another process was faster than.
const TRIES_MAX: usize = 8;

/// The pins in the state folder.
pub(super) struct StoredPins {
    store: PinStore,
}

/// The pins of all servers that there are ones of.
pub(super) struct All {
    by_name: BTreeMap<String, Result<Pins, String>>,
}

impl StoredPins {
    pub(super) fn new(store: PinStore) -> StoredPins {
        StoredPins { store }
    }

    /// What is known of each of these servers.
    pub(super) async fn read_all(&self, servers: &[Settings]) -> Result<All, Trouble> {
        let mut by_name = BTreeMap::new();
        for settings in servers {
            let kept = self.store.load(&settings.trust_key()).await.map_err(Trouble::because)?;
            if let Some((_, record)) = kept {
                by_name.insert(settings.name().to_owned(), record.read());
            }
        }
        Ok(All { by_name })
    }

    /// Changes what is known of one.
    pub(super) async fn change(
        &self,
        settings: &Settings,
        change: impl Fn(&mut Pins) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let key = settings.trust_key();
        for _ in 0..TRIES_MAX {
            let kept = self.store.load(&key).await.map_err(Trouble::because)?;
            let Some((version, record)) = kept else { break };
            let mut pins = record.read().map_err(Trouble::Failed)?;
            change(&mut pins)?;
            let replaced = self.store.replace(&key, Some(version), self.store.record(&pins)).await;
            if replaced.map_err(Trouble::because)? {
                return Ok(());
            }
        }
        Err(Trouble::Failed("it changes all the time; try again".to_owned()))
    }

    /// Forgets what is known of one, readable or not.
    pub(super) async fn forget(&self, settings: &Settings) -> Result<(), Trouble> {
        self.store.remove(&settings.trust_key()).await.map_err(Trouble::because)
    }
}

impl All {
    /// What is known of a server.
    pub(super) fn of(&self, name: &str) -> Option<&Pins> {
        self.by_name.get(name)?.as_ref().ok()
    }

    /// Why nothing can be known of it.
    pub(super) fn trouble(&self, name: &str) -> Option<&str> {
        self.by_name.get(name)?.as_ref().err().map(String::as_str)
    }

    /// The tools that the other servers have, and our own: whose they are, and their names.
    pub(super) fn beside(&self, name: &str) -> Vec<(String, String)> {
        let others = self.by_name.iter().filter(|(other, _)| *other != name);
        let known = others.filter_map(|(other, pins)| Some((other, pins.as_ref().ok()?)));
        let tools = known.flat_map(|(other, pins)| {
            let tools = pins.all().filter(|(what, ..)| *what == What::Tool);
            tools.map(move |(_, key, _)| (other.clone(), key.to_owned()))
        });
        let ours = tools::all(&tools::Offer::default());
        let ours = ours.iter().map(|tool| tool.definition().name.to_string());
        tools.chain(ours.map(|name| (OURSELVES.to_owned(), name))).collect()
    }
}
