//! Files below the workspace that no tool may write, because they decide what tools may do, or what runs
//! on the next `git` command. Otherwise one allowed write would be permission for everything else. Some of them hold
//! secrets and are not read by tools either.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::{FileError, Inside, ServerFiles, Writable};

/// The configuration's name, whatever folder it is in: the nearest one above a working folder counts.
const CONFIGURATION: &str = "toolcrib.toml";

/// The folder whose `config.toml` is read too; all of it, since a folder that is moved there brings its own.
const OTHER_CONFIGURATION: &str = ".opencode";

/// The folders whose `ai-rules.json` and the like say what agents may see and do; all of them, for the same reason.
const AI_RULES: [&str; 2] = [".toolcrib", ".oppla"];

/// A repository's own files. All of them: its configuration and hooks are programs that `git` runs, and
/// nearly every other file there can point to another configuration.
const GIT: &str = ".git";

/// What makes any folder a bare repository, with a configuration of its own that `git` then obeys.
const BARE_GIT_MARK: &str = "HEAD";

/// How the kernel marks the path of an open file that has lost its name meanwhile.
const GONE_MARK: &[u8] = b" (deleted)";

/// What tools must leave alone beside what nobody may write: absolute paths of files, and of folders with all that is
/// below them.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// May be read, and not written.
    pub unwritten: Vec<PathBuf>,
    /// Hold secrets: neither read nor listed nor written.
    pub unread: Vec<PathBuf>,
    /// What programs that we start load: may be read, and not written.
    pub servers: ServerFiles,
    /// Which of the files that others obey are written without a person's agreement. Frees nothing else.
    pub writable: Writable,
}

/// The same as paths without links, as far as they existed. They change when the configuration is read again.
#[derive(Debug, Default)]
pub(super) struct Guarded(RwLock<Held>);

#[derive(Debug, Default)]
struct Held {
    guard: Arc<Guard>,
    /// Those that are not read and may lie below the root, as they are named from there: what is read by its name is held
    /// against nothing else.
    unread_below: Vec<PathBuf>,
}

impl Guarded {
    /// Takes these in place of those before, for what is below `root`, a path without links.
    pub(super) fn replace(&self, root: &Path, guard: &Guard) {
        let real = |paths: &[PathBuf]| paths.iter().map(|path| as_far_as_real(path)).collect();
        let guard = Guard {
            unwritten: real(&guard.unwritten),
            unread: real(&guard.unread),
            servers: guard.servers.real(),
            writable: guard.writable.clone(),
        };
        let unread_below = guard.unread.iter().filter_map(|unread| seen_from(root, unread)).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) =
            Held { guard: Arc::new(guard), unread_below };
    }

    /// Those that are guarded now.
    pub(super) fn now(&self) -> Arc<Guard> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).guard.clone()
    }

    /// Holds that `path` below the root, to which no link leads, may be read. Names are compared without regard to case,
    /// since some file systems do.
    pub(super) fn check_named(&self, path: &Inside) -> Result<(), FileError> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match held.unread_below.iter().any(|unread| lies_in(path.as_path(), unread)) {
            true => Err(FileError::Secret { path: path.clone() }),
            false => Ok(()),
        }
    }

    /// Holds that `opened`, which was asked for as `path`, may be read. It is asked where it lies only after it has been
    /// opened: no link and no race makes it another one.
    pub(super) fn check_readable(&self, opened: &impl AsRawFd, path: &Inside) -> Result<(), FileError> {
        let guard = self.now();
        if guard.unread.is_empty() {
            return Ok(());
        }
        let real = real_path(opened).map_err(FileError::Io)?;
        let name = real.as_os_str().as_bytes();
        let real = Path::new(OsStr::from_bytes(name.strip_suffix(GONE_MARK).unwrap_or(name)));
        if guard.unread.iter().any(|unread| real.starts_with(unread)) {
            return Err(FileError::Secret { path: path.clone() });
        }
        Ok(())
    }
}

/// True if `real`, a path without links, must not be written. `root` is where the workspace really lies now;
/// what is not below it is refused, too. Names are compared without regard to case, since some file systems do.
pub(super) fn is_protected(root: &Path, guard: &Guard, real: &Path) -> bool {
    let mut guarded = guard.unwritten.iter().chain(&guard.unread);
    if guarded.any(|guarded| real.starts_with(guarded)) {
        return true;
    }
    let Ok(inside) = real.strip_prefix(root) else { return true };
    let decides = |component: Component<'_>| {
        [CONFIGURATION, OTHER_CONFIGURATION, GIT]
            .iter()
            .chain(&AI_RULES)
            .any(|name| component.as_os_str().eq_ignore_ascii_case(name))
    };
    inside.components().any(decides)
        || inside.file_name().is_some_and(|name| name.eq_ignore_ascii_case(BARE_GIT_MARK))
}

