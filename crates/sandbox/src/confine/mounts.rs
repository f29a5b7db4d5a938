//! What a program sees of the machine's files, beside the system's: where each lies, without what is seen anyway, and with
//! the links that lead there.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::init::given::HOME;
use super::init::system::PROGRAMS;
use super::order::{OrderedLink, OrderedMount};

/// So many links may lie on the way to one file, as for the kernel.
const LINKS_MAX: usize = 40;

/// Collects them.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    mounts: Vec<OrderedMount>,
    links: Vec<OrderedLink>,
}

impl Mounts {
    pub(super) fn add(&mut self, mount: OrderedMount) {
        self.mounts.push(mount);
    }

    /// Who connects to a socket writes to it.
    pub(super) fn socket(&mut self, path: &Path) -> io::Result<()> {
        let path: OsString = self.follow(path)?.into();
        self.mounts.push(OrderedMount { is_writable: true, ..OrderedMount::read(path) });
        Ok(())
    }

    /// A folder of the program's own, which is its home.
    pub(super) fn home(&mut self, path: &Path) -> io::Result<()> {
        let path: OsString = path.canonicalize()?.into();
        let at = HOME.into();
        self.mounts.push(OrderedMount { at, is_writable: true, is_owned: true, ..OrderedMount::read(path) });
        Ok(())
    }

    /// The path without links. Those on the way to it will be there, too.
    pub(super) fn follow(&mut self, path: &Path) -> io::Result<PathBuf> {
        let (real, links) = resolve(path)?;
        for link in links {
            if !self.links.contains(&link) {
                self.links.push(link);
            }
        }
        Ok(real)
    }

    /// Each before what lies in it, without those that another shows as well.
    pub(super) fn ordered(mut self) -> (Vec<OrderedMount>, Vec<OrderedLink>) {
        // Of two at the same path the one that shows more comes first.
        self.mounts.sort_by(|one, other| {
            let more = |mount: &OrderedMount| (!mount.is_writable, !mount.is_owned);
            one.at.cmp(&other.at).then_with(|| more(one).cmp(&more(other)))
        });
        let mut kept: Vec<OrderedMount> = Vec::new();
        for mount in self.mounts {
            let at = Path::new(&mount.at);
            let is_system = !mount.is_writable && PROGRAMS.iter().any(|folder| at.starts_with(folder));
            let above = kept.iter().rev().find(|above| at.starts_with(&above.at));
            let is_shown = above.is_some_and(|above| above.is_writable || !mount.is_writable);
            if !is_system && !is_shown {
                kept.push(mount);
            }
        }
        let is_seen = |link: &OrderedLink| {
            let at = Path::new(&link.at);
            PROGRAMS.iter().any(|folder| at.starts_with(folder))
                || kept.iter().any(|mount| at.starts_with(&mount.at))
        };
        self.links.retain(|link| !is_seen(link));
        (kept, self.links)
    }
}

/// The path without links, and the links on the way.
fn resolve(path: &Path) -> io::Result<(PathBuf, Vec<OrderedLink>)> {
    let (mut real, mut links) = (PathBuf::from("/"), Vec::new());
    let mut left: Vec<OsString> = parts(path);
    while let Some(name) = left.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let here = real.join(&name);
        if !here.symlink_metadata()?.is_symlink() {
            real = here;
            continue;
        }
        if links.len() >= LINKS_MAX {
            return Err(io::Error::other(format!("{}: too many links", path.display())));
        }
        let to = here.read_link()?;
        left.extend(parts(&to));
        if to.is_absolute() {
            real = PathBuf::from("/");
        }
        links.push(OrderedLink { at: here.into(), to: to.into() });
    }
    Ok((real, links))
}

/// The names in a path, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.rev().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mount(at: &str, is_writable: bool) -> OrderedMount {
        OrderedMount { is_writable, ..OrderedMount::read(at.into()) }
    }

    #[track_caller]
    fn check(mounts: &[(&str, bool)], expected: &[&str]) {
        let mut all = Mounts::default();
        mounts.iter().for_each(|(at, is_writable)| all.add(mount(at, *is_writable)));
        let (kept, _) = all.ordered();
        let kept: Vec<_> = kept.iter().map(|mount| mount.at.to_str().expect("UTF-8")).collect();
        assert_eq!(kept, expected, "{mounts:?}");
    }

    #[test]
    fn each_is_shown_once_and_before_what_lies_in_it() {
        check(&[("/a/b", true), ("/a", false)], &["/a", "/a/b"]);
        check(&[("/a/b", false), ("/a", false)], &["/a"]);
        check(&[("/a/b", false), ("/a", true)], &["/a"]);
        check(&[("/a", false), ("/a", true)], &["/a"]);
        check(&[("/a", false), ("/ab", false)], &["/a", "/ab"]);
        check(&[("/usr/lib/x", false), ("/opt", false)], &["/opt"]);
        check(&[("/a", false), ("/a/b", true), ("/a/b/c", false)], &["/a", "/a/b"]);
    }

    #[test]
    fn of_two_at_one_path_the_one_that_is_written_counts() {
        let mut all = Mounts::default();
        all.add(mount("/a", false));
        all.add(mount("/a", true));
        assert!(all.ordered().0.iter().all(|mount| mount.is_writable));
    }

    #[test]
    fn links_on_the_way_are_there_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        std::fs::create_dir_all(root.join("real/bin")).expect("folders");
        std::fs::write(root.join("real/bin/tool"), "").expect("a file");
        symlink("real", root.join("link")).expect("a link");
        symlink(root.join("link/bin/../bin/tool"), root.join("tool")).expect("a link");
        symlink("loop", root.join("loop")).expect("a link");
        let (real, links) = resolve(&root.join("tool")).expect("there");
        assert_eq!(real, root.join("real/bin/tool"));
        let links: Vec<_> = links.iter().map(|link| Path::new(&link.at).to_owned()).collect();
        assert_eq!(links, [root.join("tool"), root.join("link")]);
        for (path, error) in [("loop", "too many links"), ("none", "No such file")] {
            let said = resolve(&root.join(path)).expect_err("not there").to_string();
            assert!(said.contains(error), "{path}: {said}");
        }
        let mut mounts = Mounts::default();
        let real = mounts.follow(&root.join("tool")).expect("there");
        mounts.add(OrderedMount::read(real.into()));
        let (mounts, links) = mounts.ordered();
        assert_eq!((mounts.len(), links.len()), (1, 2));
    }
}
