//! What a tool has replaced is kept, put back, and forgotten in time.
#![expect(clippy::disallowed_methods, reason = "files of a workspace")]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::{Arc, Mutex};

use rustix::fs::RenameFlags;

use super::super::file_ops::{FileOps, Step};
use super::super::notes::NOTE;
use super::super::replaced::{REPLACED_BYTES_MAX, REPLACED_MAX};
use super::super::root::Access;
use super::*;

/// Files that note the steps they are asked for.
#[derive(Debug)]
struct Noting(Arc<Mutex<Vec<Step>>>);

impl FileOps for Noting {
    fn before(&self, step: Step) -> std::io::Result<()> {
        self.0.lock().expect("nobody panics").push(step);
        Ok(())
    }
}

/// Files with which one step does not work.
#[derive(Debug)]
struct Failing(Step);

impl FileOps for Failing {
    fn before(&self, step: Step) -> std::io::Result<()> {
        if step == self.0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

/// Files with which one step works so many times, and then no more.
#[derive(Debug)]
struct FailingAfter(Step, Mutex<usize>);

impl FileOps for FailingAfter {
    fn before(&self, step: Step) -> std::io::Result<()> {
        let mut left = self.1.lock().expect("nobody panics");
        if step == self.0 && *left == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        *left -= usize::from(step == self.0);
        Ok(())
    }
}

fn workspace() -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    fs::create_dir(&root).expect("a folder");
    fs::write(root.join("a"), "one").expect("a file");
    let opened = Root::open(&root, Access::ReadWrite).expect("a root");
    let opened = opened.with_trash(&folder.path().join("trash"));
    (folder, opened)
}

fn write(root: &Root, text: &str) {
    let path = root.locate("a").expect("a path");
    root.write(&path, text.as_bytes(), &Expect::Anything).expect("writable");
}

/// What is in the file and what is kept, the newest first.
#[track_caller]
fn check(root: &Root, file: &str, kept: &[&str]) {
    assert_eq!(fs::read_to_string(root.path().join("a")).expect("readable"), file);
    let all = root.trashed().expect("a list");
    let dir = root.replaced_folder(false).expect("it is there");
    let found: Vec<_> =
        all.iter().map(|one| String::from_utf8(content(&dir, &one.id).expect("kept"))).collect();
    assert_eq!(found.into_iter().map(|text| text.expect("a text")).collect::<Vec<_>>(), kept);
}

/// Puts the newest back.
fn undo(root: &Root) -> Result<(), FileError> {
    root.restore(&root.trashed().expect("a list")[0], &|_| false)
}

/// What that would change.
fn dry_undo(root: &Root) -> Result<Vec<Change>, FileError> {
    root.preview_restore(&root.trashed().expect("a list")[0], &|_| false)
}

#[test]
fn the_last_changes_are_undone_and_done_again() {
    let (_folder, root) = workspace();
    write(&root, "two");
    write(&root, "three");
    check(&root, "three", &["two", "one"]);
    let all = root.trashed().expect("a list");
    undo(&root).expect("it is put back");
    check(&root, "two", &["three", "one"]);
    root.restore(&all[1], &|_| false).expect("the first one is put back, too");
    check(&root, "one", &["two", "three"]);
}

/// A crash at any of these steps, which come after the file and the note of what it was, loses at most that it was an undoing.
#[test]
fn what_an_undoing_has_replaced_is_never_without_a_note() {
    for (step, works) in [(Step::Create, 2), (Step::Write, 2), (Step::Rename(RenameFlags::empty()), 0)] {
        let (folder, root) = workspace();
        write(&root, "two");
        let failing = FailingAfter(step, Mutex::new(works));
        let failing = Root::open_with(root.path(), Access::ReadWrite, Box::new(failing)).expect("a root");
        undo(&failing.with_trash(&folder.path().join("trash"))).expect("it is put back");
        check(&root, "one", &["two"]);
        assert!(!root.trashed().expect("a list")[0].is_undone, "{step:?}");
    }
}

#[test]
fn what_somebody_else_has_written_since_stays() {
    let (_folder, root) = workspace();
    write(&root, "two");
    fs::write(root.path().join("a"), "theirs").expect("writable");
    for refused in [undo(&root).map(drop), dry_undo(&root).map(drop)] {
        assert_eq!(
            refused.expect_err("it is another").to_string(),
            "a was changed since by somebody else, a person or a program, and its SHA-256 is now \
             4c55a8552a2c7261f61f798c2265e6f13358f326ae5b934096ff16bd15e62c33; nothing was put back. Read it; to have the earlier \
             content all the same, move it away first"
        );
    }
    check(&root, "theirs", &["one"]);
    fs::remove_file(root.path().join("a")).expect("removable");
    undo(&root).expect("it is put back where nothing is");
    check(&root, "one", &[]);
}

#[test]
fn what_a_later_write_has_left_is_undone_first() {
    let (_folder, root) = workspace();
    write(&root, "two");
    write(&root, "three");
    let first = &root.trashed().expect("a list")[1];
    assert_eq!(
        root.restore(first, &|_| false).expect_err("it is not as that left it").to_string(),
        "a was written again since by a tool, and its SHA-256 is now \
         8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f; nothing was put back. Put back what the last write \
         replaced first: that is what is found without an id"
    );
    check(&root, "three", &["two", "one"]);
}

#[test]
fn it_comes_back_with_its_mode_where_the_file_is_gone() {
    let (_folder, root) = workspace();
    let file = root.path().join("a");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    write(&root, "two");
    fs::remove_file(&file).expect("removable");
    undo(&root).expect("it is put back");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
}

/// It costs no second copy on the disk, and none of its own names leads to it any more.
#[test]
fn the_file_itself_is_kept_where_it_can_be() {
    let (_folder, root) = workspace();
    let inode = |path: &std::path::Path| fs::metadata(path).map(|meta| (meta.ino(), meta.nlink()));
    let file = root.path().join("a");
    for expect in [Expect::Anything, Expect::Content(b"two".into())] {
        let before = inode(&file).expect("it is there");
        root.write(&root.locate("a").expect("a path"), b"two", &expect).expect("writable");
        let id = &root.trashed().expect("a list")[0].id;
        let kept = root.trash_folder().expect("one").with_extension("replaced").join(id);
        assert_eq!(inode(&kept).expect("it is there"), before, "{expect:?}");
        assert_ne!(inode(&file).expect("it is there").0, before.0, "{expect:?}");
    }
}

/// A program that has it open writes on there. It is the only one of its kind, so it comes back whole or stays.
#[test]
fn what_has_grown_too_large_is_not_cut() {
    let (_folder, root) = workspace();
    let file = root.path().join("a");
    let mut log = fs::OpenOptions::new().append(true).open(&file).expect("a file");
    let grow =
        |log: &mut fs::File| log.write_all(&vec![b'x'; REPLACED_BYTES_MAX as usize]).expect("writable");
    write(&root, "two");
    grow(&mut log);
    for refused in [undo(&root).map(drop), dry_undo(&root).map(drop)] {
        assert_eq!(
            refused.expect_err("it is too large").to_string(),
            "the earlier content, on which a program has written on, is larger than 10 MiB; to have it back all the same, \
             move the file away first"
        );
    }
    assert_eq!(fs::read_to_string(&file).expect("readable"), "two");
    fs::rename(&file, root.path().join("away")).expect("movable");
    undo(&root).expect("it is put back where nothing is");
    assert_eq!(fs::metadata(&file).expect("it is there").len(), 3 + REPLACED_BYTES_MAX);

    fs::write(&file, "one").expect("writable");
    write(&root, "two");
    grow(&mut log);
    write(&root, "three");
    check(&root, "three", &["two"]);
}

/// It was never waited for.
#[test]
fn what_is_put_back_where_nothing_is_is_on_the_disk() {
    let (folder, root) = workspace();
    write(&root, "two");
    fs::remove_file(root.path().join("a")).expect("removable");
    let steps = Arc::<Mutex<Vec<Step>>>::default();
    let noting =
        Root::open_with(root.path(), Access::ReadWrite, Box::new(Noting(steps.clone()))).expect("a root");
    undo(&noting.with_trash(&folder.path().join("trash"))).expect("it is put back");
    let expected = [Step::Sync, Step::Rename(RenameFlags::NOREPLACE), Step::SyncFolder];
    assert_eq!(*steps.lock().expect("nobody panics"), expected);
}

#[test]
fn another_name_of_the_file_changes_nothing_that_is_kept() {
    let (_folder, root) = workspace();
    fs::hard_link(root.path().join("a"), root.path().join("other")).expect("a link");
    write(&root, "two");
    fs::write(root.path().join("other"), "theirs").expect("writable");
    check(&root, "two", &["one"]);
}

#[test]
fn what_is_taken_back_was_never_there() {
    let (_folder, root) = workspace();
    write(&root, "two");
    let path = root.locate("a").expect("a path");
    let left = root.write(&path, b"three", &Expect::Anything).expect("writable").sha256;
    root.take_back(&path, b"two", &left).expect("it is as it was left");
    check(&root, "two", &["one"]);
}

#[test]
fn what_was_not_written_keeps_nothing_and_a_new_file_neither() {
    let (_folder, root) = workspace();
    let path = root.locate("a").expect("a path");
    for wrong in [Expect::Sha256("0".repeat(64)), Expect::Content(b"three".into()), Expect::Absent] {
        let refused = root.write(&path, b"two", &wrong).expect_err("it is another");
        assert!(matches!(refused, FileError::Changed(Some(_))), "{wrong:?}");
    }
    let new = root.locate("b").expect("a path");
    root.write(&new, b"new", &Expect::Absent).expect("writable");
    // Not even for a moment.
    assert!(root.replaced_folder(false).is_err());
    assert!(root.trashed().expect("a list").is_empty());
}

#[test]
fn a_write_that_fails_leaves_nothing_of_what_it_was_about_to_keep() {
    let another = (Step::MakeFolders, "six");
    let steps = [Step::Create, Step::Write, Step::Sync, Step::Rename(RenameFlags::EXCHANGE)];
    for (step, expected) in steps.map(|step| (step, "one")).into_iter().chain([another]) {
        let (folder, root) = workspace();
        let failing = Root::open_with(root.path(), Access::ReadWrite, Box::new(Failing(step)));
        let failing = failing.expect("a root").with_trash(&folder.path().join("trash"));
        let (path, expect) = (root.locate("a").expect("a path"), Expect::Content(expected.into()));
        failing.write(&path, b"two", &expect).expect_err("it does not come to its end");
        assert_eq!(fs::read_to_string(root.path().join("a")).expect("readable"), "one", "{step:?}");
        let kept = root.replaced_folder(false).expect("it is there").entries().expect("a list").count();
        assert_eq!(kept, 0, "{step:?}");
    }
}

#[test]
fn a_note_that_was_left_alone_goes_when_it_is_old() {
    let (_folder, root) = workspace();
    write(&root, "two");
    let dir = root.replaced_folder(false).expect("it is there");
    let note = format!("{:012x}00000000{NOTE}", 1);
    dir.write(&note, "{}").expect("writable");
    write(&root, "three");
    assert!(!dir.exists(&note));
    check(&root, "three", &["two", "one"]);
}

#[test]
fn a_dry_run_tells_what_would_be_put_back() {
    let (_folder, root) = workspace();
    write(&root, "two");
    let told = dry_undo(&root).expect("a change");
    assert_eq!(told[0].after.as_ref().and_then(|after| after.shown.clone()), Some(b"one".to_vec()));
    check(&root, "two", &["one"]);
}

#[test]
fn no_more_than_so_many_are_kept_and_none_that_is_old_or_large() {
    let (_folder, root) = workspace();
    for nth in 0..REPLACED_MAX + 5 {
        write(&root, &nth.to_string());
    }
    let all = root.trashed().expect("a list");
    assert_eq!(all.len(), REPLACED_MAX);
    let dir = root.replaced_folder(false).expect("it is there");
    let (new, old) = (&all[0].id, format!("{:012x}00000000", 1));
    for ending in ["", NOTE] {
        dir.rename(format!("{new}{ending}"), &dir, format!("{old}{ending}")).expect("renamable");
    }
    write(&root, "last");
    assert!(!root.trashed().expect("a list").iter().any(|one| one.id == old));
    let large = vec![7; REPLACED_BYTES_MAX as usize + 1];
    root.write(&root.locate("a").expect("a path"), &large, &Expect::Anything).expect("writable");
    let newest = || root.trashed().expect("a list").swap_remove(0).id;
    let before = newest();
    write(&root, "small again");
    assert_eq!(newest(), before);
}

#[test]
fn without_a_trash_nothing_is_kept() {
    let (_folder, root) = workspace();
    let bare = Root::open(root.path(), Access::ReadWrite).expect("a root");
    write(&bare, "two");
    assert!(root.trashed().expect("a list").is_empty());
}
