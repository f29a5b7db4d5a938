//! Files below the workspace that no tool may write, because they decide what tools may do, or what runs
//! on the next `git` command. Otherwise one allowed write would be permission for everything else. Some of them hold
//! secrets and are not read by tools either.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::error::FileError;
use super::inside::Inside;
use super::obeyed::Writable;
use super::path_names::{RealPaths, lies_in, real_path, seen_from};
use super::server_files::ServerFiles;

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
pub struct ProtectedPaths {
    /// May be read, and not written.
    pub unwritten: Vec<PathBuf>,
    /// Hold secrets: neither read nor listed nor written.
    pub unread: Vec<PathBuf>,
    /// What programs that we start load: may be read, and not written.
    pub servers: ServerFiles,
    /// Which of the files that others obey are written without a person's agreement. Frees nothing else.
    pub writable: Writable,
}

impl ProtectedPaths {
    /// The same as paths without links, as far as they exist.
    pub(super) fn real(&self, real: &mut RealPaths) -> ProtectedPaths {
        ProtectedPaths {
            unwritten: real.of_all(&self.unwritten),
            unread: real.of_all(&self.unread),
            servers: self.servers.real(real),
            writable: self.writable.clone(),
        }
    }
}

/// The same as paths without links, as far as they existed. They change when the configuration is read again.
#[derive(Debug, Default)]
pub(super) struct ProtectionInForce(RwLock<Resolved>);

#[derive(Debug, Default)]
struct Resolved {
    protected: Arc<ProtectedPaths>,
    /// Those that are not read and may lie below the root, as they are named from there: what is read by its name is held
    /// against nothing else.
    unread_below: Vec<PathBuf>,
}

impl ProtectionInForce {
    /// Takes these in place of those before, for what is below `root`, a path without links.
    pub(super) fn replace(&self, root: &Path, protected: &ProtectedPaths) {
        let mut real = RealPaths::default();
        let protected = protected.real(&mut real);
        let unread_below = protected.unread.iter().filter_map(|unread| seen_from(root, unread)).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) =
            Resolved { protected: Arc::new(protected), unread_below };
    }

    /// Those that are protected now.
    pub(super) fn now(&self) -> Arc<ProtectedPaths> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).protected.clone()
    }

    /// Holds that `path` below the root, to which no link leads, may be read. Names are compared without regard to case,
    /// since some file systems do.
    pub(super) fn check_named(&self, path: &Inside) -> Result<(), FileError> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match held.unread_below.iter().any(|unread| lies_in(path.as_path(), unread)) {
            true => Err(FileError::Secret(path.clone())),
            false => Ok(()),
        }
    }

    /// Holds that `opened`, which was asked for as `path`, may be read. It is asked where it lies only after it has been
    /// opened: no link and no race makes it another one.
    pub(super) fn check_readable(&self, opened: &impl AsRawFd, path: &Inside) -> Result<(), FileError> {
        let protected = self.now();
        if protected.unread.is_empty() {
            return Ok(());
        }
        let real = real_path(opened).map_err(FileError::Io)?;
        let name = real.as_os_str().as_bytes();
        let real = name.strip_suffix(GONE_MARK).unwrap_or(name);
        if protected.unread.iter().any(|unread| is_below(real, unread)) {
            return Err(FileError::Secret(path.clone()));
        }
        Ok(())
    }
}

/// Whether the path is `folder` or lies below it. Both are as the kernel says them, so that their bytes can be compared, which
/// each file that is read waits for.
fn is_below(path: &[u8], folder: &Path) -> bool {
    let rest = path.strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || folder == Path::new("/"))
}

/// True if `real`, a path without links, must not be written. `root` is where the workspace really lies now;
/// what is not below it is refused, too. Names are compared without regard to case, since some file systems do.
pub(super) fn is_protected(root: &Path, protected: &ProtectedPaths, real: &Path) -> bool {
    let mut guarded = protected.unwritten.iter().chain(&protected.unread);
    if guarded.any(|guarded| real.starts_with(guarded)) {
        return true;
    }
    let Ok(inside) = real.strip_prefix(root) else { return true };
    inside.components().any(|component| decides(component.as_os_str()))
        || inside.file_name().is_some_and(|name| name.eq_ignore_ascii_case(BARE_GIT_MARK))
}

/// Whether something of this name may be protected for its name alone.
pub(super) fn may_be_protected(name: &OsStr) -> bool {
    decides(name) || name.eq_ignore_ascii_case(BARE_GIT_MARK)
}

fn decides(name: &OsStr) -> bool {
    let names = [CONFIGURATION, OTHER_CONFIGURATION, GIT].into_iter().chain(AI_RULES);
    names.into_iter().any(|decides| name.eq_ignore_ascii_case(decides))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_about_tools_is_protected_and_nothing_else() {
        let (unwritten, unread) = (vec!["/w/conf/my.toml".into()], vec!["/w/state".into()]);
        let guarded = ProtectedPaths { unwritten, unread, ..ProtectedPaths::default() };
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
    #[expect(clippy::disallowed_methods, reason = "prepares a folder from outside the sandbox")]
    fn a_secret_that_has_lost_its_name_meanwhile_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let guarded = ProtectionInForce::default();
        let unread = vec![root.join("key")];
        guarded.replace(&root, &ProtectedPaths { unread, ..ProtectedPaths::default() });
        for (name, is_secret) in [("key", true), ("notes.md", false)] {
            std::fs::write(root.join(name), "text").expect("a file");
            let opened = std::fs::File::open(root.join(name)).expect("a file");
            std::fs::remove_file(root.join(name)).expect("ours");
            let path = Inside::parse(name, &[]).expect("a path inside");
            assert_eq!(guarded.check_readable(&opened, &path).is_err(), is_secret, "{name}");
        }
    }

    #[test]
    fn below_a_folder_by_its_bytes() {
        let cases = [
            ("/w/state", "/w/state", true),
            ("/w/state/a/b", "/w/state", true),
            ("/w/states", "/w/state", false),
            ("/w", "/w/state", false),
            ("/W/state", "/w/state", false),
            ("/w", "/", true),
            ("/", "/", true),
        ];
        for (path, folder, is) in cases {
            assert_eq!(is_below(path.as_bytes(), Path::new(folder)), is, "{path} beside {folder}");
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
            let guarded = ProtectionInForce::default();
            let protected = ProtectedPaths { unread: vec![unread.into()], ..ProtectedPaths::default() };
            guarded.replace(Path::new(root), &protected);
            let inside = Inside::parse(path, &[]).expect("a path inside");
            assert_eq!(guarded.check_named(&inside).is_ok(), may, "{path} of {root} beside {unread}");
        }
    }
}
