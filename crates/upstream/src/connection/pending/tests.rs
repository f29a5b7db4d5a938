//! Who is told what, and who is meant by what names nobody.

use super::super::asked::Kind;
use super::super::exchange::{Exchange, Waiting};
use super::*;
use crate::habits::Habit;
use std::sync::Arc;
use wire::Id;

fn text(json: &'static str) -> Text {
    Text::check(Bytes::from_static(json.as_bytes())).expect("JSON")
}

fn caller(conversation: u64) -> Option<Caller> {
    let capabilities = Bytes::from_static(b"{}");
    Some(Caller {
        conversation,
        capabilities,
        log_level: None,
        may_be_asked: true,
        habit: None,
        listener: None,
    })
}

async fn next(waiting: &mut Waiting) -> Next {
    std::future::poll_fn(|task| waiting.poll(task)).await
}

/// A request that the server has seen.
fn begin(exchange: &Arc<Exchange>, caller: Option<Caller>) -> Waiting {
    let mut waiting = exchange.begin(caller).expect("open");
    waiting.is_sent = true;
    waiting
}

fn lacking(what: &str) -> Happening {
    Happening::Lacking(what.to_owned())
}

#[tokio::test]
async fn an_answer_finds_its_request_and_comes_last() {
    let exchange = Exchange::untraced();
    let (mut first, mut second) = (begin(&exchange, caller(1)), begin(&exchange, caller(1)));
    assert_eq!((first.id, second.id), (1, 2));
    let pending = &exchange.pending;
    assert!(pending.happened(1, lacking("half")));
    assert!(pending.answer(2, Ok(Ok(text("2")))));
    assert!(pending.answer(1, Ok(Err(text("1")))));
    assert!(!pending.answer(1, Ok(Ok(text("0")))), "a second answer");
    assert!(!pending.happened(1, lacking("late")), "nothing comes after the answer");
    assert_eq!(next(&mut first).await, Next::Happened(lacking("half")));
    assert_eq!(next(&mut first).await, Next::Answered(Ok(Err(text("1")))));
    assert_eq!(next(&mut second).await, Next::Answered(Ok(Ok(text("2")))));
}

#[tokio::test]
async fn who_waits_is_woken() {
    let exchange = Exchange::untraced();
    let mut waiting = begin(&exchange, None);
    let answering = async { exchange.pending.answer(1, Ok(Ok(text("1")))) };
    let (next, answered) = tokio::join!(next(&mut waiting), answering);
    assert_eq!((next, answered), (Next::Answered(Ok(Ok(text("1")))), true));
}

#[test]
fn who_gives_up_is_forgotten() {
    let exchange = Exchange::untraced();
    let waiting = begin(&exchange, None);
    assert_eq!(exchange.pending.only(), Some(1));
    drop(waiting);
    assert_eq!(exchange.pending.only(), None);
    assert!(!exchange.pending.answer(1, Ok(Ok(text("{}")))));
}

