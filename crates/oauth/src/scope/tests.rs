//! The scopes that are asked for, case by case.

use crate::challenge::Challenge;
use crate::metadata::{Discovered, ResourceMetadata, ServerMetadata};

use super::{SCOPE_BYTES_MAX, are_among, registered, wanted};

#[derive(Default)]
struct Case<'a> {
    configured: Option<&'a str>,
    /// The value of `WWW-Authenticate`.
    challenge: &'a str,
    /// What the protected server knows; nothing if it has no metadata.
    resource: Option<&'a [&'a str]>,
    /// What the authorisation server knows, and the grants it knows.
    server: &'a [&'a str],
    grants: &'a [&'a str],
    before: Option<&'a str>,
    /// A machine's grant, which gets no refresh token.
    machine: bool,
}

fn discovered(case: &Case<'_>) -> Discovered {
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut server = ServerMetadata::assumed(&"https://a.example".parse().unwrap()).unwrap();
    server.scopes_supported = owned(case.server);
    server.grant_types = owned(case.grants);
    let resource = case.resource.map(|scopes| ResourceMetadata {
        resource: "https://a.example".to_owned(),
        authorization_servers: Vec::new(),
        scopes_supported: owned(scopes),
    });
    Discovered { resource, server }
}

#[track_caller]
fn check(case: Case<'_>, expected: Option<&str>) {
    let discovered = discovered(&case);
    let challenge = Challenge::of(&[case.challenge]);
    let scope = wanted(case.configured, challenge.as_ref(), &discovered, case.before, !case.machine);
    assert_eq!(scope.as_deref(), expected);
}

#[test]
fn a_client_is_registered_with_all_that_it_may_want_later() {
    for (resource, server, wanted, expected) in [
        (&["read", "write"][..], &[][..], Some("read"), Some("read write")),
        (
            &["read", "write"],
            &["read", "offline_access"],
            Some("read offline_access"),
            Some("read offline_access"),
        ),
        (&["read"], &[], None, None),
        (&[], &[], Some("odd"), None),
    ] {
        let case = Case { resource: Some(resource), server, ..Case::default() };
        assert_eq!(registered(&discovered(&case), wanted).as_deref(), expected);
    }
    assert!(
        are_among(Some("a b"), Some("b c a")) && are_among(Some("a"), None) && are_among(None, Some("a"))
    );
    assert!(!are_among(Some("a d"), Some("b c a")) && !are_among(Some("a"), Some("ab")));
}

#[test]
fn a_machine_asks_for_no_refresh_token() {
    let (server, grants) = (&["offline_access"][..], &["refresh_token", "client_credentials"][..]);
    let challenge = "Bearer scope=\"a\"";
    check(Case { challenge, server, grants, machine: true, ..Case::default() }, Some("a"));
    check(Case { challenge, server, grants, ..Case::default() }, Some("a offline_access"));
}

#[test]
fn the_challenge_comes_before_what_the_server_knows() {
    let challenge = "Bearer scope=\"mcp:basic  b\"";
    check(Case { challenge, resource: Some(&["x"]), ..Case::default() }, Some("mcp:basic b"));
    check(Case { challenge: "Bearer", resource: Some(&["x", "y"]), ..Case::default() }, Some("x y"));
    check(Case { resource: Some(&[]), ..Case::default() }, None);
    check(Case { challenge: "Bearer scope=\"\"", resource: Some(&["x"]), ..Case::default() }, Some("x"));
    check(Case { server: &["openid"], ..Case::default() }, None);
}

#[test]
fn what_is_configured_stands_until_a_scope_is_missing() {
    let case =
        |challenge| Case { configured: Some("mine"), challenge, resource: Some(&["x"]), ..Case::default() };
    check(case(""), Some("mine"));
    check(case("Bearer scope=\"theirs\""), Some("mine"));
    check(case("Bearer error=\"insufficient_scope\", scope=\"theirs\""), Some("mine theirs"));
    check(Case { server: &["offline_access"], ..case("") }, Some("mine"));
}

#[test]
fn a_step_up_keeps_what_was_asked_for_before() {
    let challenge = "Bearer scope=\"mcp:write a\", error=\"insufficient_scope\"";
    check(Case { challenge, before: Some("a b"), ..Case::default() }, Some("a b mcp:write"));
    check(Case { before: Some("a"), resource: Some(&["b"]), ..Case::default() }, Some("a b"));
}

#[test]
fn offline_access_where_it_is_known_and_of_use() {
    let case = |server, grants| Case { resource: Some(&["a"]), server, grants, ..Case::default() };
    let both: &[&str] = &["a", "offline_access"];
    check(case(both, &[]), Some("a offline_access"));
    check(case(both, &["authorization_code", "refresh_token"]), Some("a offline_access"));
    check(case(both, &["authorization_code"]), Some("a"));
    check(case(&["a"], &[]), Some("a"));
    check(Case { resource: Some(&[]), ..case(both, &[]) }, None);
    check(Case { before: Some("offline_access a"), ..case(both, &[]) }, Some("offline_access a"));
}

#[test]
fn what_is_no_scope_is_not_asked_for() {
    check(
        Case { resource: Some(&["a\"b", "ok", "c\\d", "é", "two words", ""]), ..Case::default() },
        Some("ok two words"),
    );
    let long = "x".repeat(SCOPE_BYTES_MAX);
    check(Case { resource: Some(&["a", &long, "b"]), ..Case::default() }, Some("a b"));
}
