//! Who is told what, and who is meant by what names nobody.

use super::super::asked::Kind;
use super::super::exchange::Exchange;
use super::super::waiting::Waiting;
use super::given_up::{GIVEN_UP_MAX, GIVEN_UP_MEMORY};
use super::*;
use std::sync::Arc;

fn text(json: &'static str) -> Text {
    Text::check(Bytes::from_static(json.as_bytes())).expect("JSON")
}

fn caller(conversation: u64) -> Option<Caller> {
    let capabilities = Bytes::from_static(b"{}");
    Some(Caller { conversation, capabilities, log_level: None, may_be_asked: true })
}

async fn next(waiting: &mut Waiting) -> Next {
    std::future::poll_fn(|task| waiting.poll(task)).await
}

fn begin(exchange: &Arc<Exchange>, caller: Option<Caller>) -> Waiting {
    exchange.begin(caller).expect("open")
}

fn report(said: &'static str) -> Happening {
    Happening::Progress(Bytes::from_static(said.as_bytes()))
}

#[tokio::test]
async fn an_answer_finds_its_request_and_reports_come_first() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let (mut first, mut second) = (begin(&exchange, caller(1)), begin(&exchange, caller(1)));
    assert_eq!((first.id(), second.id()), (1, 2));
    let pending = exchange.pending();
    assert!(pending.happened(1, report("half")));
    assert!(pending.answer(2, Ok(Ok(text("2")))));
    assert!(pending.answer(1, Ok(Err(text("1")))));
    assert!(!pending.answer(1, Ok(Ok(text("0")))), "a second answer");
    assert!(!pending.happened(1, report("late")), "a report after the answer");
    assert_eq!(next(&mut first).await, Next::Happened(report("half")));
    assert_eq!(next(&mut first).await, Next::Answered(Ok(Err(text("1")))));
    assert_eq!(next(&mut second).await, Next::Answered(Ok(Ok(text("2")))));
}

#[tokio::test]
async fn who_waits_is_woken() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let mut waiting = begin(&exchange, None);
    let answering = async { exchange.pending().answer(1, Ok(Ok(text("1")))) };
    let (next, answered) = tokio::join!(next(&mut waiting), answering);
    assert_eq!((next, answered), (Next::Answered(Ok(Ok(text("1")))), true));
}

#[test]
fn who_gives_up_is_forgotten() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let waiting = begin(&exchange, None);
    assert_eq!(exchange.pending().only(), Some(1));
    drop(waiting);
    assert_eq!(exchange.pending().only(), None);
    assert!(!exchange.pending().answer(1, Ok(Ok(text("{}")))));
}

#[tokio::test]
async fn the_end_reaches_everyone() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let mut waiting = begin(&exchange, None);
    exchange.pending().end(&Fault::Gone("exited".to_owned()));
    assert_eq!(next(&mut waiting).await, Next::Answered(Err(Fault::Gone("exited".to_owned()))));
    assert_eq!(exchange.begin(None).expect_err("over"), Fault::NotSent("it has stopped".to_owned()));
}

#[test]
fn there_is_an_end_to_waiting_requests_and_to_reports() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let waiting: Vec<_> = (0..REQUESTS_MAX).map(|_| begin(&exchange, None)).collect();
    assert_eq!(exchange.begin(None).expect_err("full"), Fault::Busy);
    let taken = (0..1000).filter(|_| exchange.pending().happened(1, report("x"))).count();
    assert_eq!(taken, REPORTS_WAITING_MAX);
    drop(waiting);
    assert!(exchange.begin(None).is_ok());
}

