//! `Survey`: which protected files there are in a workspace, and what they look like.
//!
//! First comes the top of the workspace with its repository, then what lies nearest to it. A workspace may hold a million
//! files, so there is an end to the look, and whoever asks is told that it was reached.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawDir, ResolveFlags, openat2, statat};

use super::git;
use crate::confine::order::Rule;
use crate::files::{ProgramPaths, git_folder};

/// How far the look goes below the top.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Names that are looked at.
    names_max: usize,
    /// Protected files that are found. Each is mounted.
    found_max: usize,
}

/// Names cost less than a microsecond each.
pub(super) const REACH: Reach = Reach { names_max: 200_000, found_max: 2_000 };

/// What the kernel writes names into at a time, in bytes.
const NAMES_BYTES: usize = 32 * 1024;

/// Folders that hold what was fetched or built; they are not looked into.
const NOT_LOOKED_INTO: [&str; 4] = ["node_modules", "target", ".venv", "venv"];

/// What makes any folder a repository for `git`, if more of one is there.
const HEAD: &str = "HEAD";

/// Clocks of file systems lag behind by some milliseconds.
const LAG_SECONDS: i64 = 1;

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
#[derive(Debug, Clone, Copy)]
struct Look {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
    is_folder: bool,
    is_link: bool,
    /// When it, or its name or owner, was changed last, in seconds since 1970. No program can set it.
    touched: i64,
}

/// A look at a workspace, while it lasts.
struct Survey<'p> {
    root: &'p Path,
    paths: &'p ProgramPaths,
    reach: Reach,
    seen: Seen,
}

/// What was found: protected files and folders below a root, by their paths from there. Nothing below a protected folder is
/// in it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    found: BTreeMap<PathBuf, Look>,
    /// Folders of `git` to which a `.git` leads: its own, of submodules, of linked worktrees.
    repositories: BTreeSet<PathBuf>,
    /// Those that only look like one. Nothing stands in for what is absent there: they may be files of the project, and
    /// `git add` would take it.
    bare: BTreeSet<PathBuf>,
    /// Folders on the way to what is found by more than its name.
    pinned: BTreeSet<PathBuf>,
    names: usize,
    /// There was more.
    is_cut: bool,
    /// When it began, in seconds since 1970.
    at: i64,
}

/// What is looked at below `root`, a path without links.
pub(super) fn look(root: &Path, paths: &ProgramPaths, reach: Reach) -> Seen {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let mut survey = Survey { root, paths, reach, seen: Seen { at, ..Seen::default() } };
    let mut folders = VecDeque::from([PathBuf::new()]);
    let mut buffer = Vec::with_capacity(NAMES_BYTES);
    while let Some(folder) = folders.pop_front() {
        if !folder.as_os_str().is_empty() && survey.is_full() {
            break;
        }
        survey.look_into(&folder, &mut folders, &mut buffer);
    }
    survey.seen
}

impl Survey<'_> {
    fn look_into(&mut self, below: &Path, folders: &mut VecDeque<PathBuf>, buffer: &mut Vec<u8>) {
        let is_top = below.as_os_str().is_empty();
        let Some(folder) = self.open(below) else { return };
        let mut names = RawDir::new(&folder, buffer.spare_capacity_mut());
        while let Some(Ok(entry)) = names.next() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if !is_top && self.is_full() {
                return;
            }
            self.seen.names += 1;
            let kind = kind_of(&folder, name, entry.file_type());
            if name == git_folder::DOT_GIT {
                self.dot_git(below.join(name), kind);
            } else if name == HEAD && git_folder::is_git_folder(&self.root.join(below)) {
                self.bare(below);
            } else if name == HEAD && self.is_of_git(below) {
                // `logs/HEAD`, which every commit writes.
                continue;
            } else if self.paths.may_be_unwritten(name) && self.is_unwritten(&below.join(name)) {
                self.take(below.join(name));
            } else if kind == FileType::Directory && NOT_LOOKED_INTO.iter().all(|not| name != *not) {
                // `.github` at the top holds `workflows`.
                match is_top && is_hidden(Path::new(name)) {
                    true => folders.push_front(below.join(name)),
                    false => folders.push_back(below.join(name)),
                }
            }
        }
    }

    /// Never by a link, which may have come meanwhile.
    fn open(&self, below: &Path) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(CWD, self.at(below), flags, Mode::empty(), plain).ok()
    }

    /// Whether the look is over.
    fn is_full(&mut self) -> bool {
        let is_full =
            self.seen.names >= self.reach.names_max || self.seen.found.len() >= self.reach.found_max;
        self.seen.is_cut |= is_full;
        is_full
    }

    fn at(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() { self.root.to_owned() } else { self.root.join(below) }
    }

    fn is_unwritten(&self, below: &Path) -> bool {
        self.paths.is_unwritten(&self.at(below))
    }

    /// What `git` looks at first in a folder: a repository, or what leads to one.
    fn dot_git(&mut self, here: PathBuf, kind: FileType) {
        let path = self.at(&here);
        if kind == FileType::Directory && git::is_repository(&path) {
            return self.repository(here);
        }
        if kind != FileType::Directory {
            self.repository_at(git_folder::led_to(&path));
        }
        if kind == FileType::Symlink {
            self.take_led(path.canonicalize().ok().filter(|real| real.is_file()));
        }
        self.take(here);
    }

    /// One to which something has led. What is not below the root, nobody can write.
    fn repository_at(&mut self, real: Option<PathBuf>) {
        let Some(below) = real.as_deref().and_then(|real| real.strip_prefix(self.root).ok()) else { return };
        self.pin_above(below);
        self.repository(below.to_owned());
    }

    fn is_of_git(&self, below: &Path) -> bool {
        let mut above = below.ancestors();
        above.any(|folder| self.seen.repositories.contains(folder) || self.seen.bare.contains(folder))
    }

    /// Its parts are folders that look like one, too.
    fn bare(&mut self, at: &Path) {
        self.take_decides(at);
        self.seen.pinned.insert(at.to_owned());
        self.seen.bare.insert(at.to_owned());
    }

    /// What decides in it and in its parts, each once. This has no end but that of names.
    fn repository(&mut self, at: PathBuf) {
        if !self.seen.repositories.insert(at.clone()) {
            return;
        }
        self.take_decides(&at);
        let path = self.at(&at);
        self.repository_at(git_folder::common(&path));
        let mut folders: VecDeque<_> = git::PARTS.map(|part| at.join(part)).into();
        while let Some(folder) = folders.pop_front() {
            self.look_for_parts(&folder, &mut folders);
        }
    }

    fn look_for_parts(&mut self, folder: &Path, folders: &mut VecDeque<PathBuf>) {
        let Some(opened) = self.open(folder) else { return };
        let Ok(names) = Dir::read_from(&opened) else { return };
        self.seen.pinned.insert(folder.to_owned());
        for entry in names.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if self.is_full() {
                return;
            }
            self.seen.names += 1;
            if kind_of(&opened, name, entry.file_type()) != FileType::Directory {
                continue;
            }
            let here = folder.join(name);
            if git::is_repository(&self.at(&here)) {
                self.repository(here);
            } else {
                // It may become one.
                self.take_decides(&here);
                folders.push_back(here);
            }
        }
    }

    fn take_decides(&mut self, repository: &Path) {
        let path = self.at(repository);
        for name in git::decides(&path) {
            self.take(repository.join(name));
        }
        for real in git_folder::led_away(&path) {
            self.take_led(Some(real));
        }
    }

    /// To which a link has led.
    fn take_led(&mut self, real: Option<PathBuf>) {
        if let Some(below) = real.as_deref().and_then(|real| real.strip_prefix(self.root).ok()) {
            self.pin_above(below);
            self.take(below.to_owned());
        }
    }

    fn pin_above(&mut self, below: &Path) {
        let above = below.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        self.seen.pinned.extend(above.map(Path::to_owned));
    }

    fn take(&mut self, below: PathBuf) {
        let path = self.at(&below);
        let Some(look) = Look::at(&path) else { return };
        // It may stand in for one that is absent, for another run.
        if !(look.is_folder && is_empty(&path)) {
            self.seen.found.insert(below, look);
        }
    }
}

