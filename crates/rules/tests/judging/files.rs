//! Files that cannot be used, and files that change.

use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{World, one_rule};

/// Everything that is wrong with a project's file; a call is refused then.
#[track_caller]
fn check(name: &str, text: &str, expected: Expect) {
    let world = World::new().file(&format!(".toolcrib/{name}"), text);
    let rules = world.rules();
    let said = world.said(&rules, "x {}", "");
    assert!(said.contains("STOP rules-file: `x` cannot be held against the rules for AI: "), "{said}");
    let problems = rules.problems().join("\n");
    expected.assert_eq(&world.plain(&problems).replace("ROOT/.toolcrib/", ""));
}

#[test]
fn what_is_wrong_is_told_all_at_once_with_its_place() {
    check(
        "ai-rules.json",
        "",
        expect![[
            r#"ai-rules.json:1:1: the file is empty; delete it, or write {"version": "1.0", "rules": []}"#
        ]],
    );
    check(
        "ai-rules.json",
        "{\"version\": \"1.0\", \"rules\": [",
        expect!["ai-rules.json:1:29: EOF while parsing a list"],
    );
    check("ai-rules.json", "[]", expect!["ai-rules.json:1:1: a rules file must be an object, not a list"]);
    check(
        "ai-rules.yaml",
        "rules: 5\nverson: '1.0'\n",
        expect![[r#"
        ai-rules.yaml:1:1: the file needs `version`: "1.0"
        ai-rules.yaml:1:8: rules must be a list, not a number
        ai-rules.yaml:2:1: a rules file knows no `verson`; did you mean `version`?"#]],
    );
    check(
        "ai-rules.yaml",
        "version: 2\nmetadata: x\nmode: never\nrules: []\n",
        expect![[r#"
        ai-rules.yaml:1:10: version must be "1.0", the only one there is
        ai-rules.yaml:2:11: metadata must be an object, not text
        ai-rules.yaml:3:7: mode is one of enforce, audit-only, dry-run, not "never""#]],
    );
    check(
        "ai-rules.yaml",
        "version: 1.0\nrules:\n- {}\n- 5\n",
        expect![[r#"
        ai-rules.yaml:3:3: the rule needs an `id`, by which records name it
        ai-rules.yaml:3:3: the rule needs `match`, which says what it is about
        ai-rules.yaml:3:3: the rule needs `action`, which says what happens
        ai-rules.yaml:4:3: a rule must be an object, not a number"#]],
    );
    check(
        "ai-rules.json",
        r#"{
  "version": "1.0",
  "rules": [
    { "id": "a", "type": "secret", "match": { "pahts": ["x"] }, "action": { "on_violation": "blok" } },
    { "id": "b", "match": { "paths": "x", "tools": [] }, "action": { "on_violation": "block", "approval_roles": ["owner"] } },
    { "id": "b", "match": { "content_regex": "(a" }, "action": {} },
    { "id": "", "match": { "paths": ["a[", ""], "content_regex": "a*" }, "action": { "on_violation": "transform" } }
  ]
}"#,
        expect![[r#"
    ai-rules.json:4:26: type is one of safety, privacy, style, behaviour, behavior, cost, approval, not "secret"
    ai-rules.json:4:47: match knows no `pahts`; did you mean `paths`?
    ai-rules.json:4:93: on_violation is one of ignore, warn, redact, redact_and_warn, block, require_approval, override_provider, transform, not "blok"
    ai-rules.json:5:38: paths must be a list, not text
    ai-rules.json:5:52: tools is empty; leave it out, or name something
    ai-rules.json:5:113: `approval_roles` goes with require_approval, not with block
    ai-rules.json:6:46: content_regex cannot be used: unclosed group
    ai-rules.json:6:64: `action` needs `on_violation`: one of ignore, warn, redact, redact_and_warn, block, require_approval, override_provider, transform
    ai-rules.json:7:13: id must be 1 to 100 characters without control characters
    ai-rules.json:7:38: "a[" is no glob: unclosed character class; missing ']'
    ai-rules.json:7:44: each of paths must be some text
    ai-rules.json:7:66: content_regex cannot be used: it matches empty text, so it would match everything
    ai-rules.json:7:84: `action` needs `transform`, an object with `set`, `replace` or `remove`"#]],
    );
    check(
        "ai-rules.yaml",
        "
version: '1.0'
rules:
- {id: a, match: {content_regex: '(?=x)'}, action: {on_violation: block}}
- {id: b, match: {content_regex: '(\\pL{1000}){1000}'}, action: {on_violation: block}}
- {id: c, match: {tools: ['*']}, action: {on_violation: transform, transform: {set: {a: 1}, remove: [/x~]}}}
- {id: d, match: {tools: ['*']}, action: {on_violation: redact, redaction_placeholder: 5}}
- {id: b, match: {tools: ['*']}, action: {on_violation: ignore}}
- {id: e, match: {}, action: {on_violation: block}}
",
        expect![[r#"
    ai-rules.yaml:4:34: content_regex cannot be used: look-around, including look-ahead and look-behind, is not supported, since it does not run in linear time
    ai-rules.yaml:5:34: content_regex cannot be used: compiled it is larger than 1048576 bytes; repeat less
    ai-rules.yaml:6:86: "a" is no JSON pointer to a member; it must begin with `/`, as in "/dry_run"
    ai-rules.yaml:6:102: in "/x~" a `~` is followed by neither 0 nor 1
    ai-rules.yaml:7:88: redaction_placeholder must be text in quotes, not a number
    ai-rules.yaml:8:3: the rule of line 5 is called `b`, too
    ai-rules.yaml:9:18: `match` is empty, so the rule would concern every call; if it is meant to, write `tools: ["*"]`"#]],
    );
}

#[test]
fn a_file_that_cannot_be_read_denies() {
    let world = World::new().file(".toolcrib/ai-rules.json/x", "");
    expect!["ROOT/.toolcrib/ai-rules.json: the rules file cannot be read: it is no regular file; calls are refused until it can"].assert_eq(&world.plain(&world.rules().problems().join("\n")));
    let mut world = World::new();
    world.settings.organisation = Some(world.settings.workspace.join("missing.json"));
    expect![[r#"
        project rules-file: block
        STOP rules-file: `x` cannot be held against the rules for AI: ROOT/missing.json: the rules file cannot be read: No such file or directory (os error 2); calls are refused until it can; a person must correct the file"#]].assert_eq(&world.said(&world.rules(), "x {}", ""));
    let large = World::new().file(".toolcrib/ai-rules.yaml", &"#".repeat(1024 * 1024 + 1));
    expect!["ROOT/.toolcrib/ai-rules.yaml: the rules file cannot be read: it is larger than 1048576 bytes; calls are refused until it can"].assert_eq(&large.plain(&large.rules().problems().join("\n")));
    let bytes = World::new().file(".toolcrib/ai-rules.yaml", "");
    std::fs::write(bytes.settings.workspace.join(".toolcrib/ai-rules.yaml"), [0xff, 0xfe]).unwrap();
    expect!["ROOT/.toolcrib/ai-rules.yaml: the rules file cannot be read: stream did not contain valid UTF-8; calls are refused until it can"].assert_eq(&bytes.plain(&bytes.rules().problems().join("\n")));
    let mark = World::new().file(
        ".toolcrib/ai-rules.yaml",
        &format!("\u{feff}{}", one_rule("{tools: [x]}", "{on_violation: warn}")),
    );
    assert_eq!(mark.rules().problems(), [""; 0]);
}

/// Waits until a call is judged so; the files are looked at by the clock.
#[track_caller]
fn until(world: &World, rules: &rules::Rules, expected: &str) {
    let begun = Instant::now();
    loop {
        let said = world.said(rules, "x {}", "");
        if said.contains(expected) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{expected}: {said}");
        std::thread::yield_now();
    }
}

#[test]
fn a_change_takes_effect_without_a_word() {
    let world = World::new();
    let rules = world.rules();
    until(&world, &rules, "nothing");
    let write = |action: &str| world.write(".toolcrib/ai-rules.yaml", &one_rule("{tools: [x]}", action));
    let path = write("{on_violation: warn}");
    until(&world, &rules, "project r: warn");
    write("{on_violation: block}");
    until(&world, &rules, "STOP r");
    write("{on_violation: blokc}");
    until(&world, &rules, "STOP rules-file");
    // As long as before, and within the same tick of the file system's clock, perhaps.
    write("{on_violation: block}");
    until(&world, &rules, "STOP r:");
    std::fs::write(&path, "version: '1.0'\nrules: []\n").unwrap();
    until(&world, &rules, "nothing");
    std::fs::remove_file(path).unwrap();
    until(&world, &rules, "nothing");
}

/// What is said once the files have been looked at anew, which another file's rule tells.
#[track_caller]
fn later(world: &World, rules: &rules::Rules) -> String {
    let mark = one_rule("{tools: [x]}", "{on_violation: warn}").replace("id: r", "id: mark");
    world.write(".oppla/ai-rules.yaml", &mark);
    let begun = Instant::now();
    loop {
        let said = world.said(rules, "x {}", "");
        if said.contains("mark") || said.contains("rules-file") {
            return said;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{said}");
        std::thread::yield_now();
    }
}

#[test]
fn rules_stay_when_their_file_goes() {
    let block = one_rule("{tools: [x]}", "{on_violation: block}");
    let folder = |world: &World| world.settings.workspace.join(".toolcrib");
    let file = |world: &World| folder(world).join("ai-rules.yaml");
    type Way<'a> = (&'a str, &'a dyn Fn(&World), &'a str);
    let ways: [Way<'_>; 4] = [
        ("deleted", &|world| std::fs::remove_file(file(world)).unwrap(), "STOP r:"),
        (
            "a link that leads nowhere",
            &|world| {
                std::fs::remove_file(file(world)).unwrap();
                std::os::unix::fs::symlink("nowhere", file(world)).unwrap();
            },
            "STOP rules-file",
        ),
        (
            "the folder is elsewhere",
            &|world| std::fs::rename(folder(world), folder(world).with_extension("old")).unwrap(),
            "STOP r:",
        ),
        (
            "the folder is a file",
            &|world| {
                std::fs::remove_dir_all(folder(world)).unwrap();
                std::fs::write(folder(world), "").unwrap();
            },
            "STOP r:",
        ),
    ];
    for (name, way, expected) in ways {
        let world = World::new().file(".toolcrib/ai-rules.yaml", &block);
        let rules = world.rules();
        assert!(world.said(&rules, "x {}", "").contains("STOP r:"));
        way(&world);
        let said = later(&world, &rules);
        assert!(said.contains(expected), "{name}: {said}");
    }
}

#[test]
fn rules_outlive_a_file_that_breaks_before_it_goes() {
    let world = World::new();
    let path = world.write(".toolcrib/ai-rules.yaml", &one_rule("{tools: [x]}", "{on_violation: block}"));
    let rules = world.rules();
    until(&world, &rules, "STOP r:");
    std::fs::write(&path, "{").unwrap();
    until(&world, &rules, "STOP rules-file");
    std::fs::remove_file(path).unwrap();
    until(&world, &rules, "STOP r:");
}

#[test]
fn a_link_that_leads_nowhere_is_a_file_that_cannot_be_read() {
    for link in [".toolcrib/ai-rules.yaml", ".toolcrib"] {
        let world = World::new();
        let path = world.settings.workspace.join(link);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("nowhere", path).unwrap();
        let said = world.said(&world.rules(), "x {}", "");
        assert!(said.contains("STOP rules-file"), "{link}: {said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever stands in a file, it is read or refused.
    #[test]
    fn no_text_is_too_odd(text in "(?s)[\\-\\[\\]{}:,\"'&*!|>#%@ \n\ta-c0-9version.rules]{0,200}", json in any::<bool>()) {
        let name = if json { "ai-rules.json" } else { "ai-rules.yaml" };
        let world = World::new().file(&format!(".toolcrib/{name}"), &text);
        let _ = world.said(&world.rules(), "x {}", "");
    }
}
