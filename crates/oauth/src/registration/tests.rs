//! Registration at a small server on loopback.

use expect_test::{Expect, expect};
use sandbox::Client;
use serde_json::{Map, Value};

use super::register;
use crate::error::AuthError;
use crate::fetch::Fetch;
use crate::metadata::ServerMetadata;
use crate::tests::server::TestServer;

const REDIRECT: &str = "http://127.0.0.1:5000/callback";

/// A server that lets clients register, and says nothing else of itself.
fn metadata(host: &TestServer) -> ServerMetadata {
    let mut server = ServerMetadata::assumed(&host.at("/mcp")).expect("an origin on this machine");
    server.is_assumed = false;
    server
}

fn shown(host: &TestServer, outcome: Result<super::Registration, AuthError>) -> String {
    let text = match outcome {
        Ok(registered) => format!(
            "id {}, secret {:?}, method {:?}, until {:?}",
            registered.client.id, registered.client.secret, registered.client.method, registered.expires_at
        ),
        Err(AuthError::NeedsRegistration(why)) => format!("needs registration: {why}"),
        Err(AuthError::Failed(failure)) => format!("{:?}: {failure}", failure.reason),
        Err(error) => format!("error: {error}"),
    };
    host.without_port(&text)
}

/// What comes of an answer.
async fn check_answer(status: u16, body: &str, expected: Expect) {
    let host = TestServer::start().await;
    host.put("/register", status, body);
    let outcome = register(&Fetch::new(Client::new()), &metadata(&host), REDIRECT, None).await;
    expected.assert_eq(&shown(&host, outcome));
}

