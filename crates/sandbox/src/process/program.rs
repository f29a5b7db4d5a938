//! `Program`: what is to be run, as a person would configure it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::environment::Variables;
use super::lookup::StartError;

/// What a program keeps in its own folder is for its owner.
const OWN_FOLDER_MODE: u32 = 0o700;

/// A program to run, as a person would configure it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// A name to look up in PATH, or a path; a relative path starts at `cwd`.
    pub command: String,
    /// The arguments. They are visible in the machine's process list.
    pub args: Vec<String>,
    /// Environment variables of its own, which count for more than what it inherits.
    pub env: Vec<(String, String)>,
    /// The working folder. If absent, its own folder.
    pub cwd: Option<PathBuf>,
    /// A folder that is kept for it alone, made when it is first started without `cwd`, for its owner only: nothing lies
    /// there that others have written. Without it, too, our own working folder.
    pub own_folder: Option<PathBuf>,
    /// The environment variables that it inherits, of whomever it is started for; [`InheritedNames`] says which may be
    /// among them.
    ///
    /// [`InheritedNames`]: crate::InheritedNames
    pub inherited: Variables,
}

impl Program {
    /// All that it finds in its environment.
    pub(crate) fn environment(&self) -> Variables {
        let own = self.env.iter().map(|(name, value)| (name.into(), value.into()));
        self.inherited.clone().into_iter().chain(own).collect()
    }

    /// Makes the folder that is kept for it, if it has one.
    pub(crate) fn make_own_folder(&self) -> Result<(), StartError> {
        let Some(folder) = &self.own_folder else { return Ok(()) };
        let made = DirBuilder::new().recursive(true).mode(OWN_FOLDER_MODE).create(folder);
        made.map_err(|source| StartError::OwnFolder { folder: folder.clone(), source })
    }

    /// Where it starts, if that is known.
    pub fn folder(&self) -> Option<&Path> {
        self.cwd.as_deref().or(self.own_folder.as_deref())
    }
}

/// Shows nothing of the environment: its values may be secrets.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("command", &self.command)
            .field("args", &self.args)
            .finish_non_exhaustive()
    }
}