/// How many of twenty reports of this size are kept while somebody listens, and behind another while nobody does.
#[track_caller]
fn check_reports(bytes: usize, expected: (usize, usize)) {
    let exchange = Arc::new(Exchange::new("it".into()));
    let (listening, mut parked) = (begin(&exchange, caller(1)), begin(&exchange, caller(1)));
    assert!(exchange.pending().happened(parked.id(), report("before")));
    exchange.pending().park(parked.id());
    let said = Bytes::from("x".repeat(bytes));
    let kept =
        |id| (0..20).filter(|_| exchange.pending().happened(id, Happening::Progress(said.clone()))).count();
    assert_eq!((kept(listening.id()), kept(parked.id())), expected, "{bytes}");
    exchange.pending().now_for(parked.id(), caller(1).expect("one"));
    let task = &mut Task::from_waker(Waker::noop());
    assert_eq!(parked.poll(task), Poll::Ready(Next::Happened(report("before"))));
    while parked.poll(task).is_ready() {}
    assert_eq!(kept(parked.id()), expected.0, "it goes on");
}

#[test]
fn only_so_many_bytes_of_reports_are_kept_and_few_while_nobody_listens() {
    check_reports(10, (20, 20));
    check_reports(SUSPENDED_REPORTS_BYTES_MAX / 4, (20, 3));
    check_reports(SUSPENDED_REPORTS_BYTES_MAX, (20, 0));
    check_reports(REPORTS_BYTES_MAX / 4, (4, 0));
    check_reports(REPORTS_BYTES_MAX / 2 + 1, (1, 0));
    check_reports(REPORTS_BYTES_MAX * 2, (1, 0));
}

#[test]
fn no_call_waits_for_its_client_with_many_bytes_of_reports() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let mut waiting = begin(&exchange, caller(1));
    let large = Bytes::from("x".repeat(SUSPENDED_REPORTS_BYTES_MAX + 1));
    assert!(exchange.pending().happened(1, Happening::Progress(large)));
    exchange.pending().park(1);
    assert!(exchange.pending().happened(1, report("late")));
    let task = &mut Task::from_waker(Waker::noop());
    assert_eq!(waiting.poll(task), Poll::Ready(Next::Happened(report("late"))));
}

fn question(id: u64, params: Option<Text>) -> Happening {
    Happening::Asked(Question { id: Id::number(id), kind: Kind::Roots, params, of: None })
}

#[tokio::test]
async fn questions_of_all_calls_have_so_many_bytes() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let (mut one, two) = (begin(&exchange, caller(1)), begin(&exchange, caller(1)));
    let large = format!("\"{}\"", "x".repeat(QUESTIONS_BYTES_MAX / 2));
    let large = Text::check(large.into()).expect("JSON");
    let ask = |id| exchange.pending().happened(id, question(7, Some(large.clone())));
    assert!(ask(one.id()) && !ask(two.id()));
    next(&mut one).await;
    assert!(ask(two.id()) && !ask(one.id()), "the first was taken");
    drop(two);
    assert!(ask(one.id()), "the second was forgotten");
    exchange.pending().withdraw(&Id::number(7));
    assert!(ask(one.id()), "it was taken back");
}

#[tokio::test]
async fn what_is_taken_back_is_not_asked() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let mut waiting = begin(&exchange, caller(1));
    let pending = exchange.pending();
    assert!(pending.happened(1, question(7, None)) && pending.happened(1, question(8, None)));
    pending.withdraw(&Id::number(7));
    pending.withdraw(&Id::number(9));
    assert_eq!(next(&mut waiting).await, Next::Happened(question(8, None)));
    for _ in 0..2 {
        pending.withdraw(&Id::number(8));
    }
    pending.answer(1, Ok(Ok(text("1"))));
    assert_eq!(next(&mut waiting).await, Next::Happened(Happening::Withdrawn("8".into())));
    assert_eq!(next(&mut waiting).await, Next::Answered(Ok(Ok(text("1")))));
}

/// `calls` and requests of our own are open.
#[track_caller]
fn check_only(calls: usize, own: usize, expected: Option<u64>) {
    let exchange = Arc::new(Exchange::new("it".into()));
    let _own: Vec<_> = (0..own).map(|_| begin(&exchange, None)).collect();
    let _calls: Vec<_> = (0..calls).map(|_| begin(&exchange, caller(1))).collect();
    assert_eq!(exchange.pending().only(), expected, "{calls} {own}");
}

