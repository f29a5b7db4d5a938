//! A disk that takes nothing more, and a database that is for reading only: what is kept can be read, and who would keep
//! something is told why not. The child that finds it so is this test program again: one that may write no file larger than
//! a few kilobytes, or one without the powers of root.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests start a process of their own, and copy files")]

use std::os::unix::fs::PermissionsExt;
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

/// Runs a program that permissions count for, whoever runs the tests.
const NOT_AS_ROOT: &str = r#"[ "$(id -u)" = 0 ] || exec "$0" "$@"
caps=-dac_override,-dac_read_search; exec setpriv --bounding-set "$caps" --inh-caps "$caps" "$0" "$@""#;

const FULL: &str = "the disk is full: the state database toolcrib.db takes nothing new until there is space below the state folder";

const UNWRITABLE: &str = "the state database toolcrib.db cannot be written, and nothing can be kept: make the file and the state folder writable for the user who runs toolcrib, see whether the disk is mounted for reading only, or set another state.dir";

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

/// What a process finds that is run by `how`, a line for the shell.
#[track_caller]
fn check(how: &str, dir: &Path, expected: &[&str]) {
    let child = Command::new("/bin/sh")
        .args(["-c", how])
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
        let kept = keep(&store, "z");
        let is_trouble = matches!(kept, Err(StoreError::NoSpace | StoreError::Unwritable(_)));
        assert_eq!(store.trouble(), is_trouble.then(|| kept.as_ref().unwrap_err().to_string()));
        told(kept.map(|()| "kept".to_owned()));
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
    check(SMALL_FILES, left.path(), &expected);
    // As one leaves it that ended in peace.
    drop(store);
    check(SMALL_FILES, dir.path(), &expected);
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
    check(SMALL_FILES, dir.path(), &expected);
}

/// How a folder was left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    InPeace,
    /// By a process that was killed: what it kept is not in the database itself yet.
    Killed,
}

/// A folder with an anchor, a sealed record and a job, and the mode of the file or folder
/// that is changed for the child.
#[track_caller]
fn check_permissions(left: Left, (changed, mode): (&str, u32), expected: &[&str]) {
    let parent = tempfile::Builder::new().prefix("a b?%23#c").tempdir().unwrap();
    let (dir, written) = (parent.path().join("state"), tempfile::tempdir().unwrap());
    let store = SqliteStore::at(written.path());
    keep(&store, "y").unwrap();
    wait(replace(&store, Change::put(Kind::Sealed, "a", None, b"sealed".as_slice()))).unwrap();
    wait(SqliteJobs::at(written.path()).enqueue(job("j"), ROOM)).unwrap();
    let open = (left == Left::Killed).then_some(store);
    fs::create_dir_all(dir.join("jobs")).unwrap();
    for file in ["toolcrib.db", "toolcrib.db-wal", "database.made"] {
        let is_there = written.path().join(file).exists();
        assert!(is_there || left == Left::InPeace, "{file}");
        is_there.then(|| fs::copy(written.path().join(file), dir.join(file)).unwrap());
    }
    drop(open);
    let at = dir.join(changed);
    let set = |mode| fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
    set(mode);
    check(NOT_AS_ROOT, &dir, expected);
    set(0o700);
    keep(&SqliteStore::at(&dir), "z").unwrap();
}

#[test]
fn what_is_for_reading_only_is_read() {
    let reads = [r#"Some("y")"#, r#"["a"]"#, UNWRITABLE];
    let all = [&reads[..], &reads, &[r#"Some("j")"#, UNWRITABLE]].concat();
    check_permissions(Left::InPeace, ("toolcrib.db", 0o400), &all);
    check_permissions(Left::InPeace, ("", 0o500), &all);
    check_permissions(Left::Killed, ("", 0o500), &all);
    let hidden = "the state folder cannot be used; check its permissions or set state.dir";
    check_permissions(Left::InPeace, ("toolcrib.db", 0o000), &[hidden; 8]);
    check_permissions(
        Left::InPeace,
        ("jobs", 0o500),
        &[r#"Some("y")"#, r#"["a"]"#, "kept", r#"Some("z")"#, r#"["a"]"#, "kept", r#"Some("j")"#, UNWRITABLE],
    );
}
