//! Files below the workspace that no tool may write, because they decide what tools may do, or what runs
//! on the next `git` command. Otherwise one allowed write would be permission for everything else.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Component, Path, PathBuf};

/// The configuration's name, whatever folder it is in: the nearest one above a working folder counts.
const CONFIGURATION: &str = "toolcrib.toml";

/// A repository's own files. All of them: its configuration and hooks are programs that `git` runs, and
/// nearly every other file there can point to another configuration.
const GIT: &str = ".git";

/// What makes any folder a bare repository, with a configuration of its own that `git` then obeys.
const BARE_GIT_MARK: &str = "HEAD";

/// True if `real`, a path without links, must not be written. `root` is where the workspace really lies now;
/// what is not below it is refused, too. `guarded` are absolute paths, each of a file or of a folder with all
/// below it. Names are compared without regard to case, since some file systems do.
pub(super) fn is_protected(root: &Path, guarded: &[PathBuf], real: &Path) -> bool {
    if guarded.iter().any(|guarded| real.starts_with(guarded)) {
        return true;
    }
    let Ok(inside) = real.strip_prefix(root) else { return true };
    let decides = |component: Component<'_>| {
        [CONFIGURATION, GIT].iter().any(|name| component.as_os_str().eq_ignore_ascii_case(name))
    };
    inside.components().any(decides)
        || inside.file_name().is_some_and(|name| name.eq_ignore_ascii_case(BARE_GIT_MARK))
}

/// Where an open folder really lies, without links.
pub(super) fn real_path(folder: &File) -> io::Result<PathBuf> {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).read_link()
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
        let guarded = [PathBuf::from("/w/state"), PathBuf::from("/w/conf/my.toml")];
        // path, whether it is protected
        let cases = [
            ("/w/toolcrib.toml", true),
            ("/w/deep/er/toolcrib.toml", true),
            ("/w/toolcrib.toml.bak", false),
            ("/w/toolcrib.toml/x", true),
            ("/w/Toolcrib.TOML", true),
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
}
