//! Approvals over HTTP: who sees them, who answers them, and what is refused.

use gate::Role;
use serde_json::Value;

use crate::client::{Answer, Door, Request};

fn bearer(request: Request, key: &str) -> Request {
    request.with("Authorization", &format!("Bearer {key}"))
}

fn burn(number: u32) -> Request {
    let params = format!(r#""name":"burn","arguments":{{"n":{number}}}"#);
    Request::modern("tools/call", &params).with("Mcp-Name", "burn")
}

fn get(path: &str) -> Request {
    Request::new("GET", path)
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("JSON: {answer:?}"))
}

/// The id of the question that a call of the local user waits for; the answer to the call does not tell it.
async fn asked(door: &Door, number: u32) -> String {
    let told = json(&door.ask(&burn(number)).await);
    let details = &told["result"]["_meta"]["toolcrib/error"]["details"];
    assert_eq!(details["code"], "approval_required", "{told}");
    let open = json(&door.ask(&get("/mcp/approvals?state=pending")).await);
    let arguments = format!(r#"{{"n":{number}}}"#);
    let all = open["approvals"].as_array().expect("a list");
    let one = all.iter().find(|one| one["arguments"] == *arguments).expect("it is open");
    let id = one["id"].as_str().expect("an id").to_owned();
    assert!(!told.to_string().contains(&id), "{told}");
    id
}

async fn ran(door: &Door, number: u32) -> bool {
    json(&door.ask(&burn(number)).await)["result"]["isError"] != true
}

fn answer(id: &str, body: &str) -> Request {
    Request::post_to(&format!("/mcp/approvals/{id}"), body)
}

/// The status and the code of an answer, or the state of what was answered.
fn brief(answer: &Answer) -> String {
    let said = json(answer);
    let word = said["code"].as_str().or(said["state"].as_str()).or(said["scope"].as_str());
    format!("{} {}", answer.status, word.unwrap_or("-"))
}

const YES: &str = r#"{"answer":"approve"}"#;

#[tokio::test]
async fn a_question_is_answered_once_by_somebody_else() {
    let door = Door::open().await;
    door.offer_burning();
    let (maintainer, agent) = (door.person("mia", Role::Maintainer), door.key("ada", Role::Agent));
    let (auditor, owner) = (door.key("aud", Role::Auditor), door.key("bot", Role::Owner));
    let id = asked(&door, 1).await;
    for (request, expected) in [
        (answer(&id, YES), "403 own_question"),
        (bearer(answer(&id, YES), &agent), "404 unknown_approval"),
        (bearer(answer(&id, YES), &auditor), "403 wrong_role"),
        (bearer(answer(&id, YES), &owner), "403 not_a_person"),
        (bearer(answer(&id, r#"{"answer":"deny"}"#), &owner), "403 not_a_person"),
        (bearer(answer("nothing", YES), &maintainer), "404 unknown_approval"),
        (bearer(answer(&id, "{"), &maintainer), "400 bad_request"),
        (bearer(answer(&id, r#"{"answer":"yes"}"#), &maintainer), "400 bad_request"),
        (
            bearer(answer(&id, r#"{"answer":"approve","scope":"always","arguments":["/x"]}"#), &maintainer),
            "400 no_such_member",
        ),
        (bearer(get(&format!("/mcp/approvals/{id}")), &agent), "404 unknown_approval"),
        (bearer(get(&format!("/mcp/approvals/{id}")), &auditor), "200 pending"),
        (get(&format!("/mcp/approvals/{id}")), "200 pending"),
        (bearer(answer(&id, YES), &maintainer), "200 approved"),
        (bearer(answer(&id, YES), &maintainer), "409 already_answered"),
        (bearer(answer(&id, r#"{"answer":"deny"}"#), &maintainer), "409 already_answered"),
    ] {
        assert_eq!(brief(&door.ask(&request).await), expected, "{request}");
    }
    assert!(!ran(&door, 2).await, "another call");
    assert!(ran(&door, 1).await);
    assert!(!ran(&door, 1).await, "once");
    door.close().await;
}

#[tokio::test]
async fn a_page_cannot_answer_for_its_reader() {
    let door = Door::open().await;
    door.offer_burning();
    let maintainer = door.person("mia", Role::Maintainer);
    let id = asked(&door, 1).await;
    let yes = || bearer(answer(&id, YES), &maintainer);
    for (request, status) in [
        (yes().but("Content-Type", "text/plain"), 415),
        (yes().but("Content-Type", "application/x-www-form-urlencoded"), 415),
        (yes().without("Content-Type"), 415),
        (yes().with("Origin", "https://evil.example"), 403),
        (yes().with("Origin", "null"), 403),
        (yes().but("Host", "evil.example"), 403),
        (bearer(get(&format!("/mcp/approvals/{id}?answer=approve")), &maintainer), 400),
        (bearer(Request::new("PUT", &format!("/mcp/approvals/{id}")), &maintainer), 405),
        (bearer(Request::new("DELETE", "/mcp/approvals"), &maintainer), 405),
        (Request::new("OPTIONS", "/mcp/approvals").with("Origin", "https://app.example"), 204),
    ] {
        assert_eq!(door.ask(&request).await.status, status, "{request}");
    }
    assert_eq!(asked(&door, 1).await, id, "nothing was answered");
    door.close().await;
}

#[tokio::test]
async fn lists_show_what_a_caller_may_know() {
    let door = Door::open().await;
    door.offer_burning();
    let (maintainer, agent) = (door.person("mia", Role::Maintainer), door.key("ada", Role::Agent));
    let id = asked(&door, 1).await;
    let denied = asked(&door, 2).await;
    let no = r#"{"answer":"deny","reason":"not today"}"#;
    assert_eq!(brief(&door.ask(&bearer(answer(&denied, no), &maintainer)).await), "200 denied");
    let told = door.ask(&burn(2)).await.body;
    assert!(told.contains("denied it") && told.contains("not today"), "{told}");
    let listed = async |query: &str, key: &str| {
        let said = json(&door.ask(&bearer(get(&format!("/mcp/approvals{query}")), key)).await);
        let ids = said["approvals"].as_array().expect("a list").iter().map(|one| one["id"].clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(listed("", &maintainer).await, [id.as_str(), denied.as_str()]);
    assert_eq!(listed("?state=pending", &maintainer).await, [id.as_str()]);
    assert_eq!(listed("?state=denied", &maintainer).await, [denied.as_str()]);
    assert!(listed("", &agent).await.is_empty());
    let wrong = door.ask(&bearer(get("/mcp/approvals?state=open"), &maintainer)).await;
    assert_eq!(brief(&wrong), "400 bad_request");
    let one = json(&door.ask(&get(&format!("/mcp/approvals/{id}"))).await);
    assert_eq!((&one["arguments"], &one["tool"]), (&Value::from(r#"{"n":1}"#), &Value::from("burn")));
    door.close().await;
}

#[tokio::test]
async fn a_grant_is_listed_and_taken_back() {
    let door = Door::open().await;
    door.offer_burning();
    let (maintainer, agent) = (door.person("mia", Role::Maintainer), door.key("ada", Role::Agent));
    let id = asked(&door, 1).await;
    let always = r#"{"answer":"approve","scope":"always","arguments":"any"}"#;
    assert_eq!(brief(&door.ask(&bearer(answer(&id, always), &maintainer)).await), "200 approved");
    assert!(ran(&door, 1).await && ran(&door, 7).await && ran(&door, 7).await);
    let grants = json(&door.ask(&bearer(get("/mcp/grants"), &maintainer)).await);
    let grant = grants["grants"][0]["id"].as_str().expect("a grant").to_owned();
    let path = format!("/mcp/grants/{grant}");
    assert_eq!(
        json(&door.ask(&bearer(get("/mcp/grants"), &agent)).await)["grants"],
        Value::Array(Vec::new())
    );
    for (request, expected) in [
        (bearer(get(&path), &maintainer), "200 always"),
        (bearer(get(&path), &agent), "404 unknown_grant"),
        (bearer(Request::new("DELETE", &path), &agent), "404 unknown_grant"),
        (bearer(Request::new("DELETE", &path), &maintainer), "200 always"),
        (bearer(Request::new("DELETE", &path), &maintainer), "404 unknown_grant"),
    ] {
        assert_eq!(brief(&door.ask(&request).await), expected, "{request}");
    }
    assert!(!ran(&door, 7).await);
    door.close().await;
}

#[tokio::test]
async fn nobody_is_answered_who_is_not_known() {
    let door = Door::for_callers(&server::identity::Config::default(), Some(false)).await;
    for request in
        [get("/mcp/approvals"), answer("x", YES), get("/mcp/grants"), Request::new("DELETE", "/mcp/grants/x")]
    {
        assert_eq!(door.ask(&request).await.status, 401, "{request}");
    }
    door.close().await;
}
