//! Each action.

use expect_test::expect;

use super::check;

#[test]
fn what_is_ignored_or_warned_of_is_noted() {
    check("{tools: ['x']}", "{on_violation: ignore}", "x {}", expect!["project r: ignore"]);
    check("{tools: ['x']}", "{on_violation: warn}", "x {}", expect!["project r: warn"]);
    check("{tools: ['x']}", "{on_violation: warn}", "y {}", expect!["nothing"]);
}

#[test]
fn what_is_blocked_does_not_run() {
    check(
        "{tools: ['x']}",
        "{on_violation: block}",
        "x {}",
        expect![[r#"
        project r: block
        STOP r: `x` is what a rule is about"#]],
    );
    check(
        "{content_regex: 'bad'}",
        "{on_violation: block}",
        r#"x {"a":[{"b":"very bad"}]}"#,
        expect![[r#"
        project r: block
        STOP r: `x` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: 'bad'}",
        "{on_violation: block}",
        r#"x {"bad":1}"#,
        expect![[r#"
        project r: block
        STOP r: `x` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: '^4[0-9]{15}$'}",
        "{on_violation: block}",
        r#"x {"card":4111111111111111}"#,
        expect![[r#"
        project r: block
        STOP r: `x` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: 'bad'}",
        "{on_violation: block}",
        r#"x {"path":"bad.txt"}"#,
        expect![[r#"
        project r: block
        STOP r: `x` has content that a rule looks for"#]],
    );
    check("{content_regex: 'bad'}", "{on_violation: block}", r#"x {"a":"good"}"#, expect!["nothing"]);
}

#[test]
fn a_person_is_asked() {
    check(
        "{tools: ['x']}",
        "{on_violation: require_approval}",
        "x {}",
        expect![[r#"
        project r: require_approval
        ask [] r: `x` is what a rule is about"#]],
    );
    check(
        "{tools: ['x']}",
        "{on_violation: require_approval, approval_roles: [owner]}",
        "x {}",
        expect![[r#"
        project r: require_approval
        ask ["owner"] r: `x` is what a rule is about"#]],
    );
}

#[test]
fn only_what_is_local_or_named_may_do_it() {
    let action = "{on_violation: override_provider, allowed_providers: [ollama]}";
    check(
        "{content_regex: 'plan'}",
        action,
        r#"gpt/gpt_ask {"q":"the plan"}"#,
        expect![[r#"
        project r: override_provider
        STOP r: `gpt_ask` has content that a rule looks for; it may only be done by something on this machine, or by ollama"#]],
    );
    check("{content_regex: 'plan'}", action, r#"gpt/gpt_ask {"q":"the weather"}"#, expect!["nothing"]);
    check("{content_regex: 'plan'}", action, r#"ollama/ask {"q":"the plan"}"#, expect!["nothing"]);
    check("{content_regex: 'plan'}", action, r#"git/commit {"q":"the plan"}"#, expect!["nothing"]);
    check(
        "{tools: ['*']}",
        "{on_violation: override_provider}",
        r#"gpt/gpt_ask {}"#,
        expect![[r#"
        project r: override_provider
        STOP r: `gpt_ask` is what a rule is about; it may only be done by something on this machine"#]],
    );
    check(
        "{tools: ['*']}",
        "{on_violation: override_provider}",
        r#"web! {}"#,
        expect![[r#"
        project r: override_provider
        STOP r: `web` is what a rule is about; it may only be done by something on this machine"#]],
    );
    check("{tools: ['*']}", "{on_violation: override_provider}", r#"local {}"#, expect!["nothing"]);
}

#[test]
fn what_stands_below_a_name_that_matches_goes() {
    check(
        "{content_regex: '(?i)password|token'}",
        "{on_violation: redact, redaction_placeholder: '#'}",
        r#"x {"password2":12345,"password":[{"x":"hunter3"}],"token":{"v":"hunter4","n":[1]},"other":[{"v":"a"},2]}"#,
        expect![[r###"
            project r: redact
            arguments {"#":[{"x":"#"}],"##2":{"n":["#"],"v":"#"},"#2":"#","other":[{"v":"a"},2]}
            struck 7"###]],
    );
    check(
        "{content_regex: 'password'}",
        "{on_violation: redact, redaction_placeholder: '#'}",
        r#"x {} + {"ask":{"action":"accept","content":{"password":"a","passwords":["b"],"password3":5,"c":6}}}"#,
        expect![[r##"
            project r: redact
            answers {"ask":{"action":"accept","content":{"#":"#","passwords":["#"],"#3":"#","c":6}}}
            struck 5"##]],
    );
}

#[test]
fn names_are_taken_by_their_words_and_struck_themselves() {
    let (token, redact) = ("{content_regex: 'token'}", "{on_violation: redact, redaction_placeholder: '#'}");
    check(
        token,
        redact,
        r#"x {"max_tokens":4096,"maxTokens":"4096","tokenizer":"t","tokens":["a",1,"2"],"token_count":7,"n":9}"#,
        expect![[r##"
            project r: redact
            arguments {"#_count":7,"maxTokens":"4096","max_tokens":4096,"n":9,"tokenizer":"t","tokens":["#",1,"2"]}
            struck 2"##]],
    );
    check(
        token,
        redact,
        r##"x {"api_token":1,"accessToken":"a","TOKEN":"b","token":{"x":null},"y":[{"token":1,"#":2}]}"##,
        expect![[r###"
            project r: redact
            arguments {"#":"#","##2":"#","##3":{"x":null},"api_#":"#","y":[{"#":2,"##2":"#"}]}
            struck 9"###]],
    );
    check("{content_regex: 'auth'}", redact, r#"x {"author":"Ann"}"#, expect!["nothing"]);
    check(
        token,
        redact,
        r#"x {} + {"ask":{"content":{"token":"a","maxTokens":5,"token_b":6}}}"#,
        expect![[r##"
            project r: redact
            answers {"ask":{"content":{"#":"#","maxTokens":5,"#_b":6}}}
            struck 3"##]],
    );
    // The same for what acts otherwise.
    check(token, "{on_violation: block}", r#"x {"max_tokens":4096,"tokenizer":"t"}"#, expect!["nothing"]);
    check(
        token,
        "{on_violation: block}",
        r#"x {"tokens":["a"]}"#,
        expect![[r#"
        project r: block
        STOP r: `x` has content that a rule looks for"#]],
    );
    check(
        token,
        "{on_violation: block}",
        r#"x {"accessToken":null}"#,
        expect![[r#"
        project r: block
        STOP r: `x` has content that a rule looks for"#]],
    );
}

#[test]
fn what_the_tool_itself_calls_things_stays() {
    let rule =
        super::one_rule("{content_regex: 'token'}", "{on_violation: redact, redaction_placeholder: '#'}");
    let world = super::World::new()
        .file(".toolcrib/ai-rules.yaml", &rule)
        .schema(r#"{"properties":{"token":{},"deep":{"properties":{"token2":{}}}}}"#);
    let call = r#"x {"token":"a","other_token":"b","deep":{"token2":"c"}}"#;
    expect![[r##"
        project r: redact
        arguments {"deep":{"token2":"#"},"other_#":"#","token":"#"}
        struck 4
        after: project r: redact
        after: struck 4
        gave {"token":"#","x":{"#3":["#","#"]}}"##]]
    .assert_eq(&world.said(&world.rules(), call, r#"structured {"token":"a","x":{"token3":["b",5]}}"#));
}

#[test]
fn matches_are_struck_out_of_arguments() {
    let redact = "{on_violation: redact}";
    let keys = "{content_regex: 'sk-[a-z]+'}";
    check(
        keys,
        redact,
        r#"x {"a":"sk-abc and sk-def","b":["sk-x",{"c":"no"}]}"#,
        expect![[r#"
        project r: redact
        arguments {"a":"[REDACTED] and [REDACTED]","b":["[REDACTED]",{"c":"no"}]}
        struck 3"#]],
    );
    check(
        keys,
        "{on_violation: redact, redaction_placeholder: ''}",
        r#"x {"a":"sk-abc."}"#,
        expect![[r#"
        project r: redact
        arguments {"a":"."}
        struck 1"#]],
    );
    check(keys, redact, r#"x {"n":12345678901234567890,"path":"sk-abc/x"}"#, expect!["nothing"]);
    check(
        keys,
        redact,
        r#"hub/x {"path":"sk-abc/x"}"#,
        expect![[r#"
        project r: redact
        arguments {"path":"[REDACTED]/x"}
        struck 1"#]],
    );
    check(
        keys,
        redact,
        r#"x {"url":"https://h/?k=sk-abc"}"#,
        expect![[r#"
        project r: redact
        arguments {"url":"https://h/?k=[REDACTED]"}
        struck 1"#]],
    );
    check(
        "{content_regex: '4[0-9]{15}'}",
        redact,
        r#"x {"card":4111111111111111}"#,
        expect![[r#"
        project r: redact
        arguments {"card":"[REDACTED]"}
        struck 1"#]],
    );
    // Without a pattern, nothing but the paths leaves the machine; what stays here may have it.
    check(
        "{paths: ['*.env']}",
        redact,
        r#"hub/x {"path":"a.env","text":"A=1"}"#,
        expect![[r#"
        project r: redact
        arguments {"path":"a.env","text":"[REDACTED]"}
        struck 1"#]],
    );
    check("{paths: ['*.env']}", redact, r#"x {"path":"a.env","text":"A=1"}"#, expect!["nothing"]);
}

#[test]
fn what_a_client_answers_is_no_way_around() {
    let asked = r#"hub/x {} + {"q1":{"action":"accept","content":{"key":"sk-abc","name":"Ann"}}}"#;
    check(
        "{content_regex: 'sk-[a-z]+'}",
        "{on_violation: block}",
        asked,
        expect![[r#"
        project r: block
        STOP r: `x` has content that a rule looks for"#]],
    );
    check(
        "{content_regex: 'sk-[a-z]+'}",
        "{on_violation: redact}",
        asked,
        expect![[r#"
        project r: redact
        answers {"q1":{"action":"accept","content":{"key":"[REDACTED]","name":"Ann"}}}
        struck 1"#]],
    );
    check("{content_regex: 'accept'}", "{on_violation: redact}", asked, expect!["nothing"]);
    check(
        "{tools: ['x']}",
        "{on_violation: redact}",
        asked,
        expect![[r#"
        project r: redact
        answers {"q1":{"action":"accept","content":{"key":"[REDACTED]","name":"[REDACTED]"}}}
        struck 2"#]],
    );
}

#[test]
fn arguments_are_changed() {
    let dry = "{on_violation: transform, transform: {set: {/dry_run: true, /a/b: [1]}, remove: [/force], replace: {/n: 5}}}";
    check(
        "{tools: ['x']}",
        dry,
        r#"x {"force":true,"n":9,"z":1}"#,
        expect![[r#"
        project r: transform
        arguments {"a":{"b":[1]},"dry_run":true,"n":5,"z":1}"#]],
    );
    check("{tools: ['x']}", dry, r#"x {"dry_run":true,"a":{"b":[1]}}"#, expect!["project r: transform"]);
    check(
        "{tools: ['x']}",
        dry,
        r#"x {"a":"text"}"#,
        expect![[r#"
        project r: transform
        arguments {"a":"text","dry_run":true}
        STOP r: `x` cannot be changed as a rule says: /a/b cannot be set: what lies on the way to it is no object"#]],
    );
}

#[test]
fn modes_that_do_not_act_say_what_they_would_do() {
    for mode in ["audit-only", "dry-run"] {
        let action = format!("{{on_violation: block}}\n  mode: {mode}");
        check(
            "{tools: ['x']}",
            &action,
            "x {}",
            match mode {
                "dry-run" => expect!["project r: block (dry-run)"],
                _ => expect!["project r: block (audit-only)"],
            },
        );
    }
    let redact = "{on_violation: redact}\n  mode: audit-only";
    check(
        "{content_regex: 'sk-[a-z]+'}",
        redact,
        r#"x {"a":"sk-abc"}"#,
        expect!["project r: redact (audit-only)"],
    );
    let ask = "{on_violation: require_approval}\n  mode: dry-run";
    check("{tools: ['x']}", ask, "x {}", expect!["project r: require_approval (dry-run)"]);
    let change = "{on_violation: transform, transform: {set: {/a: 1}}}\n  mode: audit-only";
    check("{tools: ['x']}", change, "x {}", expect!["project r: transform (audit-only)"]);
    let force = "{on_violation: override_provider}\n  mode: audit-only";
    check("{tools: ['*']}", force, "gpt/x {}", expect!["project r: override_provider (audit-only)"]);
}
