//! Jobs as SQLite keeps them: what survives, who holds what, and that writes that wait share one sync.

use std::path::Path;

use super::SqliteJobs;
use crate::job_store::{
    Body, Enqueued, EventRow, Hold, Holder, JobChange, JobQuery, JobStore, Kept, NewJob, Room,
};
use crate::reply::wait;

const ROOM: Room = Room { of_owner: 3, in_all: 5 };

fn new(id: &str, owner: &str, is_held: bool) -> NewJob {
    NewJob {
        id: id.to_owned(),
        owner: owner.to_owned(),
        place: "/w".to_owned(),
        tool: "echo".to_owned(),
        state: "queued".to_owned(),
        about: b"{}".to_vec(),
        call: b"sealed".to_vec(),
        is_held,
        events: vec![event(1)],
        losses: 0,
    }
}

fn event(number: u64) -> EventRow {
    EventRow { number, at_ms: 7, body: b"event".to_vec() }
}

fn jobs(dir: &Path) -> SqliteJobs {
    SqliteJobs::at(dir)
}

fn ids(rows: &[crate::job_store::JobRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

#[test]
fn reading_where_no_job_is_kept_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = jobs(dir.path());
    assert!(!store.may_have_jobs());
    assert_eq!(wait(store.job("a")).unwrap(), None);
    assert_eq!(wait(store.jobs(&JobQuery { limit: 9, ..JobQuery::default() })).unwrap(), []);
    assert!(!wait(store.wish("a", Some("cancel"))).unwrap());
    assert_eq!(wait(store.lease("/w", &["queued"], 9)).unwrap(), []);
    #[expect(clippy::disallowed_methods, reason = "looks at the folder from outside")]
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 0);
}

#[test]
fn a_job_is_kept_within_limits_and_found_by_the_next_process() {
    let dir = tempfile::tempdir().unwrap();
    let store = jobs(dir.path());
    for id in ["a", "b", "c"] {
        assert!(matches!(wait(store.enqueue(new(id, "anna", false), ROOM)).unwrap(), Enqueued::Kept(_)));
    }
    assert_eq!(wait(store.enqueue(new("d", "anna", false), ROOM)).unwrap(), Enqueued::OwnerFull);
    for id in ["d", "e"] {
        assert!(matches!(wait(store.enqueue(new(id, "ben", false), ROOM)).unwrap(), Enqueued::Kept(_)));
    }
    assert_eq!(wait(store.enqueue(new("f", "ben", false), ROOM)).unwrap(), Enqueued::Full);
    drop(store);
    let store = jobs(dir.path());
    let query = JobQuery { owner: Some("anna".to_owned()), limit: 2, ..JobQuery::default() };
    let page = wait(store.jobs(&query)).unwrap();
    assert_eq!(ids(&page), ["c", "b"]);
    let next = JobQuery { before: Some(page[1].number), ..query };
    assert_eq!(ids(&wait(store.jobs(&next)).unwrap()), ["a"]);
    assert_eq!(wait(store.body("a", Body::Call)).unwrap().as_deref(), Some(&b"sealed"[..]));
    assert_eq!(wait(store.body("a", Body::Result)).unwrap(), None);
    assert_eq!(wait(store.events("a", 0, 9)).unwrap(), [event(1)]);
    assert_eq!(wait(store.events("a", 1, 9)).unwrap(), []);
    assert_eq!(wait(store.tally()).unwrap(), [("queued".to_owned(), 5)]);
}

#[test]
fn a_change_finds_the_version_it_expects_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = jobs(dir.path());
    wait(store.enqueue(new("a", "anna", true), ROOM)).unwrap();
    let change = |expected, state: &str, ends_at_ms| JobChange {
        id: "a".to_owned(),
        expected,
        state: state.to_owned(),
        about: b"{}".to_vec(),
        ends_at_ms,
        events: vec![event(2)],
        ..JobChange::default()
    };
    assert_eq!(wait(store.change(change(7, "running", None))).unwrap(), None);
    assert_eq!(wait(store.events("a", 1, 9)).unwrap(), []);
    assert_eq!(wait(store.change(change(1, "running", None))).unwrap(), Some(2));
    assert_eq!(wait(store.job("a")).unwrap().unwrap().holder, Some(Holder::Ours));
    assert!(wait(store.wish("a", Some("cancel"))).unwrap());
    assert_eq!(wait(store.wishes()).unwrap(), [("a".to_owned(), "cancel".to_owned())]);
    assert!(!wait(store.forget("a")).unwrap(), "it is under way");
    let last = JobChange { result: Some(b"r".to_vec()), ..change(2, "succeeded", Some(100)) };
    assert_eq!(wait(store.change(last)).unwrap(), Some(3));
    let row = wait(store.job("a")).unwrap().unwrap();
    assert_eq!((row.state.as_str(), row.holder, row.wish), ("succeeded", None, None));
    assert!(!wait(store.wish("a", Some("cancel"))).unwrap(), "it is over");
    assert!(wait(store.forget("a")).unwrap());
    assert_eq!(wait(store.events("a", 0, 9)).unwrap(), []);
}

