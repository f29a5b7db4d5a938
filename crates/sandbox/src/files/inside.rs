//! `Inside`: a relative path that has been read and cannot be wrong in form. Whether the file system
//! keeps it inside is settled when it is opened, not here.
#![expect(clippy::disallowed_methods, reason = "the one place where the files of a workspace are reached")]

use std::fmt;
use std::path::{Component, Path, PathBuf, absolute};

use super::error::FileError;

/// The name under which models know the root folder, whatever its real path is.
pub const WORKSPACE_PREFIX: &str = "/workspace";

/// The longest path accepted, as given; what Linux itself accepts.
pub const PATH_BYTES_MAX: usize = 4096;

/// The longest single name in a path; what common file systems accept.
pub const NAME_BYTES_MAX: usize = 255;

/// A path below a root, normalised: no `.`, `..`, empty part or NUL. Displays as `sub/notes.md`, and
/// the root itself as `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inside(String);

impl Inside {
    /// The root itself.
    pub fn root() -> Inside {
        Inside(String::new())
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path with `/` between its names; `.` for the root.
    pub fn as_str(&self) -> &str {
        if self.is_root() { "." } else { &self.0 }
    }

    /// The last name of the path; `None` for the root.
    pub fn name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// The path of `name` in this folder. Refuses anything but one plain name.
    pub fn child(&self, name: &str) -> Result<Inside, FileError> {
        let plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
        if !plain {
            return Err(FileError::Outside);
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(FileError::name_too_long());
        }
        Ok(Inside(if self.is_root() { name.to_owned() } else { format!("{}/{name}", self.0) }))
    }

    /// What lies below this; names that are not UTF-8 are shown as they can be.
    pub(super) fn below(&self, below: &Path) -> Inside {
        let below = below.to_string_lossy();
        match (self.is_root(), below.is_empty()) {
            (_, true) => self.clone(),
            (true, false) => Inside(below.into_owned()),
            (false, false) => Inside(format!("{}/{below}", self.0)),
        }
    }

    pub(super) fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// Reads what a model typed; an absolute path must begin with one of the root's `spellings`.
    pub(super) fn parse(given: &str, spellings: &[PathBuf]) -> Result<Inside, FileError> {
        if given.len() > PATH_BYTES_MAX {
            return Err(FileError::TooLarge { what: "the path", max: PATH_BYTES_MAX, unit: "bytes" });
        }
        if given.contains('\0') {
            return Err(FileError::Nul);
        }
        let path = Path::new(given);
        let relative = if path.is_absolute() { below(path, spellings)? } else { path };
        let mut parts: Vec<&str> = Vec::new();
        for component in relative.components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => drop(parts.pop().ok_or(FileError::Outside)?),
                Component::Normal(name) => parts.push(plain(name.to_str())?),
                Component::RootDir | Component::Prefix(_) => return Err(FileError::Outside),
            }
        }
        Ok(Inside(parts.join("/")))
    }
}

/// Every absolute spelling of a folder that [`super::Root::locate`] understands: the common prefix, the real path, the path
/// as given. Whoever decides about paths before tools see them must know the same ones.
pub fn spellings(folder: &Path) -> Vec<PathBuf> {
    let written = [folder.canonicalize(), absolute(folder)];
    [PathBuf::from(WORKSPACE_PREFIX)].into_iter().chain(written.into_iter().flatten()).collect()
}

/// The rest of `path` after the longest spelling it begins with. The longest, because a root may
/// really lie at `/workspace/project`.
fn below<'a>(path: &'a Path, spellings: &[PathBuf]) -> Result<&'a Path, FileError> {
    spellings
        .iter()
        .filter_map(|spelling| path.strip_prefix(spelling).ok())
        .min_by_key(|rest| rest.as_os_str().len())
        .ok_or(FileError::Outside)
}

fn plain(name: Option<&str>) -> Result<&str, FileError> {
    let name = name.ok_or(FileError::Outside)?;
    if name.len() > NAME_BYTES_MAX { Err(FileError::name_too_long()) } else { Ok(name) }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &str, expected: &str) {
        let spellings = ["/workspace", "/home/me/project", "/workspace/deep"].map(PathBuf::from);
        let found = match Inside::parse(given, &spellings) {
            Ok(inside) => inside.to_string(),
            Err(FileError::Outside) => "outside".to_owned(),
            Err(FileError::Nul) => "NUL".to_owned(),
            Err(FileError::TooLarge { what, .. }) => format!("too large: {what}"),
            Err(other) => panic!("{given:?}: {other}"),
        };
        assert_eq!(found, expected, "{given:?}");
    }

    #[test]
    fn one_file_has_many_spellings() {
        for given in [
            "notes.md",
            "./notes.md",
            "sub/../notes.md",
            "/workspace/notes.md",
            "/workspace//./notes.md",
            "/home/me/project/notes.md",
            "/home/me/project/sub/../notes.md",
            "/workspace/deep/notes.md",
            "notes.md/",
        ] {
            check(given, "notes.md");
        }
    }

    #[test]
    fn the_root_has_a_name() {
        for given in ["", ".", "./", "/workspace", "/workspace/", "a/..", "/home/me/project"] {
            check(given, ".");
        }
    }

    #[test]
    fn odd_names_are_names() {
        for given in ["workspace/x", "...", "a b", "~", "c:\\x", "-rf", "naïve/été.md"] {
            check(given, given);
        }
    }

    #[test]
    fn refuses_what_leads_out() {
        for given in [
            "..",
            "../x",
            "a/../../x",
            "a/../..",
            "/",
            "/etc/passwd",
            "/workspace/..",
            "/workspace/../etc/passwd",
            "/workspace-evil/x",
            "/workspacex",
            "/home/me/project-evil/x",
            "/home/me",
            "/home/me/other/../project/x",
            "//etc/passwd",
        ] {
            check(given, "outside");
        }
        for given in ["notes.md\0", "\0", "/workspace/a\0b", "../\0"] {
            check(given, "NUL");
        }
    }

    #[test]
    fn limits_hold_at_the_byte() {
        check(&"n".repeat(NAME_BYTES_MAX), &"n".repeat(NAME_BYTES_MAX));
        check(&"n".repeat(NAME_BYTES_MAX + 1), "too large: a name in the path");
        check(&"a/".repeat(PATH_BYTES_MAX / 2 + 1), "too large: the path");
    }

    #[test]
    fn a_child_is_one_plain_name() {
        let sub = Inside::root().child("sub").expect("plain");
        assert_eq!(sub.child("a.txt").expect("plain").as_str(), "sub/a.txt");
        assert_eq!(sub.child("a.txt").expect("plain").name(), Some("a.txt"));
        assert_eq!(Inside::root().name(), None);
        for name in ["", ".", "..", "a/b", "/", "a\0"] {
            assert!(matches!(sub.child(name), Err(FileError::Outside)), "{name:?}");
        }
    }
}
