//! The workspace's folder, and which places in the file system a path means: by its words, and wherever links lead.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Most links that are followed in one path, as systems have it.
const LINKS_MAX: usize = 40;

/// How often the file system is asked for one call. A path of as many names as a system takes needs half of it.
pub(crate) const LOOKS_MAX: usize = 20_000;

/// More than is looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// The workspace's folder, by all its names.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// Where it really is, as far as it exists.
    folder: PathBuf,
    /// What may stand for it at the beginning of an absolute path.
    spellings: Vec<PathBuf>,
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
        Workspace { folder: real, spellings }
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
        let mut looks = LOOKS_MAX;
        let mut places = Vec::new();
        self.follow(&without_dots(&self.folder.join(inside)), &mut looks, &mut places)
            .map_err(|TooMany| "the path has more names than are looked at")?;
        Ok(places)
    }

    /// Adds every place that an absolute path means to the system: one for each link on the way, as it is before that is
    /// followed, and where it ends. What does not exist is taken by its words.
    pub(crate) fn follow(
        &self,
        path: &Path,
        looks: &mut usize,
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
            *looks = looks.checked_sub(1).ok_or(TooMany)?;
            match there.read_link() {
                Ok(target) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Ok(());
                    }
                    let rest = left.iter().rev().fold(there.clone(), |path, step| path.join(step));
                    places.push(without_dots(&rest));
                    there.pop();
                    left.extend(steps(&target));
                }
                // It is there, and no link.
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                Err(_) => missing = 1,
            }
        }
        places.push(there);
        Ok(())
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
        workspace.follow(&root.join("lnk/../key"), &mut LOOKS_MAX.clone(), &mut places).expect("few");
        assert_eq!(places, [root.join("key"), root.join("secrets/key")]);
        let long = root.join("lnk/../".repeat(LOOKS_MAX));
        assert_eq!(workspace.follow(&long, &mut LOOKS_MAX.clone(), &mut places), Err(TooMany));
    }
}
