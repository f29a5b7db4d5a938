//! `ProgramPaths`: the same list of protected paths for programs, which are held off by mounts instead of by checks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::obeyed::obeyed;
use super::path_names::{RealPaths, lies_in};
use super::protected::{ProtectedPaths, is_protected};

/// What programs leave alone in one workspace.
#[derive(Debug)]
pub(crate) struct ProgramPaths {
    root: PathBuf,
    protected: Arc<ProtectedPaths>,
}

impl ProgramPaths {
    /// What is protected, as paths without links: looked up once for all folders of a run.
    pub(crate) fn resolved(protected: &ProtectedPaths) -> Arc<ProtectedPaths> {
        Arc::new(protected.real(&mut RealPaths::default()))
    }

    /// For the workspace at `root`, a path without links, of what is [`resolved`](ProgramPaths::resolved).
    pub(crate) fn new(root: &Path, resolved: &Arc<ProtectedPaths>) -> ProgramPaths {
        ProgramPaths { root: root.to_owned(), protected: resolved.clone() }
    }

    /// Whether no program writes `real`, a path without links below the root.
    pub(crate) fn is_unwritten(&self, real: &Path) -> bool {
        is_protected(&self.root, &self.protected, real)
            || obeyed(&self.root, &self.protected.writable, real).is_some()
            || self.protected.servers.claim(&self.root, real).is_some()
    }

    /// The paths that hold secrets, below the root or not.
    pub(crate) fn unread(&self) -> &[PathBuf] {
        &self.protected.unread
    }

    /// Whether all of the workspace is among them.
    pub(crate) fn is_unread(&self) -> bool {
        self.protected.unread.iter().any(|unread| lies_in(&self.root, unread))
    }
}
