//! What becomes of a database that goes away while processes have it open: whoever needs it is told so by name, once, and
//! what is there then is used.
#![expect(clippy::disallowed_methods, reason = "these tests remove and damage files")]

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};

use super::super::{SqliteJobs, SqliteStore, file};
use super::{anchor, keep};
use crate::job_store::{JobStore as _, NewJob, Room};
use crate::{CellStore as _, Change, Kind, StoreError, replace, wait};

pub(super) const ROOM: Room = Room { of_owner: 9, in_all: 9 };

pub(super) fn job(id: &str) -> NewJob {
    let [owner, place, tool, state] = ["anna", "/w", "echo", "queued"].map(str::to_owned);
    let (about, call) = (b"{}".to_vec(), b"sealed".to_vec());
    NewJob {
        id: id.to_owned(),
        owner,
        place,
        tool,
        state,
        about,
        call,
        is_held: false,
        events: Vec::new(),
        losses: 0,
    }
}

fn word<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Ok(found) => format!("{found:?}"),
        Err(StoreError::Gone) => "gone".to_owned(),
        Err(StoreError::Damaged) => "damaged".to_owned(),
        Err(other) => other.to_string(),
    }
}

/// What two processes that have it open are told, of which one has jobs as well, after `loss`: three times over.
#[track_caller]
fn check(loss: &dyn Fn(&Path), expected: Expect) {
    let dir = tempfile::tempdir().unwrap();
    let (one, two, jobs) =
        (SqliteStore::at(dir.path()), SqliteStore::at(dir.path()), SqliteJobs::at(dir.path()));
    keep(&one, "x", "before").unwrap();
    assert_eq!(anchor(&two, "x").unwrap().as_deref(), Some("before"));
    wait(jobs.enqueue(job("a"), ROOM)).unwrap();
    loss(dir.path());
    let mut told = String::new();
    for nth in ["b", "c", "d"] {
        let all = [
            word(keep(&one, nth, "after")),
            word(anchor(&two, "x")),
            word(anchor(&two, nth)),
            word(wait(jobs.enqueue(NewJob { losses: jobs.losses(), ..job(nth) }, ROOM)).map(drop)),
            word(wait(jobs.job("a")).map(|job| job.map(|job| job.id))),
            jobs.losses().to_string(),
        ];
        told.push_str(&format!("{}\n", all.join(", ")));
    }
    // Whoever comes later finds what these have.
    let later = SqliteStore::at(dir.path());
    told.push_str(&format!("later: {}\n", word(wait(later.keys(Kind::Anchor, "")))));
    expected.assert_eq(&told);
}

fn remove(dir: &Path, files: &[&str]) {
    files.iter().for_each(|file| fs::remove_file(dir.join(file)).unwrap());
}

const WAL: &str = "toolcrib.db-wal";
const SHM: &str = "toolcrib.db-shm";

