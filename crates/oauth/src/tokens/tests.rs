//! What token endpoints answer, and how clients prove to be who they are.

use expect_test::{Expect, expect};

use super::*;
use crate::error::Reason;
use crate::metadata::ServerMetadata;
use crate::settings::{Algorithm, Authentication};
use crate::tests::server::TestServer;

/// What a refresh request comes to that is answered so; `hunter2` is the refresh token.
async fn check(status: u16, body: &str, expected: Expect) {
    let server = TestServer::start().await;
    server.put("/token", status, body);
    let fetch = Fetch::new(sandbox::Client::new());
    let uri = server.at("/token?key=hidden");
    let proof = Proof::Body(Secret::new("s3cret"));
    let endpoint = Endpoint { fetch, uri: &uri, client_id: "me", proof, resource: "https://a.example/mcp" };
    let shown = match endpoint.refresh(&Secret::new("hunter2")).await {
        Ok(granted) => format!(
            "granted {} refresh={} expires_in={:?} scope={:?}",
            granted.access.expose(),
            granted.refresh.as_ref().map_or("-", Secret::expose),
            granted.expires_in,
            granted.scope
        ),
        Err(why) if why.reason == Reason::GrantRefused => format!("grant: {why}"),
        Err(why) if why.reason == Reason::ClientRefused => format!("client: {why}"),
        Err(failure) => format!("{:?}: {failure}", failure.reason),
    };
    expected.assert_eq(&server.without_port(&shown));
    let request = server.without_port(&server.requests()[0]);
    let form = "POST /token?key=hidden grant_type=refresh_token&refresh_token=hunter2&resource=https%3A%2F%2Fa.example%2Fmcp\
                &client_id=me&client_secret=s3cret";
    assert_eq!(request, form);
}

