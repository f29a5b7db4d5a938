//! What `[rules]` and `[limits]` come to, and what is wrong with them.
#![expect(clippy::disallowed_methods, reason = "folders to be found")]

use std::path::Path;

use expect_test::expect;
use rules::Mode;

use super::{check_refused, load};

#[test]
fn rules_come_from_the_usual_places() {
    let rules = load(&["[workspace]\nroot = '/w'"]).expect("nothing is wrong").settings.rules;
    assert_eq!(rules.workspace, Path::new("/w"));
    let named: Vec<_> = rules.named_files().into_iter().map(|path| path.display().to_string()).collect();
    assert_eq!(
        named,
        [
            "/w/.toolcrib/ai-rules.json",
            "/w/.toolcrib/ai-rules.yaml",
            "/w/.toolcrib/ai-rules.yml",
            "/w/.oppla/ai-rules.json",
            "/w/.oppla/ai-rules.yaml",
            "/w/.oppla/ai-rules.yml",
            "/home/u/.config/toolcrib/ai-rules.json",
            "/home/u/.config/toolcrib/ai-rules.yaml",
            "/home/u/.config/toolcrib/ai-rules.yml",
        ]
    );
}

#[test]
fn rules_come_from_the_files_that_are_named() {
    let text = "
        [rules]
        organisation = '/etc/acme/ai-rules.json'
        project = 'rules.yaml'
        user = '~/mine.json'
        project_name = 'acme/shop'
        mode = 'audit-only'";
    let rules = load(&[text]).expect("nothing is wrong").settings.rules;
    let named = rules.named_files();
    assert_eq!(named, ["/etc/acme/ai-rules.json", "/project/rules.yaml", "/home/u/mine.json"].map(Path::new));
    assert_eq!((rules.project_name.as_deref(), rules.mode), (Some("acme/shop"), Mode::AuditOnly));
}

#[test]
fn what_runs_on_this_machine_is_local() {
    let text = "
        mcp.program.command = 'x'
        mcp.socket.socket = '/run/x'
        mcp.here.url = 'http://127.0.0.1:3/mcp'
        mcp.six.url = 'http://[::1]:3/mcp'
        mcp.name.url = 'http://localhost/mcp'
        mcp.there.url = 'https://example.com/mcp'
        mcp.looks.url = 'https://localhost.example.com/mcp'";
    let rules = load(&[text]).expect("nothing is wrong").settings.rules;
    let local: Vec<&str> = rules.local_upstreams.iter().map(String::as_str).collect();
    assert_eq!(local, ["here", "name", "program", "six", "socket"]);
}

