//! The three rules of the specification's example, as it has them.

use expect_test::{Expect, expect};

use super::World;

#[track_caller]
fn check(call: &str, gave: &str, expected: Expect) {
    let world = World::new().file(".oppla/ai-rules.json", include_str!("seed.json"));
    expected.assert_eq(&world.said(&world.rules(), call, gave));
}

#[test]
fn secrets_are_struck_out_of_the_files_that_hold_them() {
    let read = |path: &str| format!("workspace_read {{\"path\":\"{path}\"}}");
    check(
        &read(".env"),
        "text PORT=80\nAPI_KEY=abc123\n# the end",
        expect![[r#"
        after: project no-secret-exfiltration: redact_and_warn
        after: struck 1
        gave PORT=80
        [REDACTED_SECRET]
        # the end"#]],
    );
    check(
        &read("secrets/tokens.txt"),
        "text password: hunter2",
        expect![[r#"
        after: project no-secret-exfiltration: redact_and_warn
        after: struck 1
        gave [REDACTED_SECRET]"#]],
    );
    check(
        &read("src/secrets/a"),
        "text password: hunter2",
        expect![[r#"
        after: project no-secret-exfiltration: redact_and_warn
        after: struck 1
        gave [REDACTED_SECRET]"#]],
    );
    check(
        &read("config/db.yml"),
        "text token: abc",
        expect![[r#"
        after: project no-secret-exfiltration: redact_and_warn
        after: struck 1
        gave [REDACTED_SECRET]"#]],
    );
    check(&read("config/deep/db.yml"), "text token: abc", expect!["gave text token: abc"]);
    check(&read("README.md"), "text token: abc", expect!["gave text token: abc"]);
    check(
        r#"workspace_write {"path":"a.env","text":"A=1\nAPI_KEY=abc"}"#,
        "",
        expect![[r#"
        project no-secret-exfiltration: redact_and_warn
        arguments {"path":"a.env","text":"A=1\n[REDACTED_SECRET]"}
        struck 1"#]],
    );
    check(
        r#"hub/hub_put {"path":"a.env","fields":{"token":"abc","port":80}}"#,
        "",
        expect![[r#"
            project restrict-models-to-local: override_provider
            project no-secret-exfiltration: redact_and_warn
            arguments {"fields":{"[REDACTED_SECRET]":"[REDACTED_SECRET]","port":80},"path":"a.env"}
            struck 2
            STOP restrict-models-to-local: `hub_put` is what a rule is about; it may only be done by something on this machine, or by ollama, local_llama"#]],
    );
}

#[test]
fn high_risk_needs_a_person() {
    check(
        r#"workspace_write {"path":"infra/main.tf"}"#,
        "",
        expect![[r#"
        project require-human-approval-high-risk: require_approval
        ask ["owner", "security_lead"] require-human-approval-high-risk: `workspace_write` names a path that a rule is about"#]],
    );
    check(
        r#"git/git_mv {"from":"x","to":"./deploy/../auth/x"}"#,
        "",
        expect![[r#"
        project require-human-approval-high-risk: require_approval
        ask ["owner", "security_lead"] require-human-approval-high-risk: `git_mv` names a path that a rule is about"#]],
    );
    check(r#"workspace_write {"path":"infrastructure/main.tf"}"#, "", expect!["nothing"]);
}

#[test]
fn models_are_local_in_this_project() {
    check(r#"workspace_read {"path":"a"}"#, "", expect!["nothing"]);
    check(
        r#"web_fetch! {"url":"https://x"}"#,
        "",
        expect![[r#"
        project restrict-models-to-local: override_provider
        STOP restrict-models-to-local: `web_fetch` is what a rule is about; it may only be done by something on this machine, or by ollama, local_llama"#]],
    );
    check(r#"git/git_log {}"#, "", expect!["nothing"]);
    check(r#"ollama/ollama_ask {}"#, "", expect!["nothing"]);
    check(
        r#"gpt/gpt_ask {}"#,
        "",
        expect![[r#"
        project restrict-models-to-local: override_provider
        STOP restrict-models-to-local: `gpt_ask` is what a rule is about; it may only be done by something on this machine, or by ollama, local_llama"#]],
    );
}
