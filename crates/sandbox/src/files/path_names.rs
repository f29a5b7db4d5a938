//! Paths compared name by name, and followed to where they really are.
#![expect(clippy::disallowed_methods, reason = "the one place where the files of a workspace are reached")]

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Component, Path, PathBuf};

/// Whether two names are one on a file system without regard to case.
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
pub(super) fn seen_from(root: &Path, path: &Path) -> Option<PathBuf> {
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