#[test]
fn limits_that_cannot_be_used_are_refused() {
    load(&["[limits.tools.'web_*']\nper_second = 2\nburst = 4\nper_day = 100"]).expect("nothing is wrong");
    check_refused(
        "[limits.tools.'web_[']\nper_day = 1\n[limits.callers.a]\nburst = 2\n[limits.upstreams]\ngit = {}\n",
        expect![[r#"
            toolcrib.toml:1:1: limits.tools."web_[" is no pattern: unclosed character class; missing ']'
            toolcrib.toml:3:1: limits.callers."a" has a `burst` and no `per_second` that it belongs to
            toolcrib.toml:6:7: limits.upstreams."git" limits nothing; give it `per_second` or `per_day`"#]],
    );
    check_refused(
        "[limits.tools.x]\nper_day = 0\nper_secnd = 1\n[rules]\nmode = 'dry'\n",
        expect![[r#"
        toolcrib.toml:2:11: limits.tools.x.per_day must be at least 1
        toolcrib.toml:3:1: unknown key `per_secnd` in [limits.tools.x]; did you mean `per_second`?
        toolcrib.toml:5:8: rules.mode must be one of "enforce", "audit-only", "dry-run""#]],
    );
}

#[test]
fn conditions_know_every_spelling_of_the_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("it is there").join("real");
    let written = folder.path().join("written");
    std::fs::create_dir(&root).expect("a folder");
    std::fs::create_dir(root.join("secrets")).expect("a folder");
    std::os::unix::fs::symlink("real", &written).expect("a link");
    std::os::unix::fs::symlink("secrets", root.join("pub")).expect("a link");
    let text = format!(
        "workspace.root = '{}'
        [[policy.rules]]
        id = 'no-secrets'
        effect = 'deny'
        when = 'has(args.path) && args.path.isUnder(\"secrets\")'",
        written.display(),
    );
    let policy = load(&[&text]).expect("nothing is wrong").settings.policy;
    let caller = policy::Caller::local_user(policy::Via::Stdio);
    let check = |upstream: Option<&str>, path: &str, expected: &str| {
        let facts = policy::Facts {
            origin: policy::ToolOrigin::BuiltIn,
            caller: &caller,
            tool: "workspace_read",
            upstream,
            action: None,
            effect: policy::Effect::Reads,
            marked_destructive: false,
            leaves_machine: false,
            sends: false,
        };
        let decision = policy.decide_at(&facts, &serde_json::json!({ "path": path }), 0);
        let said = format!("{} by {}: {}", decision.verdict.as_str(), decision.rule, decision.why);
        assert!(said.starts_with(expected), "{path}: {said}");
    };
    let denied = "deny by no-secrets";
    for spelt in ["secrets/key", "./a/../secrets/key", "/workspace/secrets/key", "//workspace/./secrets/key"]
    {
        check(None, spelt, denied);
    }
    for root in [&root, &written] {
        check(None, &root.join("secrets/key").to_string_lossy(), denied);
        check(None, &root.join("docs/key").to_string_lossy(), "allow by default.reads");
    }
    let link = "deny by no-secrets: cannot be decided: the condition of the rule `no-secrets` failed: the path leads \
        through a link";
    check(None, "pub/key", link);
    check(None, "/workspace/pub/key", link);
    check(None, "docs/key", "allow by default.reads");
    check(None, "/workspace/secretsx", "allow by default.reads");
    // Where a server begins is not known.
    check(Some("files"), "secrets/key", denied);
    check(Some("files"), "/workspace/secrets/key", "deny by no-secrets: cannot be decided");
    check(Some("files"), "../real/secrets/key", "deny by no-secrets: cannot be decided");
    check(Some("files"), "docs/key", "allow by default.upstream");
}

#[test]
fn rules_read_a_path_as_the_tools_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("it is there").join("real");
    let written = folder.path().join("written");
    std::fs::create_dir(&root).expect("a folder");
    std::os::unix::fs::symlink("real", &written).expect("a link");
    let rules = load(&[&format!("workspace.root = '{}'", written.display())]).expect("nothing is wrong");
    let rules = rules.settings.rules;
    let opened = sandbox::Root::open(&rules.workspace, sandbox::Access::Read).expect("it is there");
    let workspace = rules::Workspace::new(&rules.workspace, &rules.spellings);
    for spelt in [
        "a/b",
        "./a//b/",
        "a/x/../b",
        "/workspace/a/b",
        "//workspace/./a/b",
        "/workspace/x/../a/b",
        "REAL/a/b",
        "REAL/x/../a/b",
        "WRITTEN/a/b",
        "WRITTEN//a/./b",
        "workspace/a/b",
        ".",
        "",
        "/workspace",
        "...",
        "a b",
        "..",
        "a/../../b",
        "/workspace/../b",
        "/workspacex/a",
        "/etc/passwd",
        "REAL-evil/a",
    ] {
        let spelt =
            spelt.replace("REAL", &root.to_string_lossy()).replace("WRITTEN", &written.to_string_lossy());
        let first = workspace.places(&spelt).expect("few").remove(0);
        match opened.locate(&spelt) {
            Ok(inside) if inside.is_root() => assert_eq!(first, root, "{spelt}"),
            Ok(inside) => assert_eq!(first, root.join(inside.as_str()), "{spelt}"),
            Err(_) => assert!(!first.starts_with(&root), "{spelt} is {}", first.display()),
        }
    }
}
