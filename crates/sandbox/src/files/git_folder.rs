//! Folders that `git` takes for a repository, whatever their names. What stands in them says which programs it runs.
#![expect(clippy::disallowed_methods, reason = "the one place where the files of a workspace are reached")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// Where `git` looks in a folder.
pub(crate) const DOT_GIT: &str = ".git";

/// Below a repository, below that of each submodule, and below what a linked worktree has of its own.
pub(crate) const DECIDES: [&str; 8] = [
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "info/sparse-checkout",
    "commondir",
    "gitdir",
    "objects/info/alternates",
];

/// How a file that stands as `.git` begins.
const POINTER: &[u8] = b"gitdir:";

/// Longer than any path that the kernel takes.
const POINTER_BYTES_MAX: u64 = 8 * 1024;

/// Whether `git` takes the folder for a repository, or for what a linked worktree has of one.
pub(crate) fn is_git_folder(folder: &Path) -> bool {
    let has = |name| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The folder that what stands as `.git` in a folder is, or leads to as a link or by its text. Without links, if no link leads to
/// that folder.
pub(crate) fn led_to(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.symlink_metadata().ok()?.is_dir() {
        return Some(dot_git.to_owned());
    }
    let real = dot_git.canonicalize().ok()?;
    match real.is_dir() {
        true => Some(real),
        false => named(&real, POINTER),
    }
}

/// The folder that a linked worktree's `commondir` names.
pub(crate) fn common(git_folder: &Path) -> Option<PathBuf> {
    named(&git_folder.join("commondir"), b"")
}

/// Where those of them really lie that are links, or lie in one.
pub(crate) fn led_away(git_folder: &Path) -> impl Iterator<Item = PathBuf> {
    DECIDES.into_iter().chain(["info"]).filter_map(move |name| {
        let here = git_folder.join(name);
        here.symlink_metadata().ok().filter(std::fs::Metadata::is_symlink)?;
        here.canonicalize().ok()
    })
}

/// Whether `real`, a path without links, lies in a repository's own folder, or is what one of its files is a link to, as
/// far as the folders above it tell, up to `root`.
pub(super) fn is_of_git(root: &Path, real: &Path) -> bool {
    let above = real.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    let mut folders = above.map(|folder| (folder, led_to(&folder.join(DOT_GIT))));
    folders.any(|(folder, git_folder)| {
        is_git_folder(folder)
            || git_folder.is_some_and(|own| led_away(&own).any(|away| real.starts_with(away)))
    })
}

/// The folder whose path stands in a file behind `mark`, as seen from where the file lies.
fn named(file: &Path, mark: &[u8]) -> Option<PathBuf> {
    // What is no file must not keep us waiting.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(openat(CWD, file, flags, Mode::empty()).ok()?);
    let mut text = Vec::new();
    opened.take(POINTER_BYTES_MAX).read_to_end(&mut text).ok()?;
    let path = text.strip_prefix(mark)?.trim_ascii();
    let folder = file.parent()?.join(OsStr::from_bytes(path)).canonicalize().ok()?;
    folder.is_dir().then_some(folder)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "prepares a folder from outside the sandbox")]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    /// A repository as `git` makes it, as far as it is looked at.
    fn repository(folder: &Path) {
        create_dir_all(folder.join("objects/info")).expect("folders");
        create_dir_all(folder.join("refs")).expect("a folder");
        write(folder.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        write(folder.join("config"), "[core]\n").expect("a file");
    }

    #[test]
    fn what_stands_as_dot_git_leads_to_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        repository(&root.join("store/real"));
        symlink("store/real", root.join("link")).expect("a link");
        let long = format!("gitdir: {}", "x/".repeat(9_000));
        for (text, expected) in [
            ("gitdir: store/real\n", Some("store/real")),
            ("gitdir:link", Some("store/real")),
            ("gitdir: ./store/../store/real\r\n", Some("store/real")),
            ("gitdir: absent\n", None),
            ("gitdir: store/real/config\n", None),
            ("store/real\n", None),
            ("", None),
            (long.as_str(), None),
        ] {
            write(root.join("file"), text).expect("a file");
            assert_eq!(led_to(&root.join("file")), expected.map(|path| root.join(path)), "{text}");
        }
        assert_eq!(led_to(&root.join("link")), Some(root.join("store/real")));
        assert_eq!(led_to(&root.join("none")), None);
        write(root.join("store/real/commondir"), "../..\n").expect("a file");
        assert_eq!(common(&root.join("store/real")), Some(root));
    }

    #[test]
    fn what_lies_in_a_repository_is_of_git_by_whatever_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        repository(&root.join("real"));
        repository(&root.join("a/x.git"));
        repository(&root.join(".git"));
        create_dir_all(root.join("tools/hooks")).expect("folders");
        symlink("../tools/hooks", root.join(".git/hooks")).expect("a link");
        create_dir_all(root.join("worktree")).expect("a folder");
        for name in ["HEAD", "commondir"] {
            write(root.join("worktree").join(name), "../real").expect("a file");
        }
        create_dir_all(root.join("docs/refs")).expect("a folder");
        write(root.join("docs/HEAD"), "").expect("a file");
        for (path, expected) in [
            ("real/config", true),
            ("real/hooks/deep/er", true),
            ("real/absent", true),
            ("a/x.git/config", true),
            ("a/b.md", false),
            ("tools/hooks/pre-push", true),
            ("tools/hooks", true),
            ("tools/other", false),
            ("worktree/config.worktree", true),
            ("docs/notes.md", false),
            ("notes.md", false),
        ] {
            assert_eq!(is_of_git(&root, &root.join(path)), expected, "{path}");
        }
        // Links are asked about where the workspace is, and not above.
        assert!(!is_of_git(&root.join("tools"), &root.join("tools/hooks/pre-push")));
        assert!(is_of_git(&root.join("real"), &root.join("real/config")));
    }
}