#[test]
fn an_answer_that_cannot_be_read_is_taken_for_the_only_calls() {
    check_only(0, 0, None);
    check_only(0, 1, Some(1));
    check_only(0, 2, None);
    check_only(1, 0, Some(1));
    check_only(1, 1, Some(2));
    check_only(1, 3, Some(4));
    check_only(2, 0, None);
    check_only(2, 1, None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_given_up_may_still_be_meant() {
    let exchange = Arc::new(Exchange::new("it".into()));
    let attributed = || exchange.pending().attribute(Via::Shared, |_| true).map(|(id, _)| id);
    let (mine, theirs) = (begin(&exchange, caller(7)), begin(&exchange, caller(8)));
    drop(theirs);
    assert_eq!(attributed(), Err(Nobody::SeveralClients));
    tokio::time::advance(GIVEN_UP_MEMORY).await;
    assert_eq!(attributed(), Ok(mine.id()));
    drop(begin(&exchange, caller(7)));
    assert_eq!(attributed(), Ok(mine.id()), "its own");
    let mut answered = begin(&exchange, caller(8));
    exchange.pending().answer(answered.id(), Ok(Ok(text("1"))));
    next(&mut answered).await;
    drop(answered);
    assert_eq!(attributed(), Ok(mine.id()), "nothing more is to be expected of what is answered");
    let late = begin(&exchange, caller(8)).id();
    assert_eq!(attributed(), Err(Nobody::SeveralClients));
    exchange.pending().answer(late, Ok(Ok(text("1"))));
    assert_eq!(attributed(), Ok(mine.id()), "it has been answered, late");
    for conversation in 0..2 * GIVEN_UP_MAX as u64 {
        drop(begin(&exchange, caller(conversation)));
    }
    assert!(exchange.pending().table().given_up.len() <= GIVEN_UP_MAX);
    assert_eq!(attributed(), Err(Nobody::SeveralClients));
}

#[track_caller]
fn check_attributed(conversations: &[u64], via: Via, expected: Result<u64, Nobody>) {
    let exchange = Arc::new(Exchange::new("it".into()));
    let _own = begin(&exchange, None);
    let _waiting: Vec<_> = conversations.iter().map(|&it| begin(&exchange, caller(it))).collect();
    let attributed = exchange.pending().attribute(via, |caller| caller.may_be_asked);
    assert_eq!(attributed.map(|(id, _)| id), expected, "{conversations:?} {via:?}");
}

#[test]
fn a_message_that_names_no_call_is_attributed_only_if_one_client_can_be_meant() {
    check_attributed(&[], Via::Shared, Err(Nobody::NoCall));
    check_attributed(&[7], Via::Shared, Ok(2));
    check_attributed(&[7, 7, 7], Via::Shared, Ok(4));
    check_attributed(&[7, 8, 7], Via::Shared, Err(Nobody::SeveralClients));
    check_attributed(&[0], Via::Shared, Ok(2));
    check_attributed(&[0, 0], Via::Shared, Err(Nobody::SeveralClients));
    check_attributed(&[7, 8, 7], Via::Request(3), Ok(3));
    check_attributed(&[7], Via::Request(1), Err(Nobody::NoCall));
    check_attributed(&[7], Via::Request(9), Err(Nobody::NoCall));
}

#[track_caller]
fn check_older(calls: &[u64], than: u64, expected: Option<u64>) {
    let exchange = Arc::new(Exchange::new("it".into()));
    let _waiting: Vec<_> = calls.iter().map(|&it| begin(&exchange, caller(it))).collect();
    exchange.pending().answer(2, Ok(Ok(text("1"))));
    assert_eq!(exchange.pending().older(than, 7, |_| true), expected, "{calls:?} {than}");
    assert_eq!(exchange.pending().older(than, 0, |_| true), None, "clients that nobody can tell apart");
    assert_eq!(exchange.pending().older(than, 7, |_| false), None, "not meant");
}

#[test]
fn the_newest_call_before_another_is_an_open_one_of_the_same_conversation() {
    check_older(&[7, 8, 7, 7, 7], 5, Some(4));
    check_older(&[7, 7, 8, 0], 5, Some(1));
    check_older(&[7, 7, 7], 1, None);
    check_older(&[8, 7, 0], 4, None);
}
