//! `Survey`: which protected files there are in a workspace, and what they look like.
//!
//! It does not look everywhere: a workspace may hold a million files. What others obey lies near the top.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::git;
use crate::confine::order::Rule;
use crate::files::ProgramPaths;

/// Folders below the root that are looked into.
const DEPTH_MAX: usize = 4;

/// Names that are looked at. This takes some ten milliseconds.
const NAMES_MAX: usize = 10_000;

/// Folders that hold what was fetched or built; they are not looked into.
const NOT_LOOKED_INTO: [&str; 4] = ["node_modules", "target", ".venv", "venv"];

/// Folders that running agents and editors, and we, obey as soon as they appear. They cannot be made.
const OBEYED_AT_ONCE: [&str; 10] = [
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".git",
    ".idea",
    ".opencode",
    ".oppla",
    ".toolcrib",
    ".vscode",
];

/// What a file or folder looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
    is_folder: bool,
    is_link: bool,
}

/// Protected files and folders below a root, by their paths from there. Nothing below a protected folder is in it.
#[derive(Debug, Default)]
pub(super) struct Survey {
    found: BTreeMap<PathBuf, Look>,
    repositories: Vec<PathBuf>,
    names: usize,
}

impl Survey {
    pub(super) fn of(root: &Path, paths: &ProgramPaths) -> Survey {
        let mut survey = Survey::default();
        survey.look_into(root, Path::new(""), paths, 0);
        survey
    }

    fn look_into(&mut self, root: &Path, below: &Path, paths: &ProgramPaths, depth: usize) {
        let Ok(entries) = fs::read_dir(root.join(below)) else { return };
        for entry in entries.flatten() {
            self.names += 1;
            if self.names > NAMES_MAX {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let here = below.join(&name);
            if name == git::FOLDER && git::is_repository(&root.join(&here)) && kind.is_dir() {
                for inside in git::decides(&root.join(&here)) {
                    self.take(root, here.join(inside));
                }
                self.repositories.push(here);
            } else if paths.is_unwritten(&root.join(&here)) {
                self.take(root, here);
            } else if kind.is_dir() && depth < DEPTH_MAX && NOT_LOOKED_INTO.iter().all(|not| name != *not) {
                self.look_into(root, &here, paths, depth + 1);
            }
        }
    }

    fn take(&mut self, root: &Path, path: PathBuf) {
        let Ok(meta) = fs::symlink_metadata(root.join(&path)) else { return };
        // It may stand in for one that is absent, for another run.
        if meta.is_dir() && is_empty(&root.join(&path)) {
            return;
        }
        let look = Look {
            inode: meta.ino(),
            bytes: meta.size(),
            changed: (meta.mtime(), meta.mtime_nsec()),
            is_folder: meta.is_dir(),
            is_link: meta.is_symlink(),
        };
        self.found.insert(path, look);
    }

    /// What is mounted over what, each folder before what is in it.
    pub(super) fn rules(&self, root: &Path, paths: &ProgramPaths) -> Vec<(OsString, Rule)> {
        let mut rules = BTreeMap::new();
        for repository in &self.repositories {
            for folder in git::pinned(&root.join(repository)) {
                rules.insert(repository.join(folder), Rule::Pinned);
            }
            for (path, rule) in git::absent(&root.join(repository)) {
                rules.insert(repository.join(path), rule);
            }
        }
        for name in OBEYED_AT_ONCE {
            let path = root.join(name);
            let is_absent = fs::symlink_metadata(&path).is_err() || is_empty(&path);
            if is_absent && paths.is_unwritten(&path) {
                rules.insert(name.into(), Rule::AbsentFolder);
            }
        }
        for (path, look) in &self.found {
            // Nothing can be mounted on a link. Whoever replaces it is found afterwards.
            if look.is_link {
                continue;
            }
            // `.github` holds others' files beside `.github/workflows`.
            for folder in path.ancestors().skip(1).filter(|folder| is_hidden(folder)) {
                rules.entry(folder.to_owned()).or_insert(Rule::Pinned);
            }
            rules.insert(path.clone(), Rule::ReadOnly);
        }
        rules.into_iter().map(|(path, rule)| (path.into(), rule)).collect()
    }

    /// What is there in `after` that was not, or that has another content, and what is gone.
    pub(super) fn changed(&self, after: &Survey) -> Vec<PathBuf> {
        let new = after.found.iter().filter(|(path, look)| match self.found.get(*path) {
            // The names in a folder may change while nobody writes the files; it is read-only inside.
            Some(before) if before.is_folder => before.inode != look.inode,
            before => before != Some(look),
        });
        let gone = self.found.keys().filter(|path| !after.found.contains_key(*path));
        new.map(|(path, _)| path.clone()).chain(gone.cloned()).collect()
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut names| names.next().is_none())
}

fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}
