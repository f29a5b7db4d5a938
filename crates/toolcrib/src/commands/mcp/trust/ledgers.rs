//! Reading and changing what is known of servers' definitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use upstream::Settings;
use upstream::trust::{Keeper as _, Ledger, What};

use crate::ending::Trouble;
use crate::pins::StatePins;

/// How often a change is tried again that another process was faster than.
const TRIES_MAX: usize = 8;

/// The ledgers in the state folder.
pub(super) struct Ledgers {
    keeper: Arc<StatePins>,
}

/// The ledgers of all servers that there are ones of.
pub(super) struct All {
    by_name: BTreeMap<String, Result<Ledger, String>>,
}

impl Ledgers {
    pub(super) fn new(keeper: Arc<StatePins>) -> Ledgers {
        Ledgers { keeper }
    }

    /// What is known of each of these servers.
    pub(super) async fn read_all(&self, servers: &[Settings]) -> Result<All, Trouble> {
        let mut by_name = BTreeMap::new();
        for settings in servers {
            let kept = self.keeper.load(&settings.trust_key()).await.map_err(Trouble::because)?;
            if let Some(kept) = kept {
                by_name.insert(settings.name().to_owned(), Ledger::read(&kept.record));
            }
        }
        Ok(All { by_name })
    }

    /// Changes what is known of one.
    pub(super) async fn change(
        &self,
        settings: &Settings,
        change: impl Fn(&mut Ledger) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let key = settings.trust_key();
        for _ in 0..TRIES_MAX {
            let kept = self.keeper.load(&key).await.map_err(Trouble::because)?;
            let Some(kept) = kept else { break };
            let mut ledger = Ledger::read(&kept.record).map_err(Trouble::Failed)?;
            change(&mut ledger)?;
            let replaced = self.keeper.replace(&key, Some(kept.version), Some(&ledger.written())).await;
            if replaced.map_err(Trouble::because)?.is_some() {
                return Ok(());
            }
        }
        Err(Trouble::Failed("it changes all the time; try again".to_owned()))
    }

    /// Forgets what is known of one, readable or not.
    pub(super) async fn forget(&self, settings: &Settings) -> Result<(), Trouble> {
        self.keeper.forget(&settings.trust_key()).await.map_err(Trouble::because)
    }
}

impl All {
    /// What is known of a server.
    pub(super) fn of(&self, name: &str) -> Option<&Ledger> {
        self.by_name.get(name)?.as_ref().ok()
    }

    /// Why nothing can be known of it.
    pub(super) fn trouble(&self, name: &str) -> Option<&str> {
        self.by_name.get(name)?.as_ref().err().map(String::as_str)
    }

    /// The tools that the other servers have, and our own: whose they are, and their names.
    pub(super) fn beside(&self, name: &str) -> Vec<(String, String)> {
        let others = self.by_name.iter().filter(|(other, _)| *other != name);
        let ledgers = others.filter_map(|(other, ledger)| Some((other, ledger.as_ref().ok()?)));
        let tools = ledgers.flat_map(|(other, ledger)| {
            let tools = ledger.all().filter(|(what, ..)| *what == What::Tool);
            tools.map(move |(_, key, _)| (other.clone(), key.to_owned()))
        });
        let ours = tools::all(&tools::Offer::default());
        let ours = ours.iter().map(|tool| tool.definition().name.to_string());
        tools.chain(ours.map(|name| (crate::pins::OURSELVES.to_owned(), name))).collect()
    }
}
