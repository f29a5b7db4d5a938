//! Files and folders beyond what a program sees: which of them a person can be asked about at all.

use std::io;
use std::path::{Path, PathBuf};

use super::wide;
use crate::files::{ProgramPaths, ProtectedPaths};
use crate::process::variable;

/// Folders in a person's home that hold the things of many programs, keys among them.
const OF_MANY_IN_HOME: [&str; 6] = [".cache", ".config", ".local", ".local/share", ".local/state", "Library"];

/// Why nobody can be asked about a path.
#[derive(Debug, thiserror::Error)]
pub enum NotBeyond {
    /// It depends on where somebody stands.
    #[error("it is not written from the root on")]
    Relative,
    /// It is not there, or cannot be looked at.
    #[error("it cannot be looked at: {0}")]
    Unseen(#[from] io::Error),
    /// A program would get far more than a project.
    #[error("{0}; name a folder in it")]
    TooWide(&'static str),
    /// No program reads it, or it decides about more than a project.
    #[error("it holds secrets, or what agents, editors, shells and the like obey")]
    Protected,
    /// Nothing but a folder is written.
    #[error("it is no folder")]
    NoFolder,
}

/// The path without links of what a program wants to see beyond its workspace, or to write, if a person can be asked about it.
/// Blocks on the disk.
///
/// # Errors
/// Why nobody can be.
pub fn beyond(path: &Path, writes: bool, protected: &ProtectedPaths) -> Result<PathBuf, NotBeyond> {
    judged(path, writes, protected, variable("HOME").map(PathBuf::from).as_deref())
}

fn judged(
    path: &Path,
    writes: bool,
    protected: &ProtectedPaths,
    home: Option<&Path>,
) -> Result<PathBuf, NotBeyond> {
    if !path.is_absolute() {
        return Err(NotBeyond::Relative);
    }
    let real = path.canonicalize()?;
    let home = home.and_then(|home| home.canonicalize().ok());
    if let Some(why) = wide::no_workspace(&real, home.as_deref()) {
        return Err(NotBeyond::TooWide(why));
    }
    if home.is_some_and(|home| OF_MANY_IN_HOME.iter().any(|folder| real == home.join(folder))) {
        return Err(NotBeyond::TooWide("it holds the things of many programs"));
    }
    let resolved = ProgramPaths::resolved(protected);
    // As seen from the root, so that what stands above it counts as well.
    let is_protected = ProgramPaths::new(Path::new("/"), &resolved).is_unwritten(&real);
    if is_protected || ProgramPaths::new(&real, &resolved).is_unread() {
        return Err(NotBeyond::Protected);
    }
    if writes && !real.is_dir() {
        return Err(NotBeyond::NoFolder);
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nobody_is_asked_about_what_nobody_should_give() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        let home = root.join("home/me");
        for path in
            [".ssh", ".config/app", ".local/share/models", "data/in/.git", "state/deep", "code/.vscode"]
        {
            fs::create_dir_all(home.join(path)).expect("a folder");
        }
        fs::write(home.join("data/file"), "text").expect("a file");
        symlink(&home, root.join("link")).expect("a link");
        symlink(home.join("state"), root.join("innocent")).expect("a link");
        let protected = ProtectedPaths { unread: vec![home.join("state")], ..ProtectedPaths::default() };
        let within = |path: &str| root.join(path).to_string_lossy().into_owned();
        // As it is named, whether it is to be written, and what it is or why not.
        for (path, writes, expected) in [
            (within("home/me/data"), false, "home/me/data"),
            (within("home/me/data"), true, "home/me/data"),
            (within("link/data/../data"), true, "home/me/data"),
            (within("home/me/.local/share/models"), false, "home/me/.local/share/models"),
            (within("home/me/data/file"), false, "home/me/data/file"),
            (within("home/me/data/file"), true, "NoFolder"),
            (within("home/me"), false, "TooWide"),
            (within("home"), false, "TooWide"),
            (within("link"), false, "TooWide"),
            (within("home/me/.config"), false, "TooWide"),
            (within("home/me/.local/share"), true, "TooWide"),
            ("/".to_owned(), false, "TooWide"),
            ("/home".to_owned(), false, "TooWide"),
            ("/etc/ssl".to_owned(), false, "TooWide"),
            ("/proc/self".to_owned(), true, "TooWide"),
            (within("home/me/state"), false, "Protected"),
            (within("home/me/state/deep"), false, "Protected"),
            (within("innocent"), false, "Protected"),
            (within("home/me/.ssh"), false, "Protected"),
            (within("home/me/data/in/.git"), false, "Protected"),
            (within("home/me/code/.vscode"), true, "Protected"),
            (within("no/such/folder"), false, "Unseen"),
            ("home/me/data".to_owned(), false, "Relative"),
            (String::new(), false, "Relative"),
        ] {
            let found = match judged(Path::new(&path), writes, &protected, Some(&home)) {
                Ok(real) => real.strip_prefix(&root).expect("within").to_string_lossy().into_owned(),
                Err(why) => format!("{why:?}").split('(').next().unwrap_or_default().to_owned(),
            };
            assert_eq!(found, expected, "{path} {writes}");
        }
    }
}
