//! Subscriptions of the modern revision.

use gate::{Event, Features, Task};

use super::*;
use crate::session::LISTENS_MAX;

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

fn listen(id: &str, notifications: &str) -> String {
    let frame = modern("subscriptions/listen", &format!(r#"{{"notifications":{notifications}}}"#), TASKS);
    frame.replace(r#""id":1,"#, &format!(r#""id":{id},"#))
}

async fn after_a_moment(talk: &mut Talk) -> String {
    tokio::time::advance(std::time::Duration::from_millis(51)).await;
    talk.rest()
}

#[tokio::test(start_paused = true)]
async fn only_what_was_asked_for_is_told_under_the_id_of_the_subscription() {
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    let origin = gate::Origin { tool: "sample_pack".into(), arguments: None };
    let task = Task { source: testkit::SAMPLE_SOURCE.into(), id: "job-1".into(), origin };
    let token = talk.server.gate().task_token(&talk.session.caller, &task).await.expect("a key");
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}
    "#]].assert_eq(&talk.say_and_hear(&listen("\"listen:0\"", r#"{"toolsListChanged":true,"x":1}"#)).await);
    let told = talk.say_and_hear(&listen(
        "7",
        &format!(r#"{{"resourcesListChanged":true,"resourceSubscriptions":["note:a","note:gone"],"taskIds":["{token}","theirs"]}}"#),
    )).await;
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["note:a"],"taskIds":["TOKEN"]},"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}
    "#]].assert_eq(&told.replace(&token, "TOKEN"));
    assert_eq!(talk.watched.lock().expect("fine")["note:a"], 1);
    let catalog = talk.server.gate().catalog().clone();
    catalog.replace("more", testkit::many_tools(1), Features::default());
    for id in ["job-1", "job-2"] {
        let task = Bytes::from_static(br#"{"taskId":"job-1","status":"completed"}"#);
        catalog.announce(Event::Task { source: testkit::SAMPLE_SOURCE.into(), id: id.into(), task });
    }
    ["note:a", "note:b"]
        .iter()
        .for_each(|uri| catalog.announce(Event::ResourceUpdated { uri: (*uri).into(), caller: None }));
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}
        {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"uri":"note:a"}}
        {"jsonrpc":"2.0","method":"notifications/tasks","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"taskId":"TOKEN","status":"completed"}}
    "#]].assert_eq(&talk.rest().replace(&token, "TOKEN"));
    catalog.replace(testkit::SAMPLE_SOURCE, Vec::new(), Features::default());
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}
        {"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}
    "#]].assert_eq(&after_a_moment(&mut talk).await);
    // What changes is told to who asked for that.
    let listing = Bytes::from_static(b"{}");
    let resources = vec![gate::Item { key: "more:a".into(), listing }];
    catalog.replace("more", testkit::many_tools(1), Features { resources, ..Features::default() });
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}
    "#]].assert_eq(&after_a_moment(&mut talk).await);
    assert_eq!(after_a_moment(&mut talk).await, "");
    // The legacy client on the same connection has listed nothing, and has asked for nothing.
    let mut notifier = crate::notifier::Notifier::new(&talk.server, talk.session.clone());
    assert!(notifier.next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_ends_when_either_side_says_so() {
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    let watching = r#"{"resourceSubscriptions":["note:a"]}"#;
    for id in ["1", "2", "3"] {
        talk.say_and_hear(&listen(id, watching)).await;
    }
    settle(&talk.watched, 3).await;
    assert_eq!((talk.waiting.len(), talk.session.listens()), (3, 3));
    assert_eq!(
        talk.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#),
        ""
    );
    settle(&talk.watched, 2).await;
    // Over HTTP a client that hangs up drops the answer.
    drop(talk.waiting.remove(0));
    settle(&talk.watched, 1).await;
    talk.server.stopping.cancel();
    expect![[r#"
        {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":3}}}
    "#]].assert_eq(&talk.hear().await);
    settle(&talk.watched, 0).await;
    assert_eq!((talk.waiting.len(), talk.session.listens()), (0, 0));
}

#[tokio::test]
async fn what_cannot_be_subscribed_to_is_refused() {
    let mut talk = Talk::with_source(Revision::LATEST_LEGACY);
    let tasks = r#"{"notifications":{"taskIds":["x"]}}"#;
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"this request needs a capability that the client did not declare with it","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}
    "#]].assert_eq(&talk.say_and_hear(&modern("subscriptions/listen", tasks, "{}")).await);
    for params in ["{}", r#"{"notifications":{"toolsListChanged":1}}"#] {
        talk.say_and_hear(&modern("subscriptions/listen", params, "{}")).await;
        assert_eq!(talk.code, Some(Code::InvalidParams), "{params}");
    }
    for id in 0..LISTENS_MAX {
        assert!(talk.say_and_hear(&listen(&id.to_string(), "{}")).await.contains("acknowledged"));
    }
    let told = talk.say_and_hear(&listen("\"more\"", "{}")).await;
    assert_eq!(talk.code, Some(Code::InvalidRequest), "{told}");
    talk.waiting.clear();
    talk.outbox = None;
    let told = talk.say_and_hear(&listen("1", "{}")).await;
    assert_eq!(talk.code, Some(Code::InvalidRequest), "{told}");
    assert!(talk.session.begin(&Id::number(1)).is_ok(), "what was refused is not in flight");
}
