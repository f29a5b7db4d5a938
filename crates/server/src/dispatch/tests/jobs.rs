//! Jobs of ours as tasks in both eras, and as results that name them.

use gate::jobs::Config;
use serde_json::{Value, json};

use super::*;

/// What a modern client declares that knows tasks, and can be asked for roots.
const KNOWING: &str = r#"{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// A client of one era over a gate whose calls may become jobs.
struct Client {
    talk: Talk,
    revision: Revision,
    capabilities: &'static str,
}

impl Client {
    fn new(revision: Revision, config: Config) -> Client {
        Client::over(SampleGate::with_jobs(config), revision)
    }

    /// One to whom the tools that wait for jobs are offered.
    fn that_waits(revision: Revision, config: Config) -> Client {
        Client::over(SampleGate::with_job_tools(config), revision)
    }

    fn over(sample: SampleGate, revision: Revision) -> Client {
        let watched = offer_sample_source(sample.gate.catalog());
        let talk = Talk { watched, ..Talk::over(sample, revision) };
        let talk = if revision.is_modern() { talk } else { talk.introduced(r#"{"roots":{}}"#) };
        Client { talk, revision, capabilities: KNOWING }
    }

    /// What comes back to a request: its result, or its error.
    async fn ask(&mut self, method: &str, params: &str) -> Value {
        let told = self.told(method, params).await;
        let line = told.lines().last().expect("something is told");
        let mut answer: Value = serde_json::from_str(line).expect("JSON");
        match answer.get_mut("result") {
            Some(result) => result.take(),
            None => answer["error"].take(),
        }
    }

    async fn told(&mut self, method: &str, params: &str) -> String {
        let frame = match self.revision.is_modern() {
            true => modern(method, params, self.capabilities),
            false => request(method, params),
        };
        self.talk.say_and_hear(&frame).await
    }

    /// The task that a call becomes.
    async fn begin(&mut self, params: &str) -> String {
        let begun = self.ask("tools/call", params).await;
        let task = if self.revision.is_modern() { &begun } else { &begun["task"] };
        task["taskId"].as_str().unwrap_or_else(|| panic!("no task: {begun}")).to_owned()
    }

    /// The task once it is in this state.
    async fn until(&mut self, id: &str, status: &str) -> Value {
        let since = Instant::now();
        loop {
            let task = self.ask("tasks/get", &about(id)).await;
            if task["status"] == status {
                return task;
            }
            assert!(since.elapsed() < PATIENCE, "waited too long until it is {status}: {task}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The keys under which a task asks.
fn keys(task: &Value) -> Vec<String> {
    task["inputRequests"].as_object().into_iter().flat_map(|asked| asked.keys().cloned()).collect()
}

fn about(id: &str) -> String {
    json!({ "taskId": id }).to_string()
}

/// What differs from one run to the next, left out.
fn masked(mut task: Value) -> String {
    let own = if task.get("task").is_some() { &mut task["task"] } else { &mut task };
    for key in ["taskId", "createdAt", "lastUpdatedAt", "ttl", "ttlMs"] {
        if own.get(key).is_some() {
            own[key] = json!("*");
        }
    }
    task.to_string()
}

fn default() -> Config {
    Config::default()
}

#[tokio::test]
async fn a_modern_client_asks_for_a_job_and_is_given_a_task() {
    let mut client = Client::new(Revision::MODERN, default());
    let asked = r#"{"name":"shout","arguments":{"text":"a"},"_meta":{"toolcrib/job":true}}"#;
    // The envelope is in `_meta`, too.
    let asked = asked.replace(r#","_meta":{"toolcrib/job":true}"#, "");
    let frame = modern_with("tools/call", &asked, KNOWING, r#","toolcrib/job":true"#);
    let begun: Value = serde_json::from_str(&client.talk.say_and_hear(&frame).await).expect("JSON");
    let begun = begun["result"].clone();
    let id = begun["taskId"].as_str().expect("a task").to_owned();
    expect![[r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"createdAt":"*","lastUpdatedAt":"*","pollIntervalMs":1000,"resultType":"task","status":"working","statusMessage":"queued","taskId":"*","ttlMs":"*"}"#]]
        .assert_eq(&masked(begun));
    let done = client.until(&id, "completed").await;
    expect![[r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"createdAt":"*","lastUpdatedAt":"*","pollIntervalMs":1000,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolcrib","version":"0.1.0"}},"content":[{"text":"A","type":"text"}],"isError":false,"resultType":"complete","structuredContent":{"text":"A"}},"resultType":"complete","status":"completed","statusMessage":"succeeded","taskId":"*","ttlMs":"*"}"#]].assert_eq(&masked(done));
    for (method, code) in [("tasks/result", -32601), ("tasks/list", -32601)] {
        assert_eq!(client.ask(method, &about(&id)).await["code"], code, "{method}");
    }
    // Whoever does not declare tasks is told of none.
    client.capabilities = "{}";
    assert_eq!(client.ask("tasks/get", &about(&id)).await["code"], -32021);
}

#[tokio::test]
async fn a_task_of_a_job_is_its_callers_and_cancelled_as_often_as_one_likes() {
    let mut client = Client::new(Revision::MODERN, Config { always: vec!["wait".into()], ..default() });
    let id = client.begin(r#"{"name":"wait","arguments":{"text":"a"}}"#).await;
    for time in ["once", "twice"] {
        let ack = client.ask("tasks/cancel", &about(&id)).await;
        assert_eq!((&ack["resultType"], ack.get("taskId")), (&json!("complete"), None), "{time}");
    }
    client.until(&id, "cancelled").await;
    let unknown = client.ask("tasks/get", &about(&"0".repeat(32))).await;
    client.talk.session = Session::new(
        Caller::new(
            "bob".into(),
            gate::CallerKind::Key,
            gate::Roles::default(),
            gate::Scopes::all(),
            Via::Http,
        ),
        Revision::MODERN,
    );
    for method in ["tasks/get", "tasks/cancel"] {
        assert_eq!(client.ask(method, &about(&id)).await, unknown, "{method} of somebody else's");
    }
    assert_eq!(unknown["code"], -32602);
    let records = client.talk.sample.records(10);
    let cancels: Vec<_> = records.iter().filter(|record| record.starts_with("tasks_cancel")).collect();
    let [took, over] = ["tasks_cancel result -", "tasks_cancel tool_error job_state"];
    assert_eq!(cancels, [took, over, "tasks_cancel refused unknown_job"], "each is there");
}

#[tokio::test]
async fn what_a_job_asks_is_answered_one_by_one() {
    let mut client = Client::new(Revision::MODERN, Config { always: vec!["ask".into()], ..default() });
    let asks = r#"{"name":"ask","arguments":{"rounds":1,"requests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}}}"#;
    let id = client.begin(asks).await;
    let asking = client.until(&id, "input_required").await;
    let [a, b] = &keys(&asking)[..] else { panic!("two are asked: {asking}") };
    let roots = json!({ "method": "roots/list" });
    assert_eq!(asking["inputRequests"], json!({ a: roots, b: roots }));
    let answer = |answers: Value| json!({ "taskId": id, "inputResponses": answers }).to_string();
    for nothing in [json!({}), json!({ "no": {} }), json!({ "a": {}, "b": {} })] {
        let ack = client.ask("tasks/update", &answer(nothing)).await;
        assert_eq!(ack["resultType"], "complete");
    }
    client.ask("tasks/update", &answer(json!({ a: { "roots": [1] } }))).await;
    let rest = client.until(&id, "input_required").await;
    assert_eq!(rest["inputRequests"], json!({ b: roots }));
    client.ask("tasks/update", &answer(json!({ b: { "roots": [] }, a: {} }))).await;
    let done = client.until(&id, "completed").await;
    let text = &done["result"]["content"][0]["text"];
    assert_eq!(text, r#"1 {"a":{"roots":[1]},"b":{"roots":[]}}"#);
    assert_eq!(client.ask("tasks/update", &about(&id)).await["code"], -32602, "no answers");
}

#[tokio::test]
async fn who_has_read_one_question_of_a_task_answers_no_later_one_under_the_same_key() {
    let mut client = Client::new(Revision::MODERN, Config { always: vec!["ask".into()], ..default() });
    let asks = r#"{"name":"ask","arguments":{"rounds":2,"requests":{"a":{"method":"roots/list"}}}}"#;
    let id = client.begin(asks).await;
    let answer =
        |key: &str, root| json!({ "taskId": id, "inputResponses": { key: { "roots": [root] } } }).to_string();
    let first = keys(&client.until(&id, "input_required").await).remove(0);
    client.ask("tasks/update", &answer(&first, 1)).await;
    let since = Instant::now();
    let second = loop {
        let task = client.ask("tasks/get", &about(&id)).await;
        match keys(&task).pop() {
            Some(key) if key != first => break key,
            _ => assert!(since.elapsed() < PATIENCE, "waited too long until it asks anew: {task}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    client.ask("tasks/update", &answer(&first, 2)).await;
    let asking = client.ask("tasks/get", &about(&id)).await;
    assert_eq!((&asking["status"], keys(&asking)), (&json!("input_required"), vec![second.clone()]));
    client.ask("tasks/update", &answer(&second, 3)).await;
    let done = client.until(&id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], r#"2 {"a":{"roots":[3]}}"#);
}

#[tokio::test]
async fn a_client_of_2025_11_25_asks_for_a_task_and_waits_for_its_result() {
    let mut client = Client::new(Revision::V2025_11_25, default());
    let begun =
        client.ask("tools/call", r#"{"name":"shout","arguments":{"text":"a"},"task":{"ttl":60000}}"#).await;
    let id = begun["task"]["taskId"].as_str().expect("a task").to_owned();
    expect![[r#"{"task":{"createdAt":"*","lastUpdatedAt":"*","pollInterval":1000,"status":"working","statusMessage":"queued","taskId":"*","ttl":"*"}}"#]]
        .assert_eq(&masked(begun));
    let result = client.ask("tasks/result", &about(&id)).await;
    assert_eq!(result["structuredContent"], json!({ "text": "A" }));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], json!({ "taskId": id }));
    let page = client.ask("tasks/list", "{}").await;
    assert_eq!(page["tasks"][0]["taskId"], *id);
    assert_eq!(page["tasks"][0]["status"], "completed");
    let over = client.ask("tasks/cancel", &about(&id)).await;
    assert_eq!(over["code"], -32602, "{over}");
    assert_eq!(client.talk.sample.records(1), ["tasks_cancel tool_error job_state"]);
    assert_eq!(client.ask("tasks/list", r#"{"cursor":"x"}"#).await["code"], -32602);
    let failing = client.begin(r#"{"name":"fail","arguments":{"text":"so it is"},"task":{}}"#).await;
    let failed = client.ask("tasks/result", &about(&failing)).await;
    assert_eq!((&failed["isError"], &failed["content"][0]["text"]), (&json!(true), &json!("so it is")));
    let waiting = client.begin(r#"{"name":"wait","arguments":{"text":"a"},"task":{}}"#).await;
    assert_eq!(client.ask("tasks/cancel", &about(&waiting)).await["status"], "cancelled");
    assert_eq!(
        client.ask("tools/call", r#"{"name":"shout","arguments":{},"task":{"ttl":"x"}}"#).await["code"],
        -32602
    );
    assert_eq!(client.ask("tasks/update", &about(&id)).await["code"], -32601);
}

#[tokio::test]
async fn what_a_core_task_asks_its_client_is_asked_while_it_waits_for_the_result() {
    let mut client = Client::new(Revision::V2025_11_25, default());
    let asks =
        r#"{"name":"ask","arguments":{"rounds":1,"requests":{"a":{"method":"roots/list"}}},"task":{}}"#;
    let id = client.begin(asks).await;
    client.until(&id, "input_required").await;
    let asked: Value = serde_json::from_str(&client.told("tasks/result", &about(&id)).await).expect("JSON");
    assert_eq!(asked["method"], "roots/list");
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"], json!({ "taskId": id }));
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, asked["id"]);
    let result = client.talk.say_and_hear(&answer).await;
    assert!(result.contains(r#"1 {\"a\":{\"roots\":[]}}"#), "{result}");
}

#[tokio::test]
async fn an_answer_that_comes_late_answers_no_later_question() {
    let mut client = Client::new(Revision::V2025_11_25, default());
    let asks =
        r#"{"name":"ask","arguments":{"rounds":2,"requests":{"a":{"method":"roots/list"}}},"task":{}}"#;
    let id = client.begin(asks).await;
    client.until(&id, "input_required").await;
    let asked: Value = serde_json::from_str(&client.told("tasks/result", &about(&id)).await).expect("JSON");
    // Somebody else is quicker, and it asks the same again.
    let jobs = client.talk.server.gate().jobs().expect("jobs").clone();
    let (caller, elsewhere) =
        (client.talk.session.caller.clone(), Bytes::from_static(br#"{"a":{"roots":[1]}}"#));
    let first = jobs.asked(&caller, &id).await.expect("it asks").number;
    jobs.answer_for_client(&caller, &id, Some(first), &elsewhere).await.expect("it is asked");
    let since = Instant::now();
    while jobs.asked(&caller, &id).await.is_err() {
        assert!(since.elapsed() < PATIENCE, "waited too long until it asks again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let answer = |asked: &Value, root| {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[{root}]}}}}"#, asked["id"])
    };
    let again = client.talk.say_and_hear(&answer(&asked, 2)).await;
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(again["method"], "roots/list", "{again}");
    let result = client.talk.say_and_hear(&answer(&again, 3)).await;
    assert!(result.contains(r#"2 {\"a\":{\"roots\":[3]}}"#), "{result}");
}

#[tokio::test]
async fn older_clients_are_given_a_result_that_names_the_job() {
    for revision in [Revision::V2024_11_05, Revision::V2025_06_18] {
        let mut client = Client::that_waits(revision, default());
        let asked = |tool: &str| {
            format!(r#"{{"name":"{tool}","arguments":{{"text":"a"}},"_meta":{{"toolcrib/job":true}}}}"#)
        };
        let handle = client.ask("tools/call", &asked("echo")).await;
        let job = &handle["_meta"]["toolcrib/job"]["job_id"];
        let id = job.as_str().expect("a job");
        assert!(handle["content"][0]["text"].as_str().expect("text").contains(id), "{handle}");
        if revision == Revision::V2025_06_18 {
            // Some clients show their model the structure alone.
            assert_eq!(handle["structuredContent"]["message"], handle["content"][0]["text"]);
        }
        assert_eq!(handle["isError"], json!(false));
        // A strict client holds a result against the structure that the tool promises.
        assert_eq!(client.ask("tools/call", &asked("shout")).await["isError"], json!(true));
        for method in ["tasks/get", "tasks/list", "tasks/result"] {
            assert_eq!(client.ask(method, &about(id)).await["code"], -32601, "{method}");
        }
    }
}

#[tokio::test]
async fn a_job_that_is_asked_for_again_by_its_request_id_is_the_same() {
    let mut client = Client::that_waits(Revision::V2025_06_18, default());
    let asked = |text: &str| {
        let meta = r#"{"toolcrib/job":true,"toolcrib/request_id":"r1"}"#;
        format!(r#"{{"name":"echo","arguments":{{"text":"{text}"}},"_meta":{meta}}}"#)
    };
    let first = client.ask("tools/call", &asked("a")).await["_meta"]["toolcrib/job"]["job_id"].take();
    let again = client.ask("tools/call", &asked("a")).await["_meta"]["toolcrib/job"]["job_id"].take();
    assert!(first.is_string() && first == again, "{first} {again}");
    let other = client.ask("tools/call", &asked("b")).await;
    assert_eq!(other["_meta"]["toolcrib/error"]["code"], "request_conflict", "{other}");
}

#[tokio::test]
async fn who_could_not_wait_for_a_job_is_told_so_and_none_is_taken() {
    let required = Config { required: vec!["shout".into()], ..default() };
    let asked = r#"{"name":"shout","arguments":{"text":"a"},"_meta":{"toolcrib/job":true}}"#;
    let plain = r#"{"name":"shout","arguments":{"text":"a"}}"#;
    for (config, call) in [(default(), asked), (required, plain)] {
        let mut client = Client::new(Revision::V2025_06_18, config);
        let refused = client.ask("tools/call", call).await;
        assert_eq!(refused["code"], -32602, "{call}");
        let why = refused["message"].as_str().expect("a sentence");
        assert!(why.contains("job_wait") && why.contains("`offer` of [tools]"), "{why}");
        let jobs = client.talk.server.gate().jobs().expect("jobs").clone();
        let kept = jobs.list(&client.talk.session.caller, &gate::jobs::Filter::default()).await;
        assert!(kept.expect("a page").jobs.is_empty(), "{call}");
    }
}

#[tokio::test]
async fn a_client_says_how_urgent_its_job_is_and_how_often_it_is_tried() {
    let mut client = Client::that_waits(Revision::V2025_06_18, default());
    let asked = |tool: &str, wants: &str| {
        format!(r#"{{"name":"{tool}","arguments":{{"text":"a"}},"_meta":{{"toolcrib/job":{wants}}}}}"#)
    };
    let handle = client.ask("tools/call", &asked("echo", r#"{"priority":7,"retries":2}"#)).await;
    let id = handle["_meta"]["toolcrib/job"]["job_id"].as_str().expect("a job").to_owned();
    let jobs = client.talk.server.gate().jobs().expect("jobs").clone();
    let job = jobs.get(&client.talk.session.caller, &id).await.expect("it is there");
    assert_eq!((job.priority, job.retries), (7, 2));
    let refused = client.ask("tools/call", &asked("echo", r#"{"priority":11}"#)).await;
    assert_eq!(refused["code"], -32602);
}

#[tokio::test]
async fn a_call_that_outlives_its_request_goes_on_as_a_task() {
    let config = serde_json::from_value(json!({ "after": "20ms" })).expect("a setting");
    let mut client = Client::new(Revision::MODERN, config);
    let quick = client.ask("tools/call", r#"{"name":"shout","arguments":{"text":"a"}}"#).await;
    assert_eq!(quick["resultType"], "complete");
    let id = client.begin(r#"{"name":"wait","arguments":{"text":"a"}}"#).await;
    assert_eq!(client.ask("tasks/get", &about(&id)).await["status"], "working");
    client.ask("tasks/cancel", &about(&id)).await;
    client.until(&id, "cancelled").await;
}

#[tokio::test]
async fn a_tool_that_runs_as_a_job_alone_refuses_whoever_knows_no_tasks() {
    let required = Config { required: vec!["shout".into()], ..default() };
    let call = r#"{"name":"shout","arguments":{"text":"a"}}"#;
    let mut modern = Client::new(Revision::MODERN, required.clone());
    modern.begin(call).await;
    modern.capabilities = "{}";
    let refused = modern.ask("tools/call", call).await;
    assert_eq!(refused["code"], -32021);
    let needed = &refused["data"]["requiredCapabilities"]["extensions"];
    assert_eq!(needed, &json!({ "io.modelcontextprotocol/tasks": {} }));
    let mut older = Client::that_waits(Revision::V2025_06_18, required);
    assert!(older.ask("tools/call", call).await["_meta"]["toolcrib/job"]["job_id"].is_string());
}

#[tokio::test]
async fn tools_say_that_they_may_be_tasks_where_the_revision_has_a_word_for_it() {
    let support = async |revision: Revision| {
        let listed = Client::new(revision, default()).ask("tools/list", "{}").await;
        let tools = listed["tools"].as_array().expect("a list").clone();
        tools.iter().all(|tool| tool["execution"]["taskSupport"] == "optional")
    };
    assert!(support(Revision::V2025_11_25).await);
    assert!(!support(Revision::V2025_06_18).await && !support(Revision::MODERN).await);
    let mut without = Talk::new(Revision::MODERN);
    let frame = modern_with(
        "tools/call",
        r#"{"name":"shout","arguments":{"text":"a"}}"#,
        KNOWING,
        r#","toolcrib/job":true"#,
    );
    assert!(without.say(&frame).contains("there are none here"));
}

/// The parameters of the next notification of this method.
fn params(told: &str, method: &str) -> Value {
    let line = told.lines().find(|line| line.contains(&format!(r#""method":"{method}""#)));
    let line = line.unwrap_or_else(|| panic!("no {method}: {told}"));
    serde_json::from_str::<Value>(line).expect("JSON")["params"].take()
}

#[tokio::test]
async fn a_subscription_tells_of_each_status_of_its_jobs_and_of_nobody_elses() {
    let always = Config { always: vec!["wait".into(), "ask".into(), "fail".into()], ..default() };
    let mut client = Client::new(Revision::MODERN, always);
    let waits = client.begin(r#"{"name":"wait","arguments":{"text":"a"}}"#).await;
    let over = client.begin(r#"{"name":"fail","arguments":{"text":"so it is"}}"#).await;
    client.until(&over, "completed").await;
    let unknown = "0".repeat(32);
    let wanted = json!({ "notifications": { "taskIds": [waits, unknown, over] } }).to_string();
    let listen = modern("subscriptions/listen", &wanted, KNOWING).replace(r#""id":1,"#, r#""id":"s","#);
    let mut told = client.talk.say_and_hear(&listen).await;
    let honoured = &params(&told, "notifications/subscriptions/acknowledged")["notifications"]["taskIds"];
    assert_eq!(honoured, &json!([waits, over]), "one is nobody's");
    // What stands by then comes first, with all that a look would find.
    while told.matches("notifications/tasks").count() < 2 {
        told += &client.talk.hear().await;
    }
    let all: Vec<Value> = told.lines().skip(1).map(|line| params(line, "notifications/tasks")).collect();
    let of = |id: &str| all.iter().find(|task| task["taskId"] == *id).expect("it is told");
    assert_eq!(of(&waits)["status"], "working");
    assert_eq!(of(&waits)["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert_eq!(of(&over)["result"]["content"][0]["text"], "so it is");
    assert_eq!(all.len(), 2, "{told}");
    let mut told = client.told("tasks/cancel", &about(&waits)).await;
    while !told.contains("notifications/tasks") {
        told += &client.talk.hear().await;
    }
    assert_eq!(params(&told, "notifications/tasks")["status"], "cancelled");
}

#[tokio::test]
async fn a_session_of_2025_11_25_is_told_how_its_own_tasks_stand() {
    let mut client = Client::that_waits(Revision::V2025_11_25, default());
    let session = client.talk.session.clone();
    let mut notifier = crate::notifier::Notifier::new(&client.talk.server, session);
    let mut next = async || {
        let frame = tokio::time::timeout(PATIENCE, notifier.next()).await.expect("something is told");
        String::from_utf8(frame).expect("text")
    };
    let asks =
        r#"{"name":"ask","arguments":{"rounds":1,"requests":{"a":{"method":"roots/list"}}},"task":{}}"#;
    let id = client.begin(asks).await;
    let asking = params(&next().await, "notifications/tasks/status");
    assert_eq!((&asking["taskId"], &asking["status"]), (&json!(id), &json!("input_required")));
    assert_eq!(asking["pollInterval"], 1000);
    client.ask("tasks/cancel", &about(&id)).await;
    assert_eq!(params(&next().await, "notifications/tasks/status")["status"], "cancelled");
    // One that has ended before anybody listens is told, too; another session's is not.
    let quick = client.begin(r#"{"name":"shout","arguments":{"text":"a"},"task":{}}"#).await;
    client.until(&quick, "completed").await;
    let done = params(&next().await, "notifications/tasks/status");
    assert_eq!((&done["taskId"], &done["status"]), (&json!(quick), &json!("completed")));
    assert!(done.get("result").is_none(), "{done}");
    let handle = r#"{"name":"echo","arguments":{"text":"a"},"_meta":{"toolcrib/job":true}}"#;
    let begun = client.ask("tools/call", handle).await;
    let job = begun["_meta"]["toolcrib/job"]["job_id"].as_str().expect("a job").to_owned();
    let jobs = client.talk.server.gate().jobs().expect("jobs").clone();
    let over = jobs.wait(&client.talk.session.caller, &job, PATIENCE).await;
    assert!(over.is_ok_and(|job| job.state.is_final()));
    assert!(notifier.next().now_or_never().is_none(), "it is no task of this session");
}
