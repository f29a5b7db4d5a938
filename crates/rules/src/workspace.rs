//! The workspace's folder, and which places in the file system a path means: by its words, and wherever links lead.
#![expect(clippy::disallowed_methods, reason = "rules ask where names and links lead, and open no file")]

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Most links that are followed in one path, as systems have it.
const LINKS_MAX: usize = 40;

/// How often the file system is asked for one call: some tenths of a second at most. A path of as many names as a system
/// takes needs a fiftieth of it.
pub(crate) const LOOKS_MAX: usize = 100_000;

/// More than is looked at, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// Arguments that are called paths.
    Paths,
    /// Others that may be some.
    Texts,
    /// Folders that paths may begin at.
    Folders,
    /// Paths made of a folder and a text.
    Joins,
    /// Names on the way of paths.
    Looks,
}

/// How often the file system may still be asked while one call is judged.
#[derive(Debug)]
pub(crate) struct Looks(usize);

enum Entry {
    Link(PathBuf),
    Plain,
    Missing,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks(LOOKS_MAX)
    }
}

impl Looks {
    fn at(&mut self, path: &Path) -> Result<Entry, TooMany> {
        self.0 = self.0.checked_sub(1).ok_or(TooMany::Looks)?;
        Ok(match path.read_link() {
            Ok(target) => Entry::Link(target),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Entry::Plain,
            Err(_) => Entry::Missing,
        })
    }
}

/// The workspace's folder, by all its names.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// Where it really is, as far as it exists.
    folder: PathBuf,
    /// What may stand for it at the beginning of an absolute path.
    spellings: Vec<PathBuf>,
    /// The user's own folder.
    home: Option<PathBuf>,
}

impl Workspace {
    /// The folder, and what else may stand for it at the beginning of an absolute path.
    pub fn new(folder: &Path, spellings: &[PathBuf]) -> Workspace {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let mut spellings = spellings.to_vec();
        spellings.extend([folder.to_owned(), real.clone()]);
        // The longest first: the folder may really lie below another one of its names.
        spellings.sort_by(|a, b| (b.components().count(), b).cmp(&(a.components().count(), a)));
        spellings.dedup();
        Workspace { folder: real, spellings, home: None }
    }

    /// The same for a user whose own folder this is.
    #[must_use]
    pub(crate) fn with_home(self, home: Option<PathBuf>) -> Workspace {
        Workspace { home, ..self }
    }

    /// The user's own folder.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Where the folder really is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every place that a path means to our own tools: the one that its words name, and with each link on the way followed;
    /// the last one is where it really lies. Dots are taken out before links are looked at, as those tools do it. A path
    /// that leads out of the workspace is one that they refuse.
    ///
    /// # Errors
    /// It has more names than are looked at.
    pub fn places(&self, path: &str) -> Result<Vec<PathBuf>, &'static str> {
        let path = Path::new(path);
        let inside = self.below(path).next().unwrap_or(path);
        let mut looks = Looks::default();
        let mut places = Vec::new();
        self.follow(&without_dots(&self.folder.join(inside)), &mut looks, &mut places)
            .map_err(|_| "the path has more names than are looked at")?;
        Ok(places)
    }

    /// Adds every place that an absolute path means to the system: one for each link on the way, as it is before that is
    /// followed, and where it ends. What does not exist is taken by its words.
    pub(crate) fn follow(
        &self,
        path: &Path,
        looks: &mut Looks,
        places: &mut Vec<PathBuf>,
    ) -> Result<(), TooMany> {
        let steps = |path: &Path| -> Vec<OsString> {
            path.components().rev().map(|component| component.as_os_str().to_owned()).collect()
        };
        // There are no links in the way to the workspace.
        let (mut there, mut left) = match path.strip_prefix(&self.folder) {
            Ok(inside) => (self.folder.clone(), steps(inside)),
            Err(_) => (PathBuf::new(), steps(path)),
        };
        // How many of the last names of `there` do not exist.
        let (mut missing, mut links) = (0_usize, 0);
        while let Some(step) = left.pop() {
            if step == ".." {
                there.pop();
                missing = missing.saturating_sub(1);
                continue;
            }
            if step == "." {
                continue;
            }
            there.push(&step);
            if missing > 0 {
                missing += 1;
                continue;
            }
            match looks.at(&there)? {
                Entry::Link(target) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Ok(());
                    }
                    let mut rest = there.clone();
                    rest.extend(left.iter().rev());
                    places.push(without_dots(&rest));
                    there.pop();
                    left.extend(steps(&target));
                }
                Entry::Plain => {}
                Entry::Missing => missing = 1,
            }
        }
        places.push(there);
        Ok(())
    }

    /// Whether there is no link on the way of a path inside, which has no dots and no empty names; and if so, whether it is
    /// there.
    pub(crate) fn is_plain(&self, inside: &str, looks: &mut Looks) -> Result<Option<bool>, TooMany> {
        let mut there = PathBuf::with_capacity(self.folder.as_os_str().len() + inside.len() + 1);
        there.push(&self.folder);
        for name in inside.split('/') {
            there.push(name);
            match looks.at(&there)? {
                Entry::Plain => {}
                Entry::Missing => return Ok(Some(false)),
                Entry::Link(_) => return Ok(None),
            }
        }
        Ok(Some(true))
    }

    /// True for a path inside that is a file, which nothing is below.
    pub(crate) fn is_file(&self, inside: &str) -> bool {
        self.folder.join(inside).is_file()
    }

    /// The folder by all its names, as texts.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.spellings.iter().map(|spelling| spelling.to_string_lossy().into_owned())
    }

    /// The rest of an absolute path behind each name of the folder that it begins with, the longest name first.
    pub(crate) fn below<'p>(&self, path: &'p Path) -> impl Iterator<Item = &'p Path> {
        self.spellings.iter().filter_map(|spelling| path.strip_prefix(spelling).ok())
    }
}

