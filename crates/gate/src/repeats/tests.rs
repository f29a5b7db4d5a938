//! What a caller is told who sends a call again, from one process or several.

use std::cell::Cell;

use bytes::Bytes;
use policy::{Proof, Via};
use store::SqliteStore;
use tool_api::{Block, ToolError};

use super::*;

thread_local! {
    static NOW_MS: Cell<i64> = const { Cell::new(1_800_000_000_000) };
}

fn clock() -> i64 {
    NOW_MS.get()
}

/// A process that shares this folder.
fn process(folder: &tempfile::TempDir) -> Repeats {
    let store = Arc::new(SqliteStore::at(folder.path()));
    Repeats::new(store.clone(), clock).keyed_by(&Arc::new(Secrets::new(store, folder.path())))
}

fn said(text: &str) -> Result<Outcome, Failure> {
    Ok(Outcome::of(Payload::Ours { blocks: vec![Block::Text(text.to_owned())], structured: None }))
}

/// What a caller is told who sends this call under this id.
async fn asked(repeats: &Repeats, id: &str, call: &str) -> Result<Box<Ticket>, String> {
    asked_by(&Caller::local_user(Via::Http), repeats, id, call).await
}

async fn asked_by(caller: &Caller, repeats: &Repeats, id: &str, call: &str) -> Result<Box<Ticket>, String> {
    match repeats.look_up((caller, "/w"), id, Hash::of(call.as_bytes())).await {
        Ok(Known::Nothing(ticket)) => Ok(ticket),
        Ok(Known::Answer(answer)) => Err(match *answer {
            Ok(Outcome { payload: Payload::Ours { blocks, .. }, .. }) => format!("{blocks:?}"),
            Ok(other) => format!("{other:?}"),
            Err(failure) => format!("failed: {failure}"),
        }),
        Err(fault) => Err(fault.code().to_owned()),
    }
}

async fn told(repeats: &Repeats, id: &str, call: &str) -> String {
    asked(repeats, id, call).await.map_or_else(|told| told, |_| "it may run".to_owned())
}

/// Begins a call.
async fn begun(repeats: &Repeats, id: &str, call: &str) -> Box<Ticket> {
    let mut ticket = asked(repeats, id, call).await.unwrap_or_else(|told| panic!("{id}: {told}"));
    repeats.begin(&mut ticket).await.expect("it begins");
    ticket
}

#[tokio::test]
async fn a_call_runs_once_and_its_answer_is_given_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (process(&folder), process(&folder));
    let ticket = begun(&one, "r1", "call").await;
    assert_eq!(told(&one, "r1", "call").await, "in_progress");
    assert_eq!(told(&two, "r1", "call").await, "interrupted", "nobody can tell who runs it");
    assert_eq!(told(&two, "r1", "other").await, "request_conflict");
    assert_eq!(told(&two, "r2", "other").await, "it may run");
    one.end(&ticket, &said("done")).await;
    drop(ticket);
    for process in [&one, &two, &process(&folder)] {
        assert_eq!(told(process, "r1", "call").await, r#"[Text("done")]"#);
        assert_eq!(told(process, "r1", "other").await, "request_conflict");
    }
    let failed = begun(&two, "r2", "call").await;
    two.end(&failed, &Err(ToolError::new("timeout", "too slow").into())).await;
    assert_eq!(told(&one, "r2", "call").await, "failed: too slow");
}

#[tokio::test]
async fn a_later_key_of_the_same_name_is_told_of_no_answer_of_the_earlier_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let repeats = process(&folder);
    let holder = |key: &str| Caller::local_user(Via::Http).with_proof(Proof::Key(key.into()));
    let (earlier, later) = (holder("k1"), holder("k2"));
    let mut ticket = asked_by(&earlier, &repeats, "r", "call").await.expect("it may run");
    repeats.begin(&mut ticket).await.expect("it begins");
    repeats.end(&ticket, &said("hers")).await;
    assert!(asked_by(&earlier, &repeats, "r", "call").await.is_err_and(|told| told.contains("hers")));
    assert!(asked_by(&later, &repeats, "r", "call").await.is_ok());
}

