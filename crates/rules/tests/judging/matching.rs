//! What a rule is about.

use rules::Call;

use super::{World, one_rule};

/// Whether a blocking rule with this `match` concerns the call.
#[track_caller]
fn check(matches: &str, cases: &[(&str, bool)]) {
    let rules = one_rule(matches, "{on_violation: block}");
    let world = World::new().file(".toolcrib/ai-rules.yml", &rules);
    for (call, expected) in cases {
        let said = world.said(&world.rules(), call, "");
        assert_eq!(said.contains("STOP r"), *expected, "{matches} {call}: {said}");
    }
}

#[test]
fn our_own_tools_say_which_arguments_are_paths() {
    check(
        "{paths: ['.env']}",
        &[
            (r#"workspace_write {"path":".env","content":"x"}"#, true),
            (r#"workspace_write {"path":["a",".env"]}"#, true),
            (r#"workspace_write {"path":"a.md","content":".env"}"#, false),
            (r#"workspace_write {"path":"a.md","file":".env"}"#, false),
            // Of others nobody knows.
            (r#"git/write {"path":"a.md","content":".env"}"#, true),
        ],
    );
}

#[test]
fn paths_are_meant_in_every_spelling() {
    check(
        "{paths: ['.env']}",
        &[
            (r#"x {"path":".env"}"#, true),
            (r#"x {"path":"./.env"}"#, true),
            (r#"x {"path":"a/../.env"}"#, true),
            (r#"x {"path":"a/b/.env"}"#, true),
            (r#"x {"path":"ROOT/.env"}"#, true),
            (r#"x {"path":"ROOT/a/../.env"}"#, true),
            (r#"x {"uri":"file://ROOT/.env"}"#, true),
            (r#"x {"uri":"file://ROOT/%2Eenv"}"#, true),
            (r#"x {"uri":"files+file://ROOT/.env"}"#, true),
            (r#"x {"path":"/etc/.env"}"#, true),
            (r#"x {"command":"cat .env | head"}"#, true),
            (r#"x {"args":["--file=.env"]}"#, true),
            (r#"x {"options":{"files":["a",".env"]}}"#, true),
            (r#"x {"path":".env.example"}"#, false),
            (r#"x {"path":"env"}"#, false),
            (r#"x {"text":".env"}"#, true),
            (r#"x {"file":{"name":"ROOT/.env"}}"#, true),
            (r#"x {"text":"what a .env is for"}"#, false),
            (r#"x {"path":"/workspace/.env"}"#, true),
            (r#"x {}"#, false),
        ],
    );
}

#[test]
fn what_nobody_can_know_is_blocked() {
    check(
        "{paths: ['secrets/**']}",
        &[
            (r#"up/x {"path":"$DATA/a"}"#, true),
            (r#"up/x {"path":"${DATA}/a"}"#, true),
            (r#"up/x {"path":"~bob/a"}"#, true),
            // Our own tools take it as it is written.
            (r#"x {"path":"$DATA/a"}"#, false),
            (r#"up/x {"path":"routes/$id.tsx"}"#, false),
            (r#"up/x {"text":"$DATA/a"}"#, false),
            (r#"up/x {"path":"~/monorepo/secrets/a"}"#, true),
            (r#"up/x {"path":"$HOME/monorepo/secrets/a"}"#, true),
        ],
    );
    let warned = World::new()
        .file(".toolcrib/ai-rules.yml", &one_rule("{paths: ['secrets/**']}", "{on_violation: warn}"));
    assert_eq!(warned.said(&warned.rules(), r#"up/x {"path":"$DATA/a"}"#, ""), "nothing");
}

#[test]
fn patterns_with_a_folder_begin_at_the_workspace() {
    check(
        "{paths: ['config/*.yml']}",
        &[
            (r#"x {"path":"config/a.yml"}"#, true),
            (r#"x {"path":"config/deep/a.yml"}"#, false),
            (r#"x {"path":"other/config/a.yml"}"#, false),
            (r#"x {"cwd":"config","file":"a.yml"}"#, true),
            (r#"x {"cwd":"ROOT/config","file":"./a.yml"}"#, true),
            (r#"x {"path":"../monorepo/config/a.yml"}"#, true),
        ],
    );
    check(
        "{paths: ['infra/**']}",
        &[
            (r#"x {"path":"infra/a/b"}"#, true),
            (r#"x {"path":"infra"}"#, true),
            (r#"x {"path":"infra/"}"#, true),
            (r#"x {"path":"infrared"}"#, false),
            (r#"x {"path":"a/infra/b"}"#, false),
        ],
    );
    check(
        "{paths: ['secrets/**']}",
        &[
            (r#"x {"path":"secrets/key"}"#, true),
            (r#"x {"path":"/workspace/secrets/key"}"#, true),
            (r#"x {"path":"//workspace/secrets/key"}"#, true),
            (r#"x {"path":"/workspace/./a/../secrets/key"}"#, true),
            (r#"hub/x {"path":"/workspace/secrets/key"}"#, true),
            (r#"x {"repo_path":"ROOT","rel":"secrets/key"}"#, true),
            (r#"x {"path":"/workspace/other/key"}"#, false),
        ],
    );
    check("{paths: ['keys/']}", &[(r#"x {"path":"a/keys/b"}"#, true), (r#"x {"path":"keys"}"#, true)]);
    check(
        "{paths: ['/etc/**']}",
        &[
            (r#"x {"path":"/etc/passwd"}"#, true),
            (r#"x {"path":"etc/a"}"#, true),
            (r#"x {"path":"a/etc/a"}"#, false),
        ],
    );
    check("{paths: ['./a.txt']}", &[(r#"x {"path":"a.txt"}"#, true)]);
    check(
        "{paths: ['*.{pem,key}']}",
        &[(r#"x {"path":"deep/a.pem"}"#, true), (r#"x {"path":"a.pub"}"#, false)],
    );
}

#[test]
fn types_of_files_are_the_ends_of_their_names() {
    check(
        "{file_types: ['.YML', env]}",
        &[
            (r#"x {"path":"a.yml"}"#, true),
            (r#"x {"path":"A.Yml"}"#, true),
            (r#"x {"path":".env"}"#, true),
            (r#"x {"path":"a.yaml"}"#, false),
            (r#"x {"path":"yml"}"#, false),
            (r#"x {"path":"a.yml/b"}"#, false),
        ],
    );
    // One path must be both.
    check(
        "{paths: ['config/**'], file_types: [yml]}",
        &[(r#"x {"path":"config/a.yml"}"#, true), (r#"x {"paths":["config/a.txt","other/a.yml"]}"#, false)],
    );
}

#[test]
fn tools_and_upstreams_are_matched_by_their_names() {
    check("{tools: ['git_*', 'rm']}", &[("git_push {}", true), ("rm {}", true), ("rmdir {}", false)]);
    check("{tools: ['git_{push,tag}']}", &[("git_push {}", true), ("git_log {}", false)]);
    check("{upstreams: ['hub*']}", &[("hub2/x {}", true), ("git/x {}", false), ("x {}", false)]);
    check(
        "{tools: ['x'], upstreams: [hub]}",
        &[("hub/x {}", true), ("hub/y {}", false), ("git/x {}", false)],
    );
}

#[test]
fn projects_are_known_by_the_end_of_their_folder() {
    for (project, expected) in [
        ("monorepo", true),
        ("internal/monorepo", true),
        ("internal/*", true),
        ("mono*", true),
        ("internal", false),
        ("other/monorepo", false),
    ] {
        check(&format!("{{projects: ['{project}']}}"), &[("x {}", expected)]);
    }
    let mut world = World::new().file(
        ".toolcrib/ai-rules.json",
        r#"{"version":"1.0","rules":[
        {"id":"r","match":{"projects":["acme/shop"]},"action":{"on_violation":"block"}}]}"#,
    );
    assert_eq!(world.said(&world.rules(), "x {}", ""), "nothing");
    world.settings.project_name = Some("acme/shop".to_owned());
    assert!(world.said(&world.rules(), "x {}", "").contains("STOP"));
}

#[test]
fn whatever_is_given_must_hold() {
    check(
        "{paths: ['*.md'], content_regex: 'draft', tools: ['write']}",
        &[
            (r#"write {"path":"a.md","text":"a draft"}"#, true),
            (r#"write {"path":"a.md","text":"final"}"#, false),
            (r#"write {"path":"a.txt","text":"a draft"}"#, false),
            (r#"read {"path":"a.md","text":"a draft"}"#, false),
        ],
    );
}

#[test]
fn a_path_that_a_call_comes_upon_concerns_the_rules_that_bind() {
    let world = World::new().file(
        ".toolcrib/ai-rules.json",
        r#"{"version": "1.0", "rules": [
            {"id": "a", "match": {"paths": ["secrets/"]}, "action": {"on_violation": "block"}},
            {"id": "b", "match": {"file_types": ["pem"]}, "action": {"on_violation": "require_approval"}},
            {"id": "c", "match": {"paths": ["*.env"], "content_regex": "x"}, "action": {"on_violation": "redact"}},
            {"id": "d", "match": {"paths": ["noted/"]}, "action": {"on_violation": "warn"}},
            {"id": "e", "match": {"paths": ["here/"]}, "action": {"on_violation": "override_provider"}},
            {"id": "f", "match": {"paths": ["written/"], "tools": ["*_write"]}, "action": {"on_violation": "block"}},
            {"id": "g", "match": {"content_regex": "y"}, "action": {"on_violation": "block"}},
            {"id": "h", "mode": "dry-run", "match": {"paths": ["tried/"]}, "action": {"on_violation": "block"}}
        ]}"#,
    );
    let rules = world.rules();
    for (path, concerned) in [
        ("secrets/a", true),
        ("secrets", true),
        ("a/key.pem", true),
        ("a/x.env", true),
        ("noted/a", false),
        ("here/a", false),
        ("written/a", false),
        ("tried/a", false),
        ("src/main.rs", false),
    ] {
        let found = rules.concern_paths(&Call {
            tool: "workspace_search",
            upstream: None,
            open_world: false,
            is_action: false,
            paths: Some(&["path"]),
            input_schema: None,
            output_schema: None,
            arguments: &serde_json::json!({ "path": path }),
            begun_with: None,
            answers: None,
            meta: None,
        });
        assert_eq!(found, concerned, "{path}");
    }
}
