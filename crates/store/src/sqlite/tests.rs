//! One file on a disk: when it is made, who may read it, and what becomes of it.
#![expect(clippy::disallowed_methods, reason = "files of the tests' own")]

mod gone;
mod lost;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, params};
use tempfile::TempDir;

use super::file::FILE;
use super::*;
use crate::{
    CELLS_PER_KIND_MAX, CellStore, Change, Content, DefinitionStore, JobStore as _, Kind, Query,
    REQUESTS_OF_OWNER_MAX, StoreError, Whose, wait,
};

fn keep(store: &SqliteStore, key: &str, value: &str) -> Result<(), StoreError> {
    wait(store.overwrite(Kind::Anchor, key, value.into()))
}

fn anchor(store: &SqliteStore, key: &str) -> Result<Option<String>, StoreError> {
    let cell = wait(store.cell(Kind::Anchor, key))?;
    Ok(cell.map(|cell| String::from_utf8(cell.value).unwrap()))
}

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn touches_no_disk_before_the_first_use() {
    let dir = scratch();
    let state = dir.path().join("a/b");
    let store = SqliteStore::at(&state);
    assert!(!dir.path().join("a").exists());
    keep(&store, "x", "y").unwrap();
    for folder in [dir.path().join("a"), state.clone()] {
        assert_eq!(mode(&folder), 0o700, "{folder:?}");
    }
    for file in [FILE, "toolcrib.db-wal", "toolcrib.db-shm"] {
        assert_eq!(mode(&state.join(file)), 0o600, "{file}");
    }
}

#[test]
fn reading_makes_no_database_and_starts_no_thread() {
    let dir = scratch();
    let state = dir.path().join("a");
    let store = SqliteStore::at(&state);
    assert_eq!((anchor(&store, "x").unwrap(), wait(store.changes(Kind::Key)).unwrap()), (None, 0));
    assert_eq!(wait(store.definitions("git", "a")).unwrap(), None);
    assert!(wait(store.cells(&Query::all(Kind::Key))).unwrap().is_empty());
    assert_eq!(wait(store.remove_ended(Kind::Key, 1)).unwrap(), 0);
    assert!(!state.exists() && store.worker.lock().unwrap().is_none());
    keep(&SqliteStore::at(&state), "x", "y").unwrap();
    assert_eq!(anchor(&store, "x").unwrap().as_deref(), Some("y"), "another process has made one");
}

#[test]
fn work_is_done_though_nobody_waits_for_it() {
    let dir = scratch();
    let store = SqliteStore::at(dir.path());
    drop(store.overwrite(Kind::Anchor, "x", b"y".to_vec()));
    drop(store);
    assert_eq!(anchor(&SqliteStore::at(dir.path()), "x").unwrap().as_deref(), Some("y"));
}

#[test]
fn a_database_that_others_could_read_is_closed_to_them() {
    // What the owner may do is theirs to say.
    for (found, left) in [(0o644, 0o600), (0o601, 0o600), (0o700, 0o700)] {
        let dir = scratch();
        keep(&SqliteStore::at(dir.path()), "x", "y").unwrap();
        fs::set_permissions(dir.path().join(FILE), Permissions::from_mode(found)).unwrap();
        let store = SqliteStore::at(dir.path());
        assert_eq!(anchor(&store, "x").unwrap().as_deref(), Some("y"));
        for file in [FILE, "toolcrib.db-wal", "toolcrib.db-shm"] {
            assert_eq!(mode(&dir.path().join(file)), left, "{file} {found:o}");
        }
    }
}

#[test]
fn a_database_that_cannot_grow_is_full_and_read_on() {
    let dir = scratch();
    let store = SqliteStore::at(dir.path());
    keep(&store, "x", "y").unwrap();
    wait(store.run(|connection| Ok(connection.pragma_update(None, "max_page_count", 1)?))).unwrap();
    let large = vec![0; Kind::Grant.bytes_max()];
    assert!(matches!(wait(store.overwrite(Kind::Grant, "a", large)), Err(StoreError::NoSpace)));
    assert_eq!(anchor(&store, "x").unwrap().as_deref(), Some("y"));
    // What is read puts nothing right, what is written does, also by those who have another connection.
    assert_eq!(store.trouble(), Some(StoreError::NoSpace.to_string()));
    wait(SqliteJobs::beside(&store).enqueue(gone::job("a"), gone::ROOM)).unwrap();
    assert_eq!(store.trouble(), None);
}

