//! Paths compared name by name, and followed to where they really are.
#![expect(clippy::disallowed_methods, reason = "the one place where the files of a workspace are reached")]

use std::collections::HashMap;
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

/// Paths without links, as far as they exist. Each folder above several of them is looked at once.
#[derive(Default)]
pub(super) struct RealPaths(HashMap<PathBuf, PathBuf>);

impl RealPaths {
    /// All of these.
    pub(super) fn of_all(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        paths.iter().map(|path| self.of(path)).collect()
    }

    /// This one.
    pub(super) fn of(&mut self, path: &Path) -> PathBuf {
        if let Some(real) = self.0.get(path) {
            return real.clone();
        }
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => {
                let here = self.of(parent).join(name);
                // What is no link, or is not there, is where it is named.
                if here.read_link().is_ok() { as_far_as_real(&here) } else { here }
            }
            _ => as_far_as_real(path),
        };
        self.0.insert(path.to_owned(), real.clone());
        real
    }
}

/// The path without links, as far as it exists.
fn as_far_as_real(path: &Path) -> PathBuf {
    let real = |ancestor: &Path| Some((ancestor.canonicalize().ok()?, path.strip_prefix(ancestor).ok()?));
    // `join` with nothing would leave a slash behind.
    path.ancestors().find_map(real).map_or_else(
        || path.to_owned(),
        |(real, rest)| if rest.as_os_str().is_empty() { real } else { real.join(rest) },
    )
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_are_followed_as_far_as_they_exist() {
        let folder = tempfile::TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        create_dir(base.join("real")).unwrap();
        write(base.join("real/file"), "").unwrap();
        symlink(base.join("real"), base.join("link")).unwrap();
        symlink("file", base.join("real/other")).unwrap();
        symlink("nowhere", base.join("dangling")).unwrap();
        let mut real = RealPaths::default();
        let mut check = |path: &str, expected: &str| {
            assert_eq!(real.of(&base.join(path)), base.join(expected), "{path}");
        };
        check("link/file", "real/file");
        check("link/other", "real/file");
        check("real/absent/deep", "real/absent/deep");
        check("link/absent/deep", "real/absent/deep");
        check("link/../link/file", "real/file");
        check("dangling", "dangling");
        check("dangling/x", "dangling/x");
        check("real/file/x", "real/file/x");
    }
}