#[tokio::test]
async fn the_end_reaches_everyone() {
    let exchange = Exchange::untraced();
    let mut waiting = begin(&exchange, None);
    exchange.pending.end(Parting::ByItself, &Fault::Gone("exited".to_owned()));
    assert_eq!(next(&mut waiting).await, Next::Answered(Err(Fault::Gone("exited".to_owned()))));
    assert_eq!(exchange.begin(None).err(), Some(Fault::NotSent("it has stopped".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn there_is_an_end_to_requests_without_an_answer() {
    let exchange = Exchange::untraced();
    let mut waiting: Vec<_> = (0..REQUESTS_MAX).map(|_| begin(&exchange, caller(1))).collect();
    assert_eq!(exchange.begin(None).err(), Some(Fault::Busy));
    // The server may be busy with what was given up.
    waiting.truncate(REQUESTS_MAX / 2);
    assert_eq!(exchange.begin(None).err(), Some(Fault::Busy));
    drop(waiting);
    // One is answered, late, and its place is another's.
    exchange.pending.answer(1, Ok(Ok(text("1"))));
    drop(begin(&exchange, caller(1)));
    assert_eq!(exchange.begin(None).err(), Some(Fault::Busy));
    tokio::time::advance(GIVEN_UP_MEMORY).await;
    assert!(exchange.begin(None).is_ok());
}

/// Notes the reports that a listener hears.
#[derive(Default)]
struct Reports(Mutex<Vec<Bytes>>);

impl tool_api::Listener for Reports {
    fn progress(&self, progress: Progress) {
        let Progress::Relayed(report) = progress else { panic!("not the server's") };
        self.0.lock().expect("sound").push(report);
    }

    fn log(&self, _: Bytes) {}
}

#[test]
fn progress_is_told_to_whoever_listens_just_then_and_its_last_word_waits_for_who_is_asked() {
    let (exchange, reports) = (Exchange::untraced(), Arc::new(Reports::default()));
    let listening =
        || caller(1).map(|caller| Caller { listener: Some(reports.clone() as _), ..caller }).expect("one");
    let (waiting, pending) = (begin(&exchange, Some(listening())), &exchange.pending);
    let report = |text: &'static str| pending.progress(waiting.id, Bytes::from_static(text.as_bytes()));
    let heard = || std::mem::take(&mut *reports.0.lock().expect("sound"));
    report("1");
    assert_eq!(heard(), ["1"]);
    pending.suspend(waiting.id);
    ["2", "3"].into_iter().for_each(report);
    pending.progress(waiting.id, Bytes::from(vec![b'x'; MISSED_BYTES_MAX + 1]));
    assert!(heard().is_empty(), "its client is asked something");
    pending.now_for(waiting.id, listening());
    assert_eq!(heard(), ["3"]);
    report("4");
    assert!(pending.answer(waiting.id, Ok(Ok(text("1")))));
    report("5");
    assert_eq!(heard(), ["4"], "nothing comes after the answer");
}

fn question(id: u64, params: Option<Text>) -> Happening {
    Happening::Asked(Question { id: Id::number(id), kind: Kind::Roots, params, of: None })
}

#[tokio::test]
async fn questions_of_all_calls_have_so_many_bytes() {
    let exchange = Exchange::untraced();
    let (mut one, two) = (begin(&exchange, caller(1)), begin(&exchange, caller(1)));
    let large = format!("\"{}\"", "x".repeat(QUESTIONS_BYTES_MAX / 2));
    let large = Text::check(large.into()).expect("JSON");
    let ask = |id| exchange.pending.happened(id, question(7, Some(large.clone())));
    assert!(ask(one.id) && !ask(two.id));
    next(&mut one).await;
    assert!(ask(two.id) && !ask(one.id), "the first was taken");
    drop(two);
    assert!(ask(one.id), "the second was forgotten");
}

/// `calls` and requests of our own are open.
#[track_caller]
fn check_only(calls: usize, own: usize, expected: Option<u64>) {
    let exchange = Exchange::untraced();
    let _own: Vec<_> = (0..own).map(|_| begin(&exchange, None)).collect();
    let _calls: Vec<_> = (0..calls).map(|_| begin(&exchange, caller(1))).collect();
    assert_eq!(exchange.pending.only(), expected, "{calls} {own}");
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
    let exchange = Exchange::untraced();
    let attributed = || exchange.pending.attribute(Via::Shared, |_| true, |_| true).map(|(id, _)| id);
    let (mine, theirs) = (begin(&exchange, caller(7)), begin(&exchange, caller(8)));
    drop(theirs);
    assert_eq!(attributed(), Err(Nobody::SeveralClients));
    tokio::time::advance(GIVEN_UP_MEMORY).await;
    assert_eq!(attributed(), Ok(mine.id));
    drop(begin(&exchange, caller(7)));
    assert_eq!(attributed(), Ok(mine.id), "its own");
    let mut answered = begin(&exchange, caller(8));
    exchange.pending.answer(answered.id, Ok(Ok(text("1"))));
    next(&mut answered).await;
    drop(answered);
    assert_eq!(attributed(), Ok(mine.id), "nothing more is to be expected of what is answered");
    let late = begin(&exchange, caller(8)).id;
    assert_eq!(attributed(), Err(Nobody::SeveralClients));
    exchange.pending.answer(late, Ok(Ok(text("1"))));
    assert_eq!(attributed(), Ok(mine.id), "it has been answered, late");
}

#[track_caller]
fn check_attributed(conversations: &[u64], via: Via, expected: Result<u64, Nobody>) {
    let exchange = Exchange::untraced();
    let _own = begin(&exchange, None);
    let _waiting: Vec<_> = conversations.iter().map(|&it| begin(&exchange, caller(it))).collect();
    let attributed = exchange.pending.attribute(via, |caller| caller.may_be_asked, |_| true);
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

/// A question comes while calls of these conversations are under way; then calls are answered (`true`) or given up.
#[track_caller]
fn check_held(conversations: &[u64], then: &[(u64, bool)], expected: &str) {
    let exchange = Exchange::untraced();
    let able = |conversation| {
        let capabilities = Bytes::from_static(br#"{"roots":{}}"#);
        caller(conversation).map(|caller| Caller { capabilities, ..caller })
    };
    let mut waiting: Vec<_> = conversations.iter().map(|&it| Some(begin(&exchange, able(it)))).collect();
    let question = Question { id: Id::number(7), kind: Kind::Roots, params: None, of: None };
    assert_eq!(exchange.pending.ask(Via::Shared, question), Ok(()));
    let _late = begin(&exchange, able(99));
    for &(id, is_answered) in then {
        match is_answered {
            true => drop(exchange.pending.answer(id, Ok(Ok(text("{}"))))),
            false => waiting[usize::try_from(id - 1).expect("small")] = None,
        }
    }
    let mut came: Vec<_> = exchange.pending.take_refused().iter().map(|_| "refused".to_owned()).collect();
    for waiting in waiting.iter_mut().flatten() {
        let id = waiting.id;
        let task = &mut Task::from_waker(Waker::noop());
        if matches!(waiting.poll(task), Poll::Ready(Next::Happened(Happening::Asked(_)))) {
            came.push(format!("{id} asked"));
        }
    }
    assert_eq!(came.join(", "), expected, "{conversations:?} {then:?}");
}

#[tokio::test]
async fn a_question_that_several_clients_calls_may_have_asked_waits_until_it_is_known_whose_it_is() {
    check_held(&[1, 2], &[], "");
    check_held(&[1, 2], &[(1, true)], "2 asked");
    check_held(&[1, 2], &[(2, true)], "1 asked");
    check_held(&[1, 2, 2], &[(1, true)], "3 asked");
    check_held(&[1, 2, 3], &[(2, true)], "");
    check_held(&[0, 0], &[(1, true)], "2 asked");
    check_held(&[0, 0, 0], &[(1, true)], "");
    check_held(&[1, 2], &[(1, true), (2, true)], "2 asked");
    // What was given up may have asked, and is not heard of any more.
    check_held(&[1, 2], &[(1, false)], "refused");
    check_held(&[1, 2], &[(1, false), (2, false)], "refused");
    check_held(&[1, 1, 2], &[(1, false), (3, true)], "2 asked");
}

/// What becomes of a call of conversation 1, of a tool known to be quiet or not, beside calls of these.
#[track_caller]
fn check_turn(is_quiet: bool, others: &[(u64, bool)], expected: Option<Blocked>) {
    let exchange = Exchange::untraced();
    let of = |(conversation, is_quiet): (u64, bool)| {
        let habit = Arc::new(Habit::default());
        is_quiet.then(|| habit.answered(&text("{}")));
        caller(conversation).map(|caller| Caller { habit: Some(habit), ..caller })
    };
    let _waiting: Vec<_> = others.iter().map(|&other| begin(&exchange, of(other))).collect();
    let turn = exchange.pending.enter(&of((1, is_quiet)).expect("a caller")).expect("open");
    let id = u64::try_from(others.len()).expect("few") + 1;
    assert_eq!(turn, expected.map_or(Turn::Taken(id), Turn::Blocked), "{is_quiet} {others:?}");
}

#[tokio::test]
async fn a_call_that_may_ask_is_there_with_its_own_conversation_alone() {
    let blocked = Some(Blocked::default());
    check_turn(false, &[], None);
    check_turn(false, &[(1, false), (1, true)], None);
    check_turn(false, &[(2, true)], blocked);
    check_turn(false, &[(1, true), (2, false)], blocked);
    check_turn(true, &[(2, true), (3, true)], None);
    check_turn(true, &[(2, true), (3, false)], None);
    check_turn(false, &[(0, true)], blocked);
}

#[tokio::test(start_paused = true)]
async fn whoever_thinks_or_was_given_up_says_how_long_others_may_have_to_wait() {
    let exchange = Exchange::untraced();
    let enter = || exchange.pending.enter(&caller(1).expect("one")).expect("open");
    let other = begin(&exchange, caller(2));
    exchange.pending.happened(other.id, question(7, None));
    assert_eq!(enter(), Turn::Blocked(Blocked { by_person: true, until: None }));
    exchange.pending.now_for(other.id, caller(2).expect("one"));
    assert_eq!(enter(), Turn::Blocked(Blocked::default()));
    drop(other);
    let until = Some(Instant::now() + GIVEN_UP_MEMORY);
    assert_eq!(enter(), Turn::Blocked(Blocked { by_person: false, until }));
    tokio::time::advance(GIVEN_UP_MEMORY).await;
    assert!(matches!(enter(), Turn::Taken(_)));
    // What was never sent keeps nobody waiting.
    drop(exchange.begin(caller(3)));
    assert!(matches!(enter(), Turn::Taken(_)));
}
