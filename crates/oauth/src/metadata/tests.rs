//! Discovery against a small server on loopback.

mod unsound;

use expect_test::{Expect, expect};
use http::Uri;
use sandbox::Client;

use super::discover;
use crate::challenge::Challenge;
use crate::fetch::Fetch;
use crate::tests::server::TestServer;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// Metadata of an authorisation server with this issuer, and more fields.
fn server(issuer: &str, more: &str) -> String {
    format!(
        r#"{{"issuer":"{issuer}","authorization_endpoint":"{issuer}/go","token_endpoint":"{issuer}/t",
            "code_challenge_methods_supported":["S256"]{more}}}"#
    )
}

fn resource(path: &str, issuers: &str) -> String {
    format!(r#"{{"resource":"ORIGIN{path}","authorization_servers":["{issuers}"]}}"#)
}

/// What discovery for `ORIGIN/mcp` asks for, and what it finds, where these `documents` lie.
async fn discovered(
    challenge: &str,
    issuer: Option<&str>,
    documents: &[(&str, u16, String)],
) -> (String, String) {
    let host = TestServer::start().await;
    for (path, status, body) in documents {
        host.put(path, *status, body);
    }
    let named = |text: &str| text.replace("ORIGIN", &host.origin);
    let challenge = Challenge::of(&[&named(challenge)]);
    let issuer = issuer.map(|issuer| named(issuer).parse::<Uri>().expect("an address"));
    let fetch = Fetch::new(Client::new());
    let shown = match discover(&fetch, &host.at("/mcp"), challenge.as_ref(), issuer.as_ref()).await {
        Ok(found) => format!(
            "resource: {}\nissuer: {}\npage: {}\ntokens: {}\nregistration: {}",
            found.resource.map_or("-".to_owned(), |metadata| metadata.resource),
            found.server.issuer,
            found.server.sign_in_page().map_or_else(|error| error.to_string(), Uri::to_string),
            found.server.token_endpoint,
            found.server.registration_endpoint.map_or("-".to_owned(), |uri| uri.to_string()),
        ),
        Err(failure) => format!("{:?}: {failure}", failure.reason),
    };
    (host.requests().join("\n"), host.without_port(&shown))
}

async fn check(challenge: &str, issuer: Option<&str>, documents: &[(&str, u16, String)], expected: Expect) {
    let (asked, found) = discovered(challenge, issuer, documents).await;
    expected.assert_eq(&format!("{asked}\n{found}\n"));
}

#[tokio::test]
async fn a_challenge_says_where_the_metadata_is() {
    let documents = [("/custom.json", 200, resource("/mcp", "ORIGIN")), (SERVER, 200, server("ORIGIN", ""))];
    check(
        "Bearer resource_metadata=\"ORIGIN/custom.json\"",
        None,
        &documents,
        expect![[r#"
        GET /custom.json
        GET /.well-known/oauth-authorization-server
        resource: ORIGIN/mcp
        issuer: ORIGIN
        page: ORIGIN/go
        tokens: ORIGIN/t
        registration: -
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_challenge_that_leads_nowhere_is_no_end() {
    let documents = [(RESOURCE, 200, resource("", "ORIGIN")), (SERVER, 200, server("ORIGIN", ""))];
    check(
        "Bearer resource_metadata=\"ORIGIN/gone.json\"",
        None,
        &documents,
        expect![[r#"
        GET /gone.json
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server
        resource: ORIGIN
        issuer: ORIGIN
        page: ORIGIN/go
        tokens: ORIGIN/t
        registration: -
    "#]],
    )
    .await;
    let documents = [(SERVER, 200, server("ORIGIN", ""))];
    check("Bearer resource_metadata=\"ORIGIN/gone.json\"", None, &documents, expect![[r#"
        GET /gone.json
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        NoSignIn: ORIGIN does not say where to sign in: ORIGIN/gone.json answered 404, ORIGIN/.well-known/oauth-protected-resource/mcp answered 404, ORIGIN/.well-known/oauth-protected-resource answered 404; if it wants a key instead, set it under [mcp.NAME.headers]
    "#]]).await;
}

#[tokio::test]
async fn a_challenge_cannot_send_us_anywhere() {
    for (address, expected) in [
        (
            "javascript:alert",
            expect![[r#"

            EndpointRefused: the resource_metadata address in the server's challenge is refused: it is a "javascript:" address, not an https one
        "#]],
        ),
        (
            "http://a.example/x",
            expect![[r#"

            EndpointRefused: the resource_metadata address in the server's challenge is refused: it is not an https one, and only those of localhost, 127.0.0.1 and [::1] need not be
        "#]],
        ),
        (
            "/relative",
            expect![[r#"

            EndpointRefused: the resource_metadata address in the server's challenge is refused: it is not a whole address
        "#]],
        ),
    ] {
        check(&format!("Bearer resource_metadata=\"{address}\""), None, &[], expected).await;
    }
}

#[tokio::test]
async fn without_a_challenge_the_path_comes_before_the_host() {
    let path = "/.well-known/oauth-protected-resource/mcp";
    let documents = [
        (path, 200, resource("/mcp", "ORIGIN")),
        (RESOURCE, 200, resource("", "ORIGIN")),
        (OPENID, 200, server("ORIGIN", "")),
    ];
    check(
        "",
        None,
        &documents,
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-authorization-server
        GET /.well-known/openid-configuration
        resource: ORIGIN/mcp
        issuer: ORIGIN
        page: ORIGIN/go
        tokens: ORIGIN/t
        registration: -
    "#]],
    )
    .await;
    let documents = [
        (RESOURCE, 200, resource("", "ORIGIN/tenant")),
        ("/.well-known/oauth-authorization-server/tenant", 200, server("ORIGIN/tenant", "")),
    ];
    check(
        "Bearer",
        None,
        &documents,
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server/tenant
        resource: ORIGIN
        issuer: ORIGIN/tenant
        page: ORIGIN/tenant/go
        tokens: ORIGIN/tenant/t
        registration: -
    "#]],
    )
    .await;
    let documents = [
        (RESOURCE, 200, resource("", "ORIGIN/tenant/")),
        ("/tenant/.well-known/openid-configuration", 200, server("ORIGIN/tenant/", "")),
    ];
    check(
        "Bearer",
        None,
        &documents,
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server/tenant
        GET /.well-known/openid-configuration/tenant
        GET /tenant/.well-known/openid-configuration
        resource: ORIGIN
        issuer: ORIGIN/tenant/
        page: ORIGIN/tenant//go
        tokens: ORIGIN/tenant//t
        registration: -
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_resource_of_another_server_is_refused() {
    let documents = [
        (
            RESOURCE,
            200,
            r#"{"resource":"https://evil.example/mcp","authorization_servers":["ORIGIN"]}"#.to_owned(),
        ),
        (SERVER, 200, server("ORIGIN", "")),
    ];
    check("", None, &documents, expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        ResourceDiffers: the metadata at ORIGIN/.well-known/oauth-protected-resource is refused: it is for the resource https://evil.example/mcp, not for ORIGIN/mcp
    "#]]).await;
    check("", Some("ORIGIN"), &documents, expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        ResourceDiffers: the metadata at ORIGIN/.well-known/oauth-protected-resource is refused: it is for the resource https://evil.example/mcp, not for ORIGIN/mcp
    "#]]).await;
}

#[tokio::test]
async fn of_several_issuers_the_first_that_works() {
    let documents = [
        (RESOURCE, 200, resource("", "ORIGIN/none\",\"ORIGIN/bad\",\"ORIGIN/good")),
        ("/.well-known/openid-configuration/bad", 200, server("ORIGIN/good", "")),
        ("/.well-known/openid-configuration/good", 200, server("ORIGIN/good", "")),
    ];
    check(
        "",
        None,
        &documents,
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server/none
        GET /.well-known/openid-configuration/none
        GET /none/.well-known/openid-configuration
        GET /.well-known/oauth-authorization-server/bad
        GET /.well-known/openid-configuration/bad
        GET /.well-known/oauth-authorization-server/good
        GET /.well-known/openid-configuration/good
        resource: ORIGIN
        issuer: ORIGIN/good
        page: ORIGIN/good/go
        tokens: ORIGIN/good/t
        registration: -
    "#]],
    )
    .await;
}

#[tokio::test]
async fn the_configured_issuer_wins() {
    let documents = [
        (RESOURCE, 200, resource("", "ORIGIN/other")),
        (SERVER, 200, server("ORIGIN/", "")),
        ("/.well-known/oauth-authorization-server/other", 200, server("ORIGIN/other", "")),
    ];
    check(
        "",
        Some("ORIGIN"),
        &documents,
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server
        resource: ORIGIN
        issuer: ORIGIN/
        page: ORIGIN//go
        tokens: ORIGIN//t
        registration: -
    "#]],
    )
    .await;
    check(
        "",
        Some("ORIGIN"),
        &documents[1..],
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server
        resource: -
        issuer: ORIGIN/
        page: ORIGIN//go
        tokens: ORIGIN//t
        registration: -
    "#]],
    )
    .await;
    check("", Some("ORIGIN/gone"), &documents, expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server/gone
        GET /.well-known/openid-configuration/gone
        GET /gone/.well-known/openid-configuration
        Other: the configured issuer has no metadata: ORIGIN/.well-known/oauth-authorization-server/gone answered 404, ORIGIN/.well-known/openid-configuration/gone answered 404, ORIGIN/gone/.well-known/openid-configuration answered 404
    "#]]).await;
}

#[tokio::test]
async fn a_server_of_revision_2025_03_26() {
    check(
        "",
        None,
        &[(SERVER, 200, server("ORIGIN", ""))],
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server
        resource: -
        issuer: ORIGIN
        page: ORIGIN/go
        tokens: ORIGIN/t
        registration: -
    "#]],
    )
    .await;
    check("", None, &[(SERVER, 200, server("https://elsewhere.example", ""))], expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server
        IssuerDiffers: the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it is that of the issuer https://elsewhere.example, not of ORIGIN
    "#]]).await;
    check(
        "",
        None,
        &[],
        expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server
        GET /.well-known/openid-configuration
        resource: -
        issuer: ORIGIN
        page: ORIGIN/authorize
        tokens: ORIGIN/token
        registration: ORIGIN/register
    "#]],
    )
    .await;
    check("", None, &[(SERVER, 200, "<html>".to_owned())], expect![[r#"
        GET /.well-known/oauth-protected-resource/mcp
        GET /.well-known/oauth-protected-resource
        GET /.well-known/oauth-authorization-server
        GET /.well-known/openid-configuration
        NoSignIn: ORIGIN does not say where to sign in: ORIGIN/.well-known/oauth-protected-resource/mcp answered 404, ORIGIN/.well-known/oauth-protected-resource answered 404, ORIGIN/.well-known/oauth-authorization-server answered 200 with HTML, ORIGIN/.well-known/openid-configuration answered 404; if it wants a key instead, set it under [mcp.NAME.headers]
    "#]]).await;
}
