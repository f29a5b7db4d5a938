//! Contents in a bucket: one object for each, found by marks in the folder, and what becomes of a store that fails.

use std::fs::File;
use std::time::{Duration, SystemTime};

use super::sample_store::{Fault, SampleStore};
use super::*;
use crate::request::Asked;
use crate::upload;

/// The hash of `abc`.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Three parts of an upload.
const LONG_BYTES: usize = 11 * 1024 * 1024;

fn world(limits: Limits) -> (World, SampleStore) {
    let (World { state, artifacts }, store) = (World::with(limits), SampleStore::new());
    let artifacts = artifacts.in_bucket(Some(store.bucket()));
    (World { state, artifacts }, store)
}

fn large() -> Limits {
    Limits { caller_bytes: 1 << 30, total_bytes: 1 << 30, ..LIMITS }
}

fn names(store: &SampleStore) -> Vec<String> {
    store.held(|held| held.objects.keys().cloned().collect())
}

#[test]
fn a_content_is_one_object_that_goes_with_the_last_that_names_it() {
    let (world, store) = world(LIMITS);
    let [first, second] = ["a", "b"].map(|caller| world.keep(caller, b"abc").expect("kept"));
    assert_eq!((names(&store), world.files()), (vec![format!("/b/p/{ABC}")], vec![format!("remote-{ABC}")]));
    let puts = store.asked().into_iter().filter(|line| line.starts_with("PUT")).count();
    assert_eq!(puts, 1);
    assert_eq!(world.read("a", &first).as_deref(), Some(&b"abc"[..]));
    assert_eq!(world.read("b", &first), None);
    assert!(world.artifacts.remove(&first).expect("removed"));
    assert_eq!((names(&store).len(), world.read("b", &second).is_some()), (1, true));
    assert!(world.artifacts.remove(&second).expect("removed"));
    assert_eq!((names(&store), world.files()), (vec![], vec![]));
}

#[test]
fn ranges_are_read_and_what_is_read_on_is_fetched_ahead() {
    let (world, store) = world(large());
    let content: Vec<u8> = (0..LONG_BYTES).map(|nth| (nth % 251) as u8).collect();
    let id = world.keep("a", &content).expect("kept");
    let reader = world.artifacts.open(&owner("a"), &id).expect("readable").expect("there");
    store.asked();
    for (offset, bytes, expected) in
        [(0, 3, 3), (7, 5, 5), (LONG_BYTES - 2, 9, 2), (LONG_BYTES, 9, 0), (LONG_BYTES + 9, 9, 0), (5, 0, 0)]
    {
        let mut into = vec![0; bytes];
        assert_eq!(reader.read_at(offset as u64, &mut into).expect("readable"), expected, "{offset}");
        assert!(into[..expected] == content[offset.min(LONG_BYTES)..][..expected], "{offset}");
    }
    assert_eq!(store.asked().len(), 3);
    let (mut all, mut piece) = (Vec::new(), vec![0; 256 * 1024]);
    loop {
        let count = reader.read_at(all.len() as u64, &mut piece).expect("readable");
        if count == 0 {
            break;
        }
        all.extend_from_slice(&piece[..count]);
    }
    assert!(all == content);
    assert_eq!(store.asked().len(), 4, "256 KiB, and three of 4 MiB at most");
}

#[test]
fn a_large_one_goes_up_in_parts_or_leaves_nothing() {
    let (world, store) = world(large());
    let content = vec![b'x'; LONG_BYTES];
    world.keep("a", &content).expect("kept");
    let parts = ["POST  uploads=1", "PUT  partNumber=1 uploadId=u", "PUT  partNumber=2 uploadId=u"];
    let rest = ["PUT  partNumber=3 uploadId=u", "POST  uploadId=u", "HEAD "];
    let all: Vec<String> = store.asked().iter().map(|line| line.replace(&sha256_of(&world), "")).collect();
    assert_eq!(all, [&parts[..], &rest[..]].concat());
    assert!(store.held(|held| held.objects.values().all(|object| *object == content)));

    let denied: Fault = |asked| asked.contains("partNumber=2").then_some((403, "<Code>AccessDenied</Code>"));
    // Said before it was known.
    let late: Fault = |asked| {
        let is_last = asked.starts_with("POST") && asked.ends_with("uploadId=u");
        is_last.then_some((200, "<Error><Code>InternalError</Code></Error>"))
    };
    for (fault, why) in [(denied, "403 AccessDenied"), (late, "200 InternalError")] {
        store.held(|held| held.fault = Some(fault));
        let mut draft = world.artifacts.draft().expect("a draft");
        draft.write(&vec![b'y'; LONG_BYTES]).expect("room");
        let about = About { name: String::new(), media_type: String::new(), tool: String::new() };
        let id = Artifacts::new_id().expect("an id");
        let error = world.artifacts.keep(draft, id, owner("a"), about).expect_err("refused");
        assert_eq!(error.code(), "artifact_store_unavailable");
        assert!(error.to_string().contains(why), "{error}");
        let asked = store.asked();
        assert!(
            asked.last().is_some_and(|last| last.starts_with("DELETE") && last.contains("uploadId=u")),
            "{asked:?}"
        );
    }
    assert_eq!(world.artifacts.list().expect("readable").len(), 1);
}

/// The content of the only artifact.
fn sha256_of(world: &World) -> String {
    world.artifacts.list().expect("readable").remove(0).sha256
}

