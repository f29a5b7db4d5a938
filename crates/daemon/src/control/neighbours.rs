//! The Toolcribs that are running on a state folder, as the operations of the administration speak with them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::{Running, Told};
use serde::Serialize;
use serde_json::json;
use terminal::runtime;

use super::client::{self, Asked};

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
}

fn told<T: Serialize>(asked: Vec<Asked<T>>) -> Vec<Told> {
    let one = |Asked { pid, answer }: Asked<T>| match answer {
        Ok(answer) => Told { pid, ok: true, answer: Some(json!(answer)), error: None },
        Err(refused) => Told { pid, ok: false, answer: None, error: Some(refused.to_string()) },
    };
    asked.into_iter().map(one).collect()
}