/// The path without `.` and `..`, by its words alone.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_of_our_own_tools_means_one_place_in_every_spelling() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let root = base.join("really");
        for folder in ["", "secrets", "secrets/deep"] {
            std::fs::create_dir(root.join(folder)).expect("a folder");
        }
        symlink("really", base.join("written")).expect("a link");
        symlink("secrets", root.join("pub")).expect("a link");
        symlink("pub/deep", root.join("twice")).expect("a link");
        symlink("round", root.join("round")).expect("a link");
        let workspace = Workspace::new(&base.join("written"), &[PathBuf::from("/workspace")]);
        for (path, expected) in [
            ("secrets/key", &["secrets/key"][..]),
            ("./secrets//x/../key", &["secrets/key"]),
            ("/workspace/secrets/key", &["secrets/key"]),
            ("//workspace/./secrets/key", &["secrets/key"]),
            ("BASE/really/secrets/key", &["secrets/key"]),
            ("BASE/written/secrets/key", &["secrets/key"]),
            ("pub/key", &["pub/key", "secrets/key"]),
            ("pub/../key", &["key"]),
            ("twice/a", &["twice/a", "pub/deep/a", "secrets/deep/a"]),
            ("/workspace", &[""]),
            ("missing/../../a", &["../a"]),
            ("/etc/missing", &["/etc/missing"]),
        ] {
            let places = workspace.places(&path.replace("BASE", &base.to_string_lossy())).expect("few");
            let expected: Vec<_> = expected.iter().map(|one| without_dots(&root.join(one))).collect();
            assert_eq!(places, expected, "{path}");
        }
        assert_eq!(workspace.places("round/a").expect("few").last(), Some(&root.join("round/a")));
        assert!(workspace.places(&"secrets/".repeat(3)).is_ok());
        assert!(workspace.places(&"pub/../".repeat(LOOKS_MAX)).is_ok(), "dots go before links are looked at");
    }

    #[test]
    fn the_system_follows_a_link_before_it_climbs() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        std::fs::create_dir(root.join("secrets")).expect("a folder");
        std::fs::create_dir(root.join("secrets/deep")).expect("a folder");
        symlink("secrets/deep", root.join("lnk")).expect("a link");
        let mut places = Vec::new();
        let workspace = Workspace::new(&root, &[]);
        workspace.follow(&root.join("lnk/../key"), &mut Looks::default(), &mut places).expect("few");
        assert_eq!(places, [root.join("key"), root.join("secrets/key")]);
        let path = root.join("secrets/deep");
        for (left, expected) in [(2, Ok(())), (1, Err(TooMany::Looks))] {
            assert_eq!(workspace.follow(&path, &mut Looks(left), &mut Vec::new()), expected, "{left}");
        }
    }
}