pub(super) fn are_alike(one: Component<'_>, other: Component<'_>) -> bool {
    one.as_os_str().eq_ignore_ascii_case(other.as_os_str())
}

/// Whether `path` is `folder` or lies below it, without regard to case.
pub(super) fn lies_in(path: &Path, folder: &Path) -> bool {
    let mut names = path.components();
    folder.components().all(|component| names.next().is_some_and(|name| are_alike(name, component)))
}

/// What is left of `path` behind the names of `root`; the empty path if all of `root` is below it. Nothing if neither is
/// below the other.
fn seen_from(root: &Path, path: &Path) -> Option<PathBuf> {
    let (mut names, mut rest) = (root.components(), path.components());
    loop {
        match (names.next(), rest.clone().next()) {
            (_, None) => return Some(PathBuf::new()),
            (None, Some(_)) => return Some(rest.as_path().to_owned()),
            (Some(name), Some(next)) if are_alike(name, next) => _ = rest.next(),
            (Some(_), Some(_)) => return None,
        }
    }
}

/// Where an open file or folder really lies, without links.
pub(super) fn real_path(opened: &impl AsRawFd) -> io::Result<PathBuf> {
    Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()).read_link()
}

/// The path without links, as far as it exists.
pub(super) fn as_far_as_real(path: &Path) -> PathBuf {
    let real = |ancestor: &Path| Some((ancestor.canonicalize().ok()?, path.strip_prefix(ancestor).ok()?));
    // `join` with nothing would leave a slash behind.
    path.ancestors().find_map(real).map_or_else(
        || path.to_owned(),
        |(real, rest)| if rest.as_os_str().is_empty() { real } else { real.join(rest) },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_about_tools_is_protected_and_nothing_else() {
        let (unwritten, unread) = (vec!["/w/conf/my.toml".into()], vec!["/w/state".into()]);
        let guarded = Guard { unwritten, unread, ..Guard::default() };
        // path, whether it is protected
        let cases = [
            ("/w/toolcrib.toml", true),
            ("/w/deep/er/toolcrib.toml", true),
            ("/w/toolcrib.toml.bak", false),
            ("/w/toolcrib.toml/x", true),
            ("/w/Toolcrib.TOML", true),
            ("/w/.opencode/config.toml", true),
            ("/w/a/.OpenCode", true),
            ("/w/.toolcrib/ai-rules.json", true),
            ("/w/.toolcrib", true),
            ("/w/a/.Oppla/ai-rules.yml", true),
            ("/w/.toolcrib.md", false),
            ("/w/state/audit.jsonl", true),
            ("/w/state", true),
            ("/w/state-of-affairs.md", false),
            ("/w/conf/my.toml", true),
            ("/w/conf/other.toml", false),
            ("/w/.git/config", true),
            ("/w/.git/config.worktree", true),
            ("/w/.git/hooks/pre-commit", true),
            ("/w/sub/.git/hooks/x/y", true),
            ("/w/.git/info/exclude", true),
            ("/w/.git/commondir", true),
            ("/w/.git", true),
            ("/w/sub/.GIT/config", true),
            ("/w/docs/HEAD", true),
            ("/w/docs/HEAD.md", false),
            ("/elsewhere/notes.md", true),
            ("/w/git/config", false),
            ("/w/.github/config", false),
            ("/w/notes.md", false),
        ];
        for (path, protected) in cases {
            assert_eq!(is_protected(Path::new("/w"), &guarded, Path::new(path)), protected, "{path}");
        }
    }

    #[test]
    fn what_is_not_read_is_told_by_its_name() {
        // root, what is not read, path, whether it may be read
        let cases = [
            ("/w", "/w/state", "state", false),
            ("/w", "/w/state", "State/audit.jsonl", false),
            ("/w", "/W/state", "state", false),
            ("/w", "/w/state", "states", true),
            ("/w", "/w/a/b", "a", true),
            ("/w", "/w/a/b", "a/b/c", false),
            ("/w", "/w/a/b", "b/a", true),
            ("/w/x", "/w", "notes.md", false),
            ("/w/x", "/w/x", "notes.md", false),
            ("/", "/w", "w/a", false),
            ("/w", "/", "a", false),
            ("/w", "/wx/state", "state", true),
            ("/w", "/elsewhere/state", "state", true),
        ];
        for (root, unread, path, may) in cases {
            let guarded = Guarded::default();
            let guard = Guard { unread: vec![unread.into()], ..Guard::default() };
            guarded.replace(Path::new(root), &guard);
            let inside = Inside::parse(path, &[]).expect("a path inside");
            assert_eq!(guarded.check_named(&inside).is_ok(), may, "{path} of {root} beside {unread}");
        }
    }
}
