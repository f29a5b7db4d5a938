//! `Seen`: what a server sees of what its command line names, and what it does not.

use std::path::{Path, PathBuf};

use super::may::ServerMay;
use crate::confine::wide::not_shown;

/// Something that a server's command line or settings name, and that it does not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What.
    pub path: PathBuf,
    /// Why, as the end of a sentence.
    pub why: &'static str,
}

/// What it sees of what it names.
pub(super) struct Seen<'a> {
    pub(super) home: Option<PathBuf>,
    may: &'a ServerMay,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) left_out: Vec<LeftOut>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(home: Option<PathBuf>, may: &'a ServerMay) -> Seen<'a> {
        Seen { home, may, read: Vec::new(), write: Vec::new(), left_out: Vec::new() }
    }

    /// `path` is absolute, and there.
    pub(super) fn add(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        if let Some(why) = not_shown(&real, self.home.as_deref()) {
            self.leave_out(path, why);
            return;
        }
        match self.is_written(&real) {
            true => self.write.push(path.to_owned()),
            false => self.read.push(path.to_owned()),
        }
    }

    /// `path` is absolute, and not there, but its folder is: it may be what the server is to write.
    pub(super) fn add_absent(&mut self, path: &Path) {
        let Some(folder) = path.parent().and_then(|folder| folder.canonicalize().ok()) else { return };
        if self.is_written(&folder) {
            self.write.push(folder);
        } else {
            let why = "it is not there, and is made only in a folder that the server may write";
            self.leave_out(path, why);
        }
    }

    fn is_written(&self, real: &Path) -> bool {
        let lies_in = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
        self.may.workspaces.iter().chain(&self.may.write).any(lies_in)
    }

    fn leave_out(&mut self, path: &Path, why: &'static str) {
        let left_out = LeftOut { path: path.to_owned(), why };
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }
}

/// Those of `paths` that do not lie in another, neither by their names nor by where links lead: each is looked at once.
pub(super) fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    paths.sort_unstable();
    paths.dedup_by(|next, kept| next.starts_with(&*kept) && real(next).starts_with(real(kept)));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_another_is_left_to_that_unless_a_link_leads_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        for name in ["a/b", "ab", "c"] {
            std::fs::create_dir_all(root.join(name)).expect("folders");
        }
        std::os::unix::fs::symlink("../c", root.join("a/out")).expect("a link");
        std::os::unix::fs::symlink("b", root.join("a/in")).expect("a link");
        let paths = ["a/out", "ab", "a/b", "a", "a/in", "a"].map(|name| root.join(name));
        let kept = ["a", "a/out", "ab"].map(|name| root.join(name));
        assert_eq!(outermost(paths.into()), kept);
    }
}
