//! Plain requests with JSON: tools, calls, records and rules, and who may.

use gate::Role;
use serde_json::{Value, json};

use crate::client::{Answer, Door, Request};

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("JSON: {answer:?}"))
}

fn get(path: &str) -> Request {
    Request::new("GET", path)
}

fn invoke(body: &Value) -> Request {
    Request::post_to("/mcp/invoke", &body.to_string())
}

fn bearer(request: Request, key: &str) -> Request {
    request.with("Authorization", &format!("Bearer {key}"))
}

/// The status, and the word and code of an answer.
fn brief(answer: &Answer) -> String {
    let said = json(answer);
    let problem = if said["error"].is_null() { &said } else { &said["error"] };
    let word = said["status"].as_str().unwrap_or("-");
    format!("{} {word} {}", answer.status, problem["code"].as_str().unwrap_or("-"))
}

#[tokio::test]
async fn tools_are_listed_page_by_page_shown_and_checked() {
    let door = Door::open().await;
    let whole = json(&door.ask(&get("/mcp/tools")).await);
    let names = |page: &Value| -> Vec<String> {
        let tools = page["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let all = names(&whole);
    assert!(all.contains(&"echo".to_owned()) && whole["next_cursor"].is_null(), "{whole}");
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = json(&door.ask(&get(&format!("/mcp/tools?limit=2{cursor}"))).await);
        found.extend(names(&page));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found, all);
    let echo = json(&door.ask(&get("/mcp/a/tools/echo")).await);
    assert_eq!((&echo["name"], &echo["effect"]), (&json!("echo"), &json!("reads")), "{echo}");
    for (request, expected) in [
        (get("/mcp/tools?cursor=gone"), "400 - bad_request"),
        (get("/mcp/tools?limit=0"), "400 - bad_request"),
        (get("/mcp/tools?page=2"), "400 - bad_request"),
        (get("/mcp/tools/juggle"), "404 - tool_not_found"),
        (get("/mcp/tools/validate"), "404 - tool_not_found"),
        (get("/mcp/tools/echo?page=2"), "400 - bad_request"),
        (get("/mcp/artifacts/x?page=2"), "400 - bad_request"),
        (get("/mcp/grants?limit=1"), "400 - bad_request"),
        (get("/mcp/approvals?limit=1"), "400 - bad_request"),
        (get("/mcp/nobody/tools"), "404 - not_found"),
        (get("/mcp/tools/a/b"), "404 - not_found"),
        (get("/mcp/tools").with("Accept", "text/html"), "406 - not_acceptable"),
        (Request::post_to("/mcp/tools", "{}"), "405 - method_not_allowed"),
        (Request::new("OPTIONS", "/mcp/tools"), "204"),
    ] {
        let answer = door.ask(&request).await;
        let told = if answer.body.is_empty() { answer.status.to_string() } else { brief(&answer) };
        assert_eq!(told, expected, "{request}\n{answer:?}");
    }
    for (request, allowed) in [
        (Request::new("OPTIONS", "/mcp/tools"), "GET, HEAD, OPTIONS"),
        (Request::new("OPTIONS", "/mcp/invoke"), "POST, OPTIONS"),
        (Request::new("OPTIONS", "/mcp/approvals/x"), "GET, HEAD, POST, OPTIONS"),
        (Request::new("OPTIONS", "/mcp/artifacts/x"), "GET, HEAD, OPTIONS"),
        (Request::new("OPTIONS", "/mcp"), "GET, POST, DELETE, OPTIONS"),
        (Request::post_to("/mcp/tools", "{}"), "GET, HEAD, OPTIONS"),
    ] {
        assert_eq!(door.ask(&request).await.header("allow"), Some(allowed), "{request}");
    }
    for (request, expected) in [
        (get("/mcp/tol"), "404 no workspace has this name, nor has a route; did you mean /mcp/tools? the"),
        (get("/mcp/job/1"), "404 there is no such route; did you mean /mcp/jobs/1?"),
        (get("/mcp/tools/"), "404 there is no such route; did you mean /mcp/tools?"),
        (get("/mcp/a/tol"), "404 there is no such route; did you mean /mcp/a/tools?"),
        (get("/elsewhere"), "404 there is nothing here; the MCP endpoint is /mcp"),
        (
            Request::post_to("/mcp/tools/validat", "{}"),
            "405 only GET, HEAD, OPTIONS are allowed here; did you mean /mcp/tools/validate, which takes POST?",
        ),
    ] {
        let answer = door.ask(&request).await;
        let told = format!("{} {}", answer.status, json(&answer)["detail"].as_str().expect("a text"));
        assert!(told.starts_with(expected), "{request}: {told}");
        assert_eq!(answer.header("allow").is_some(), answer.status == 405, "{request}");
    }
    assert_eq!((&echo["idempotent"], &echo["dry_run_supported"]), (&json!(true), &json!(false)), "{echo}");
    for (body, expected) in [
        (json!({ "tool_id": "echo", "arguments": { "text": "a" } }), json!(true)),
        (json!({ "tool_id": "echo", "arguments": { "text": 7 } }), json!(false)),
        (json!({ "tool_id": "echo", "arguments": [] }), json!(false)),
        (json!({ "manifest": { "id": "x" } }), json!(true)),
        (json!({ "manifest": {} }), json!(false)),
        (json!({ "manifest": 7 }), json!(false)),
        (json!(["echo", { "text": "a" }, null]), Value::Null),
        (json!({ "tool_id": "juggle" }), Value::Null),
        (json!({ "arguments": {} }), Value::Null),
    ] {
        let answer = door.ask(&Request::post_to("/mcp/tools/validate", &body.to_string())).await;
        assert_eq!(json(&answer)["valid"], expected, "{body} {answer:?}");
    }
    door.close().await;
}

#[tokio::test]
async fn an_invocation_is_one_call_and_says_how_it_ended() {
    let door = Door::open().await;
    let done = door.ask(&invoke(&json!({ "tool_id": "echo", "arguments": { "text": "hi" } }))).await;
    assert_eq!(brief(&done), "200 success -", "{done:?}");
    let said = json(&done);
    assert_eq!(said["result"]["content"][0]["text"], "hi", "{said}");
    assert_eq!(said["metadata"]["tool_id"], "echo");
    let worker = said["metadata"]["worker_id"].as_str().expect("a process").to_owned();
    let other = json(&door.ask(&invoke(&json!({ "tool_id": "juggle" }))).await);
    assert_eq!(other["metadata"]["worker_id"], worker, "the same process");
    for (body, expected) in [
        (json!({ "tool_id": "echo", "arguments": { "text": 7 } }), "400 error invalid_arguments"),
        (json!({ "tool_id": "echo", "arguments": "hi" }), "400 error invalid_arguments"),
        (json!({ "tool_id": "juggle" }), "404 error tool_not_found"),
        (json!({ "tool_id": "fail", "arguments": { "text": "a" } }), "422 error tool_failed"),
        (
            json!({ "tool_id": "echo", "arguments": { "text": "hi" }, "dry_run": true }),
            "400 error dry_run_unsupported",
        ),
        (json!({ "tool_id": "echo", "dry_run": true, "plan_hash": "x" }), "400 - bad_request"),
        (json!({ "tool_id": "echo", "request_id": "" }), "400 - bad_request"),
        (json!({ "tool_id": "echo", "request_id": "x".repeat(129) }), "400 - bad_request"),
        (json!({ "tool_id": "echo", "mode": "later" }), "400 - bad_request"),
        (json!({ "tool": "echo" }), "400 - bad_request"),
        (json!([]), "400 - bad_request"),
        (json!([null, "echo", { "text": "hi" }, null, null, "sync", false, null]), "400 - bad_request"),
    ] {
        assert_eq!(brief(&door.ask(&invoke(&body)).await), expected, "{body}");
    }
    let text = invoke(&json!({ "tool_id": "echo" })).but("Content-Type", "text/plain");
    assert_eq!(door.ask(&text).await.status, 415);
    door.close().await;
}

#[tokio::test]
async fn the_same_request_id_gets_the_same_answer_and_runs_once() {
    let door = Door::open().await;
    let call = |id: &str, text: &str| {
        invoke(
            &json!({ "request_id": id, "tool_id": "echo", "arguments": { "text": text }, "caller": { "id": "me" } }),
        )
    };
    let (first, again) = (door.ask(&call("r1", "hi")).await, door.ask(&call("r1", "hi")).await);
    assert_eq!((json(&first)["result"].clone(), 200), (json(&again)["result"].clone(), again.status));
    assert_eq!(json(&again)["request_id"], "r1");
    assert_eq!(brief(&door.ask(&call("r1", "other")).await), "409 error request_conflict");
    // Over MCP it is the same id.
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"toolcrib/request_id":"r1""#;
    let params = r#""name":"echo","arguments":{"text":"other"}"#;
    let over_mcp = Request::modern_with("tools/call", params, meta).with("Mcp-Name", "echo");
    let told = door.ask(&over_mcp).await;
    assert_eq!(json(&told)["result"]["_meta"]["toolcrib/error"]["code"], "request_conflict", "{told:?}");
    let gate = door.ended().await;
    let records = gate.whole_records(4);
    let of = |member: &str| records.iter().map(|record| record[member].to_string()).collect::<Vec<_>>();
    assert_eq!(of("request_id"), [r#""r1""#; 4]);
    assert_eq!(of("claims")[0], json!(r#"{"caller":{"id":"me"}}"#).to_string());
    assert_eq!(records[1]["verdicts"], json!([["repeat", "pass"]]), "it did not run");
    assert_eq!(of("code")[2..], [r#""request_conflict""#; 2]);
}

#[tokio::test]
async fn a_stream_tells_how_far_a_call_has_come_and_how_it_ended() {
    let door = Door::open().await;
    let body = json!({ "tool_id": "steps", "arguments": { "text": "a" }, "mode": "stream" });
    let answer = door.ask(&invoke(&body)).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{answer:?}");
    let names: Vec<&str> = answer.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names, ["progress", "progress", "result"], "{answer:?}");
    assert!(answer.body.contains(r#""status":"success""#), "{answer:?}");
    let silent = door.ask(&invoke(&body).without("Accept")).await;
    assert_eq!(silent.header("content-type"), Some("text/event-stream"), "{silent:?}");
    let plain = invoke(&body).but("Accept", "application/json");
    assert_eq!(brief(&door.ask(&plain).await), "406 - not_acceptable");
    door.close().await;
}

#[tokio::test]
async fn records_and_rules_are_for_those_who_may_audit() {
    let door = Door::open().await;
    let (auditor, agent) = (door.key("aud", Role::Auditor), door.key("bot", Role::Agent));
    let asked = |answer: &Answer| json(answer)["records"][0]["input"].clone();
    let all = door.ask(&bearer(get("/mcp/audit?limit=5&cursor=9&tool=git_*"), &auditor)).await;
    assert_eq!(asked(&all)["filter"]["caller"], Value::Null);
    assert_eq!((&asked(&all)["before"], &asked(&all)["lines"]), (&json!(9), &json!(6)), "{all:?}");
    let own = door.ask(&bearer(get("/mcp/audit"), &agent)).await;
    assert_eq!(asked(&own)["filter"]["caller"], "key:bot", "{own:?}");
    let rules = |tool: &str| Request::post_to("/mcp/rules/test", &json!({ "tool_id": tool }).to_string());
    for (request, expected) in [
        (bearer(get("/mcp/audit?caller=key:aud"), &agent), "403 - scope_denied"),
        (bearer(get("/mcp/audit?events=true"), &agent), "403 - scope_denied"),
        (bearer(rules("x"), &agent), "403 - scope_denied"),
        (bearer(rules("x"), &auditor), "200 - -"),
        (bearer(rules("misused"), &auditor), "400 - planted"),
        (bearer(rules("unknown"), &auditor), "404 - planted"),
        (bearer(rules("refused"), &auditor), "403 - planted"),
        (bearer(rules("failed"), &auditor), "503 - planted"),
        (bearer(get("/mcp/a/audit"), &auditor), "404 - not_found"),
        (bearer(get("/mcp/audit"), "wrong"), "401 - unauthorized"),
    ] {
        let answer = door.ask(&request).await;
        assert_eq!(brief(&answer), expected, "{request}\n{answer:?}");
    }
    let health = json(&door.ask(&get("/mcp/health")).await);
    assert_eq!((&health["status"], &health["problem"]), (&json!("ok"), &Value::Null), "{health}");
    assert_eq!(json(&door.ask(&get("/mcp/openapi.json")).await)["openapi"], "3.1.0");
    door.close().await;
}

#[tokio::test]
async fn a_job_is_taken_once_looked_at_and_followed() {
    let door = Door::open().await;
    let agent = door.key("bot", Role::Agent);
    let body =
        json!({ "request_id": "j1", "tool_id": "steps", "arguments": { "text": "a" }, "mode": "async" });
    let taken = door.ask(&bearer(invoke(&body), &agent)).await;
    assert_eq!(brief(&taken), "202 accepted -", "{taken:?}");
    let id = json(&taken)["job_id"].as_str().expect("an id").to_owned();
    let again = json(&door.ask(&bearer(invoke(&body), &agent)).await);
    assert_eq!(again["job_id"], id, "it was not taken twice");
    let at = |rest: &str| format!("/mcp/jobs/{id}{rest}");
    // To its end.
    let events = door.ask(&bearer(Request::get(&at("/events")), &agent)).await;
    let names = |answer: &Answer| -> Vec<String> {
        answer.body.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
    };
    assert_eq!(names(&events).last().map(String::as_str), Some("finished"), "{events:?}");
    assert!(names(&events).iter().any(|name| name == "progress"), "{events:?}");
    let behind = Request::get(&at("/events")).with("Last-Event-ID", &(names(&events).len() - 1).to_string());
    assert_eq!(names(&door.ask(&bearer(behind, &agent)).await), ["finished"]);
    let whole = names(&events).len().to_string();
    for request in [
        Request::get(&at("/events")).with("Last-Event-ID", &whole),
        Request::new("GET", &at("/events?after=1000")),
    ] {
        let over = door.ask(&bearer(request, &agent)).await;
        assert_eq!((over.status, over.body.as_str()), (204, ""), "a browser asks no more");
    }
    let silent = door.ask(&bearer(Request::new("GET", &at("/events")), &agent)).await;
    assert_eq!(names(&silent), names(&events), "who accepts nothing by name takes anything");
    let mut connection = door.connect().await;
    for path in [at("/events"), at(""), "/mcp/health".to_owned(), "/mcp/approvals".to_owned()] {
        connection.send(&bearer(Request::new("HEAD", &path), &agent)).await;
        // A body would be read as the head of the next answer.
        let head = connection.head().await;
        assert_eq!(head.status, 200, "{path} {head:?}");
    }
    let shown = json(&door.ask(&bearer(get(&at("")), &agent)).await);
    assert_eq!(shown["job"]["state"], "succeeded", "{shown}");
    assert_eq!(shown["result"]["structuredContent"]["text"], "done", "{shown}");
    let other = door.key("other", Role::Agent);
    for (request, expected) in [
        (bearer(get(&at("")), &other), "404 - job_not_found"),
        (bearer(Request::new("POST", &at("/cancel")), &other), "404 - job_not_found"),
        (bearer(Request::get(&at("/events")), &other), "404 - job_not_found"),
        (bearer(get("/mcp/jobs/unknown"), &agent), "404 - job_not_found"),
        (bearer(Request::new("POST", &at("/pause")), &agent), "409 - job_state"),
        (bearer(Request::new("POST", &at("/cancel")), &agent), "200 - -"),
        (bearer(Request::post_to(&at("/cancel"), "{}"), &agent), "200 - -"),
        (bearer(Request::post_to(&at("/cancel"), r#"{"priority":1}"#), &agent), "400 - bad_request"),
        (bearer(Request::post_to(&at("/again"), "[]"), &agent), "400 - bad_request"),
        (bearer(get(&at("/cancel")), &agent), "405 - method_not_allowed"),
        (bearer(get("/mcp/jobs?caller=local"), &agent), "403 - scope_denied"),
        (bearer(get("/mcp/jobs?status=done"), &agent), "400 - bad_request"),
        (bearer(get("/mcp/jobs?cursor=zzz"), &agent), "400 - bad_request"),
        (bearer(get("/mcp/audit?cursor=zzz"), &agent), "400 - bad_request"),
        (bearer(get("/mcp/jobs?tool="), &agent), "400 - bad_request"),
        (bearer(get("/mcp/jobs?limit=201"), &agent), "400 - bad_request"),
        (bearer(Request::get(&at("/events")).with("Last-Event-ID", "x"), &agent), "400 - bad_request"),
    ] {
        assert_eq!(brief(&door.ask(&request).await), expected, "{request}");
    }
    let count = async |request: Request| json(&door.ask(&request).await)["jobs"].as_array().map(Vec::len);
    assert_eq!(count(bearer(get("/mcp/jobs"), &agent)).await, Some(1));
    assert_eq!(count(bearer(get("/mcp/jobs?status=failed"), &agent)).await, Some(0));
    assert_eq!(count(bearer(get("/mcp/jobs?state=failed"), &agent)).await, Some(0));
    assert_eq!(count(bearer(get("/mcp/jobs?state=succeeded"), &agent)).await, Some(1));
    let both = bearer(get("/mcp/jobs?state=failed&status=failed"), &agent);
    assert_eq!(brief(&door.ask(&both).await), "400 - bad_request");
    assert_eq!(count(bearer(get("/mcp/jobs"), &other)).await, Some(0));
    assert_eq!(count(get("/mcp/jobs")).await, Some(1), "the owner sees all");
    assert_eq!(brief(&door.ask(&Request::new("POST", &at("/cancel"))).await), "200 - -", "and acts on all");
    let changed =
        json!({ "request_id": "j1", "tool_id": "steps", "arguments": { "text": "b" }, "mode": "async" });
    assert_eq!(brief(&door.ask(&bearer(invoke(&changed), &agent)).await), "409 error request_conflict");
    let refused = json!({ "request_id": "j2", "tool_id": "juggle", "mode": "async" });
    assert_eq!(brief(&door.ask(&bearer(invoke(&refused), &agent)).await), "404 error tool_not_found");
    door.close().await;
}
