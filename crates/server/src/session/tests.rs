//! One conversation: what runs in it, what is asked in it, and what is kept of it.

use bytes::Bytes;
use futures_util::FutureExt;
use gate::{Caller, Via};
use wire::message::Text;
use wire::{Id, LogLevel, Revision};

use super::*;

fn session() -> Arc<Session> {
    Session::new(Caller::local_user(Via::Stdio), Revision::LATEST_LEGACY)
}

#[test]
fn an_id_is_free_again_once_its_call_has_ended() {
    let session = session();
    let id = Id::number(1);
    assert!(!session.is_busy());
    let running = session.begin(&id).expect("free");
    assert!(session.is_busy());
    assert_eq!(session.begin(&id).err(), Some(BeginFault::Duplicate));
    session.cancel(&Id::number(2));
    assert!(!running.cancel.is_cancelled());
    session.cancel(&id);
    assert!(running.cancel.is_cancelled());
    drop(running);
    assert!(session.begin(&id).is_ok());
}

#[test]
fn calls_in_flight_are_bounded() {
    let session = session();
    let running: Vec<_> =
        (0..CALLS_IN_FLIGHT_MAX as u64).map(|n| session.begin(&Id::number(n)).expect("free")).collect();
    let over = Id::number(u64::MAX);
    assert_eq!(session.begin(&over).err(), Some(BeginFault::TooMany));
    drop(running);
    assert!(session.begin(&over).is_ok());
}

#[test]
fn what_is_kept_of_a_client_is_bounded() {
    for (length, is_kept) in [(0, true), (4 * 1024, true), (4 * 1024 + 1, false)] {
        let session = session();
        let said = Bytes::from(vec![b' '; length]);
        session.introduce(said.clone(), Some(said.clone()));
        let (client, _) = session.client();
        assert_eq!(client.info, is_kept.then_some(said.clone()), "{length}");
        let capabilities = if is_kept { said } else { Bytes::from_static(b"{}") };
        assert_eq!(client.capabilities, capabilities, "{length}");
    }
}

#[test]
fn open_subscriptions_are_bounded() {
    let session = session();
    let open: Vec<_> = (0..LISTENS_MAX).map(|_| session.listen().expect("room")).collect();
    assert!(session.listen().is_none());
    assert_eq!(session.listens(), LISTENS_MAX, "one that was refused is not counted");
    drop(open);
    assert!(session.listen().is_some());
}

#[test]
fn every_revision_and_level_can_be_settled_on() {
    let session = session();
    assert_eq!(session.client().0.log_level, Some("info"));
    for revision in Revision::ALL {
        session.settle(revision);
        assert_eq!(session.revision(), revision);
    }
    for level in wire::log_level::NAMES {
        session.set_log_level(LogLevel::parse(level).unwrap());
        assert_eq!(session.client().0.log_level, Some(level));
    }
}

#[test]
fn modern_requests_behind_a_socket_are_of_nobody_known() {
    let number = |via| {
        let session = Session::new(Caller::local_user(via), Revision::LATEST_LEGACY);
        [session.conversation_of_request(), session.conversation_of_request()]
    };
    let [first, second] = number(Via::Stdio);
    assert_eq!(first, second);
    let [first, second] = number(Via::Socket);
    assert_ne!(first, second);
}

#[test]
fn whoever_keeps_something_for_a_conversation_hears_of_its_end() {
    let session = session();
    assert!(session.client().0.over.is_none(), "before the handshake there is nothing to keep");
    session.introduce(Bytes::from_static(b"{}"), None);
    let over = session.client().0.over.expect("it is known now");
    assert!(!over.is_cancelled());
    session.end();
    assert!(over.is_cancelled());
}

#[test]
fn conversations_have_numbers_of_their_own() {
    assert_ne!(session().conversation, session().conversation);
    assert_ne!(session().conversation, 0);
}

fn text(json: &'static str) -> Text {
    Text::check(Bytes::from_static(json.as_bytes())).expect("a sample is sound")
}

#[test]
fn an_answer_reaches_who_asked_once_and_in_its_own_session_only() {
    let (session, other) = (session(), session());
    let mut question = session.ask().expect("room");
    let foreign = other.ask().expect("room");
    assert_eq!(question.id(), foreign.id(), "ids are alike in all sessions");
    assert!(!session.answer(&Id::number(77), Ok(text("1"))));
    assert!(question.answered().now_or_never().is_none());
    assert!(session.answer(&question.id(), Ok(text("2"))));
    assert!(!session.answer(&question.id(), Ok(text("3"))), "answered twice");
    assert_eq!(question.answered().now_or_never().flatten(), Some(Ok(text("2"))));
    let id = foreign.id();
    drop(foreign);
    assert!(!other.answer(&id, Ok(text("4"))), "nobody waits any more");
}

#[test]
fn open_questions_are_bounded() {
    let session = session();
    let open: Vec<_> = (0..QUESTIONS_MAX).map(|_| session.ask().expect("room")).collect();
    assert!(session.ask().is_none());
    drop(open);
    assert!(session.ask().is_some());
}