#[test]
fn a_database_survives_the_process_that_wrote_it() {
    let dir = scratch();
    keep(&SqliteStore::at(dir.path()), "x", "y").unwrap();
    assert_eq!(anchor(&SqliteStore::at(dir.path()), "x").unwrap().as_deref(), Some("y"));
}

#[test]
fn many_first_uses_at_once_find_one_database() {
    let dir = scratch();
    thread::scope(|scope| {
        for nth in 0..8 {
            let store = SqliteStore::at(dir.path());
            scope.spawn(move || keep(&store, &format!("key {nth}"), "kept").unwrap());
        }
    });
    let store = SqliteStore::at(dir.path());
    for nth in 0..8 {
        assert_eq!(anchor(&store, &format!("key {nth}")).unwrap().as_deref(), Some("kept"));
    }
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let dir = scratch();
    let path = dir.path().join(FILE);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", schema::VERSION + 1).unwrap();
    let before = fs::read(&path).unwrap();
    let error = anchor(&SqliteStore::at(dir.path()), "x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state database toolcrib.db has version 8, this program knows 7; \
         use the newer toolcrib, or another state.dir"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_file_is_named_with_the_way_out() {
    let dir = scratch();
    fs::write(dir.path().join(FILE), "planted secret, no database".repeat(100)).unwrap();
    let error = anchor(&SqliteStore::at(dir.path()), "x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state database toolcrib.db is damaged; stop every toolcrib, move the file away and start again: \
         lost with it are the API keys (nobody is let in over HTTP until there are new ones), the kept secrets (which \
         are struck out of nothing until they are set again), the sign-ins to servers, approvals and grants, and what \
         the tools of servers were when they were accepted; if you have a copy of the file, put that back instead"
    );
    fs::remove_file(dir.path().join(FILE)).unwrap();
    keep(&SqliteStore::at(dir.path()), "x", "y").unwrap();
}

#[test]
fn a_folder_that_cannot_be_is_tried_again() {
    let dir = scratch();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "").unwrap();
    let store = SqliteStore::at(&blocked.join("state"));
    let error = anchor(&store, "x").unwrap_err().to_string();
    assert!(error.contains("cannot be used; check its permissions or set state.dir"), "{error}");
    fs::remove_file(&blocked).unwrap();
    assert_eq!(anchor(&store, "x").unwrap(), None);
}

#[test]
fn a_database_locked_by_another_is_busy_not_damaged() {
    let dir = scratch();
    let store = SqliteStore::at(dir.path());
    keep(&store, "x", "y").unwrap();
    wait(store.run(|connection| Ok(connection.busy_timeout(Duration::ZERO)?))).unwrap();
    let other = Connection::open(dir.path().join(FILE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(keep(&store, "x", "z"), Err(StoreError::Busy)));
    assert_eq!(anchor(&store, "x").unwrap().as_deref(), Some("y"), "readers do not wait");
    other.execute_batch("ROLLBACK").unwrap();
    keep(&store, "x", "z").unwrap();
}

#[test]
fn a_kind_has_no_more_cells_than_it_may() {
    let dir = scratch();
    let store = SqliteStore::at(dir.path());
    // Put one by one they would take minutes.
    let all_but_one = "WITH RECURSIVE each (nth) AS (SELECT 2 UNION ALL SELECT nth + 1 FROM each WHERE nth < ?1) \
                       INSERT INTO cells (kind, key, value) SELECT 'grant', CAST(nth AS TEXT), x'' FROM each";
    let filled = store.run(|connection| Ok(connection.execute(all_but_one, [CELLS_PER_KIND_MAX as i64])?));
    assert_eq!(wait(filled).unwrap(), CELLS_PER_KIND_MAX - 1);
    let put = |kind, key, expected| Change::put(kind, key, expected, Vec::new());
    let commit = |changes: Vec<Change>| match wait(store.commit(changes)) {
        Err(StoreError::Full { max: CELLS_PER_KIND_MAX, .. }) => None,
        made => Some(made.unwrap().expect("nobody else changes it")[0]),
    };
    assert_eq!(commit(vec![put(Kind::Grant, "x", None), put(Kind::Grant, "y", None)]), None);
    let last = commit(vec![put(Kind::Grant, "x", None)]);
    assert!(last.is_some(), "there was room for one");
    assert_eq!(commit(vec![put(Kind::Grant, "y", None)]), None);
    assert!(commit(vec![put(Kind::Pin, "y", None)]).is_some(), "it is of another kind");
    let last = commit(vec![put(Kind::Grant, "x", last)]).expect("it takes its own place");
    assert!(commit(vec![Change::remove(Kind::Grant, "x", last), put(Kind::Grant, "y", None)]).is_some());
}

#[test]
fn an_owner_has_no_more_request_ids_than_one_may_and_others_have_room() {
    let dir = scratch();
    let store = SqliteStore::at(dir.path());
    let all_but_one = "WITH RECURSIVE each (nth) AS (SELECT 2 UNION ALL SELECT nth + 1 FROM each WHERE nth < ?1) \
                       INSERT INTO cells (kind, key, owner, ends_at_ms, value) \
                       SELECT 'request', CAST(nth AS TEXT), 'anna', nth, x'' FROM each";
    let filled = store.run(|connection| Ok(connection.execute(all_but_one, [REQUESTS_OF_OWNER_MAX as i64])?));
    assert_eq!(wait(filled).unwrap(), REQUESTS_OF_OWNER_MAX - 1);
    let commit = |key: &str, owner: &str| {
        let (owner, ends_at_ms) = (owner.to_owned(), Some(99_999));
        let content = Content { owner, ends_at_ms, ..Content::default() };
        wait(store.commit(vec![Change::put(Kind::Request, key, None, content)])).map(|made| made.is_some())
    };
    assert!(commit("last", "anna").unwrap());
    let full = commit("more", "anna").unwrap_err();
    assert!(
        matches!(
            full,
            StoreError::Full {
                kind: "request",
                max: REQUESTS_OF_OWNER_MAX,
                of: Whose::Owner,
                ends_at_ms: Some(2)
            }
        ),
        "{full:?}"
    );
    assert!(commit("more", "ben").unwrap(), "it is another's");
    assert_eq!(wait(store.remove_ended(Kind::Request, 2)).unwrap(), 1);
    assert!(commit("more of hers", "anna").unwrap(), "one is over");
    assert!(commit("more still", "anna").is_err());
}

#[test]
fn a_database_of_the_version_before_is_taken_over() {
    let dir = scratch();
    let before = Connection::open(dir.path().join(FILE)).unwrap();
    before.execute_batch(schema::TABLES).unwrap();
    let about = |more: &str| format!(r#"{{"ttl_ms":1000,"updated_at_ms":5{more}}}"#).into_bytes();
    for (id, state, about) in [
        ("over", "interrupted", about(r#","ended_at_ms":7"#)),
        ("untold", "interrupted", about("")),
        ("waits", "queued", about("")),
        ("odd", "interrupted", b"not ours".to_vec()),
    ] {
        let sql = "INSERT INTO jobs (id, owner, place, tool, state, bytes, about, call) \
                   VALUES (?1, 'anna', '/w', 't', ?2, 0, ?3, x'')";
        before.execute(sql, params![id, state, about]).unwrap();
    }
    let cells = "INSERT INTO cells (kind, key, owner, value) VALUES \
                 ('request', '1', 'anna', x''), ('request', '2', 'anna', x''), ('anchor', 'x', '', x'79')";
    before.execute_batch(cells).unwrap();
    before.pragma_update(None, "user_version", schema::BEFORE).unwrap();
    drop(before);
    for _ in 0..2 {
        let store = SqliteStore::at(dir.path());
        assert_eq!(anchor(&store, "x").unwrap().as_deref(), Some("y"));
        let read = |sql: &'static str| {
            let rows = store.run(move |connection| {
                let mut statement = connection.prepare(sql)?;
                let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
                Ok(rows.collect::<Result<Vec<_>, _>>()?)
            });
            wait(rows).unwrap().join(" ")
        };
        assert_eq!(
            read("SELECT id || ':' || coalesce(ends_at_ms, '-') FROM jobs ORDER BY number"),
            "over:1007 untold:1005 waits:- odd:-"
        );
        assert_eq!(read("SELECT owner || ':' || count FROM jobs_under_way"), "anna:2");
        assert_eq!(read("SELECT kind || ':' || count FROM cells_of_kind"), "anchor:1 request:2");
        assert_eq!(
            read("SELECT kind || ':' || owner || ':' || count FROM cells_of_owner"),
            "anchor::1 request:anna:2"
        );
    }
}
