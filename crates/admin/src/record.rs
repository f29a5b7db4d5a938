//! Records in the state that hold what a person has said, as JSON: read whole, and changed so that what another process
//! changes meanwhile is not lost. For command lines, which wait for the disk.

use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{Change, Kind, Store, replace, wait};

use crate::chain;

/// How often a record is read anew that another process has changed meanwhile.
const TRIES_MAX: usize = 16;

/// One record, or what would be one.
pub(crate) struct Record<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) kind: Kind,
    pub(crate) key: &'a str,
    /// What it holds, for errors: "what you have agreed to".
    pub(crate) what: &'a str,
}

impl Record<'_> {
    /// What it holds; the default if there is none.
    ///
    /// # Errors
    /// A sentence, if it cannot be read.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self) -> Result<T, String> {
        self.found().map(|(_, held)| held)
    }

    /// Changes what it holds; what comes to the default is no record.
    ///
    /// # Errors
    /// A sentence, if it cannot be read or kept, or the one of `apply`.
    pub(crate) fn change<T: Serialize + DeserializeOwned + Default + PartialEq>(
        &self,
        mut apply: impl FnMut(&mut T) -> Result<(), String>,
    ) -> Result<(), String> {
        let Record { store, kind, key, what } = self;
        for _ in 0..TRIES_MAX {
            let (version, mut held) = self.found::<T>()?;
            apply(&mut held)?;
            let text = serde_json::to_string(&held).expect("records are JSON");
            let content = (held != T::default()).then(|| text.into());
            if version.is_none() && content.is_none() {
                return Ok(());
            }
            let change = Change { kind: *kind, key: (*key).to_owned(), expected: version, content };
            let kept = wait(replace(*store, change));
            if kept.map_err(|error| format!("{what} cannot be kept: {}", chain(&error)))?.is_some() {
                return Ok(());
            }
        }
        Err(format!("{what} is being changed by other commands all the time; try again"))
    }

    fn found<T: DeserializeOwned + Default>(&self) -> Result<(Option<u64>, T), String> {
        let unreadable = |why: String| format!("{} cannot be read: {why}", self.what);
        let record = wait(self.store.cell(self.kind, self.key)).map_err(|error| unreadable(chain(&error)))?;
        let Some(record) = record else { return Ok((None, T::default())) };
        let held = serde_json::from_slice(&record.value).map_err(|error| unreadable(error.to_string()))?;
        Ok((Some(record.version), held))
    }
}