impl Seen {
    /// Whether there was more than is looked at.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What is mounted over what, each folder before what is in it.
    pub(super) fn rules(&self, root: &Path, paths: &ProgramPaths) -> Vec<(OsString, Rule)> {
        let mut rules: BTreeMap<_, _> =
            self.pinned.iter().map(|folder| (folder.clone(), Rule::Pinned)).collect();
        for repository in &self.repositories {
            for folder in git::pinned(&root.join(repository)) {
                rules.extend(folder.strip_prefix(root).map(|below| (below.to_owned(), Rule::Pinned)));
            }
            for (name, rule) in git::absent(&root.join(repository)) {
                rules.insert(repository.join(name), rule);
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
        // The workspace itself is a mount already.
        rules.remove(Path::new(""));
        rules.into_iter().map(|(path, rule)| (path.into(), rule)).collect()
    }

    /// What is there in `after` that was not, or that has another content, and what is gone.
    pub(super) fn changed(&self, after: &Seen, root: &Path) -> Vec<PathBuf> {
        let new = after.found.iter().filter(|(path, look)| match self.found.get(*path) {
            Some(before) => !before.is_same(look),
            // Where the look was cut, others may have been there.
            None => !self.is_cut || look.touched >= self.at - LAG_SECONDS,
        });
        let gone = self.found.iter().filter(|(path, before)| {
            let is_left = || Look::at(&root.join(path)).is_some_and(|look| before.is_same(&look));
            !(after.found.contains_key(*path) || (after.is_cut && is_left()))
        });
        let mut changed: Vec<_> = new.chain(gone).map(|(path, _)| path.clone()).collect();
        let repositories = after.repositories.difference(&self.repositories);
        let made = repositories.chain(after.bare.difference(&self.bare)).filter(|_| !self.is_cut);
        let is_told = |made: &&PathBuf| changed.iter().any(|path| path.starts_with(made));
        let made: BTreeSet<_> = made.filter(|made| !is_told(made)).map(|made| made.join(HEAD)).collect();
        changed.extend(made);
        changed
    }
}

impl Look {
    fn at(path: &Path) -> Option<Look> {
        let meta = fs::symlink_metadata(path).ok()?;
        Some(Look {
            inode: meta.ino(),
            bytes: meta.size(),
            changed: (meta.mtime(), meta.mtime_nsec()),
            is_folder: meta.is_dir(),
            is_link: meta.is_symlink(),
            touched: meta.ctime(),
        })
    }

    fn is_same(&self, after: &Look) -> bool {
        let looks = |look: &Look| (look.inode, look.is_folder, look.is_link);
        // The names in a folder may change while nobody writes the files; it is read-only inside.
        let content = |look: &Look| (!look.is_folder).then_some((look.bytes, look.changed));
        looks(self) == looks(after) && content(self) == content(after)
    }
}

/// Some file systems do not tell it with the names.
fn kind_of(folder: &OwnedFd, name: &OsStr, told: FileType) -> FileType {
    if told != FileType::Unknown {
        return told;
    }
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut names| names.next().is_none())
}

fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests;
