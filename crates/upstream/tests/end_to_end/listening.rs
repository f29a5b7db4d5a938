//! The one subscription of a modern connection.

use std::time::Duration;

use tool_api::Action;
use upstream::Upstream;

use crate::eras::{Trace, connected, of, program};
use crate::world::*;

async fn act(it: &Upstream, which: Action, uri: &str) -> Result<String, String> {
    let offers = it.offers();
    let action =
        offers.borrow().features.actions.iter().find(|(one, _)| *one == which).map(|(_, tool)| tool.clone());
    let uri = arguments(&format!("{{\"uri\":\"it+{uri}\"}}"));
    let done = action.expect("offered").run(uri, &context(None)).await;
    done.map(|_| "done".to_owned()).map_err(|error| error.to_string())
}

/// What the server remembers of subscriptions.
async fn history(it: &Upstream) -> Vec<String> {
    let said = shown(tool(it, "it_history").run(arguments("{}"), &of(1, "{}")).await);
    let result: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
    serde_json::from_str(&text).expect("JSON")
}

/// Waits until the server remembers so much.
async fn until_remembered(it: &Upstream, count: usize) -> Vec<String> {
    let remembered = async {
        loop {
            let history = history(it).await;
            if history.len() >= count {
                return history;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, remembered).await.expect("so much")
}

#[tokio::test]
async fn more_is_listened_to_before_less_is_given_up() {
    let it = connected(&["modern", "listens"]).await;
    let lists = r#"{"toolsListChanged": true}"#;
    assert_eq!(until_remembered(&it, 1).await, [format!("opened 2 {lists}")]);
    assert_eq!(act(&it, Action::Subscribe, "x:a").await.as_deref(), Ok("done"));
    let more = until_remembered(&it, 3).await;
    let opened = r#"{"resourceSubscriptions": ["x:a"], "toolsListChanged": true}"#;
    assert!(more[1].starts_with("opened ") && more[1].ends_with(opened), "{more:?}");
    assert_eq!(more[2], "closed 2");
    assert_eq!(act(&it, Action::Unsubscribe, "x:a").await.as_deref(), Ok("done"));
    let less = until_remembered(&it, 5).await;
    assert!(less[3].ends_with(lists) && less[4].starts_with("closed "), "{less:?}");
}

#[tokio::test]
async fn what_is_not_granted_is_not_subscribed() {
    let it = connected(&["modern"]).await;
    assert_eq!(history(&it).await, Vec::<String>::new(), "there is nothing to listen to yet");
    let refused = act(&it, Action::Subscribe, "x:refused").await.expect_err("refused");
    assert!(refused.contains("does not tell of changes of this resource"), "{refused}");
    let it = connected(&["modern", "deaf"]).await;
    let refused = act(&it, Action::Subscribe, "x:a").await.expect_err("refused");
    assert!(refused.contains("Method not found"), "{refused}");
    let it = connected(&["legacy"]).await;
    let refused = act(&it, Action::Subscribe, "x:refused").await.expect_err("refused");
    assert!(refused.contains("Resource not found"), "{refused}");
}

#[tokio::test]
async fn a_subscription_that_ends_is_opened_again() {
    let it = connected(&["modern", "listens"]).await;
    until_remembered(&it, 1).await;
    assert!(shown(call(&it, "it_end_listens", "{}").await).contains("ended"));
    let history = until_remembered(&it, 3).await;
    assert!(history[1] == "ended 2" && history[2].starts_with("opened "), "{history:?}");
}

#[tokio::test]
async fn what_a_server_does_not_tell_of_any_more_is_asked_for_by_the_next_who_wants_it() {
    let trace = Trace::new();
    let it = program(&["legacy", "sulks"], Some(&trace.file));
    it.connect().await.expect("connected");
    assert_eq!(act(&it, Action::Subscribe, "x:a").await.as_deref(), Ok("done"));
    assert!(call(&it, "it_die", "{}").await.is_err());
    assert_eq!(until_remembered(&it, 1).await, ["resources/subscribe x:a"]);
    // Nobody else is told that it is watched.
    let refused = act(&it, Action::Subscribe, "x:a").await.expect_err("refused");
    assert!(refused.contains("Resource not found"), "{refused}");
    assert!(shown(call(&it, "it_relent", "{}").await).contains("relented"));
    assert_eq!(act(&it, Action::Subscribe, "x:a").await.as_deref(), Ok("done"));
    assert_eq!(history(&it).await.last().map(String::as_str), Some("resources/subscribe x:a"));
}

#[tokio::test]
async fn what_is_not_granted_any_more_is_not_said_to_be() {
    let trace = Trace::new();
    let it = program(&["modern", "sulks"], Some(&trace.file));
    it.connect().await.expect("connected");
    assert_eq!(act(&it, Action::Subscribe, "x:a").await.as_deref(), Ok("done"));
    assert!(call(&it, "it_die", "{}").await.is_err());
    assert_eq!(until_remembered(&it, 1).await, [r#"opened 2 {"resourceSubscriptions": ["x:a"]}"#]);
    let refused = act(&it, Action::Subscribe, "x:a").await.expect_err("refused");
    assert!(refused.contains("does not tell of changes of this resource"), "{refused}");
    assert!(shown(call(&it, "it_relent", "{}").await).contains("relented"));
    assert_eq!(act(&it, Action::Subscribe, "x:a").await.as_deref(), Ok("done"));
}

#[tokio::test]
async fn a_server_that_ends_is_started_again_for_those_who_wait_for_its_news() {
    for (era, again) in [
        ("legacy", "start initialize notifications/initialized resources/subscribe"),
        ("modern", "start server/discover subscriptions/listen"),
    ] {
        let trace = Trace::new();
        let it = program(&[era], Some(&trace.file));
        it.connect().await.expect("connected");
        assert_eq!(act(&it, Action::Subscribe, "x:a").await.as_deref(), Ok("done"));
        assert!(call(&it, "it_die", "{}").await.is_err());
        // Nobody calls; it comes back by itself.
        let back = async {
            while !trace.read().ends_with(again) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, back).await;
        assert!(waited.is_ok(), "{}", trace.read());
    }
}
