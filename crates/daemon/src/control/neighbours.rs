//! The Toolcribs that are running on a state folder, as the operations of the administration speak with them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::{Answered, Refused, Reloaded, Running, Told, Toolcrib};
use serde::de::DeserializeOwned;
use serde_json::Value;
use terminal::runtime;

use super::client;
use super::words::Request;

/// Those on one state folder.
pub struct Neighbours {
    state: PathBuf,
}

impl Neighbours {
    /// Those on this state folder.
    pub fn on(state: &Path) -> Arc<dyn Running> {
        Arc::new(Neighbours { state: state.to_owned() })
    }

    fn ask<T: DeserializeOwned>(&self, request: &Request) -> io::Result<Vec<Answered<T>>> {
        runtime::run(client::ask(&self.state, request))
    }

    fn tell(&self, request: &Request) -> io::Result<Vec<Told>> {
        Ok(self.ask::<Value>(request)?.into_iter().map(Told::from).collect())
    }
}

impl Running for Neighbours {
    fn status(&self) -> io::Result<Vec<Answered<Toolcrib>>> {
        self.ask(&Request::Status)
    }

    fn reload(&self) -> io::Result<Vec<Answered<Reloaded>>> {
        self.ask(&Request::Reload)
    }

    fn learn(&self) -> io::Result<Vec<Told>> {
        self.tell(&Request::Learn)
    }

    fn reconnect(&self, server: &str) -> io::Result<Vec<Told>> {
        self.tell(&Request::Reconnect { name: server.to_owned() })
    }

    fn take_up_decisions(&self, server: &str) -> io::Result<Vec<Told>> {
        let mut asked = self.ask::<Value>(&Request::Trust { name: server.to_owned() })?;
        // Those that have no such server have nothing to do with it.
        let has_none = |why: &Refused| matches!(why, Refused::Because(why) if why.contains("has no server"));
        asked.retain(|one| !one.answer.as_ref().is_err_and(has_none));
        Ok(asked.into_iter().map(Told::from).collect())
    }

    fn stderr(&self, server: &str) -> io::Result<Vec<Answered<String>>> {
        self.ask(&Request::Stderr { name: server.to_owned() })
    }
}
