//! Documents of every kind that is refused.

use expect_test::{Expect, expect};

use super::{RESOURCE, SERVER, discovered, resource, server};

/// What is found where `body` lies at `path`.
async fn check_document(path: &str, status: u16, body: &str, expected: Expect) {
    let (_, found) = discovered("", None, &[(path, status, body.to_owned())]).await;
    expected.assert_eq(&found);
}

#[tokio::test]
async fn resource_metadata_that_is_not_sound() {
    let large = " ".repeat(70_000);
    for (status, body, expected) in [
        (
            200,
            r#"{"authorization_servers":["ORIGIN"]}"#,
            expect!["Other: the metadata at ORIGIN/.well-known/oauth-protected-resource has no resource"],
        ),
        (
            200,
            r#"{"resource":["ORIGIN/mcp"]}"#,
            expect![
                "Other: resource in the metadata at ORIGIN/.well-known/oauth-protected-resource is not a text"
            ],
        ),
        (
            200,
            r#"{"resource":"ORIGIN/mcp"}"#,
            expect![
                "NoSignIn: ORIGIN names no authorisation server (authorization_servers); set its issuer under [mcp.NAME.oauth]"
            ],
        ),
        (
            200,
            r#"{"resource":"ORIGIN/mcp","authorization_servers":[]}"#,
            expect![
                "NoSignIn: ORIGIN names no authorisation server (authorization_servers); set its issuer under [mcp.NAME.oauth]"
            ],
        ),
        (
            200,
            r#"{"resource":"ORIGIN/mcp","authorization_servers":"ORIGIN"}"#,
            expect![
                "Other: authorization_servers in the metadata at ORIGIN/.well-known/oauth-protected-resource is not a list of texts"
            ],
        ),
        (
            200,
            r#"{"resource":"ORIGIN/mcp","authorization_servers":[1]}"#,
            expect![
                "Other: authorization_servers in the metadata at ORIGIN/.well-known/oauth-protected-resource is not a list of texts"
            ],
        ),
        (
            200,
            r#"{"resource":"ORIGIN/mcp","authorization_servers":["javascript:x"]}"#,
            expect![[
                r#"EndpointRefused: no authorisation server of ORIGIN can be used: the issuer's address is refused: it is a "javascript:" address, not an https one"#
            ]],
        ),
        (
            200,
            "<html>",
            expect![
                "NoSignIn: ORIGIN does not say where to sign in: ORIGIN/.well-known/oauth-protected-resource/mcp answered 404, ORIGIN/.well-known/oauth-protected-resource answered 200 with HTML; if it wants a key instead, set it under [mcp.NAME.headers]"
            ],
        ),
        (
            200,
            "[]",
            expect![
                "NoSignIn: ORIGIN does not say where to sign in: ORIGIN/.well-known/oauth-protected-resource/mcp answered 404, ORIGIN/.well-known/oauth-protected-resource answered 200 with JSON that is not an object; if it wants a key instead, set it under [mcp.NAME.headers]"
            ],
        ),
        (
            302,
            "https://elsewhere.example/login",
            expect![
                "NoSignIn: ORIGIN does not say where to sign in: ORIGIN/.well-known/oauth-protected-resource/mcp answered 404, ORIGIN/.well-known/oauth-protected-resource answered 302 with a redirect, which is not followed; if it wants a key instead, set it under [mcp.NAME.headers]"
            ],
        ),
        (
            500,
            "{}",
            expect![
                "NoSignIn: ORIGIN does not say where to sign in: ORIGIN/.well-known/oauth-protected-resource/mcp answered 404, ORIGIN/.well-known/oauth-protected-resource answered 500; if it wants a key instead, set it under [mcp.NAME.headers]"
            ],
        ),
        (
            200,
            large.as_str(),
            expect!["Other: the answer of ORIGIN/.well-known/oauth-protected-resource is larger than 64 KiB"],
        ),
    ] {
        check_document(RESOURCE, status, body, expected).await;
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_refused() {
    for (issuer, expected) in [
        (
            "https://attacker.example",
            expect![
                "IssuerDiffers: no authorisation server of ORIGIN can be used: the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it is that of the issuer https://attacker.example, not of ORIGIN"
            ],
        ),
        (
            "ORIGIN/",
            expect![
                "IssuerSpelling: no authorisation server of ORIGIN can be used: the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it is that of the issuer ORIGIN/, not of ORIGIN; to accept this spelling, set it as issuer under [mcp.NAME.oauth]"
            ],
        ),
        (
            "ORIGIN/other",
            expect![
                "IssuerDiffers: no authorisation server of ORIGIN can be used: the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it is that of the issuer ORIGIN/other, not of ORIGIN"
            ],
        ),
        (
            "",
            expect![
                "Other: no authorisation server of ORIGIN can be used: the metadata at ORIGIN/.well-known/oauth-authorization-server has no issuer"
            ],
        ),
    ] {
        let documents = [(RESOURCE, 200, resource("", "ORIGIN")), (SERVER, 200, server(issuer, ""))];
        let (_, found) = discovered("", None, &documents).await;
        expected.assert_eq(&found);
    }
}

#[tokio::test]
async fn of_several_issuers_that_cannot_be_used_the_gravest_fault_counts() {
    let issuers = r#"ORIGIN/gone","javascript:x","ORIGIN"#;
    let documents =
        [(RESOURCE, 200, resource("", issuers)), (SERVER, 200, server("https://attacker.example", ""))];
    let (_, found) = discovered("", None, &documents).await;
    assert!(found.starts_with("IssuerDiffers: no authorisation server of ORIGIN can be used"), "{found}");
    for (piece, count) in [("gone answered 404", 2), ("javascript", 1), ("attacker.example", 1)] {
        assert_eq!(found.matches(piece).count(), count, "{piece} in {found}");
    }
}

#[tokio::test]
async fn server_metadata_that_is_not_sound() {
    for (fields, expected) in [
        (
            "",
            expect![
                "Other: the metadata at ORIGIN/.well-known/oauth-authorization-server has no token_endpoint"
            ],
        ),
        (
            r#""token_endpoint":"javascript:alert(1)""#,
            expect![[
                r#"EndpointRefused: token_endpoint in the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it is a "javascript:" address, not an https one"#
            ]],
        ),
        (
            r#""token_endpoint":"http://a.example/t""#,
            expect![
                "EndpointRefused: token_endpoint in the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it is not an https one, and only those of localhost, 127.0.0.1 and [::1] need not be"
            ],
        ),
        (
            r#""token_endpoint":"ORIGIN/t","authorization_endpoint":"file:///x""#,
            expect![[
                r#"EndpointRefused: authorization_endpoint in the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it is a "file:" address, not an https one"#
            ]],
        ),
        (
            r#""token_endpoint":"ORIGIN/t","authorization_endpoint":"https://a.example/`id`""#,
            expect![
                "EndpointRefused: authorization_endpoint in the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it holds the character '`'"
            ],
        ),
        (
            r#""token_endpoint":"ORIGIN/t","registration_endpoint":"https://u:p@a.example/""#,
            expect![
                "EndpointRefused: registration_endpoint in the metadata at ORIGIN/.well-known/oauth-authorization-server is refused: it holds a user name or password"
            ],
        ),
        (
            r#""token_endpoint":"ORIGIN/t","grant_types_supported":"authorization_code""#,
            expect![
                "Other: grant_types_supported in the metadata at ORIGIN/.well-known/oauth-authorization-server is not a list of texts"
            ],
        ),
        (
            r#""token_endpoint":"ORIGIN/t","client_id_metadata_document_supported":"yes""#,
            expect![
                "Other: client_id_metadata_document_supported in the metadata at ORIGIN/.well-known/oauth-authorization-server is not true or false"
            ],
        ),
    ] {
        let comma = if fields.is_empty() { "" } else { "," };
        check_document(SERVER, 200, &format!(r#"{{"issuer":"ORIGIN"{comma}{fields}}}"#), expected).await;
    }
    check_document(
        SERVER,
        200,
        r#"{"issuer":7}"#,
        expect![
            "Other: issuer in the metadata at ORIGIN/.well-known/oauth-authorization-server is not a text"
        ],
    )
    .await;
}

#[tokio::test]
async fn without_s256_there_is_no_page_to_sign_in_at() {
    let page = r#","authorization_endpoint":"ORIGIN/go""#;
    for (more, expected) in [
        (
            page.to_owned(),
            expect![[r#"
            resource: -
            issuer: ORIGIN
            page: the authorisation server ORIGIN does not say that it supports PKCE with S256 (code_challenge_methods_supported), without which signing in is not safe
            tokens: ORIGIN/t
            registration: -"#]],
        ),
        (
            format!(r#"{page},"code_challenge_methods_supported":["plain"]"#),
            expect![[r#"
            resource: -
            issuer: ORIGIN
            page: the authorisation server ORIGIN does not say that it supports PKCE with S256 (code_challenge_methods_supported), without which signing in is not safe
            tokens: ORIGIN/t
            registration: -"#]],
        ),
        (
            format!(r#"{page},"code_challenge_methods_supported":["plain","S256"]"#),
            expect![[r#"
            resource: -
            issuer: ORIGIN
            page: ORIGIN/go
            tokens: ORIGIN/t
            registration: -"#]],
        ),
        (
            String::new(),
            expect![[r#"
            resource: -
            issuer: ORIGIN
            page: the authorisation server ORIGIN has no page to sign in at (authorization_endpoint)
            tokens: ORIGIN/t
            registration: -"#]],
        ),
    ] {
        check_document(
            SERVER,
            200,
            &format!(r#"{{"issuer":"ORIGIN","token_endpoint":"ORIGIN/t"{more}}}"#),
            expected,
        )
        .await;
    }
}

#[test]
fn only_a_server_of_this_machine_has_endpoints_here() {
    let body = server("https://a.example", r#","revocation_endpoint":"https://localhost:9/x""#);
    let object = serde_json::from_str(&body).unwrap();
    let refused = crate::metadata::server::parse(
        "the metadata",
        &object,
        "https://a.example",
        crate::metadata::Spelling::Exact,
    );
    let refused = refused.unwrap_err();
    assert_eq!(refused.reason, crate::error::Reason::EndpointPrivate);
    expect![
        "revocation_endpoint in the metadata is refused: it leads to this machine, where the issuer is not"
    ]
    .assert_eq(&refused.said);
}
