//! What in a repository decides which programs `git` runs, and where it looks. The rest of it programs may write, or no
//! shell could commit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::confine::order::Rule;

pub(super) const FOLDER: &str = ".git";

/// Below a repository, and below that of each submodule.
const DECIDES: [&str; 8] = [
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "info/sparse-checkout",
    "commondir",
    "gitdir",
    "objects/info/alternates",
];

/// Those of them that `git` takes for nothing when they are empty. With an empty `commondir` it would not work.
const ABSENT: [(&str, Rule); 4] = [
    ("config.worktree", Rule::AbsentFile),
    ("hooks", Rule::AbsentFolder),
    ("info/attributes", Rule::AbsentFile),
    ("objects/info/alternates", Rule::AbsentFile),
];

/// Folders that hold some of them.
const FOLDERS: [&str; 4] = ["", "info", "objects", "objects/info"];

/// Submodules of submodules: `modules/a/modules/b`, and those whose name has a slash.
const MODULES_DEPTH_MAX: usize = 4;

/// Whether a folder of this name is a repository: what stands in for one is empty.
pub(super) fn is_repository(folder: &Path) -> bool {
    is_there(&folder.join("HEAD"))
}

/// Those that are there, from the repository.
pub(super) fn decides(repository: &Path) -> Vec<PathBuf> {
    let all = repositories(repository).into_iter().flat_map(|one| DECIDES.map(|name| one.join(name)));
    all.filter(|path| is_something(&repository.join(path))).collect()
}

/// Those that are not there, or empty, and cannot be made.
pub(super) fn absent(repository: &Path) -> Vec<(PathBuf, Rule)> {
    let all = repositories(repository).into_iter();
    let all = all.flat_map(|one| ABSENT.map(|(name, rule)| (one.join(name), rule)));
    let has_parent = |path: &Path| path.parent().is_some_and(|parent| repository.join(parent).is_dir());
    all.filter(|(path, _)| !is_something(&repository.join(path)) && has_parent(path)).collect()
}

/// The folders that cannot be renamed, so that nothing takes their place.
pub(super) fn pinned(repository: &Path) -> Vec<PathBuf> {
    let all = repositories(repository).into_iter().flat_map(|one| {
        let above: Vec<PathBuf> = one.ancestors().map(Path::to_owned).collect();
        above.into_iter().chain(FOLDERS.map(|name| one.join(name)))
    });
    all.filter(|path| repository.join(path).is_dir()).collect()
}

/// The repository itself, as the empty path, and those of its submodules.
fn repositories(repository: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    look_for_modules(repository, Path::new("modules"), 0, &mut found);
    found
}

fn look_for_modules(repository: &Path, below: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(repository.join(below)) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let here = below.join(entry.file_name());
        let is_repository = is_repository(&repository.join(&here));
        if is_repository {
            found.push(here.clone());
        }
        if depth < MODULES_DEPTH_MAX {
            let next = if is_repository { here.join("modules") } else { here };
            look_for_modules(repository, &next, depth + 1, found);
        }
    }
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
