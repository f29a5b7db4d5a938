//! What a legacy client is told without being asked, and what it watches.

use gate::{Event, Features};

use super::*;
use crate::notifier::Notifier;
use crate::session::SUBSCRIBED_MAX;

/// What there is to tell now.
fn told(notifier: &mut Notifier) -> String {
    lines(std::iter::from_fn(|| notifier.next().now_or_never()))
}

async fn after_a_moment(notifier: &mut Notifier) -> String {
    tokio::time::advance(std::time::Duration::from_millis(51)).await;
    told(notifier)
}

#[tokio::test(start_paused = true)]
async fn changed_lists_are_told_to_who_has_seen_them() {
    let mut talk = Talk::with_source(Revision::V2025_11_25);
    let mut notifier = Notifier::new(&talk.server, talk.session.clone());
    assert_eq!(told(&mut notifier), "");
    talk.ask("tools/list", "{}").await;
    talk.ask("resources/templates/list", "{}").await;
    talk.say_and_hear(&modern("prompts/list", "{}", "{}")).await;
    let catalog = talk.server.gate().catalog().clone();
    (0..100).for_each(|_| drop(catalog.replace(testkit::SAMPLE_SOURCE, Vec::new(), Features::default())));
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}
    "#]]
    .assert_eq(&after_a_moment(&mut notifier).await);
    assert_eq!(after_a_moment(&mut notifier).await, "");
    // Whoever comes later is told what changed since the client looked, and only then.
    let mut late = Notifier::new(&talk.server, talk.session.clone());
    assert_eq!(told(&mut late), "");
    catalog.replace("more", testkit::many_tools(1), Features::default());
    let mut late = Notifier::new(&talk.server, talk.session.clone());
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
    "#]]
    .assert_eq(&told(&mut late));
    assert_eq!(after_a_moment(&mut notifier).await, "", "once to a session");
}

#[tokio::test(start_paused = true)]
async fn watched_resources_and_finished_elicitations_are_told() {
    let mut talk = Talk::with_source(Revision::V2025_11_25);
    let mut notifier = Notifier::new(&talk.server, talk.session.clone());
    let catalog = talk.server.gate().catalog().clone();
    let updated = |uri: &str| catalog.announce(Event::ResourceUpdated { uri: uri.into(), caller: None });
    updated("note:a");
    assert_eq!(told(&mut notifier), "");
    for _ in 0..2 {
        assert!(talk.ask("resources/subscribe", r#"{"uri":"note:a"}"#).await.contains("\"result\":{}"));
    }
    assert_eq!(talk.watched.lock().expect("fine")["note:a"], 1, "watched once, however often it is asked");
    ["note:a", "note:b", "note:a"].into_iter().for_each(updated);
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note:a"}}
    "#]]
    .assert_eq(&after_a_moment(&mut notifier).await);
    for (caller, lines) in [("somebody", 0), (&**talk.session.caller.id(), 1)] {
        let uri = "note:a".into();
        catalog.announce(Event::ResourceUpdated { uri, caller: Some(caller.into()) });
        assert_eq!(after_a_moment(&mut notifier).await.lines().count(), lines, "of what is {caller}'s");
    }
    for conversation in [talk.session.conversation, talk.session.conversation + 1] {
        catalog.announce(Event::ElicitationComplete { conversation, id: format!("e{conversation}").into() });
    }
    let finished = after_a_moment(&mut notifier).await;
    let expected = format!(r#""params":{{"elicitationId":"e{}"}}"#, talk.session.conversation);
    assert!(finished.contains(&expected) && finished.lines().count() == 1, "{finished}");
    for _ in 0..2 {
        assert!(talk.ask("resources/unsubscribe", r#"{"uri":"note:a"}"#).await.contains("\"result\":{}"));
    }
    settle(&talk.watched, 0).await;
    updated("note:a");
    assert_eq!(after_a_moment(&mut notifier).await, "");
    // Nobody knows what was missed, so everything watched may have changed.
    talk.ask("resources/subscribe", r#"{"uri":"note:b"}"#).await;
    (0..3_000).for_each(|_| updated("note:other"));
    assert!(after_a_moment(&mut notifier).await.contains("note:b"));
}

#[tokio::test(start_paused = true)]
async fn what_the_protocol_does_not_have_is_told_to_who_may_use_the_server() {
    let talk = Talk::with_source(Revision::V2025_11_25);
    let mut notifier = Notifier::new(&talk.server, talk.session.clone());
    let catalog = talk.server.gate().catalog().clone();
    let tell = |source: &str, method: &str, params: Option<&'static str>| {
        let params = params.map(|params| Bytes::from_static(params.as_bytes()));
        catalog.announce(Event::Foreign { source: source.into(), method: method.into(), params });
    };
    told(&mut notifier);
    tell(testkit::SAMPLE_SOURCE, "a/b", Some(r#"{"x": 1.0}"#));
    tell("nobody", "a/b", None);
    tell(testkit::SAMPLE_SOURCE, "a/b", None);
    expect![[r#"
        {"jsonrpc":"2.0","method":"a/b","params":{"x": 1.0}}
        {"jsonrpc":"2.0","method":"a/b"}
    "#]]
    .assert_eq(&after_a_moment(&mut notifier).await);
    (0..200).for_each(|_| tell(testkit::SAMPLE_SOURCE, "flood", None));
    let flood = after_a_moment(&mut notifier).await;
    assert_eq!(flood.lines().count(), 100, "the rest of one moment is left out");
}

#[tokio::test]
async fn what_is_watched_is_bounded_and_ends_with_the_session() {
    let mut talk = Talk::with_source(Revision::V2025_11_25);
    for number in 0..SUBSCRIBED_MAX {
        let told = talk.ask("resources/subscribe", &format!(r#"{{"uri":"note:{number}"}}"#)).await;
        assert!(told.contains("\"result\":{}"), "{told}");
    }
    talk.ask("resources/subscribe", r#"{"uri":"note:over"}"#).await;
    assert_eq!(talk.code, Some(Code::InvalidParams));
    let watched = talk.watched.clone();
    settle(&watched, 1_000).await;
    talk.session.end();
    settle(&watched, 0).await;
    assert!(watched.lock().expect("fine").values().all(|count| *count == 0));
    talk.ask("resources/subscribe", r#"{"uri":"note:gone"}"#).await;
    assert_eq!(talk.code, Some(Code::ResourceNotFound));
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"x:y"}}}
    "#]]
    .assert_eq(&Talk::new(Revision::V2025_11_25).ask("resources/subscribe", r#"{"uri":"x:y"}"#).await);
}

#[tokio::test]
async fn a_watch_ends_even_if_its_caller_asks_for_too_much() {
    let sample = SampleGate::with_rate(RateConfig { per_second: 20, burst: 10 });
    let watched = offer_sample_source(sample.gate.catalog());
    let mut talk = Talk::over(sample, Revision::V2025_11_25);
    for number in 0..10 {
        talk.ask("resources/subscribe", &format!(r#"{{"uri":"note:{number}"}}"#)).await;
    }
    settle(&watched, 10).await;
    talk.session.end();
    // The limit knows real time only.
    until("all have ended", || watched.lock().expect("fine").values().all(|count| *count == 0)).await;
}
