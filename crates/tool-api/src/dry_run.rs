//! A call that is to change nothing: what it would change is told instead.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sandbox::Change;
use sandbox::confine::{Aside, Changes};

/// Takes the changes of one call. A tool that changes files itself tells what it would change; programs write aside.
#[derive(Debug, Default)]
pub struct DryRun {
    told: Mutex<Vec<Change>>,
    aside: Mutex<Option<Arc<Aside>>>,
}

/// What a dry run has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// By which the same call is made in earnest, as long as the files are as they were.
    pub plan_hash: Arc<str>,
    /// Each file below the workspace, and what would become of it: `added`, `changed` or `removed`.
    pub changes: Vec<(String, &'static str)>,
    /// True if there are more.
    pub is_cut: bool,
    /// The same as a unified diff, which the result says in words; cut if it is long.
    pub diff: String,
}

impl DryRun {
    /// A tool would change this.
    pub fn would(&self, change: Change) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }

    /// Where the programs of the call write, all in the same place; made by the first, in `within`. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn aside(&self, within: &Path) -> io::Result<Arc<Aside>> {
        let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*aside {
            return Ok(made.clone());
        }
        Ok(aside.insert(Arc::new(Aside::new(within)?)).clone())
    }

    /// All that would change in `workspace`. No program of the call may run any more. Blocks on the disk.
    ///
    /// # Errors
    /// What was written aside, or the workspace, cannot be read.
    pub fn changes(&self, workspace: &Path) -> io::Result<Changes> {
        let aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut changes = aside.map_or(Ok(Changes::default()), |aside| aside.changes(workspace))?;
        changes.all.extend(self.told.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        Ok(changes)
    }
}