/// What is sent to a server that says this of itself.
async fn check_request(
    methods: &[&str],
    grants: &[&str],
    redirect: &str,
    scope: Option<&str>,
    expected: Expect,
) {
    let host = TestServer::start().await;
    host.put("/register", 201, r#"{"client_id":"us"}"#);
    let mut server = metadata(&host);
    server.token_auth_methods = methods.iter().map(ToString::to_string).collect();
    server.grant_types = grants.iter().map(ToString::to_string).collect();
    let outcome = register(&Fetch::new(Client::new()), &server, redirect, scope).await;
    let sent = match host.requests().first() {
        // In one order, whatever order the library keeps.
        Some(request) => {
            let body: Map<String, Value> =
                serde_json::from_str(request.trim_start_matches("POST /register ")).unwrap();
            let mut fields: Vec<_> = body.iter().map(|(key, value)| format!("{key}: {value}")).collect();
            fields.sort();
            fields.join("\n")
        }
        None => shown(&host, outcome),
    };
    expected.assert_eq(&format!("{sent}\n"));
}

#[tokio::test]
async fn we_are_a_native_public_client_where_we_may_be() {
    check_request(
        &[],
        &[],
        REDIRECT,
        None,
        expect![[r#"
        application_type: "native"
        client_name: "Toolcrib"
        grant_types: ["authorization_code","refresh_token"]
        redirect_uris: ["http://127.0.0.1:5000/callback"]
        response_types: ["code"]
        token_endpoint_auth_method: "none"
    "#]],
    )
    .await;
    check_request(
        &["client_secret_basic", "none"],
        &["authorization_code", "refresh_token"],
        REDIRECT,
        Some("a b"),
        expect![[r#"
            application_type: "native"
            client_name: "Toolcrib"
            grant_types: ["authorization_code","refresh_token"]
            redirect_uris: ["http://127.0.0.1:5000/callback"]
            response_types: ["code"]
            scope: "a b"
            token_endpoint_auth_method: "none"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn we_are_what_the_server_can_take() {
    check_request(
        &["client_secret_post", "client_secret_basic"],
        &["authorization_code"],
        REDIRECT,
        None,
        expect![[r#"
            application_type: "native"
            client_name: "Toolcrib"
            grant_types: ["authorization_code"]
            redirect_uris: ["http://127.0.0.1:5000/callback"]
            response_types: ["code"]
            token_endpoint_auth_method: "client_secret_basic"
        "#]],
    )
    .await;
    check_request(
        &["client_secret_post"],
        &[],
        "https://back.example/",
        None,
        expect![[r#"
        application_type: "web"
        client_name: "Toolcrib"
        grant_types: ["authorization_code","refresh_token"]
        redirect_uris: ["https://back.example/"]
        response_types: ["code"]
        token_endpoint_auth_method: "client_secret_post"
    "#]],
    )
    .await;
    check_request(&["private_key_jwt", "tls_client_auth"], &[], REDIRECT, None, expect![[r#"
        needs registration: ORIGIN takes no client that registers itself without a key of its own (token_endpoint_auth_methods_supported: private_key_jwt, tls_client_auth); register a client there by hand and set its client_id (and client_secret, if it has one) under [mcp.NAME.oauth]
    "#]]).await;
}

#[tokio::test]
async fn what_the_server_makes_of_us() {
    check_answer(201, r#"{"client_id":"us"}"#, expect!["id us, secret None, method None, until None"]).await;
    check_answer(
        200,
        r#"{"client_id":"us","client_secret":"s","client_secret_expires_at":1800000000,
            "token_endpoint_auth_method":"client_secret_post","client_name":7}"#,
        expect![[r#"id us, secret Some("s"), method Some("client_secret_post"), until Some(1800000000)"#]],
    )
    .await;
    check_answer(
        201,
        r#"{"client_id":"us","client_secret":"","client_secret_expires_at":0}"#,
        expect!["id us, secret None, method None, until None"],
    )
    .await;
}

#[tokio::test]
async fn answers_that_are_not_sound() {
    check_answer(201, "{}", expect!["Other: the registration at ORIGIN/register gave no client_id"]).await;
    check_answer(
        201,
        r#"{"client_id":7}"#,
        expect!["Other: the registration at ORIGIN/register gave a client_id that is not a text"],
    )
    .await;
    check_answer(
        201,
        r#"{"client_id":"a\u0000b"}"#,
        expect!["Other: the registration at ORIGIN/register gave a client_id that cannot be used"],
    )
    .await;
    check_answer(
        201,
        &format!(r#"{{"client_id":"{}"}}"#, "a".repeat(9000)),
        expect!["Other: the registration at ORIGIN/register gave a client_id that cannot be used"],
    )
    .await;
    check_answer(
        201,
        r#"{"client_id":"us","client_secret":["s"]}"#,
        expect!["Other: the registration at ORIGIN/register gave a client_secret that is not a text"],
    )
    .await;
    check_answer(
        201,
        r#"{"client_id":"us","client_secret_expires_at":"soon"}"#,
        expect![
            "Other: the registration at ORIGIN/register gave a client_secret_expires_at that is not a time"
        ],
    )
    .await;
    check_answer(200, "<html>", expect!["NotJson: ORIGIN/register answered 200 with HTML"]).await;
    check_answer(307, "https://elsewhere.example/", expect!["Redirects: the registration at ORIGIN/register failed: it answered 307 with a redirect, which is not followed"]).await;
}

#[tokio::test]
async fn refusals() {
    check_answer(
        400,
        r#"{"error":"invalid_redirect_uri","error_description":"no\u001b[31m loopback"}"#,
        expect!["needs registration: ORIGIN/register does not register us: no [31m loopback; register a client there by hand and set its client_id (and client_secret, if it has one) under [mcp.NAME.oauth]"],
    )
    .await;
    check_answer(400, r#"{"error":"invalid_client_metadata"}"#, expect!["needs registration: ORIGIN/register does not register us: invalid_client_metadata; register a client there by hand and set its client_id (and client_secret, if it has one) under [mcp.NAME.oauth]"]).await;
    check_answer(403, "<html>Forbidden</html>", expect!["needs registration: ORIGIN/register does not register us: it answered 403 with HTML; register a client there by hand and set its client_id (and client_secret, if it has one) under [mcp.NAME.oauth]"]).await;
    check_answer(404, r#"{"error":7}"#, expect!["needs registration: ORIGIN/register does not register us: it answered 404; register a client there by hand and set its client_id (and client_secret, if it has one) under [mcp.NAME.oauth]"]).await;
    check_answer(
        429,
        r#"{"error":"slow_down"}"#,
        expect!["Other: the registration at ORIGIN/register failed: slow_down"],
    )
    .await;
    check_answer(
        503,
        "",
        expect!["Other: the registration at ORIGIN/register failed: it answered 503 with nothing"],
    )
    .await;
}

#[tokio::test]
async fn servers_that_register_nobody() {
    let host = TestServer::start().await;
    let fetch = Fetch::new(Client::new());
    let mut server = metadata(&host);
    server.registration_endpoint = None;
    let outcome = register(&fetch, &server, REDIRECT, None).await;
    expect!["needs registration: ORIGIN does not register clients by itself; register a client there by hand and set its client_id (and client_secret, if it has one) under [mcp.NAME.oauth]"].assert_eq(&shown(&host, outcome));
    let assumed = ServerMetadata::assumed(&host.at("/mcp")).unwrap();
    let outcome = register(&fetch, &assumed, REDIRECT, None).await;
    expect!["needs registration: ORIGIN has no metadata that says where to sign in, and ORIGIN/register registers no clients: it answered 404 with HTML; if it wants a key instead, set it under [mcp.NAME.headers]"].assert_eq(&shown(&host, outcome));
}
