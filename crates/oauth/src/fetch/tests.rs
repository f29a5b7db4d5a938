//! The fetching against a small server on loopback.
#![expect(clippy::disallowed_methods, reason = "a small server on loopback")]

use expect_test::{Expect, expect};
use http::HeaderValue;
use sandbox::Client;
use serde_json::json;
use tokio::net::TcpListener;

use super::{BODY_BYTES_MAX, Fetch};
use crate::error::{Failure, Reason};
use crate::tests::server::TestServer;

/// What getting a document gives that is answered so: its object, or what is wrong with it.
async fn check(status: u16, body: &str, expected: Expect) {
    let server = TestServer::start().await;
    server.put("/doc", status, body);
    let outcome = Fetch::new(Client::new()).get(&server.at("/doc?key=secret")).await;
    let shown = match outcome {
        Ok(answer) => match answer.object() {
            Ok(object) => format!("{} {}", answer.status, json!(object)),
            Err(instead) => format!("{:?}: {instead}", instead.reason),
        },
        Err(failure) => format!("{:?}: {failure}", failure.reason),
    };
    expected.assert_eq(&server.without_port(&shown));
}

#[tokio::test]
async fn documents_and_what_comes_instead() {
    check(200, "{\"a\":[1]}", expect![[r#"200 OK {"a":[1]}"#]]).await;
    check(400, "{\"error\":\"x\"}", expect![[r#"400 Bad Request {"error":"x"}"#]]).await;
    check(200, "<html>", expect!["NotJson: answered 200 with HTML"]).await;
    check(500, "<h1>Sorry</h1>", expect!["Other: answered 500 with HTML"]).await;
    check(200, "", expect!["NotJson: answered 200 with nothing"]).await;
    check(200, "[]", expect!["NotJson: answered 200 with JSON that is not an object"]).await;
    check(200, "{\"a\":", expect!["NotJson: answered 200 with something that is not JSON"]).await;
    check(
        302,
        "https://elsewhere.example/",
        expect!["Redirects: answered 302 with a redirect, which is not followed"],
    )
    .await;
    let deep = "[".repeat(10_000);
    check(200, &deep, expect!["NotJson: answered 200 with something that is not JSON"]).await;
}

#[tokio::test]
async fn a_large_answer_is_not_read_to_its_end() {
    let fits = format!("\"{}\"", "a".repeat(BODY_BYTES_MAX - 2));
    check(200, &fits, expect!["NotJson: answered 200 with JSON that is not an object"]).await;
    check(200, &format!("{fits} "), expect!["Other: the answer of ORIGIN/doc is larger than 64 KiB"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let uri = format!("http://{address}/doc?key=secret").parse().unwrap();
    let failure = Fetch::new(Client::new()).get(&uri).await.unwrap_err();
    let said = format!("http://{address}/doc did not answer within 10s");
    assert_eq!(failure, Failure::new(Reason::Unreachable, said));
}

#[tokio::test]
async fn who_is_not_there_is_told_from_who_must_not_be_asked() {
    let nobody = Fetch::new(Client::new()).get(&"http://nowhere.invalid/".parse().unwrap()).await;
    assert_eq!(nobody.unwrap_err().reason, Reason::Unreachable);
    let inside = Fetch::new(Client::new().public()).get(&"https://10.0.0.1/".parse().unwrap()).await;
    assert_eq!(inside.unwrap_err().reason, Reason::EndpointPrivate);
}

#[tokio::test]
async fn documents_are_remembered_and_posts_are_not() {
    let server = TestServer::start().await;
    server.put("/doc", 200, "{}");
    server.put("/token", 200, "{\"access_token\":\"secret\"}");
    let fetch = Fetch::new(Client::new());
    fetch.get(&server.at("/doc")).await.unwrap();
    fetch.get(&server.at("/none")).await.unwrap();
    fetch.get(&"http://nowhere.invalid/".parse().unwrap()).await.unwrap_err();
    fetch.post_json(&server.at("/token"), &json!({"a": 1})).await.unwrap();
    let basic = HeaderValue::from_static("Basic c2VjcmV0");
    fetch.post_form(&server.at("/token"), Some(basic), &[("a b", "ü&=")]).await.unwrap();
    expect![[r#"
        [
            Document {
                url: "ORIGIN/doc",
                status: Ok(
                    200,
                ),
                body: "{}",
            },
            Document {
                url: "ORIGIN/none",
                status: Ok(
                    404,
                ),
                body: "<p>Not found</p>",
            },
            Document {
                url: "http://nowhere.invalid/",
                status: Err(
                    "the name nowhere.invalid could not be resolved",
                ),
                body: "",
            },
        ]
    "#]]
    .assert_eq(&server.without_port(&format!("{:#?}\n", fetch.documents())));
    expect![[r#"
        [
            "GET /doc",
            "GET /none",
            "POST /token {\"a\":1}",
            "POST /token a+b=%C3%BC%26%3D",
        ]
    "#]]
    .assert_eq(&format!("{:#?}\n", server.requests()));
}

#[tokio::test]
async fn what_is_sent_as_it_is_is_not_led_away() {
    let server = TestServer::start().await;
    server.put("/token", 307, "https://elsewhere.example/");
    let fetch = Fetch::new(Client::new());
    let answer = fetch.post_form(&server.at("/token"), None, &[("code", "secret")]).await.unwrap();
    let failure = answer.object().unwrap_err();
    assert_eq!(failure.reason, Reason::Redirects);
    expect!["answered 307 with a redirect, which is not followed"]
        .assert_eq(&server.without_port(&failure.said));
}
