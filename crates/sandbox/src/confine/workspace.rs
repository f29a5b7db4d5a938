//! The workspace of a run: which folders may be one, what in it no program writes or reads, and what was written there
//! nevertheless.

mod git;
mod survey;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::order::{OrderedMount, Rule};
use super::profile::WorkspaceAccess;
use super::wide;
use crate::files::{ProgramPaths, ProtectedPaths};
use survey::{REACH, Seen, look};

/// Why a folder cannot be the workspace of a confined program.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A program would get far more than a project.
    #[error("{} cannot be the workspace of a confined program: {why}; name the folder of one project", folder.display())]
    TooWide {
        /// Without links.
        folder: PathBuf,
        /// What it is.
        why: &'static str,
    },
    /// It is not there, or cannot be looked at.
    #[error("the workspace {} cannot be looked at: {source}", folder.display())]
    Unseen {
        /// As it was named.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What there is to be known of a workspace before a run.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) ordered: OrderedMount,
    /// If it is written.
    pub(super) surveyed: Option<Surveyed>,
}

/// A folder as it was before a run, to be looked at again.
#[derive(Debug)]
pub(super) struct Surveyed {
    root: PathBuf,
    paths: ProgramPaths,
    before: Seen,
}

/// Looks at the workspace. `home` is the folder of the person; `holds_absent` keeps what is absent from being made.
pub(super) fn prepare(
    folder: &Path,
    access: WorkspaceAccess,
    protected: &Arc<ProtectedPaths>,
    home: Option<&Path>,
    holds_absent: bool,
) -> Result<Option<Prepared>, WorkspaceError> {
    let is_writable = match access {
        WorkspaceAccess::None => return Ok(None),
        WorkspaceAccess::ReadOnly => false,
        WorkspaceAccess::Writable => true,
    };
    let root = real(folder)?;
    check_width(&root, home)?;
    let paths = readable(&root, protected)?;
    let mut rules = hidden(&root, &paths);
    let path: OsString = root.clone().into();
    let surveyed = is_writable.then(|| {
        let before = look(&root, &paths, REACH);
        // What is hidden may lie in what is only read-only, so it comes last.
        let mut held = before.rules(&root, &paths);
        held.retain(|(_, rule)| holds_absent || !matches!(rule, Rule::AbsentFile | Rule::AbsentFolder));
        rules.splice(0..0, held);
        Surveyed { root, paths, before }
    });
    let ordered = OrderedMount { is_writable, is_owned: true, rules, ..OrderedMount::read(path) };
    Ok(Some(Prepared { ordered, surveyed }))
}

/// A file or folder that is read, without what holds secrets in it.
pub(super) fn shown(path: &Path, protected: &Arc<ProtectedPaths>) -> Result<OrderedMount, WorkspaceError> {
    let root = real(path)?;
    let paths = readable(&root, protected)?;
    let rules = hidden(&root, &paths);
    Ok(OrderedMount { rules, ..OrderedMount::read(root.into()) })
}

fn real(path: &Path) -> Result<PathBuf, WorkspaceError> {
    path.canonicalize().map_err(|source| WorkspaceError::Unseen { folder: path.to_owned(), source })
}

/// What programs leave alone at `root`, unless that is all of it.
fn readable(root: &Path, protected: &Arc<ProtectedPaths>) -> Result<ProgramPaths, WorkspaceError> {
    let paths = ProgramPaths::new(root, protected);
    match paths.is_unread() {
        true => Err(WorkspaceError::TooWide { folder: root.to_owned(), why: "it holds secrets of Toolcrib" }),
        false => Ok(paths),
    }
}

impl Surveyed {
    /// Whether there is more than is looked at, so that not all that is protected is held.
    pub(super) fn is_cut(&self) -> bool {
        self.before.is_cut()
    }

    /// What is there after the run that no program should have written: new, or not what it was. Below the root. And whether
    /// there is more by now than is looked at.
    pub(super) fn written(&self) -> (Vec<PathBuf>, bool) {
        let after = look(&self.root, &self.paths, REACH);
        (self.before.changed(&after, &self.root), after.is_cut())
    }
}

/// What holds secrets and is there.
fn hidden(root: &Path, paths: &ProgramPaths) -> Vec<(OsString, Rule)> {
    let below = paths.unread().iter().filter_map(|unread| unread.strip_prefix(root).ok());
    let there = below.filter(|below| root.join(below).symlink_metadata().is_ok());
    there.map(|below| (below.into(), Rule::Hidden)).collect()
}

fn check_width(root: &Path, home: Option<&Path>) -> Result<(), WorkspaceError> {
    let home = home.and_then(|home| home.canonicalize().ok());
    match wide::no_workspace(root, home.as_deref()) {
        Some(why) => Err(WorkspaceError::TooWide { folder: root.to_owned(), why }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_more_than_a_project_is_no_workspace() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("there").join("home/me");
        std::fs::create_dir_all(home.join("project")).expect("folders");
        let link = folder.path().join("link");
        let root_link = folder.path().join("root");
        std::os::unix::fs::symlink(&home, &link).expect("a link");
        std::os::unix::fs::symlink("/", &root_link).expect("a link");
        for (workspace, is_good) in [
            (home.join("project"), true),
            (home.clone(), false),
            (home.join("project/.."), false),
            (home.join(".."), false),
            (link.clone(), false),
            (link.join("project"), true),
            (root_link, false),
            ("/".into(), false),
            ("/etc".into(), false),
            ("/usr/share".into(), false),
            ("/proc/self".into(), false),
            ("/tmp".into(), false),
            ("/no/such/folder".into(), false),
        ] {
            for access in [WorkspaceAccess::ReadOnly, WorkspaceAccess::Writable] {
                let prepared = prepare(&workspace, access, &Arc::default(), Some(&home), true);
                assert_eq!(prepared.is_ok(), is_good, "{}", workspace.display());
            }
        }
    }
}
