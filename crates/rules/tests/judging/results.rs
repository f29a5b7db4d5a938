//! What a call gave is held against the rules as well.

use expect_test::expect;

use super::check_result;

const READ: &str = r#"read {"path":"a.env"}"#;

#[test]
fn a_result_with_what_is_blocked_is_withheld() {
    check_result(
        "{content_regex: 'bad'}",
        "{on_violation: block}",
        READ,
        "text so bad",
        expect![[r#"
        after: project r: block
        after: STOP r: it has content that a rule looks for"#]],
    );
    check_result("{content_regex: 'bad'}", "{on_violation: block}", READ, "text good", expect!["gave good"]);
    check_result(
        "{content_regex: 'bad'}",
        "{on_violation: block}",
        READ,
        r#"structured {"bad":1}"#,
        expect![[r#"
        after: project r: block
        after: STOP r: it has content that a rule looks for"#]],
    );
    check_result(
        "{content_regex: 'bad'}",
        "{on_violation: block}",
        READ,
        r#"structured {"a":"b\u0061d"}"#,
        expect![[r#"
        after: project r: block
        after: STOP r: it has content that a rule looks for"#]],
    );
    let blob = r#"message {"contents":[{"uri":"x","blob":"c28gYmFk"}]}"#;
    check_result(
        "{content_regex: 'bad'}",
        "{on_violation: block}",
        READ,
        blob,
        expect![[r#"
        after: project r: block
        after: STOP r: it has content that a rule looks for"#]],
    );
    let of_env = "{paths: ['*.env'], content_regex: 'bad'}";
    check_result(
        of_env,
        "{on_violation: block}",
        r#"read {"path":"a"}"#,
        "text so bad",
        expect!["gave text so bad"],
    );
    check_result(
        of_env,
        "{on_violation: block}",
        READ,
        "text so bad",
        expect![[r#"
        after: project r: block
        after: STOP r: it has content that a rule looks for"#]],
    );
}

#[test]
fn matches_are_struck_out_of_results() {
    let (keys, redact) =
        ("{content_regex: 'sk-[a-z]+'}", "{on_violation: redact, redaction_placeholder: '#'}");
    check_result(
        keys,
        redact,
        READ,
        "text a sk-abc b",
        expect![[r#"
        after: project r: redact
        after: struck 1
        gave a # b"#]],
    );
    check_result(
        keys,
        redact,
        READ,
        r#"structured {"a":["sk-abc", 1.50],"sk-key":"x"}"#,
        expect![[r##"
            after: project r: redact
            after: struck 3
            gave {"a":["#", 1.50],"#":"#"}"##]],
    );
    let message =
        r#"message {"content":[{"type":"text","text":"sk-abc"}],"structuredContent":{"type":"sk-a"}}"#;
    check_result(
        keys,
        redact,
        READ,
        message,
        expect![[r##"
        after: project r: redact
        after: struck 2
        gave {"content":[{"type":"text","text":"#"}],"structuredContent":{"type":"#"}}"##]],
    );
    check_result(
        "{paths: ['*.env']}",
        redact,
        READ,
        "text A=1",
        expect![[r#"
        after: project r: redact
        after: struck 1
        gave #"#]],
    );
    check_result(
        "{paths: ['*.env']}",
        redact,
        READ,
        r#"structured {"text":"A=1","bytes":3}"#,
        expect![[r##"
        after: project r: redact
        after: struck 1
        gave {"text":"#","bytes":3}"##]],
    );
    check_result(
        "{paths: ['*.env']}",
        redact,
        READ,
        r#"message {"content":[{"type":"text","text":"A"}]}"#,
        expect![[r##"
        after: project r: redact
        after: struck 1
        gave {"content":[{"type":"text","text":"#"}]}"##]],
    );
}

#[test]
fn what_does_not_act_leaves_the_result() {
    let keys = "{content_regex: 'sk-[a-z]+'}";
    check_result(
        keys,
        "{on_violation: warn}",
        READ,
        "text sk-abc",
        expect![[r#"
        after: project r: warn
        gave sk-abc"#]],
    );
    check_result(
        keys,
        "{on_violation: redact}\n  mode: dry-run",
        READ,
        "text sk-abc",
        expect![[r#"
        after: project r: redact (dry-run)
        gave sk-abc"#]],
    );
    check_result(
        keys,
        "{on_violation: block}\n  mode: audit-only",
        READ,
        "text sk-abc",
        expect![[r#"
        after: project r: block (audit-only)
        gave sk-abc"#]],
    );
    // These are about the call.
    check_result(keys, "{on_violation: require_approval}", READ, "text sk-abc", expect!["gave text sk-abc"]);
    check_result(
        keys,
        "{on_violation: override_provider}",
        "hub/read {}",
        "text sk-abc",
        expect!["gave text sk-abc"],
    );
}

#[test]
fn no_bytes_and_no_word_hides_what_is_looked_for() {
    let stopped = expect![[r#"
        after: project r: block
        after: STOP r: it has content that a rule looks for"#]];
    for gave in [
        r#"message {"content":[],"type":"SEKRET3"}"#,
        r#"message {"content":[{"type":"image","mimeType":"image/SEKRET3","data":""}]}"#,
        r#"message {"content":[{"type":"text","text":"","annotations":{"role":"SEKRET3"}}]}"#,
        r#"message {"contents":[{"blob":"U0VL\nUkVUMw=="}]}"#,
        r#"message {"contents":[{"blob":"U0VLUkVUMw"}]}"#,
        // A byte that is no UTF-8 before it; the letters as two bytes each; and the text as it stands, which is base64, too.
        r#"message {"contents":[{"blob":"/1NFS1JFVDM="}]}"#,
        r#"message {"content":[{"type":"image","data":"UwBFAEsAUgBFAFQAMwA="}]}"#,
        r#"message {"content":[{"type":"image","data":"SEKRET3x"}]}"#,
        r#"bytes ff 53 45 4b 52 45 54 33"#,
        r#"bytes ff fe 53 00 45 00 4b 00 52 00 45 00 54 00 33 00"#,
        r#"bytes 00 53 00 45 00 4b 00 52 00 45 00 54 00 33"#,
    ] {
        let world = super::World::new().file(
            ".toolcrib/ai-rules.yaml",
            &super::one_rule("{content_regex: 'SEKRET3'}", "{on_violation: block}"),
        );
        stopped.assert_eq(&world.said(&world.rules(), READ, gave));
    }
    check_result(
        "{content_regex: 'text|image|user'}",
        "{on_violation: redact}",
        READ,
        r#"message {"content":[{"type":"image","mimeType":"a/b"}],"role":"user","x":{"type":"text2"}}"#,
        expect![[r#"
            after: project r: redact
            after: struck 1
            gave {"content":[{"type":"image","mimeType":"a/b"}],"role":"user","x":{"type":"[REDACTED]2"}}"#]],
    );
    for (matches, struck) in
        [("{content_regex: 'k[0-9]'}", true), ("{paths: ['*.env']}", true), ("{content_regex: 'q'}", false)]
    {
        check_result(
            matches,
            "{on_violation: redact, redaction_placeholder: '#'}",
            READ,
            "bytes ff 6b 39 41",
            match struck {
                true => expect![[r#"
                    after: project r: redact
                    after: struck 1
                    gave #"#]],
                false => expect!["gave as it was"],
            },
        );
    }
}

#[test]
fn what_stands_below_a_name_that_matches_goes() {
    check_result(
        "{content_regex: 'password'}",
        "{on_violation: redact, redaction_placeholder: '#'}",
        READ,
        r#"structured {"password":{"a":"x","b":[{"c":"y"}]},"d":"z","e":[{"password":"x"},["z"]],"passwords":3}"#,
        expect![[r##"
            after: project r: redact
            after: struck 5
            gave {"#":{"a":"#","b":[{"c":"#"}]},"d":"z","e":[{"#":"#"},["z"]],"passwords":3}"##]],
    );
    check_result(
        "{content_regex: 'content'}",
        "{on_violation: redact}",
        READ,
        r#"message {"content":[{"type":"text","text":"x"}],"structuredContent":{"content":{"a":"x"}}}"#,
        expect![[r#"
            after: project r: redact
            after: struck 2
            gave {"content":[{"type":"text","text":"x"}],"structuredContent":{"[REDACTED]":{"a":"[REDACTED]"}}}"#]],
    );
}

#[test]
fn names_of_results_are_struck() {
    let rule = ("{content_regex: 'token|uri'}", "{on_violation: redact, redaction_placeholder: '#'}");
    // The protocol's own stay, and so does what it counts.
    check_result(
        rule.0,
        rule.1,
        READ,
        r#"message {"progressToken":5,"progress":1,"uri":"x","data":{"token":5,"max_tokens":6,"accessToken":"t"}}"#,
        expect![[r###"
            after: project r: redact
            after: struck 5
            gave {"progressToken":5,"progress":1,"uri":"#","data":{"#":"#","max_tokens":6,"##2":"#"}}"###]],
    );
    check_result(
        rule.0,
        rule.1,
        READ,
        r##"structured {"token":1,"TOKEN":{"token":"a"},"#":2,"uri":[3],"token_count":4,"uris":["5",6,"b"]}"##,
        expect![[r###"
            after: project r: redact
            after: struck 9
            gave {"##2":"#","##3":{"#":"#"},"#":2,"##4":["#"],"#_count":4,"uris":["5",6,"#"]}"###]],
    );
    check_result(
        rule.0,
        "{on_violation: block}",
        READ,
        r#"message {"progressToken":5,"data":{"tokenizer":1,"tokens":3}}"#,
        expect![[r#"gave {"progressToken":5,"data":{"tokenizer":1,"tokens":3}}"#]],
    );
}
