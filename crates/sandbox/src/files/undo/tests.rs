//! What a tool has replaced is kept, put back, and forgotten in time.
#![expect(clippy::disallowed_methods, reason = "files of a workspace")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::super::notes::NOTE;
use super::super::replaced::{REPLACED_BYTES_MAX, REPLACED_MAX};
use super::super::root::Access;
use super::*;

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

#[test]
fn what_somebody_else_has_written_since_stays() {
    let (_folder, root) = workspace();
    write(&root, "two");
    fs::write(root.path().join("a"), "theirs").expect("writable");
    assert!(matches!(undo(&root), Err(FileError::Changed(Some(_)))));
    check(&root, "theirs", &["one"]);
    fs::remove_file(root.path().join("a")).expect("removable");
    undo(&root).expect("it is put back where nothing is");
    check(&root, "one", &[]);
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
    let wrong = Expect::Sha256("0".repeat(64));
    assert!(matches!(root.write(&path, b"two", &wrong), Err(FileError::Changed(_))));
    let new = root.locate("b").expect("a path");
    root.write(&new, b"new", &Expect::Absent).expect("writable");
    check(&root, "one", &[]);
}

#[test]
fn a_dry_run_tells_what_would_be_put_back() {
    let (_folder, root) = workspace();
    write(&root, "two");
    let told = root.preview_restore(&root.trashed().expect("a list")[0], &|_| false).expect("a change");
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
    let before = root.trashed().expect("a list").len();
    write(&root, "small again");
    assert_eq!(root.trashed().expect("a list").len(), before);
}

#[test]
fn without_a_trash_nothing_is_kept() {
    let (_folder, root) = workspace();
    let bare = Root::open(root.path(), Access::ReadWrite).expect("a root");
    write(&bare, "two");
    assert!(root.trashed().expect("a list").is_empty());
}
