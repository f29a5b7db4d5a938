//! What the rules have made of a call is judged once more; what is sent beside the arguments, and bytes in them.

use expect_test::{Expect, expect};

use super::{World, check, check_result};

/// Several rules, in YAML, and one call.
#[track_caller]
fn check_rules(rules: &str, call: &str, expected: Expect) {
    let world = World::new().file(".toolcrib/ai-rules.yaml", &format!("version: '1.0'\nrules:\n{rules}"));
    expected.assert_eq(&world.said(&world.rules(), call, ""));
}

const TO_SECRETS: &str = "- {id: tr, match: {tools: [read]}, action: {on_violation: transform, transform: {set: {/path: secrets/key}}}}\n";
const NO_SECRETS: &str = "- {id: no, match: {paths: ['secrets/**']}, action: {on_violation: block}}\n";

#[test]
fn a_rule_that_changes_a_call_opens_no_way_past_another_one() {
    check_rules(
        &[TO_SECRETS, NO_SECRETS].concat(),
        r#"read {"path":"pub/a"}"#,
        expect![[r#"
        project tr: transform
        project no: block
        arguments {"path":"secrets/key"}
        STOP no: `read` names a path that a rule is about"#]],
    );
    check_rules(
        &[NO_SECRETS, TO_SECRETS].concat(),
        r#"read {"path":"pub/a"}"#,
        expect![[r#"
        project tr: transform
        project no: block
        arguments {"path":"secrets/key"}
        STOP no: `read` names a path that a rule is about"#]],
    );
    let asks = "- {id: ask, match: {paths: ['secrets/**']}, action: {on_violation: require_approval}}\n";
    check_rules(
        &[TO_SECRETS, asks].concat(),
        r#"read {"path":"pub/a"}"#,
        expect![[r#"
        project tr: transform
        project ask: require_approval
        ask [] ask: `read` names a path that a rule is about
        arguments {"path":"secrets/key"}"#]],
    );
    let local = "- {id: local, match: {paths: ['secrets/**']}, action: {on_violation: override_provider}}\n";
    let redact = "- {id: q, match: {content_regex: 'Q+'}, action: {on_violation: redact, redaction_placeholder: ''}}\n";
    check_rules(
        &[redact, local].concat(),
        r#"up/echo {"doc":"secQrets/key"}"#,
        expect![[r#"
        project q: redact
        project local: override_provider
        arguments {"doc":"secrets/key"}
        struck 1
        STOP local: `echo` names a path that a rule is about; it may only be done by something on this machine"#]],
    );
    let word = "- {id: word, match: {content_regex: SEKRET}, action: {on_violation: block}}\n";
    check_rules(
        &[redact, word].concat(),
        r#"up/echo {"doc":"SEKQRET"}"#,
        expect![[r#"
        project q: redact
        project word: block
        arguments {"doc":"SEKRET"}
        struck 1
        STOP word: `echo` has content that a rule looks for"#]],
    );
    check_rules(
        &[redact, word].concat(),
        r#"up/echo {} + {"x":"SEKQRET"}"#,
        expect![[r#"
        project q: redact
        project word: block
        answers {"x":"SEKRET"}
        struck 1
        STOP word: `echo` has content that a rule looks for"#]],
    );
    check_rules(
        &[redact, word].concat(),
        r#"up/echo {} & {"x":"SEKQRET"}"#,
        expect![[r#"
        project q: redact
        project word: block
        meta {"x":"SEKRET"}
        struck 1
        STOP word: `echo` has content that a rule looks for"#]],
    );
}

#[test]
fn nothing_is_changed_twice_and_placeholders_are_nobodys_words() {
    let pop =
        "- {id: pop, match: {tools: [x]}, action: {on_violation: transform, transform: {remove: [/a/0]}}}\n";
    check_rules(
        pop,
        r#"x {"a":[1,2,3]}"#,
        expect![[r#"
        project pop: transform
        arguments {"a":[2,3]}"#]],
    );
    let redact = "- {id: key, match: {content_regex: 'sk-[a-z]+'}, action: {on_violation: redact, redaction_placeholder: '[SECRET]'}}\n";
    let secret = "- {id: no, match: {content_regex: '(?i)secret'}, action: {on_violation: block}}\n";
    check_rules(
        &[redact, secret].concat(),
        r#"up/x {"a":"use sk-abc"}"#,
        expect![[r#"
        project key: redact
        arguments {"a":"use [SECRET]"}
        struck 1"#]],
    );
    check_rules(
        &[redact, secret].concat(),
        r#"up/x {"a":"use sk-abc, a secret"}"#,
        expect![[r#"
        project no: block
        project key: redact
        arguments {"a":"use [SECRET], a secret"}
        struck 1
        STOP no: `x` has content that a rule looks for"#]],
    );
}

#[test]
fn the_result_of_a_changed_call_is_held_against_rules_about_what_it_became() {
    let redact = "- {id: hide, match: {paths: ['secrets/**']}, action: {on_violation: redact}}\n";
    let world = World::new()
        .file(".toolcrib/ai-rules.yaml", &format!("version: '1.0'\nrules:\n{redact}{TO_SECRETS}"));
    let said = world.said(&world.rules(), r#"read {"path":"pub/a"}"#, "text SEKRET");
    expect![[r#"
        project tr: transform
        arguments {"path":"secrets/key"}
        after: project hide: redact
        after: struck 1
        gave [REDACTED]"#]]
    .assert_eq(&said);
}

#[test]
fn what_is_sent_beside_the_arguments_is_sent() {
    let meta = r#"up/echo {} & {"x":"SEKRET3","y/z":{"path":"secrets/key"}}"#;
    check(
        "{content_regex: 'SEKRET'}",
        "{on_violation: block}",
        meta,
        expect![[r#"
        project r: block
        STOP r: `echo` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: 'SEKRET'}",
        "{on_violation: redact}",
        meta,
        expect![[r#"
        project r: redact
        meta {"x":"[REDACTED]3","y/z":{"path":"secrets/key"}}
        struck 1"#]],
    );
    check(
        "{paths: ['secrets/**']}",
        "{on_violation: block}",
        meta,
        expect![[r#"
        project r: block
        STOP r: `echo` names a path that a rule is about"#]],
    );
    check(
        "{paths: ['secrets/**']}",
        "{on_violation: redact}",
        meta,
        expect![[r#"
        project r: redact
        meta {"x":"[REDACTED]","y/z":{"path":"[REDACTED]"}}
        struck 2"#]],
    );
    check("{paths: ['other/**']}", "{on_violation: block}", meta, expect!["nothing"]);
}

#[test]
fn bytes_in_arguments_are_read() {
    let (block, redact) = ("{on_violation: block}", "{on_violation: redact, redaction_placeholder: '#'}");
    let written = r#"write {"path":"o","content":"bXkgU0VLUkVUMw==","encoding":"base64"}"#;
    check(
        "{content_regex: 'SEKRET'}",
        block,
        written,
        expect![[r#"
        project r: block
        STOP r: `write` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: 'SEKRET'}",
        redact,
        written,
        expect![[r#"
        project r: redact
        arguments {"content":"bXkgIzM=","encoding":"base64","path":"o"}
        struck 1"#]],
    );
    check(
        "{content_regex: 'SEKRET'}",
        block,
        r#"write {"content":"bXkgU0VLUkVUMw==","encoding":"utf8"}"#,
        expect!["nothing"],
    );
    check(
        "{content_regex: 'SEKRET'}",
        block,
        r#"up/echo {"x":[{"data":"U0VLUkVUMw=="}]}"#,
        expect![[r#"
        project r: block
        STOP r: `echo` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: 'SEKRET'}",
        block,
        r#"up/echo {"blob":"U0VLUkVUMw"}"#,
        expect![[r#"
        project r: block
        STOP r: `echo` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: 'SEKRET'}",
        redact,
        r#"up/echo {"data":["U0VLUkVUMw=="]}"#,
        expect![[r#"
        project r: redact
        arguments {"data":["IzM="]}
        struck 1"#]],
    );
    check(
        "{content_regex: 'SEKRET'}",
        redact,
        r#"up/echo {"data":"a SEKRET"}"#,
        expect![[r#"
        project r: redact
        arguments {"data":"a #"}
        struck 1"#]],
    );
    // What a tool gives as its own.
    check_result(
        "{content_regex: 'SEKRET'}",
        redact,
        "up/echo {}",
        r#"structured {"data":"U0VLUkVUMw==","b":"U0VLUkVUMw=="}"#,
        expect![[r#"
            after: project r: redact
            after: struck 1
            gave {"data":"IzM=","b":"U0VLUkVUMw=="}"#]],
    );
}

#[test]
fn no_name_lets_pass_what_is_struck() {
    let redact = "{on_violation: redact, redaction_placeholder: '#'}";
    let prose = r#"git/send {"to":"the password is hunter2","outfile":"the password"}"#;
    check(
        "{content_regex: 'password'}",
        redact,
        prose,
        expect![[r#"
        project r: redact
        arguments {"outfile":"the #","to":"the # is hunter2"}
        struck 2"#]],
    );
    check(
        "{content_regex: 'password'}",
        redact,
        r#"git/read {"path":"src/password.rs"}"#,
        expect![[r#"
        project r: redact
        arguments {"path":"src/#.rs"}
        struck 1
        STOP r: `read` names a path with text that a rule strikes out, and what is left of a path leads elsewhere"#]],
    );
    check(
        "{content_regex: 'password'}",
        redact,
        r#"up/read {"path":"src/password.rs"}"#,
        expect![[r#"
        project r: redact
        arguments {"path":"src/#.rs"}
        struck 1"#]],
    );
    // Our own tools send it nowhere.
    check("{content_regex: 'password'}", redact, r#"read {"path":"src/password.rs"}"#, expect!["nothing"]);
}

#[test]
fn a_struck_result_can_still_be_read() {
    let read = r#"up/read {"path":"secrets/key"}"#;
    let message = |text: &str, expected: Expect| {
        check_result(
            "{paths: ['secrets/**']}",
            "{on_violation: redact}",
            read,
            &format!("message {text}"),
            expected,
        );
    };
    message(
        r#"{"resultType":"complete","content":[{"type":"text","text":"SEKRET3"}]}"#,
        expect![[r#"
        after: project r: redact
        after: struck 1
        gave {"resultType":"complete","content":[{"type":"text","text":"[REDACTED]"}]}"#]],
    );
    message(
        r#"{"resultType":"task","taskId":"786512e2-9e0d","status":"working","createdAt":"2026-11-22T06:10:00Z","ttlMs":5,"statusMessage":"reading SEKRET3"}"#,
        expect![[r#"
            after: project r: redact
            after: struck 1
            gave {"resultType":"task","taskId":"786512e2-9e0d","status":"working","createdAt":"2026-11-22T06:10:00Z","ttlMs":5,"statusMessage":"[REDACTED]"}"#]],
    );
    message(
        r#"{"resultType":"SEKRET3","status":"a SEKRET3"}"#,
        expect![[r#"
        after: project r: redact
        after: struck 2
        gave {"resultType":"[REDACTED]","status":"[REDACTED]"}"#]],
    );
}
