//! What in a repository decides which programs `git` runs, and where it looks. The rest of it programs may write, or no
//! shell could commit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::confine::order::Rule;
use crate::files::git_folder::DECIDES;

/// Those of what decides that `git` takes for nothing when they are empty. With an empty `commondir` it would not work.
const ABSENT: [(&str, Rule); 5] = [
    ("config", Rule::AbsentFile),
    ("config.worktree", Rule::AbsentFile),
    ("hooks", Rule::AbsentFolder),
    ("info/attributes", Rule::AbsentFile),
    ("objects/info/alternates", Rule::AbsentFile),
];

/// Folders that hold some of them.
const FOLDERS: [&str; 4] = ["", "info", "objects", "objects/info"];

/// Folders of further ones: submodules, whose names may have slashes, and linked worktrees.
pub(super) const PARTS: [&str; 2] = ["modules", "worktrees"];

/// Whether a folder of this name is a repository, or what a linked worktree has of one: what stands in for one is empty.
pub(super) fn is_repository(folder: &Path) -> bool {
    is_there(&folder.join("HEAD"))
}

/// What decides and is there, from the repository.
pub(super) fn decides(repository: &Path) -> impl Iterator<Item = &'static str> {
    let may_stand_in = |name: &str| ABSENT.iter().any(|(absent, _)| *absent == name);
    DECIDES.into_iter().filter(move |name| {
        let path = repository.join(name);
        let is_left = if may_stand_in(name) { is_something(&path) } else { is_there(&path) };
        is_left && is_plain(repository, above(name))
    })
}

/// What is not there, or empty, and cannot be made.
pub(super) fn absent(repository: &Path) -> impl Iterator<Item = (&'static str, Rule)> {
    ABSENT
        .into_iter()
        .filter(move |(name, _)| !is_something(&repository.join(name)) && is_plain(repository, above(name)))
}

/// The folders that cannot be renamed, so that nothing takes their place.
pub(super) fn pinned(repository: &Path) -> impl Iterator<Item = PathBuf> {
    let plain = FOLDERS.into_iter().filter(move |name| is_plain(repository, Path::new(name)));
    plain.map(move |name| if name.is_empty() { repository.to_owned() } else { repository.join(name) })
}

fn above(name: &str) -> &Path {
    Path::new(name).parent().unwrap_or(Path::new(""))
}

/// Whether `below` is a folder and no link leads there: nothing is mounted where one does.
fn is_plain(repository: &Path, below: &Path) -> bool {
    let mut folders = below.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    folders.all(|folder| fs::symlink_metadata(repository.join(folder)).is_ok_and(|meta| meta.is_dir()))
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// There and not empty: what is empty may stand in for what is absent, for another run.
fn is_something(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| match meta.is_dir() {
        true => fs::read_dir(path).is_ok_and(|mut names| names.next().is_some()),
        false => meta.len() > 0,
    })
}
