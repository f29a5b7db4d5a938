//! Which paths a pattern is about, however either of them is spelt.

use serde_json::{Value, json};

use super::{World, one_rule};

/// Whether a rule that blocks this pattern concerns each call, as one letter each.
#[track_caller]
fn check(pattern: &str, calls: &[&str], expected: &str) {
    let matches = json!({ "paths": [pattern] });
    let world = World::new().file(".toolcrib/ai-rules.yml", "");
    let pattern = pattern.replace("ROOT", &world.settings.workspace.display().to_string());
    let rules = one_rule(&json!({ "paths": [pattern] }).to_string(), "{on_violation: block}");
    let world = world.file(".toolcrib/ai-rules.yml", &rules);
    let rules = world.rules();
    let problems = rules.problems();
    assert!(problems.is_empty(), "{matches}: {problems:?}");
    let said: String = calls
        .iter()
        .map(|call| if world.said(&rules, call, "").contains("STOP r") { 'B' } else { '-' })
        .collect();
    assert_eq!(said, expected, "{matches} {calls:?}");
}

/// `secrets/key` in four spellings, the folder, one of the same name further down, and two others.
const PLACES: [&str; 8] = [
    r#"x {"path":"secrets/key"}"#,
    r#"x {"path":"/workspace/secrets/key"}"#,
    r#"x {"path":"ROOT/secrets/key"}"#,
    r#"up/x {"path":"~/monorepo/secrets/key"}"#,
    r#"x {"path":"secrets"}"#,
    r#"x {"path":"a/secrets/key"}"#,
    r#"x {"path":"secrets2/key"}"#,
    r#"x {"path":"other/key2"}"#,
];

#[test]
fn a_pattern_is_read_as_its_author_means_it() {
    for (pattern, expected) in [
        ("secrets/**", "BBBBB---"),
        ("./secrets/**", "BBBBB---"),
        (" secrets/** ", "BBBBB---"),
        ("secrets//**", "BBBBB---"),
        ("./secrets/./**", "BBBBB---"),
        ("/secrets/**", "BBBBB---"),
        ("/secrets/", "BBBBB---"),
        ("/secrets", "BBBBB---"),
        ("/workspace/secrets/**", "BBBBB---"),
        ("/workspace/secrets", "BBBBB---"),
        ("//workspace/secrets/", "BBBBB---"),
        ("ROOT/secrets/**", "BBBBB---"),
        ("ROOT/secrets", "BBBBB---"),
        ("file://ROOT/secrets/**", "BBBBB---"),
        ("~/monorepo/secrets/**", "BBBBB---"),
        ("$HOME/monorepo/secrets/**", "BBBBB---"),
        ("${HOME}/monorepo//secrets/", "BBBBB---"),
        ("secrets", "BBBBBB--"),
        ("secrets/", "BBBBBB--"),
        ("**/secrets", "BBBBBB--"),
        ("**/secrets/**", "BBBBBB--"),
        ("secrets/key", "BBBB----"),
        ("/workspace/secrets/key", "BBBB----"),
        ("secrets//key", "BBBB----"),
        ("secrets/k?y", "BBBB----"),
        ("secrets/*", "BBBB----"),
        ("{secrets,x}", "BBBBBB--"),
        ("{secrets,x}/**", "BBBBB---"),
        ("key", "BBBB-BB-"),
        ("/key", "--------"),
        ("ke*", "BBBB-BBB"),
        ("/workspace/key", "--------"),
        ("/workspace", "BBBBBBBB"),
        ("~", "BBBBBBBB"),
    ] {
        check(pattern, &PLACES, expected);
    }
}

#[test]
fn what_a_pattern_cannot_mean_is_refused_with_a_word() {
    for (pattern, expected) in [
        ("../w/secrets/**", "`..`"),
        ("a/../b", "`..`"),
        ("!secrets/**", "`!`"),
        ("secrets\\\\**", "write `/`"),
        ("secrets\\key", "write `/`"),
        ("~bob/x", "in full"),
        ("$DATA/x", "in full"),
        ("${DATA}/x", "in full"),
        ("/", "`**`"),
        (".", "`**`"),
        ("file://host/x", "without `file:`"),
        ("a\nb", "control"),
        ("a{b", "no glob"),
    ] {
        let rules = one_rule(&json!({ "paths": [pattern] }).to_string(), "{on_violation: block}");
        let world = World::new().file(".toolcrib/ai-rules.yml", &rules);
        let problems = world.rules().problems();
        assert!(problems.len() == 1 && problems[0].contains(expected), "{pattern:?}: {problems:?}");
    }
    for pattern in
        ["\\[id\\].tsx", "$RECYCLE.BIN/**", "routes/$id.tsx", "[!a]*", "https://host/**", "~$a", "a b"]
    {
        let rules = one_rule(&json!({ "paths": [pattern] }).to_string(), "{on_violation: block}");
        let world = World::new().file(".toolcrib/ai-rules.yml", &rules);
        assert_eq!(world.rules().problems(), Vec::<String>::new(), "{pattern:?}");
    }
}

