//! A disk that takes nothing more: what is kept can be read, and who would keep something is told why not. The child
//! that finds it full is this test program again, which may write no file larger than a few kilobytes.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests start a process of their own, and copy files")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use store::{
    CellStore as _, Change, JobStore as _, Kind, NewJob, Room, SqliteJobs, SqliteStore, StoreError, replace,
    wait,
};

/// Where the child finds its orders.
const FOLDER: &str = "STORE_TEST_FOLDER";

/// Runs a program that may write no larger files than this allows, and does not end when it tries.
const SMALL_FILES: &str = r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#;

const FULL: &str = "the disk is full: the state database toolcrib.db takes nothing new until there is space below the state folder";

fn anchor(store: &SqliteStore) -> Result<Option<String>, StoreError> {
    let cell = wait(store.cell(Kind::Anchor, "x"))?;
    Ok(cell.map(|cell| String::from_utf8(cell.value).unwrap()))
}

fn keep(store: &SqliteStore, value: &str) -> Result<(), StoreError> {
    wait(store.overwrite(Kind::Anchor, "x", value.into()))
}

const ROOM: Room = Room { of_owner: 9, in_all: 9 };

fn job(id: &str) -> NewJob {
    let [owner, place, tool, state] = ["anna", "/w", "echo", "queued"].map(str::to_owned);
    let (about, call) = (b"{}".to_vec(), vec![0; 4 * 1024]);
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

/// What a process finds that starts on a full disk.
#[track_caller]
fn check(dir: &Path, expected: &[&str]) {
    let child = Command::new("/bin/sh")
        .args(["-c", SMALL_FILES])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "the_child", "--ignored", "--nocapture"])
        .env(FOLDER, dir)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let told = String::from_utf8(child.stdout).unwrap();
    let told: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("told: ")).collect();
    assert_eq!(told, expected);
}

#[test]
#[ignore = "the child's part; it does nothing without orders"]
fn the_child() {
    let Some(dir) = env::var_os(FOLDER) else { return };
    let store = SqliteStore::at(Path::new(&dir));
    let told = |what: Result<String, StoreError>| {
        println!("\ntold: {}", what.unwrap_or_else(|error| error.to_string()));
    };
    for _ in 0..2 {
        told(anchor(&store).map(|value| format!("{value:?}")));
        told(wait(store.keys(Kind::Sealed, "")).map(|names| format!("{names:?}")));
        told(keep(&store, "z").map(|()| "kept".to_owned()));
    }
    let jobs = SqliteJobs::at(Path::new(&dir));
    told(wait(jobs.job("j")).map(|job| format!("{:?}", job.map(|job| job.id))));
    told(wait(jobs.enqueue(job("k"), ROOM)).map(|_| "kept".to_owned()));
}

#[test]
fn what_is_kept_can_be_read_while_the_disk_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::at(dir.path());
    keep(&store, "y").unwrap();
    wait(replace(&store, Change::put(Kind::Sealed, "a", None, b"sealed".as_slice()))).unwrap();
    wait(SqliteJobs::at(dir.path()).enqueue(job("j"), ROOM)).unwrap();
    let reads = ["Some(\"y\")", "[\"a\"]", FULL];
    let expected = [&reads[..], &reads, &["Some(\"j\")", FULL]].concat();
    // As a process leaves it that was killed: what it kept is not in the database itself yet.
    let left = tempfile::tempdir().unwrap();
    for file in ["toolcrib.db", "toolcrib.db-wal"] {
        fs::copy(dir.path().join(file), left.path().join(file)).unwrap();
    }
    // The folder of those that hold jobs.
    fs::create_dir(left.path().join("jobs")).unwrap();
    check(left.path(), &expected);
    // As one leaves it that ended in peace.
    drop(store);
    check(dir.path(), &expected);
    for dir in [&left, &dir] {
        let store = SqliteStore::at(dir.path());
        assert_eq!(anchor(&store).unwrap().as_deref(), Some("y"));
        keep(&store, "z").unwrap();
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("tried")));
    }
}

#[test]
fn where_nothing_is_kept_yet_nothing_can_be() {
    let dir = tempfile::tempdir().unwrap();
    let expected = ["None", "[]", FULL, FULL, FULL, FULL, "None", FULL];
    check(dir.path(), &expected);
}