#[test]
fn what_a_process_held_is_free_once_it_has_ended_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (jobs(dir.path()), jobs(dir.path()));
    wait(first.enqueue(new("a", "anna", true), ROOM)).unwrap();
    wait(first.enqueue(new("b", "anna", false), ROOM)).unwrap();
    assert_eq!(ids(&wait(second.lease("/elsewhere", &["queued"], 9)).unwrap()), [""; 0]);
    assert_eq!(ids(&wait(second.lease("/w", &["paused", "running"], 9)).unwrap()), [""; 0]);
    assert_eq!(ids(&wait(second.lease("/w", &["queued"], 9)).unwrap()), ["b"]);
    assert_eq!(wait(second.release_ended()).unwrap(), 0, "the first lives");
    assert_eq!(wait(second.job("a")).unwrap().unwrap().holder, Some(Holder::Other));
    // What it appends to another's job is dropped.
    wait(second.append("a", vec![event(2)], None)).unwrap();
    assert_eq!(wait(second.events("a", 1, 9)).unwrap(), []);
    drop(first);
    assert_eq!(wait(second.release_ended()).unwrap(), 1);
    assert_eq!(ids(&wait(second.lease("/w", &["queued"], 9)).unwrap()), ["a"]);
    wait(second.append("a", vec![event(2)], Some(b"new".to_vec()))).unwrap();
    assert_eq!(wait(second.job("a")).unwrap().unwrap().about, b"new");
    assert_eq!(wait(second.events("a", 1, 9)).unwrap(), [event(2)]);
    let free = JobChange {
        id: "a".to_owned(),
        expected: 1,
        state: "queued".to_owned(),
        hold: Hold::Release,
        ..JobChange::default()
    };
    assert_eq!(wait(second.change(free)).unwrap(), Some(2));
    assert_eq!(wait(second.job("a")).unwrap().unwrap().holder, None);
}

#[test]
fn what_is_over_is_forgotten_by_its_time_and_its_owners_share() {
    let dir = tempfile::tempdir().unwrap();
    let store = jobs(dir.path());
    let room = Room { of_owner: 99, in_all: 99 };
    for (nth, owner) in [(1, "anna"), (2, "anna"), (3, "anna"), (4, "ben")] {
        let id = format!("{nth}");
        wait(store.enqueue(new(&id, owner, true), room)).unwrap();
        let over = JobChange {
            id,
            expected: 1,
            state: "succeeded".to_owned(),
            ends_at_ms: Some(100 * nth),
            result: Some(vec![0; 100]),
            ..JobChange::default()
        };
        wait(store.change(over)).unwrap();
    }
    wait(store.enqueue(new("runs", "anna", true), room)).unwrap();
    let left = |by_ms, kept| {
        wait(store.expire(by_ms, kept)).unwrap();
        let all = wait(store.jobs(&JobQuery { limit: 9, ..JobQuery::default() })).unwrap();
        all.iter().map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    let ample = Kept { jobs: 9, bytes: 9_999 };
    assert_eq!(left(99, ample), ["runs", "4", "3", "2", "1"]);
    assert_eq!(left(100, ample), ["runs", "4", "3", "2"]);
    assert_eq!(left(100, Kept { bytes: 250, ..ample }), ["runs", "4", "3", "2"]);
    assert_eq!(left(100, Kept { bytes: 200, ..ample }), ["runs", "4", "3"]);
    assert_eq!(left(100, Kept { jobs: 0, ..ample }), ["runs"]);
    assert_eq!(wait(store.events("4", 0, 9)).unwrap(), []);
}

#[test]
fn of_those_that_wait_together_one_that_fails_undoes_nothing_but_itself() {
    let dir = tempfile::tempdir().unwrap();
    let store = jobs(dir.path());
    let room = Room { of_owner: 999, in_all: 999 };
    // They are asked for before any is answered, so most share a transaction. The id of the last is taken.
    let replies: Vec<_> =
        (0..50).map(|nth| store.enqueue(new(&format!("{nth}"), "anna", true), room)).collect();
    let taken = store.enqueue(new("7", "anna", true), room);
    for reply in replies {
        assert!(matches!(wait(reply), Ok(Enqueued::Kept(_))));
    }
    assert!(wait(taken).is_err());
    assert_eq!(wait(store.tally()).unwrap(), [("queued".to_owned(), 50)]);
}