#[test]
fn a_database_that_is_removed_is_begun_anew() {
    for loss in
        [&|dir: &Path| remove(dir, &[file::FILE]), &|dir| remove(dir, &[file::FILE, WAL, SHM]), &|dir| {
            fs::rename(dir.join(file::FILE), dir.join("old.db")).unwrap()
        }] as [&dyn Fn(&Path); 3]
    {
        check(
            loss,
            expect![[r#"
                gone, gone, None, gone, None, 1
                (), None, Some("after"), (), None, 1
                (), None, Some("after"), (), None, 1
                later: ["c", "d"]
            "#]],
        );
    }
}

#[test]
fn what_was_committed_last_is_not_written_where_nobody_finds_it() {
    check(
        &|dir| remove(dir, &[WAL]),
        expect![[r#"
        gone, gone, the state database did not answer, gone, Some("a"), 1
        (), Some("before"), Some("after"), (), Some("a"), 1
        (), Some("before"), Some("after"), (), Some("a"), 1
        later: ["c", "d", "x"]
    "#]],
    );
}

#[test]
fn a_database_that_is_replaced_by_something_else_is_damaged_until_that_is_gone() {
    let garbage = |dir: &Path| {
        fs::write(dir.join("garbage"), "garbage ".repeat(2_000)).unwrap();
        fs::rename(dir.join("garbage"), dir.join(file::FILE)).unwrap();
        remove(dir, &[WAL, SHM]);
    };
    check(
        &garbage,
        expect![[r#"
        gone, gone, damaged, gone, damaged, 1
        damaged, damaged, damaged, damaged, damaged, 1
        damaged, damaged, damaged, damaged, damaged, 1
        later: damaged
    "#]],
    );
}

#[test]
fn a_database_that_is_overwritten_is_damaged_until_it_is_mended() {
    let dir = tempfile::tempdir().unwrap();
    let (store, jobs) = (SqliteStore::at(dir.path()), SqliteJobs::at(dir.path()));
    keep(&store, "x", "before").unwrap();
    wait(jobs.enqueue(job("a"), ROOM)).unwrap();
    // As it is once all that was committed is in it.
    wait(store.run(|connection| Ok(connection.pragma_update(None, "wal_checkpoint", "truncate")?))).unwrap();
    let (path, sound) = (dir.path().join(file::FILE), fs::read(dir.path().join(file::FILE)).unwrap());
    fs::write(&path, "garbage ".repeat(20_000)).unwrap();
    let told = || {
        [
            word(wait(jobs.job("a")).map(|job| job.map(|job| job.id))),
            word(wait(jobs.enqueue(NewJob { losses: jobs.losses(), ..job("b") }, ROOM)).map(drop)),
            word(anchor(&store, "x")),
            word(keep(&store, "y", "after")),
        ]
    };
    assert_eq!([told(), told()], [["damaged"; 4]; 2].map(|all| all.map(str::to_owned)));
    // In its place, as a copy is put back.
    fs::write(&path, sound).unwrap();
    let is_mended = |told: [String; 4]| told == ["Some(\"a\")", "()", "Some(\"before\")", "()"];
    assert!(is_mended(told()) || is_mended(told()), "{:?}", told());
}

#[test]
fn as_many_changes_of_another_database_do_not_pass_for_those_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let keep_key = |store: &SqliteStore| {
        wait(replace(store, Change::put(Kind::Key, "ci", None, "{}"))).unwrap().unwrap();
    };
    let (serves, seen) = (SqliteStore::at(dir.path()), |store: &SqliteStore| wait(store.changes(Kind::Key)));
    keep_key(&serves);
    let before = seen(&serves).unwrap();
    remove(dir.path(), &[file::FILE, WAL, SHM]);
    keep_key(&SqliteStore::at(dir.path()));
    assert_eq!((word(keep(&serves, "x", "another one is told")), serves.losses()), ("gone".to_owned(), 1));
    let after = seen(&serves).unwrap();
    assert!(after > before, "{after} {before}");
    assert_eq!(seen(&SqliteStore::at(dir.path())).unwrap(), before, "it is the same to who has lost nothing");
}

#[test]
fn the_memory_that_processes_share_is_one_of_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (SqliteStore::at(dir.path()), SqliteStore::at(dir.path()));
    keep(&one, "x", "before").unwrap();
    remove(dir.path(), &[SHM]);
    assert_eq!(
        (word(anchor(&one, "x")), word(anchor(&one, "x"))),
        ("gone".into(), r#"Some("before")"#.into())
    );
    keep(&two, "y", "after").unwrap();
    assert_eq!(anchor(&one, "y").unwrap().as_deref(), Some("after"));
}

#[test]
fn what_was_committed_last_goes_where_the_database_has_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, elsewhere) = (SqliteStore::at(dir.path()), tempfile::tempdir().unwrap());
    keep(&store, "x", "before").unwrap();
    fs::rename(dir.path().join(file::FILE), elsewhere.path().join(file::FILE)).unwrap();
    assert_eq!(word(keep(&store, "x", "after")), "gone");
    keep(&store, "x", "after").unwrap();
    for (dir, expected) in [(elsewhere.path(), "before"), (dir.path(), "after")] {
        assert_eq!(anchor(&SqliteStore::at(dir), "x").unwrap().as_deref(), Some(expected));
    }
}

#[test]
fn a_copy_that_is_put_in_its_place_is_what_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join(file::FILE), dir.path().join("copy"));
    let store = SqliteStore::at(dir.path());
    keep(&store, "x", "when it was copied").unwrap();
    wait(store.run(|connection| Ok(connection.pragma_update(None, "wal_checkpoint", "truncate")?))).unwrap();
    fs::copy(&path, &copy).unwrap();
    keep(&store, "x", "later").unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(word(anchor(&store, "x")), "gone");
    for store in [&store, &SqliteStore::at(dir.path())] {
        assert_eq!(anchor(store, "x").unwrap().as_deref(), Some("when it was copied"));
    }
}

#[test]
fn a_link_to_the_database_is_followed() {
    let (dir, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let link = dir.path().join(file::FILE);
    keep(&SqliteStore::at(target.path()), "x", "there").unwrap();
    std::os::unix::fs::symlink(target.path().join(file::FILE), &link).unwrap();
    let store = SqliteStore::at(dir.path());
    keep(&store, "y", "through the link").unwrap();
    assert_eq!(anchor(&SqliteStore::at(target.path()), "y").unwrap().as_deref(), Some("through the link"));
    assert_eq!(anchor(&store, "x").unwrap().as_deref(), Some("there"));
    let other = tempfile::tempdir().unwrap();
    keep(&SqliteStore::at(other.path()), "x", "elsewhere").unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(other.path().join(file::FILE), &link).unwrap();
    let told = [word(anchor(&store, "x")), word(anchor(&store, "x"))];
    assert_eq!(told, ["gone", r#"Some("elsewhere")"#]);
    assert_eq!(anchor(&SqliteStore::at(target.path()), "y").unwrap().as_deref(), Some("through the link"));
}

#[test]
fn what_cannot_be_looked_at_is_not_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join(file::FILE), dir.path().join("aside"));
    let store = SqliteStore::at(dir.path());
    keep(&store, "x", "kept").unwrap();
    fs::rename(&path, &aside).unwrap();
    // A link that leads to itself.
    std::os::unix::fs::symlink(&path, &path).unwrap();
    assert!(matches!(anchor(&store, "x"), Err(StoreError::Folder { .. })));
    fs::rename(&aside, &path).unwrap();
    assert_eq!((anchor(&store, "x").unwrap().as_deref(), store.losses()), (Some("kept"), 0));
}

#[test]
fn one_that_is_damaged_while_it_is_in_use_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::at(dir.path());
    keep(&store, "x", "before").unwrap();
    let damaged = wait(store.run(|_| Err::<(), _>(StoreError::Damaged)));
    assert_eq!((word(damaged), store.losses()), ("damaged".to_owned(), 1));
}

#[test]
fn a_job_that_was_sealed_before_a_loss_is_not_kept_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = SqliteJobs::at(dir.path());
    wait(jobs.enqueue(job("a"), ROOM)).unwrap();
    let sealed = NewJob { losses: jobs.losses(), ..job("b") };
    remove(dir.path(), &[file::FILE]);
    assert_eq!(word(wait(jobs.job("a"))), "gone", "another one is told");
    assert_eq!(word(wait(jobs.enqueue(sealed, ROOM))), "gone");
    wait(jobs.enqueue(NewJob { losses: jobs.losses(), ..job("c") }, ROOM)).unwrap();
    assert_eq!(wait(jobs.job("b")).unwrap(), None);
}
