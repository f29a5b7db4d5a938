//! `ProgramPaths`: the same list of protected paths for programs, which are held off by mounts instead of by checks.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::obeyed::{may_be_obeyed, obeyed};
use super::path_names::{RealPaths, lies_in};
use super::protected::{ProtectedPaths, is_protected, may_be_protected};

/// What programs leave alone in one workspace.
#[derive(Debug)]
pub(crate) struct ProgramPaths {
    root: PathBuf,
    protected: Arc<ProtectedPaths>,
    /// What the files and folders of the lists are called, in lower case.
    named: HashSet<OsString>,
    /// All of it lies in one of them.
    is_inside: bool,
}

impl ProgramPaths {
    /// What is protected, as paths without links: looked up once for all folders of a run.
    pub(crate) fn resolved(protected: &ProtectedPaths) -> Arc<ProtectedPaths> {
        Arc::new(protected.real(&mut RealPaths::default()))
    }

    /// For the workspace at `root`, a path without links, of what is [`resolved`](ProgramPaths::resolved).
    pub(crate) fn new(root: &Path, resolved: &Arc<ProtectedPaths>) -> ProgramPaths {
        let listed = || resolved.unwritten.iter().chain(&resolved.unread).chain(&resolved.servers.named);
        let named = listed().filter_map(|path| path.file_name().map(OsStr::to_ascii_lowercase)).collect();
        let is_inside = listed().any(|path| lies_in(root, path));
        ProgramPaths { root: root.to_owned(), protected: resolved.clone(), named, is_inside }
    }

    /// Whether something of this name may be what no program writes, if no folder above it is. Far cheaper to know than
    /// [`is_unwritten`](ProgramPaths::is_unwritten), which must be asked then.
    pub(crate) fn may_be_unwritten(&self, name: &OsStr) -> bool {
        let lower = name.to_ascii_lowercase();
        self.is_inside
            || may_be_protected(name)
            || may_be_obeyed(&lower)
            || self.named.contains(&lower)
            || self.protected.servers.may_claim(name)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ServerFiles;

    #[test]
    fn no_name_is_passed_over_that_may_be_unwritten() {
        let servers = ServerFiles {
            named: vec!["/w/tools/Run".into()],
            code: vec!["/w/src".into()],
            starts: vec!["/w/a".into()],
        };
        let (unwritten, unread) = (vec!["/w/my.conf".into()], vec!["/w/key".into()]);
        let protected = Arc::new(ProtectedPaths { unwritten, unread, servers, ..ProtectedPaths::default() });
        let paths = ProgramPaths::new(Path::new("/w"), &protected);
        for below in [
            "toolcrib.toml",
            "a/TOOLCRIB.toml",
            ".git",
            "x/HEAD",
            ".opencode",
            "AGENTS.md",
            "a/agents.MD",
            ".claude",
            ".github/workflows",
            ".config/git",
            "My.Code-Workspace",
            "my.conf",
            "key",
            "tools/run",
            "src/x.py",
            "a/package.json",
            "package.json",
            ".env.local",
        ] {
            let real = Path::new("/w").join(below);
            assert!(paths.is_unwritten(&real), "{below}");
            assert!(paths.may_be_unwritten(real.file_name().expect("a name")), "{below}");
        }
        for name in ["main.rs", "README.md", "Makefile", "agent.md.bak", "workspace", ".gitignore"] {
            let plain = ProgramPaths::new(Path::new("/w"), &Arc::default());
            assert!(!plain.may_be_unwritten(OsStr::new(name)), "{name}");
        }
        // What lies in a folder of the lists is unwritten by whatever name.
        let inside = ProgramPaths::new(Path::new("/w/my.conf/deep"), &protected);
        assert!(
            inside.may_be_unwritten(OsStr::new("main.rs"))
                && inside.is_unwritten(Path::new("/w/my.conf/deep/main.rs"))
        );
    }
}
