//! What changes: lists, resources, the server itself.

use super::*;

#[tokio::test]
async fn the_first_and_the_last_watcher_reach_the_server() {
    for era in ERAS {
        let it = connected(&[era]).await;
        let mut events = it.events();
        let params = r#"{"uri":"my-all+file:///a.txt"}"#;
        for _ in 0..2 {
            act(&it, Action::Subscribe, params).await.expect("watched");
        }
        until_watched(&it, r#"[\"file:///a.txt\"]"#).await;
        call(&it, "my_all_change", r#"{"uri":"file:///a.txt"}"#).await.expect("changed");
        let event = tokio::time::timeout(PATIENCE, events.recv()).await.expect("an event in time");
        let Ok(Event::ResourceUpdated { uri, .. }) = event else { panic!("{event:?}") };
        assert_eq!(&*uri, "my-all+file:///a.txt");
        act(&it, Action::Unsubscribe, params).await.expect("noted");
        assert_eq!(said(&it, "my_all_watched").await, r#"[\"file:///a.txt\"]"#);
        act(&it, Action::Unsubscribe, params).await.expect("noted");
        until_watched(&it, "[]").await;
    }
}

#[tokio::test]
async fn what_is_watched_is_watched_again_by_the_next_connection() {
    for era in ERAS {
        let it = connected(&[era]).await;
        act(&it, Action::Subscribe, r#"{"uri":"ui://my-all/clock/face"}"#).await.expect("watched");
        until_watched(&it, r#"[\"ui://clock/face\"]"#).await;
        let said = shown(call(&it, "my_all_dies", "{}").await);
        assert!(said.starts_with("upstream_gone"), "{said}");
        until_watched(&it, r#"[\"ui://clock/face\"]"#).await;
    }
}

#[tokio::test]
async fn a_list_that_fails_after_a_restart_is_as_it_was_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark").display().to_string();
    let it = connected(&["modern", "list once", &mark]).await;
    let tools = names(&it);
    call(&it, "my_all_dies", "{}").await.expect_err("it died");
    assert_eq!(said(&it, "my_all_watched").await, "[]");
    assert_eq!(names(&it), tools);
    assert!(it.offers().borrow().withheld.iter().any(|it| it.name == "all tools"), "and that is said");
}

#[tokio::test]
async fn each_list_is_read_again_when_it_changes() {
    for era in ERAS {
        let it = connected(&[era]).await;
        let held = tool(&it, "my_all_change");
        run(held.clone(), r#"{"prompt":"added"}"#, &able(None)).await.expect("changed");
        until(&it, |offer| offer.features.prompts.iter().any(|it| &*it.key == "my_all_added")).await;
        assert!(Arc::ptr_eq(&held, &tool(&it, "my_all_change")), "the tools are as they were");
        act(&it, Action::GetPrompt, r#"{"name":"my_all_added"}"#).await.expect("filled in");
    }
}

#[tokio::test]
async fn what_is_remembered_is_offered_whole_and_starts_the_server_when_it_is_used() {
    for era in ERAS {
        let earlier = connected(&[era]).await.offers().borrow().clone();
        let it = everything(&[era]);
        assert!(it.offer_cached(earlier.definitions.as_deref().expect("definitions"), 1));
        let offer = it.offers().borrow().clone();
        assert_eq!(format!("{:?}", offer.features), format!("{:?}", earlier.features));
        assert_eq!(offer.features.instructions, earlier.features.instructions);
        assert_eq!((offer.definitions, offer.fresh), (earlier.definitions, false));
        assert_eq!(state(&it), "stopped (starts on demand)");
        act(&it, Action::GetPrompt, r#"{"name":"my_all_greet"}"#).await.expect("filled in");
        let revision = if era == "modern" { "2026-07-28" } else { "2025-11-25" };
        assert_eq!(state(&it), format!("connected to all 1 ({revision})"));
    }
}