#[tokio::test]
async fn tokens() {
    check(
        200,
        r#"{"access_token":"a","token_type":"bearer"}"#,
        expect![["granted a refresh=- expires_in=None scope=None"]],
    )
    .await;
    check(
        201,
        r#"{"access_token":"a.b~c/=","token_type":"BEARER","expires_in":"3600","refresh_token":"r","scope":"x  y","more":[]}"#,
        expect![[r#"granted a.b~c/= refresh=r expires_in=Some(3600) scope=Some("x  y")"#]],
    )
    .await;
    check(
        200,
        r#"{"access_token":"a","token_type":"Bearer","expires_in":12.9,"refresh_token":"","scope":null}"#,
        expect!["granted a refresh=- expires_in=Some(12) scope=None"],
    )
    .await;
    check(
        200,
        r#"{"access_token":"a","token_type":"Bearer","expires_in":null}"#,
        expect!["granted a refresh=- expires_in=None scope=None"],
    )
    .await;
}

#[tokio::test]
async fn what_is_no_token() {
    check(
        200,
        "<html>Sign in</html>",
        expect!["NotJson: ORIGIN/token answered 200 with HTML, not with a token"],
    )
    .await;
    check(
        502,
        "<html>Bad gateway</html>",
        expect!["Other: ORIGIN/token answered 502 with HTML, not with a token"],
    )
    .await;
    check(200, "", expect!["NotJson: ORIGIN/token answered 200 with nothing, not with a token"]).await;
    check(
        200,
        "[]",
        expect!["NotJson: ORIGIN/token answered 200 with JSON that is not an object, not with a token"],
    )
    .await;
    check(
        200,
        "a=b&access_token=c",
        expect!["NotJson: ORIGIN/token answered 200 with something that is not JSON, not with a token"],
    )
    .await;
    check(500, r#"{"message":"hunter2"}"#, expect!["Other: ORIGIN/token answered 500, not with a token"])
        .await;
    check(
        302,
        "https://evil.example/hunter2",
        expect!["Redirects: ORIGIN/token answered 302 with a redirect, which is not followed"],
    )
    .await;
}

#[tokio::test]
async fn tokens_that_lack_something() {
    check(
        200,
        r#"{"token_type":"Bearer"}"#,
        expect![[r#"Other: ORIGIN/token answered without a token ("access_token")"#]],
    )
    .await;
    check(
        200,
        r#"{"access_token":"","token_type":"Bearer"}"#,
        expect![[r#"Other: ORIGIN/token answered without a token ("access_token")"#]],
    )
    .await;
    check(
        200,
        r#"{"access_token":7,"token_type":"Bearer"}"#,
        expect![[r#"Other: ORIGIN/token answered without a token ("access_token")"#]],
    )
    .await;
    check(
        200,
        r#"{"access_token":"a"}"#,
        expect![[r#"Other: ORIGIN/token does not say of what kind its token is ("token_type")"#]],
    )
    .await;
    check(200, r#"{"access_token":"a","token_type":"DPoP"}"#, expect![[r#"Other: ORIGIN/token issued a token that is not a bearer token ("token_type"), which is all we can use"#]]).await;
    check(
        200,
        r#"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#,
        expect!["Other: ORIGIN/token issued a token that cannot be sent in a header"],
    )
    .await;
    check(
        200,
        r#"{"access_token":"a","token_type":"Bearer","expires_in":-1}"#,
        expect!["Other: ORIGIN/token issued a token that is good for less than no time"],
    )
    .await;
    check(
        200,
        r#"{"access_token":"a","token_type":"Bearer","expires_in":1e300}"#,
        expect!["Other: ORIGIN/token issued a token that is good for more than a thousand years"],
    )
    .await;
    check(
        200,
        r#"{"access_token":"a","token_type":"Bearer","expires_in":"soon"}"#,
        expect![[
            r#"Other: ORIGIN/token does not say in numbers for how long its token is good ("expires_in")"#
        ]],
    )
    .await;
    check(
        200,
        r#"{"access_token":"a","token_type":"Bearer","expires_in":{}}"#,
        expect![[
            r#"Other: ORIGIN/token does not say in numbers for how long its token is good ("expires_in")"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn refusals() {
    check(
        400,
        r#"{"error":"invalid_grant"}"#,
        expect!["grant: ORIGIN/token refuses to issue a token (invalid_grant)"],
    )
    .await;
    check(
        400,
        r#"{"error":"invalid_grant","error_description":"no hunter2 of me with s3cret\u001b[31m","error_uri":7}"#,
        expect!["grant: ORIGIN/token refuses to issue a token (invalid_grant: no *** of me with *** [31m)"],
    )
    .await;
    check(
        401,
        r#"{"error":"invalid_client"}"#,
        expect!["client: ORIGIN/token refuses to issue a token (invalid_client)"],
    )
    .await;
    check(
        400,
        r#"{"error":"unauthorized_client"}"#,
        expect!["client: ORIGIN/token refuses to issue a token (unauthorized_client)"],
    )
    .await;
    check(
        400,
        r#"{"error":"invalid_scope"}"#,
        expect!["ScopeRefused: ORIGIN/token refuses to issue a token (invalid_scope)"],
    )
    .await;
    // With status 200, as some do.
    check(
        200,
        r#"{"error":"bad_refresh_token","error_description":"gone"}"#,
        expect!["Other: ORIGIN/token refuses to issue a token (bad_refresh_token: gone)"],
    )
    .await;
}

/// The proof of a client with a secret or key, to a server that takes `methods`, that was registered for `method`.
fn proof(methods: &[&str], method: Option<&str>, authentication: &Authentication) -> String {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let server = ServerMetadata {
        issuer: "https://as.example".to_owned(),
        authorization_endpoint: None,
        token_endpoint: "https://as.example/token".parse().unwrap(),
        registration_endpoint: None,
        revocation_endpoint: None,
        scopes_supported: Vec::new(),
        token_auth_methods: owned(methods),
        token_auth_algorithms: owned(&["ES256"]),
        grant_types: Vec::new(),
        challenge_methods: None,
        names_issuer_in_response: false,
        takes_client_documents: false,
        is_assumed: false,
    };
    match Proof::to_server(&server, "me", authentication, method, 0) {
        Ok(Proof::Public) => "nothing".to_owned(),
        Ok(Proof::Header(_)) => "header".to_owned(),
        Ok(Proof::Body(_)) => "body".to_owned(),
        Ok(Proof::Assertion(_)) => "assertion".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_proof_is_the_one_that_the_server_takes() {
    let secret = Authentication::Secret(Secret::new("s"));
    for (methods, method, expected) in [
        (&[][..], None, "header"),
        (&["client_secret_post", "client_secret_basic"], None, "header"),
        (&["client_secret_post"], None, "body"),
        (&["client_secret_basic"], Some("client_secret_post"), "body"),
        (&["client_secret_post"], Some("client_secret_basic"), "header"),
        (&["client_secret_post"], Some("none"), "nothing"),
        (&["client_secret_post"], Some("something_new"), "body"),
        (&["none"], None, "nothing"),
        (
            &["tls_client_auth"],
            None,
            "the authorisation server https://as.example takes no client secrets (client_secret_basic, \
             client_secret_post)",
        ),
    ] {
        assert_eq!(proof(methods, method, &secret), expected, "{methods:?} {method:?}");
    }
    assert_eq!(proof(&["client_secret_basic"], None, &Authentication::Public), "nothing");
    let key = |algorithm| Authentication::Key { pem: Secret::new("no key"), algorithm, key_id: None };
    for (methods, algorithm, expected) in [
        (
            &["client_secret_basic"][..],
            Algorithm::Es256,
            "the authorisation server https://as.example takes no signed assertions (private_key_jwt)",
        ),
        (
            &["private_key_jwt"],
            Algorithm::EdDsa,
            "the authorisation server https://as.example takes no assertions signed with EdDSA \
             (\"signing_algorithm\")",
        ),
        (
            &[],
            Algorithm::Es256,
            "the private key cannot be used: it does not begin and end as PKCS#8 in PEM does (\"BEGIN PRIVATE KEY\")",
        ),
    ] {
        assert_eq!(proof(methods, None, &key(algorithm)), expected);
    }
}
