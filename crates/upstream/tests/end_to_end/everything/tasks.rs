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

/// Does that with the task that is known here as `key`.
async fn about(it: &Upstream, which: Action, key: &Arc<str>, params: &str) -> Result<Outcome, ToolError> {
    let cx = Context { key: Some(key.clone()), ..able(None) };
    run(action(it, which).expect("offered"), params, &cx).await
}

/// The task of 2025-11-25 that a call becomes, and what its client is told of it, without our name for it.
async fn begun(it: &Upstream) -> (Arc<str>, String) {
    let called = run(tool(it, "my_all_tasky"), "{}", &able(None)).await.expect("a task");
    let Payload::Task { id, result } = called.payload else { panic!("no task: {called:?}") };
    assert!(id.len() == 32, "{id}");
    let told = String::from_utf8(result.to_vec()).expect("UTF-8");
    (id.clone(), told.replace(&*id, "OURS"))
}

/// Looks at a task until it is said to be so, and gives what is said then, without our name for it.
async fn until(it: &Upstream, key: &Arc<str>, status: &str) -> String {
    let looking = async {
        loop {
            let told = shown(about(it, Action::GetTask, key, r#"{"taskId":"token"}"#).await);
            if told.contains(&format!(r#""status":"{status}""#)) {
                return told.replace(&**key, "OURS");
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("so in time")
}

const PARAMS: &str = r#"{"taskId":"token"}"#;

#[tokio::test]
async fn a_legacy_task_is_one_of_the_extension_for_a_client_that_knows_it() {
    let it = connected(&["legacy", "dated task"]).await;
    let (key, told) = begun(&it).await;
    let times = r#""createdAt":"then","lastUpdatedAt":"now","ttlMs":86400000,"pollIntervalMs":1"#;
    let expected = format!(
        r#"{{"resultType":"task","taskId":"OURS","status":"working","statusMessage":"beginning",{times}}}"#
    );
    assert_eq!(told, expected);
    let ended = until(&it, &key, "completed").await;
    let result = r#"{"content": [{"type": "text", "text": "the task's result"}]}"#;
    let expected = |look: u32| {
        format!(
            r#"{{"resultType":"complete","taskId":"OURS","status":"completed","statusMessage":"look {look}",{times},"result":{result}}}"#
        )
    };
    assert_eq!(ended, expected(3));
    for which in [Action::UpdateTask, Action::CancelTask] {
        let params = r#"{"taskId":"token","inputResponses":{"k":{"action":"accept"}}}"#;
        assert_eq!(shown(about(&it, which, &key, params).await), "{}");
    }
    let another: Arc<str> = "0".repeat(32).into();
    for which in [Action::GetTask, Action::UpdateTask, Action::CancelTask] {
        let refused = protocol(about(&it, which, &another, PARAMS).await);
        assert!(refused.starts_with("-32602 Invalid params: unknown task"), "{refused}");
    }
    // To a client that does not know the extension it is a call like any other.
    let said = shown(call(&it, "my_all_tasky", "{}").await);
    assert_eq!(said, result);
}

#[tokio::test]
async fn a_legacy_task_asks_a_client_of_the_extension_when_that_looks() {
    let it = connected(&["legacy", "dated task", "asking task"]).await;
    let (key, _) = begun(&it).await;
    let asking = until(&it, &key, "input_required").await;
    assert!(asking.contains("Who?") && !asking.contains("related-task"), "{asking}");
    let request = asking.split(r#""inputRequests":{""#).nth(1).expect("requests");
    let question = request.split('"').next().expect("a key");
    let answer = |answer: &str| format!(r#"{{"taskId":"token","inputResponses":{{"{question}":{answer}}}}}"#);
    let unfit = protocol(about(&it, Action::UpdateTask, &key, &answer(r#"{"action":"perhaps"}"#)).await);
    assert!(unfit.starts_with("-32602") && unfit.contains(question), "{unfit}");
    let none = protocol(about(&it, Action::UpdateTask, &key, PARAMS).await);
    assert!(none.starts_with("-32602") && none.contains("inputResponses"), "{none}");
    assert!(until(&it, &key, "input_required").await.contains(question), "it is still asked");
    let told = about(&it, Action::UpdateTask, &key, &answer(r#"{"action":"decline"}"#)).await;
    assert_eq!(shown(told), "{}");
    let ended = until(&it, &key, "completed").await;
    assert!(ended.contains(r#"[{\"action\": \"decline\"}, null]"#), "{ended}");
}

#[tokio::test]
async fn a_legacy_task_is_stopped_by_a_client_of_the_extension() {
    let it = connected(&["legacy", "dated task", "endless task"]).await;
    let (key, _) = begun(&it).await;
    assert!(until(&it, &key, "working").await.contains("look"));
    assert_eq!(shown(about(&it, Action::CancelTask, &key, PARAMS).await), "{}");
    until_said(&it, "my_all_stopped", r#"[\"task-1\"]"#).await;
}

#[tokio::test]
async fn a_legacy_task_fails_with_its_server() {
    let it = connected(&["legacy", "dated task", "endless task"]).await;
    let (key, _) = begun(&it).await;
    drop(call(&it, "my_all_dies", "{}").await);
    let failed = until(&it, &key, "failed").await;
    assert!(
        failed.contains(r#""error":{"code":-32603,"message":"`it` ended before the task did"#),
        "{failed}"
    );
    // The server is back, and knows a task of that id; it is another.
    assert!(shown(call(&it, "my_all_links", "{}").await).contains("resource_link"));
    assert_eq!(until(&it, &key, "failed").await, failed);
}

/// A client of a revision without tasks.
fn without_tasks(input: Option<Input>) -> Context {
    let capabilities = Bytes::from_static(br#"{"elicitation":{}}"#);
    let client = Client { capabilities, conversation: 7, knows_no_tasks: true, ..Client::default() };
    Context { client, input, ..context(None) }
}

#[tokio::test]
async fn a_modern_task_is_followed_for_a_client_that_can_be_given_none() {
    let it = connected(&["modern", "demanding task"]).await;
    let client = Client { knows_no_tasks: false, ..without_tasks(None).client };
    let cx = Context { client, ..context(None) };
    let refused = protocol(run(tool(&it, "my_all_tasky"), "{}", &cx).await);
    assert!(refused.starts_with("-32021"), "a modern client is told what it would need: {refused}");
    for _ in 0..2 {
        let (requests, key, state) = asked(run(tool(&it, "my_all_tasky"), "{}", &without_tasks(None)).await);
        assert!(requests.contains("Who?"), "{requests}");
        let responses = format!(r#"{{"{key}":{{"action":"accept","content":{{}}}}}}"#);
        let input = Input { responses: Some(responses.into()), state };
        let said = shown(run(tool(&it, "my_all_tasky"), "{}", &without_tasks(Some(input))).await);
        assert!(said.contains(r#"{\"action\": \"accept\", \"content\": {}}"#), "{said}");
    }
    assert_eq!(said(&it, "my_all_stopped").await, "[]");
}

#[tokio::test]
async fn a_modern_task_that_nobody_goes_on_with_is_stopped() {
    let it = connected(&["modern", "demanding task"]).await;
    let called = run(tool(&it, "my_all_tasky"), "{}", &without_tasks(None)).await.expect("an outcome");
    assert!(matches!(called.payload, Payload::InputRequired { .. }), "{called:?}");
    drop(called);
    until_said(&it, "my_all_stopped", r#"[\"task-1\"]"#).await;
}

#[tokio::test]
async fn a_modern_task_that_is_followed_may_end_badly() {
    for (habit, expected) in [
        ("failing", "upstream_error: `it` answered with error -32000: broke"),
        ("cancelling", "task_cancelled: `it` has cancelled the task that the call had become"),
    ] {
        let it = connected(&["modern", "demanding task", habit]).await;
        let (_, key, state) = asked(run(tool(&it, "my_all_tasky"), "{}", &without_tasks(None)).await);
        let responses = format!(r#"{{"{key}":{{"action":"decline"}}}}"#);
        let input = Input { responses: Some(responses.into()), state };
        let said = shown(run(tool(&it, "my_all_tasky"), "{}", &without_tasks(Some(input))).await);
        assert_eq!(said, expected);
    }
}