#[tokio::test]
async fn two_that_come_at_once_are_one_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (process(&folder), process(&folder));
    let mut tickets = Vec::new();
    for repeats in [&one, &one, &two] {
        tickets.push(asked(repeats, "r", "call").await.unwrap_or_else(|told| panic!("{told}")));
    }
    let mut ran = 0;
    for (repeats, ticket) in [&one, &one, &two].into_iter().zip(&mut tickets) {
        match repeats.begin(ticket).await {
            Ok(()) => ran += 1,
            Err(fault) => assert_eq!(fault, RequestFault::InProgress),
        }
    }
    assert_eq!(ran, 1);
}

#[tokio::test]
async fn what_ended_without_an_answer_never_runs_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let repeats = process(&folder);
    drop(begun(&repeats, "gone", "call").await);
    assert_eq!(told(&repeats, "gone", "call").await, "interrupted");
    let long = begun(&repeats, "long", "call").await;
    repeats.end(&long, &said(&"x".repeat(ANSWER_BYTES_MAX))).await;
    assert_eq!(told(&repeats, "long", "call").await, "answer_not_kept");
    let internal = begun(&repeats, "internal", "call").await;
    let call = tool_api::CallId::next();
    repeats.end(&internal, &Err(crate::failure::Internal { call }.into())).await;
    drop(internal);
    assert_eq!(told(&repeats, "internal", "call").await, "interrupted");
}

#[tokio::test]
async fn what_has_not_run_may_run_under_its_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let repeats = process(&folder);
    let asks = Payload::InputRequired { requests: Some(Bytes::new()), state: None, hold: None };
    for (id, result) in [("asks", Ok(Outcome::of(asks))), ("gone", Err(ToolError::gone("u").into()))] {
        let ticket = begun(&repeats, id, "call").await;
        repeats.end(&ticket, &result).await;
        drop(ticket);
        assert_eq!(told(&repeats, id, "call").await, "it may run");
    }
    // A day later, whatever it was.
    drop(begun(&repeats, "old", "call").await);
    NOW_MS.set(NOW_MS.get() + REMEMBERED_MS - 1);
    assert_eq!(told(&repeats, "old", "other").await, "request_conflict");
    NOW_MS.set(NOW_MS.get() + 1);
    drop(begun(&repeats, "old", "other").await);
}

#[tokio::test]
async fn an_answer_lies_sealed_and_opens_under_its_own_id_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let repeats = process(&folder);
    let ticket = begun(&repeats, "r", "call").await;
    repeats.end(&ticket, &said("planted-answer")).await;
    let cell = repeats.store.cell(Kind::Request, &ticket.key).await.expect("a store").expect("a cell");
    assert!(!String::from_utf8_lossy(&cell.value).contains("planted-answer"));
    let other = begun(&repeats, "other", "call").await;
    let moved = Change::put(Kind::Request, &other.key, other.version, cell.value);
    replace(&*repeats.store, moved).await.expect("a store");
    assert_eq!(told(&repeats, "other", "call").await, "answer_not_kept");
}

#[test]
fn who_has_no_id_left_is_told_of_the_limit_and_when_to_try_again() {
    let full =
        |of, ends_at_ms| not_begun(&StoreError::Full { kind: "request", max: 20_000, of, ends_at_ms }, 1_000);
    let limited = full(Whose::Owner, Some(3_541_000));
    assert_eq!(
        limited.to_string(),
        "20000 request ids are remembered of one caller, each for a day, and there are that many, so the call does not run: \
         try again in 1h, or send it without an id"
    );
    let wait = |fault| match fault {
        RequestFault::TooMany { retry_after_ms, .. } => retry_after_ms,
        other => panic!("{other}"),
    };
    assert_eq!(wait(limited), 3_600_000);
    // One that is over goes with the next sweep.
    assert_eq!(wait(full(Whose::Owner, Some(0))), 60_000);
    assert_eq!(wait(full(Whose::All, None)), 86_460_000);
    assert!(full(Whose::All, None).to_string().contains("of all callers"));
    assert_eq!(not_begun(&StoreError::Busy, 0).code(), "requests_unavailable");
}
