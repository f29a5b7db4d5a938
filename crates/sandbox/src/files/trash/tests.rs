//! What comes to the trash and back where nothing can be renamed, and what goes for good.
#![expect(clippy::disallowed_methods, reason = "files of a workspace")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::super::file_ops::{FileOps, Step};
use super::super::root::Access;
use super::super::write::Expect;
use super::*;

/// A file system from which nothing can be renamed to another folder, if it is `apart`.
#[derive(Debug)]
struct Apart(bool);

impl FileOps for Apart {
    fn rename_between(
        &self,
        (folder, from): (&File, &Path),
        (other, to): (&File, &Path),
        flags: RenameFlags,
    ) -> io::Result<()> {
        self.before(Step::Rename(flags))?;
        let is_same = rustix::fs::fstat(folder)?.st_ino == rustix::fs::fstat(other)?.st_ino;
        if self.0 && !is_same {
            return Err(Errno::XDEV.into());
        }
        Ok(rustix::fs::renameat_with(folder, from, other, to, flags)?)
    }
}

/// A file system on which nothing is renamed to another folder.
#[derive(Debug)]
struct Stuck;

impl FileOps for Stuck {
    fn rename_between(&self, _: (&File, &Path), _: (&File, &Path), _: RenameFlags) -> io::Result<()> {
        Err(Errno::IO.into())
    }
}

/// A disk that is full when something is written, or when it is to be synced.
#[derive(Debug)]
struct Full(Step);

impl FileOps for Full {
    fn before(&self, step: Step) -> io::Result<()> {
        if step == self.0 { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

/// A workspace with a folder `a`, and its trash.
fn workspace(is_apart: bool) -> (tempfile::TempDir, Root) {
    workspace_on(Box::new(Apart(is_apart)))
}

fn workspace_on(ops: Box<dyn FileOps>) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("a/b")).expect("folders");
    fs::write(root.join("a/b/c"), "text").expect("a file");
    fs::set_permissions(root.join("a/b/c"), fs::Permissions::from_mode(0o750)).expect("a mode");
    symlink("c", root.join("a/b/link")).expect("a link");
    let opened = Root::open_with(&root, Access::ReadWrite, ops).expect("a root");
    let opened = opened.with_trash(&folder.path().join("trash"));
    (folder, opened)
}

#[test]
fn what_is_deleted_comes_back_as_it_was_from_another_file_system_too() {
    for is_apart in [false, true] {
        let (folder, root) = workspace(is_apart);
        let path = root.locate("a").expect("inside");
        let trashed = root.delete(&path, true, &|_| false).expect("it goes");
        let left = fs::read_dir(folder.path().join("root")).expect("a folder").count();
        assert_eq!((left, trashed.entries, trashed.bytes, trashed.is_folder), (0, 4, 4, true), "{is_apart}");
        assert_eq!(root.trashed().expect("a list"), std::slice::from_ref(&trashed));
        root.restore(&trashed, &|_| false).expect("it comes back");
        let at = |name: &str| folder.path().join("root/a/b").join(name);
        assert_eq!(fs::read_to_string(at("c")).expect("a file"), "text");
        assert_eq!(fs::metadata(at("c")).expect("a file").permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_link(at("link")).expect("a link"), Path::new("c"));
        assert_eq!(root.trashed().expect("a list"), []);
    }
}

#[test]
fn what_there_is_too_much_of_goes_for_good() {
    let (folder, root) = workspace(false);
    let expected = Expect::Anything;
    for nth in 0..TRASH_ENTRIES_MAX + 3 {
        let path = root.locate(&format!("f{nth}")).expect("inside");
        root.write(&path, b"x", &expected).expect("a file");
        root.delete(&path, false, &|_| false).expect("it goes");
    }
    let kept = root.trashed().expect("a list");
    assert_eq!(kept.len(), TRASH_ENTRIES_MAX);
    // As many contents as notes.
    let trash =
        fs::read_dir(folder.path().join("trash")).expect("a folder").next().expect("one").expect("one");
    assert_eq!(fs::read_dir(trash.path()).expect("a folder").count(), 2 * TRASH_ENTRIES_MAX);
    // One that is too old goes with the next.
    let note = trash.path().join(format!("{}{NOTE}", kept[5].id));
    let old = Trashed { deleted_ms: 1, ..kept[5].clone() };
    fs::write(&note, serde_json::to_vec(&old).expect("JSON")).expect("a file");
    let path = root.locate("a/b/c").expect("inside");
    root.delete(&path, false, &|_| false).expect("it goes");
    assert!(root.trashed().expect("a list").iter().all(|one| one.id != old.id));
    assert!(!folder.path().join("root/a/b/c").try_exists().expect("a look"));
}

#[test]
fn a_rule_keeps_what_is_in_a_folder() {
    let (_folder, root) = workspace(false);
    let path = root.locate("a").expect("inside");
    let refused = root.delete(&path, true, &|path| path == "a/b/c").expect_err("held");
    assert!(matches!(&refused, FileError::Held(held) if held.as_str() == "a/b/c"), "{refused}");
}

/// The only folder in the trash.
fn trash_of(folder: &tempfile::TempDir) -> PathBuf {
    fs::read_dir(folder.path().join("trash")).expect("a folder").next().expect("one").expect("one").path()
}

#[test]
fn what_could_not_be_moved_leaves_no_note() {
    let (folder, root) = workspace_on(Box::new(Stuck));
    let path = root.locate("a").expect("inside");
    root.delete(&path, true, &|_| false).expect_err("it stays");
    assert_eq!(fs::read_dir(trash_of(&folder)).expect("a folder").count(), 0);
}

#[test]
fn a_full_disk_leaves_no_part_of_a_note() {
    for step in [Step::Write, Step::Sync] {
        let (folder, root) = workspace_on(Box::new(Full(step)));
        let path = root.locate("a").expect("inside");
        root.delete(&path, true, &|_| false).expect_err("it stays");
        assert_eq!(fs::read_dir(trash_of(&folder)).expect("a folder").count(), 0, "{step:?}");
        assert!(folder.path().join("root/a/b/c").try_exists().expect("a look"));
    }
}

#[test]
fn what_was_deleted_last_stays_whatever_the_clock_says_of_the_others() {
    let (folder, root) = workspace(false);
    let deleted = |name: &str| root.delete(&root.locate(name).expect("inside"), false, &|_| false);
    let old = deleted("a/b/link").expect("it goes");
    let (trash, later) = (trash_of(&folder), "f".repeat(20));
    fs::rename(trash.join(&old.id), trash.join(&later)).expect("another name");
    let note = Trashed { bytes: TRASH_BYTES_MAX, ..old };
    fs::write(trash.join(format!("{later}{NOTE}")), serde_json::to_vec(&note).expect("JSON"))
        .expect("a note");
    let added = deleted("a/b/c").expect("it goes");
    assert_eq!(root.trashed().expect("a list"), [added]);
}

#[test]
fn what_cannot_be_put_back_on_another_file_system_stays_in_the_trash() {
    let (folder, root) = workspace(true);
    let trashed = root.delete(&root.locate("a").expect("inside"), true, &|_| false).expect("it goes");
    fs::write(folder.path().join("root/a"), "another").expect("a file");
    root.restore(&trashed, &|_| false).expect_err("something is there");
    assert_eq!(root.trashed().expect("a list"), [trashed]);
    assert_eq!(fs::read_dir(folder.path().join("root")).expect("a folder").count(), 1);
}