#[test]
fn a_pattern_through_a_link_is_about_where_that_leads() {
    let world = World::new().file("secrets/key", "").file(
        ".toolcrib/ai-rules.yml",
        &one_rule("{paths: ['pub/**', '/workspace/pub2/key']}", "{on_violation: block}"),
    );
    let folder = &world.settings.workspace;
    std::os::unix::fs::symlink("secrets", folder.join("pub")).unwrap();
    std::os::unix::fs::symlink(folder.join("secrets"), folder.join("pub2")).unwrap();
    for call in [r#"x {"path":"secrets/key"}"#, r#"x {"path":"pub/key"}"#, r#"x {"path":"pub2/key"}"#] {
        assert!(world.said(&world.rules(), call, "").contains("STOP"), "{call}");
    }
}

#[test]
fn types_of_files_are_read_as_their_author_means_them() {
    for matches in ["{file_types: ['*.pem']}", "{file_types: [' .PEM ']}", "{file_types: [pem]}"] {
        let world = World::new().file(".toolcrib/ai-rules.yml", &one_rule(matches, "{on_violation: block}"));
        assert!(world.said(&world.rules(), r#"x {"path":"a.pem"}"#, "").contains("STOP"), "{matches}");
    }
    for matches in ["{file_types: ['secrets/*.pem']}", "{file_types: ['*']}", "{file_types: ['p?m']}"] {
        let world = World::new().file(".toolcrib/ai-rules.yml", &one_rule(matches, "{on_violation: block}"));
        assert_eq!(world.rules().problems().len(), 1, "{matches}");
    }
}

/// Calls that mean `secrets/key` or `config/prod.yml`, and some that mean neither.
#[test]
fn no_spelling_of_a_call_gets_past() {
    let long = "./".repeat(2_500);
    for (arguments, expected) in [
        (json!({"path": "x://../secrets/key"}), true),
        (json!({"path": "ROOT/x://../secrets/key"}), true),
        (json!({"path": "/workspace/x://../secrets/key"}), true),
        (json!({"path": "x://../config/prod.yml"}), true),
        (json!({"v": "x://../secrets/key"}), true),
        (json!({"path": "file:///../pub#/../secrets/key"}), true),
        (json!({"path": "file:#/../secrets/key"}), true),
        (json!({"path": "file:?/../secrets/key"}), true),
        (json!({"uri": "file://secrets/key"}), true),
        (json!({"uri": "file:///workspace/a#/../secrets/key"}), true),
        (json!({"uri": "file:///workspace/secrets%2fkey#a"}), true),
        (json!({"path": " secrets/key"}), true),
        (json!({"path": "secrets/key\n"}), true),
        (json!({"v": "secrets/key\r\n"}), true),
        (json!({"v": "\tsecrets/key "}), true),
        (json!({"path": format!("{long}secrets/key")}), true),
        (json!({"document": format!("{long}secrets/key")}), true),
        (json!({"document": format!("{}secrets/key", "a/../".repeat(2_000))}), true),
        (json!({"document": format!("secrets{}key", "/".repeat(5_000))}), true),
        (json!({"document": format!("ROOT/{long}secrets/key")}), true),
        (json!({"path": "config", "filename": "prod.yml"}), true),
        (json!({"location": "config", "file": "prod.yml"}), true),
        (json!({"dir_path": "config", "name": "prod.yml"}), true),
        (json!({"dirname": "ROOT/config", "file": "prod.yml"}), true),
        (json!({"prefix": "config/", "file": "prod.yml"}), true),
        (json!({"dirs": ["config"], "file": "prod.yml"}), true),
        (json!({"a": "config/", "b": "prod.yml"}), true),
        (json!({"a": "b", "b": "a", "c": "config", "d": "prod.yml"}), true),
        (json!({"root": "ROOT/..", "dir": "monorepo/config", "file": "prod.yml"}), true),
        (json!({"root": "ROOT", "dir": "config", "file": "prod.yml"}), true),
        (json!({"base": "ROOT/../..", "sub": "internal/monorepo", "file": "config/prod.yml"}), true),
        (
            json!({"path": "config", "text": "x", "tags": (0..100).map(|n| format!("t{n}")).collect::<Vec<_>>(),
                "filename": "prod.yml"}),
            true,
        ),
        (json!({"cwd": "config", "command": "cat prod.yml"}), true),
        (json!({"path": "config", "command": "cat prod.yml"}), true),
        (json!({"cwd": "config", "files": {"prod.yml": "text"}}), true),
        (json!({"cwd": "config", "file": format!("{long}prod.yml")}), true),
        (json!({"path": "config", "document": format!("{long}prod.yml")}), true),
        (json!({"path": "config", "filename": "a.yml"}), false),
        (json!({"path": "config/prod.yml.bak"}), false),
        (
            json!({"text": "as secrets/key is one, so are others; of prod.yml in config nothing\nis said"}),
            false,
        ),
        (json!({"url": "https://host/secrets/key"}), false),
        (json!({"url": "https://host/config/prod.yml?x#y"}), false),
    ] {
        let world = World::new().file(
            ".toolcrib/ai-rules.yml",
            &one_rule("{paths: ['secrets/**', 'config/prod.yml']}", "{on_violation: block}"),
        );
        let said = world.said(&world.rules(), &format!("up/x {arguments}"), "");
        let shown: String = arguments.to_string().chars().take(100).collect();
        assert_eq!(said.contains("STOP"), expected, "{shown}: {said}");
    }
}

#[test]
fn large_arguments_are_held_against_rules_about_paths() {
    let rows: Vec<Value> = (0..4_000).map(|n| json!([format!("a{n}"), format!("b{n}"), "c"])).collect();
    let tags: Vec<String> = (0..11_000).map(|n| format!("tag{n}")).collect();
    let files: Vec<String> = (0..1_001).map(|n| format!("src/f{n}.rs")).collect();
    let mut folders: serde_json::Map<String, Value> =
        (0..8).map(|n| (format!("d{n}_dir"), json!(format!("d{n}")))).collect();
    folders.insert("words".to_owned(), json!((0..3_000).map(|n| format!("w{n}")).collect::<Vec<_>>()));
    let honest =
        [json!({ "rows": rows }), json!({ "tags": tags }), json!({ "files": files }), Value::Object(folders)];
    let matches = "{paths: ['secrets/**', '.env']}";
    for action in ["{on_violation: warn}", "{on_violation: block}"] {
        let world = World::new().file(".toolcrib/ai-rules.yml", &one_rule(matches, action));
        for arguments in &honest {
            assert_eq!(world.said(&world.rules(), &format!("x {arguments}"), ""), "nothing", "{action}");
            let mut hidden = arguments.clone();
            hidden["z"] = json!("a/../secrets/key");
            assert_ne!(world.said(&world.rules(), &format!("x {hidden}"), ""), "nothing", "{action}");
        }
    }
    // What no honest call has is stopped by rules that act, and by no others.
    let deep: Vec<String> = (0..40_000).map(|n| format!("d{n}/x")).collect();
    let deep = format!("x {}", json!({ "files": deep }));
    for (action, mode, expected) in [
        (
            "block",
            "enforce",
            "STOP r: `x` names more than 10000 paths, which is the most that are held against the AI rules",
        ),
        ("require_approval", "enforce", "STOP r: "),
        ("redact", "enforce", "STOP r: "),
        ("warn", "enforce", "nothing"),
        ("ignore", "enforce", "nothing"),
        ("block", "dry-run", "project r: block (dry-run)"),
        ("block", "audit-only", "project r: block (audit-only)"),
    ] {
        let rule = format!("{}  mode: {mode}\n", one_rule(matches, &format!("{{on_violation: {action}}}")));
        let world = World::new().file(".toolcrib/ai-rules.yml", &rule);
        let said = world.said(&world.rules(), &deep, "");
        assert!(said.contains(expected), "{action} {mode}: {said}");
        assert_eq!(said.contains("STOP"), expected.contains("STOP"), "{action} {mode}: {said}");
    }
}
