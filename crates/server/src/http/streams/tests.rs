//! What readers of streams get, whatever happens to them in between.

use futures_util::FutureExt;
use gate::{Caller, Via};
use wire::Revision;

use std::time::Duration;

use super::super::sessions::{Open, Sessions};
use super::*;
use crate::session::Session;

fn session_of(revision: Revision) -> Arc<Open> {
    let session = Session::new(Caller::local_user(Via::Http), revision);
    let (_, open) = Sessions::new(Total::default()).open(session, None).expect("the system has randomness");
    open
}

/// A session whose streams begin with their first message.
fn session() -> Arc<Open> {
    session_of(Revision::V2025_06_18)
}

/// All that can be read now, as `ID DATA`, and how it goes on.
fn read(reader: &mut Reader) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        match reader.next().now_or_never() {
            Some(Some(event)) => {
                let mut events = sse::Events::default();
                events.feed(&event).expect("small");
                let event = events.next_event().expect("whole");
                found.push(format!("{} {}", event.id.unwrap_or_default(), event.data).trim().to_owned());
            }
            Some(None) => {
                found.push("end".to_owned());
                return found;
            }
            None => return found,
        }
    }
}

fn write(writer: &Writer, messages: &[&str]) {
    for message in messages {
        writer.write(message.as_bytes()).now_or_never().expect("there is room");
    }
}

fn id(text: &str) -> EventId {
    EventId::parse(text).expect("a sample")
}

#[track_caller]
fn check(reader: &mut Reader, expected: &[&str]) {
    assert_eq!(read(reader), expected);
}

#[test]
fn a_stream_is_read_to_its_end_and_then_forgotten() {
    let open = session();
    let (writer, mut reader) = open.streams.begin();
    check(&mut reader, &[]);
    write(&writer, &["a", "b"]);
    check(&mut reader, &["1-1 a", "1-2 b"]);
    write(&writer, &["c"]);
    drop(writer);
    check(&mut reader, &["1-3 c", "end"]);
    assert_eq!(open.streams.lock().as_ref().expect("used").open.len(), 0);
    // But not what was on it.
    check(&mut open.streams.resume(id("1-2")).expect("kept"), &["1-3 c", "end"]);
    assert_eq!(open.streams.resume(id("1-3")).err(), Some(NothingKept));
    assert_eq!(open.streams.resume(id("2-0")).err(), Some(NothingKept));
}

#[test]
fn what_a_lost_reader_missed_is_there_for_the_next() {
    let open = session();
    let (writer, mut reader) = open.streams.begin();
    let (other, mut undisturbed) = open.streams.begin();
    write(&writer, &["a", "b"]);
    check(&mut reader, &["1-1 a", "1-2 b"]);
    drop(reader);
    write(&writer, &["c"]);
    write(&other, &["x"]);
    // The client says that it has only the first.
    let mut resumed = open.streams.resume(id("1-1")).expect("running");
    check(&mut resumed, &["1-2 b", "1-3 c"]);
    write(&writer, &["d"]);
    check(&mut resumed, &["1-4 d"]);
    drop(resumed);
    drop(writer);
    check(&mut open.streams.resume(id("1-3")).expect("kept"), &["1-4 d", "end"]);
    check(&mut undisturbed, &["2-1 x"]);
}

#[test]
fn a_stream_has_one_reader_at_a_time() {
    let open = session();
    let (writer, mut first) = open.streams.begin();
    write(&writer, &["a"]);
    let mut second = open.streams.resume(id("1-0")).expect("running");
    check(&mut first, &["end"]);
    // The end of the one before changes nothing for the one after.
    drop(first);
    check(&mut second, &["1-1 a"]);
    write(&writer, &["b"]);
    check(&mut second, &["1-2 b"]);

    let mut standing = open.streams.stand(None).expect("always");
    open.streams.tell(b"x");
    let mut thief = open.streams.stand(None).expect("always");
    check(&mut standing, &["end"]);
    open.streams.tell(b"y");
    check(&mut thief, &["0-1 x", "0-2 y"]);
    check(&mut open.streams.stand(None).expect("always"), &[]);
}

#[test]
fn the_standing_stream_goes_on_where_it_was_left() {
    let open = session();
    let mut reader = open.streams.stand(None).expect("always");
    for message in [b"a", b"b", b"c"] {
        open.streams.tell(message);
    }
    assert!(reader.next().now_or_never().flatten().is_some());
    drop(reader);
    open.streams.tell(b"d");
    check(&mut open.streams.stand(None).expect("always"), &["0-2 b", "0-3 c", "0-4 d"]);
    check(&mut open.streams.stand(None).expect("always"), &[]);
    check(&mut open.streams.stand(Some(2)).expect("known"), &["0-3 c", "0-4 d"]);
    check(&mut open.streams.stand(Some(4)).expect("known"), &[]);
    assert_eq!(open.streams.stand(Some(5)).err(), Some(NothingKept));
}

#[test]
fn the_latest_revision_with_sessions_begins_with_an_id() {
    let open = session_of(Revision::V2025_11_25);
    let (writer, mut reader) = open.streams.begin();
    write(&writer, &["a"]);
    check(&mut reader, &["1-0", "1-1 a"]);
    check(&mut open.streams.resume(id("1-1")).expect("running"), &["1-1"]);
    check(&mut open.streams.stand(None).expect("always"), &["0-0"]);
}

#[tokio::test]
async fn a_slow_reader_holds_up_its_writer_and_a_lost_one_does_not() {
    let open = session();
    let (writer, mut reader) = open.streams.begin();
    write(&writer, &["x"; PENDING_MAX]);
    let mut waiting = Box::pin(writer.write(b"late"));
    assert!((&mut waiting).now_or_never().is_none());
    assert!(reader.next().await.is_some());
    waiting.await;
    assert_eq!(read(&mut reader).last().map(String::as_str), Some("1-65 late"));

    write(&writer, &["x"; PENDING_MAX]);
    let waiting = writer.write(b"later");
    let (_, ()) = tokio::join!(waiting, async { drop(reader) });
    write(&writer, &["x"; PENDING_MAX]);
    let kept = read(&mut open.streams.resume(id("1-129")).expect("running"));
    assert_eq!(kept[0], "1-130 later");

    let large = vec![b'x'; PENDING_BYTES_MAX];
    let (writer, _reader) = open.streams.begin();
    assert!(writer.write(&large).now_or_never().is_some());
    assert!(writer.write(b"y").now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_writer_goes_on_when_another_reader_takes_over() {
    let open = session();
    let (writer, _first) = open.streams.begin();
    write(&writer, &["x"; PENDING_MAX]);
    let waiting = tokio::spawn(async move { writer.write(b"late").await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    let mut second = open.streams.resume(id("1-64")).expect("running");
    let written = tokio::time::timeout(Duration::from_secs(1), waiting).await;
    assert!(written.is_ok(), "nothing waits for the new reader, so there is room");
    check(&mut second, &["1-65 late", "end"]);
}

#[test]
fn all_end_with_the_session() {
    let open = session();
    let (writer, mut reader) = open.streams.begin();
    let mut standing = open.streams.stand(None).expect("always");
    write(&writer, &["a"]);
    open.end();
    write(&writer, &["b"; 2 * PENDING_MAX]);
    check(&mut reader, &["1-1 a", "end"]);
    check(&mut standing, &["end"]);
    check(&mut open.streams.stand(None).expect("always"), &["end"]);
    let (_, mut late) = open.streams.begin();
    check(&mut late, &["end"]);
}
