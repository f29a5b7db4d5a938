//! The Toolcribs that are running on a state folder, as the operations of the administration speak with them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::{Running, Told};
use serde::Serialize;
use serde_json::json;
use terminal::runtime;

use super::client::{self, Asked};
use super::words::Refused;

/// Those on one state folder.
pub struct Neighbours {
    state: PathBuf,
}

impl Neighbours {
    /// Those on this state folder.
    pub fn on(state: &Path) -> Arc<dyn Running> {
        Arc::new(Neighbours { state: state.to_owned() })
    }
}

impl Running for Neighbours {
    fn learn(&self) -> io::Result<Vec<Told>> {
        runtime::run(client::learn(&self.state)).map(told)
    }

    fn take_up_decisions(&self, server: &str) -> io::Result<Vec<Told>> {
        let mut asked = runtime::run(client::take_up_decisions(&self.state, server))?;
        // Those that have no such server have nothing to do with it.
        let has_none = |why: &Refused| matches!(why, Refused::Because(why) if why.contains("has no server"));
        asked.retain(|one| !one.answer.as_ref().is_err_and(has_none));
        Ok(told(asked))
    }
}

/// What each of those that were asked made of it.
pub fn told<T: Serialize>(asked: Vec<Asked<T>>) -> Vec<Told> {
    let one = |Asked { pid, answer }: Asked<T>| match answer {
        Ok(answer) => Told { pid, ok: true, answer: Some(json!(answer)), error: None },
        Err(refused) => Told { pid, ok: false, answer: None, error: Some(refused.to_string()) },
    };
    asked.into_iter().map(one).collect()
}
