//! Calls that go on as tasks, of either era.

use super::*;

#[tokio::test]
async fn a_modern_servers_tasks_are_relayed_to_those_who_know_them() {
    let it = connected(&["modern"]).await;
    let called = run(tool(&it, "my_all_tasky"), "{}", &able(None)).await.expect("a task");
    let Payload::Task { id, .. } = called.payload else { panic!("no task: {called:?}") };
    assert_eq!(&*id, "task-1");
    let said = shown(call(&it, "my_all_tasky", "{}").await);
    assert!(said.starts_with("upstream_broken"), "it was not declared: {said}");
    let task = |which, params: &'static str| {
        let tool = action(&it, which).expect("offered");
        let cx = tool_api::Context { key: Some("task-1".into()), ..able(None) };
        async move { common(run(tool, params, &cx).await) }
    };
    assert_eq!(
        task(Action::GetTask, r#"{"taskId":"token"}"#).await,
        r#"{"taskId": "task-1", "status": "completed", "result": {"content": [{"type": "resource_link", "uri": "my-all+file:///a.txt", "name": "a"}]}}"#
    );
    assert_eq!(
        task(Action::UpdateTask, r#"{"taskId":"token","inputResponses":{"k":{"action":"accept"}}}"#).await,
        r#"{"echo": {"taskId": "task-1", "inputResponses": {"k": {"action": "accept"}}}}"#
    );
    assert_eq!(task(Action::CancelTask, r#"{"taskId":"token"}"#).await, r#"{"echo": {"taskId": "task-1"}}"#);
}

#[tokio::test]
async fn a_task_that_was_begun_here_is_heard_of() {
    let it = connected(&["modern"]).await;
    let mut events = it.events();
    run(tool(&it, "my_all_tasky"), "{}", &able(None)).await.expect("a task");
    let change = async {
        while !shown(call(&it, "my_all_change", r#"{"task":"task-1"}"#).await).contains("changed for 1") {
            tokio::task::yield_now().await;
        }
        events.recv().await
    };
    let event = tokio::time::timeout(PATIENCE, change).await.expect("an event in time");
    let Ok(Event::Task { source, id, task }) = event else { panic!("{event:?}") };
    assert_eq!((&*source, &*id), ("it", "task-1"));
    let task = String::from_utf8(task.to_vec()).expect("UTF-8");
    assert!(
        task.contains(r#""status": "completed""#) && task.contains(r#""my-all+file:///a.txt""#),
        "{task}"
    );
}

#[tokio::test]
async fn a_task_is_given_its_answers_from_the_round_too() {
    let it = connected(&["modern"]).await;
    let input = Input { responses: Some(r#"{"k":{"action":"decline"}}"#.into()), state: None };
    let cx = tool_api::Context { key: Some("task-1".into()), ..able(Some(input)) };
    let said =
        common(run(action(&it, Action::UpdateTask).expect("offered"), r#"{"taskId":"token"}"#, &cx).await);
    assert!(said.contains(r#""inputResponses": {"k": {"action": "decline"}}"#), "{said}");
}

#[tokio::test]
async fn a_legacy_task_that_nobody_waits_for_any_more_is_stopped() {
    let it = connected(&["legacy", "endless task"]).await;
    let reports = Arc::new(Reports::default());
    let (tasky, cx) = (tool(&it, "my_all_tasky"), context(Some(reports.clone())));
    let begun = async {
        while reports.0.lock().expect("sound").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        said = tasky.run(arguments("{}"), &cx) => panic!("it ended: {said:?}"),
        begun = tokio::time::timeout(PATIENCE, begun) => begun.expect("it begins"),
    }
    until_said(&it, "my_all_stopped", r#"[\"task-1\"]"#).await;
}

#[tokio::test]
async fn a_legacy_task_may_ask_its_client() {
    let it = connected(&["legacy", "asking task"]).await;
    let (requests, key, state) = asked(run(tool(&it, "my_all_tasky"), "{}", &able(None)).await);
    assert!(requests.contains("Who?"), "{requests}");
    let responses = format!(r#"{{"{key}":{{"action":"accept","content":{{}}}}}}"#);
    let input = Input { responses: Some(responses.into()), state };
    let said = shown(run(tool(&it, "my_all_tasky"), "{}", &able(Some(input))).await);
    assert!(said.contains(r#"[{\"action\": \"accept\", \"content\": {}}, null]"#), "{said}");
}

#[tokio::test]
async fn a_legacy_tool_that_is_a_task_is_followed_to_its_end() {
    let it = connected(&["legacy"]).await;
    let reports = Arc::new(Reports::default());
    let cx = context(Some(reports.clone()));
    let said = shown(run(tool(&it, "my_all_tasky"), "{}", &cx).await);
    assert_eq!(said, r#"{"content": [{"type": "text", "text": "the task's result"}]}"#);
    let reports = reports.0.lock().expect("sound").clone();
    assert_eq!(reports, ["0 beginning", "1 look 1", "2 look 2", "3 look 3"]);
}
