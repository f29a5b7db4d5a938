//! What the `oauth` key may say.

use expect_test::{Expect, expect};

use super::super::super::Endpoint;
use super::super::tests::{check, settle};

/// How we sign in by this table, or what is wrong with it.
#[track_caller]
fn check_table(table: &str, expected: Expect) {
    let shown = match settle(&format!("url = \"https://host/mcp\"\n[oauth]\n{table}")) {
        Ok(settings) => match &settings.endpoint {
            Endpoint::Address { sign_in, .. } => settings.masked(&format!("{sign_in:?}")),
            other => panic!("{other:?}"),
        },
        Err(problems) => problems.join("\n"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn who_signs_in_when() {
    let sign_in = |table: &str| match settle(&format!("url = \"https://host/mcp\"\n{table}")) {
        Ok(settings) => match settings.endpoint {
            Endpoint::Address { sign_in, .. } => sign_in.map(|it| *it),
            other => panic!("{other:?}"),
        },
        Err(problems) => panic!("{problems:?}"),
    };
    assert_eq!(sign_in(""), Some(oauth::Settings::default()));
    assert_eq!(sign_in("oauth = true"), Some(oauth::Settings::default()));
    assert_eq!(sign_in("oauth = {}"), Some(oauth::Settings::default()));
    assert_eq!(sign_in("oauth = false"), None);
    assert_eq!(sign_in("headers = { authorization = \"Bearer x\" }"), None);
    assert_eq!(sign_in("oauth = false\nheaders = { Authorization = \"x\" }"), None);
    let own = expect!["mcp.it.oauth: `headers` has an `Authorization` of its own; keep one"];
    check("url = \"https://host/\"\noauth = true\nheaders = { AUTHORIZATION = \"x\" }", own);
    let own = expect!["mcp.it.oauth: `headers` has an `Authorization` of its own; keep one"];
    check("url = \"https://host/\"\noauth = { scope = \"a\" }\nheaders = { Authorization = \"x\" }", own);
}

#[test]
fn only_an_address_can_be_signed_in_to() {
    for place in ["command = \"a\"", "socket = \"/a\""] {
        check(
            &format!("{place}\noauth = true"),
            expect![["mcp.it.oauth: only a server with `url` can be signed in to"]],
        );
        assert!(settle(&format!("{place}\noauth = false")).is_ok());
    }
}

#[test]
fn tables_are_settled_and_show_no_secret() {
    check_table(
        "client_id = \"me\"\nclient_secret = { env = \"TOKEN\" }\nscope = \"a b:c\"\ncallback_port = 8123",
        expect![[
            r#"Some(Settings { client: Some(RegisteredClient { id: "me", authentication: Secret(***) }), metadata_url: None, grant: AuthorizationCode, scope: Some("a b:c"), redirect: Port(8123), issuer: None })"#
        ]],
    );
    check_table(
        r#"
        client_id = "${env:TOKEN}"
        private_key = { file = "key.pem" }
        signing_algorithm = "EdDSA"
        key_id = "k"
        grant = "client_credentials"
        issuer = "http://localhost:9/i"
        "#,
        expect![[
            r#"Some(Settings { client: Some(RegisteredClient { id: "***", authentication: Key { pem: ***, algorithm: EdDsa, key_id: Some("k") } }), metadata_url: None, grant: ClientCredentials, scope: None, redirect: AnyPort, issuer: Some(http://localhost:9/i) })"#
        ]],
    );
    check_table(
        r#"
        client_metadata_url = "https://me.example/client.json"
        redirect_uri = "http://127.0.0.1:8123/callback"
        "#,
        expect![[
            r#"Some(Settings { client: None, metadata_url: Some("https://me.example/client.json"), grant: AuthorizationCode, scope: None, redirect: Uri("http://127.0.0.1:8123/callback"), issuer: None })"#
        ]],
    );
    check_table(
        r#"
        client_id = "me"
        grant = "enterprise"
        [oauth.identity_provider]
        token_url = "https://idp.example/token"
        id_token = "${env:TOKEN}"
        client_id = "us"
        client_secret = "hunter2hunter2"
        "#,
        expect![[
            r#"Some(Settings { client: Some(RegisteredClient { id: "me", authentication: Public }), metadata_url: None, grant: Enterprise(IdentityProvider { token_url: https://idp.example/token, id_token: ***, client: RegisteredClient { id: "us", authentication: Secret(***) } }), scope: None, redirect: AnyPort, issuer: None })"#
        ]],
    );
}

#[test]
fn what_excludes_or_needs_something_else_is_told() {
    check_table(
        r#"
        client_secret = "a"
        private_key = "b"
        client_metadata_url = "http://me.example/c"
        callback_port = 0
        redirect_uri = "http://me.example/c"
        issuer = "ftp://i"
        scope = "ä"
        identity_provider = {}
        "#,
        expect![[r#"
            mcp.it.oauth: has `client_secret` and `private_key`; keep one
            mcp.it.oauth: has `callback_port` and `redirect_uri`; keep one
            mcp.it.oauth.client_secret: needs `client_id` beside it
            mcp.it.oauth.private_key: needs `client_id` beside it
            mcp.it.oauth.identity_provider: only `grant = "enterprise"` uses it
            mcp.it.oauth.callback_port: must be between 1 and 65535; leave it out for any free port
            mcp.it.oauth.redirect_uri: must be an http address of this machine, such as "http://127.0.0.1:8123/callback", or https
            mcp.it.oauth.client_metadata_url: must be an https address with a path, such as "https://example.com/client.json"
            mcp.it.oauth.scope: must be scopes separated by blanks, such as "files:read files:write"
            mcp.it.oauth.issuer: must be an https address, or an http address of this machine"#]],
    );
    check_table(
        "client_id = \"\"\nclient_metadata_url = \"https://me.example\"\nkey_id = \"k\"\nsigning_algorithm = \"RS256\"",
        expect![[r#"
        mcp.it.oauth: has `client_id` and `client_metadata_url`; keep one
        mcp.it.oauth.key_id: says something about a `private_key`, but there is none
        mcp.it.oauth.signing_algorithm: says something about a `private_key`, but there is none
        mcp.it.oauth.client_id: must not be empty
        mcp.it.oauth.client_metadata_url: must be an https address with a path, such as "https://example.com/client.json""#]],
    );
    check_table(
        "client_id = \"me\"\nprivate_key = \"-----BEGIN RSA PRIVATE KEY-----\"",
        expect![
            "mcp.it.oauth.private_key: must be PKCS#8 as PEM, which begins with `-----BEGIN PRIVATE KEY-----`"
        ],
    );
    check_table(
        "grant = \"client_credentials\"\nclient_id = \"me\"\ncallback_port = 5",
        expect![[r#"
        mcp.it.oauth.callback_port: only a person who signs in comes back to it
        mcp.it.oauth.grant: "client_credentials" needs `client_id` and `client_secret` or `private_key`"#]],
    );
    check_table(
        "grant = \"enterprise\"",
        expect![[r#"mcp.it.oauth.grant: "enterprise" needs `identity_provider`"#]],
    );
    check_table(
        "grant = \"enterprise\"\nidentity_provider = { token_url = \"http://idp.example/\" }",
        expect![[r#"
        mcp.it.oauth.identity_provider: needs `id_token`
        mcp.it.oauth.identity_provider: needs `client_id`
        mcp.it.oauth.identity_provider.token_url: must be an https address, or an http address of this machine"#]],
    );
    check_table(
        "client_id = \"me\"\nclient_secret = { env = \"NONE\" }",
        expect!["mcp.it.oauth.client_secret: the environment variable NONE is not set"],
    );
}

#[test]
fn browsers_come_back_to_this_machine_or_to_https() {
    let redirects =
        |uri: &str| settle(&format!("url = \"https://h/\"\noauth = {{ redirect_uri = \"{uri}\" }}")).is_ok();
    for uri in [
        "http://localhost:1/x",
        "http://127.0.0.1/x",
        "http://127.0.0.9:1",
        "http://[::1]:5/",
        "https://me.example/x",
    ] {
        assert!(redirects(uri), "{uri}");
    }
    for uri in [
        "http://me.example/",
        "http://localhost.example/",
        "javascript:x",
        "app://x",
        "https://a@b/",
        "https://a/#x",
        "/x",
        "x",
    ] {
        assert!(!redirects(uri), "{uri}");
    }
}