#[test]
fn a_fault_of_the_store_is_tried_again_once_and_a_refusal_is_not() {
    let (world, store) = world(LIMITS);
    for (fault, tried) in [
        ((|_| Some((503, "<Code>SlowDown</Code>"))) as Fault, 2),
        (|_| Some((403, "<Code>no code at all</Code>")), 1),
    ] {
        store.held(|held| held.fault = Some(fault));
        assert_eq!(world.keep("a", b"abc"), Err("artifact_store_unavailable"));
        assert_eq!(store.asked().len(), tried);
    }
    assert_eq!((names(&store), world.artifacts.list().expect("readable")), (vec![], vec![]));
    let drafts: Vec<_> = world.files().into_iter().filter(|name| name.starts_with("writing-")).collect();
    assert_eq!(drafts, [""; 0]);
}

#[test]
fn what_somebody_else_removes_is_not_there_and_is_put_anew() {
    let (world, store) = world(LIMITS);
    let first = world.keep("a", b"abc").expect("kept");
    store.held(|held| held.objects.clear());
    assert_eq!(world.read("a", &first), None);
    let second = world.keep("b", b"abc").expect("kept");
    assert_eq!(world.read("b", &second).as_deref(), Some(&b"abc"[..]));
    store.held(|held| held.objects.values_mut().for_each(|object| object.push(b'x')));
    assert_eq!(world.read("b", &second), None, "it is another content");
}

#[test]
fn a_full_quota_is_told_before_anything_is_sent() {
    let (world, store) = world(LIMITS);
    world.keep("a", &[b'1'; 900]).expect("kept");
    store.asked();
    assert_eq!(world.keep("b", &[b'2'; 700]), Err("artifacts_full"));
    assert_eq!(store.asked(), [""; 0]);
}

#[test]
fn what_a_store_missed_is_removed_once_it_is_there_again() {
    let (world, store) = world(LIMITS);
    let id = world.keep("a", b"abc").expect("kept");
    store.held(|held| held.fault = Some(|_| Some((403, ""))));
    let error = world.artifacts.remove(&id).expect_err("it does not answer");
    assert_eq!(error.code(), "artifact_store_unavailable");
    assert_eq!((world.read("a", &id), world.files()), (None, vec![format!("remote-{ABC}")]));
    store.held(|held| held.fault = None);
    world.artifacts.sweep().expect("swept");
    assert_eq!((names(&store), world.files()), (vec![], vec![]));
}

#[test]
fn what_was_on_its_way_when_a_process_died_is_removed_a_day_later() {
    let (world, store) = world(LIMITS);
    let kept = world.keep("a", b"abc").expect("kept");
    let folder = world.state.path().join("artifacts");
    let [old, new, named] = ["0".repeat(64), "1".repeat(64), ABC.to_owned()].map(|sha256| {
        store
            .held(|held| held.objects.entry(format!("/b/p/{sha256}")).or_insert_with(|| b"x".to_vec()).len());
        let mark = folder.join(format!("sending-{sha256}-7"));
        File::create(&mark).expect("a file");
        mark
    });
    let yesterday = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    for mark in [&old, &named] {
        File::options().write(true).open(mark).expect("there").set_modified(yesterday).expect("set");
    }
    world.artifacts.sweep().expect("swept");
    assert_eq!(names(&store), [format!("/b/p/{}", "1".repeat(64)), format!("/b/p/{ABC}")]);
    assert!(!old.exists() && new.exists() && world.read("a", &kept).is_some());
}

#[test]
fn an_answer_of_another_length_is_no_content() {
    let (world, store) = world(LIMITS);
    let id = world.keep("a", b"abc").expect("kept");
    let reader = world.artifacts.open(&owner("a"), &id).expect("readable").expect("there");
    store.held(|held| held.fault = Some(|_| Some((206, "a"))));
    reader.read_at(0, &mut [0; 3]).expect_err("one byte is not three");
}

#[test]
fn without_keys_or_need_nobody_is_asked() {
    let store = SampleStore::new();
    let World { state, artifacts } = World::with(LIMITS);
    let mut bucket = store.bucket();
    bucket.keys = None;
    let world = World { state, artifacts: artifacts.in_bucket(Some(bucket)) };
    world.artifacts.sweep().expect("nothing to do");
    assert_eq!(fs::read_dir(world.state.path()).expect("a folder").count(), 0);
    assert_eq!(world.keep("a", b"abc"), Err("artifact_store_unavailable"));
    assert_eq!(store.asked(), [""; 0]);
}

#[test]
fn what_the_folder_has_is_read_there_to_its_end() {
    let world = World::with(LIMITS);
    let id = world.keep("a", b"abc").expect("kept");
    let store = SampleStore::new();
    let world = World { artifacts: world.artifacts.in_bucket(Some(store.bucket())), ..world };
    assert_eq!(world.read("a", &id).as_deref(), Some(&b"abc"[..]));
    assert!(world.artifacts.remove(&id).expect("removed"));
    assert_eq!((store.asked(), world.files()), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_not_waited_for() {
    #[expect(clippy::disallowed_methods, reason = "it listens and says nothing")]
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/b/k", silent.local_addr().expect("an address"));
    let asked = Asked::of(http::Method::HEAD, url.parse().expect("an address"));
    let error = asked.by(&sandbox::Client::new()).await.map(|answer| answer.status).expect_err("silence");
    assert!(error.to_string().contains("has not answered within 30 s"), "{error}");
    assert_eq!(upload::BYTES_MAX, 50_000 * 1024 * 1024, "a thousand times the largest log");
}
