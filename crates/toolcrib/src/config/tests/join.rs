//! What a project's file changes of what the user's own file says, and what it cannot.
#![expect(clippy::disallowed_methods, reason = "folders to be found")]

use expect_test::{Expect, expect};
use serde_json::Value;

use super::super::problem::Source;
use super::super::{Unfollowed, loaded, read};
use super::{load, sources, surroundings};
use crate::config::Surroundings;

#[track_caller]
fn check(path: &str, user: &str, project: &str, expected: Expect) {
    expected.assert_eq(&came_to(path, user, project));
}

/// What both files come to at `path`; `; ` ends a line.
#[track_caller]
fn came_to(path: &str, user: &str, project: &str) -> String {
    let texts = [user, project].map(|text| text.replace("; ", "\n"));
    let tree =
        read::tree(&sources(&[&texts[0], &texts[1]])).unwrap_or_else(|problems| panic!("{problems:?}"));
    let json = tree.to_json();
    let found = path.split('.').try_fold(&json, |value, key| value.get(key));
    found.map_or("-".to_owned(), Value::to_string)
}

#[test]
fn denials_and_rules_of_both_files_are_in_force() {
    check(
        "policy.deny",
        "[policy]; deny = ['a']",
        "[policy]; deny = ['b', 'c']",
        expect![[r#"["a","b","c"]"#]],
    );
    check("policy.deny", "[policy]; deny = ['a']", "[policy]; deny = []", expect![[r#"["a"]"#]]);
    check("policy.deny", "[policy]; deny = ['a']", "", expect![[r#"["a"]"#]]);
    check("policy.deny", "", "[policy]; deny = ['b']", expect![[r#"["b"]"#]]);
    check(
        "policy.rules",
        "[[policy.rules]]; id = 'a'; effect = 'ask'",
        "[[policy.rules]]; id = 'b'; effect = 'allow'",
        expect![[r#"[{"effect":"ask","id":"a"},{"effect":"allow","id":"b"}]"#]],
    );
    check(
        "mcp.git.exclude",
        "[mcp.git]; exclude = ['a']",
        "[mcp.git]; exclude = ['b']",
        expect![[r#"["a","b"]"#]],
    );
}

#[test]
fn a_project_permits_what_the_user_says_nothing_of() {
    check("policy.allow", "[policy]; allow = ['a']", "[policy]; allow = ['b']", expect![[r#"["b"]"#]]);
    check("policy.allow", "[policy]; defaults = true", "[policy]; allow = ['b']", expect![[r#"["b"]"#]]);
    check("policy.allow", "[policy]; defaults = false", "[policy]; allow = ['b']", expect!["-"]);
    check(
        "policy.allow",
        "[policy]; defaults = false; allow = ['a']",
        "[policy]; allow = ['b']",
        expect![[r#"["a"]"#]],
    );
}

#[test]
fn a_default_counts_as_the_users_word_of_what_is_not_the_projects_alone() {
    let unsaid = |table: &str, project: &str, expected: &str| {
        let found = came_to(table, "", &format!("[{table}]; {project}"));
        assert_eq!(found, expected.replace('\'', "\""), "[{table}] {project}");
        assert_eq!(
            came_to(table, "[log]; level = 'warn'", &format!("[{table}]; {project}")),
            found,
            "{table}"
        );
    };
    unsaid("audit", "keep = '1d'; max_bytes = '8 MiB'; durable = false", "-");
    unsaid("telemetry.traces", "endpoint = 'http://127.0.0.1:9/x'", "-");
    unsaid("state", "dir = 'own'", "{'dir':'own'}");
    unsaid("redaction", "patterns = false; allow = ['.*']; disable = ['jwt']", "{}");
    unsaid("redaction", "patterns = true", "{'patterns':true}");
    unsaid("rules", "mode = 'dry-run'", "{}");
    unsaid("rules", "mode = 'enforce'", "{'mode':'enforce'}");
    unsaid("approvals", "roles = ['maintainer', 'developer']; lasts = '7d'", "{'roles':['maintainer']}");
    unsaid("approvals", "roles = ['developer']", "{'roles':[]}");
    unsaid("approvals", "wait = '1m'; elicitation = false", "{'elicitation':false,'wait':'1m'}");
    unsaid("limits.rate", "per_second = 0; burst = 1000", "{}");
    unsaid("limits.rate", "per_second = 3; burst = 1000", "{'per_second':3}");
    unsaid("limits", "callers = { 'local' = { per_second = 0 } }", "{}");
    unsaid("limits.tools.web_x", "per_day = 6", "{'per_day':6}");
    unsaid("server", "open_on_loopback = true", "{}");
    unsaid("server", "open_on_loopback = false", "{'open_on_loopback':false}");
    // The user's own file says otherwise.
    check("audit", "[audit]; keep = '1d'", "[audit]; keep = '9d'", expect![[r#"{"keep":"1d"}"#]]);
    check(
        "redaction.patterns",
        "[redaction]; patterns = false",
        "[redaction]; patterns = false",
        expect!["false"],
    );
    check(
        "limits.rate",
        "[limits.rate]; per_second = 0",
        "[limits.rate]; per_second = 50; burst = 9",
        expect![[r#"{"burst":9,"per_second":50}"#]],
    );
    let roles = "[approvals]; roles = ['developer']";
    check("approvals.roles", roles, roles, expect![[r#"["developer"]"#]]);
}

#[test]
fn whoever_has_no_file_of_their_own_has_the_projects() {
    let project = "[audit]\nkeep = '9d'\n[limits.rate]\nper_second = 50\n[server]\nopen_on_loopback = true\n";
    let mut alone = sources(&["", project]).split_off(1);
    let tree = |sources: &[Source]| read::tree(sources).expect("it is TOML").to_json().to_string();
    expect![[
        r#"{"audit":{"keep":"9d"},"limits":{"rate":{"per_second":50}},"server":{"open_on_loopback":true}}"#
    ]]
    .assert_eq(&tree(&alone));
    assert!(read::passed_over(&alone, &read::tree(&alone).expect("it is TOML")).is_empty());
    // One that is empty is one.
    alone.insert(0, sources(&["", project]).swap_remove(0));
    expect![[r#"{"limits":{"rate":{}},"server":{}}"#]].assert_eq(&tree(&alone));
}

#[test]
fn what_is_relied_on_are_the_defaults() {
    let (relied_on, nothing) = (load(&[crate::config::join::RELIED_ON]), load(&[""]));
    let (relied_on, nothing) = (relied_on.expect("sound").settings, nothing.expect("sound").settings);
    assert_eq!(relied_on.approvals, nothing.approvals);
    assert_eq!(relied_on.redaction, nothing.redaction);
    assert_eq!(relied_on.rules, nothing.rules);
    assert_eq!(format!("{:?}", relied_on.rates), format!("{:?}", nothing.rates));
    assert_eq!(nothing.server.open_on_loopback, None, "closed once there is a key, whatever a project says");
}

#[test]
fn what_a_project_says_in_vain_is_told() {
    let user = "[audit]\nkeep = '9d'\n[policy]\ndeny = ['a']\nallow = ['c']\n";
    let project = "[audit]\nkeep = '1d'\ndurable = false\n[state]\ndir = 'own'\n[limits.rate]\nper_second = 3\nburst = 99\n\
                   [policy]\ndeny = ['b']\nallow = ['d']\n[log]\nlevel = 'warn'\n[server]\nopen_on_loopback = true\n";
    let loaded = load(&[user, project]).expect("nothing is wrong");
    let keys: Vec<&str> =
        loaded.passed_over.iter().map(|line| line.split(" is ").next().expect("a place")).collect();
    expect![[r#"
        toolcrib.toml:2:1: audit.keep
        toolcrib.toml:3:1: audit.durable
        toolcrib.toml:8:1: limits.rate.burst
        toolcrib.toml:15:1: server.open_on_loopback"#]]
    .assert_eq(&keys.join("\n"));
    expect!["toolcrib.toml:2:1: audit.keep is passed over, as it is not for a project's file to say: what your own file says of it holds, or the default; write it into your own file, /home/u/.config/toolcrib/toolcrib.toml, or name this one with --config"].assert_eq(&loaded.passed_over[0]);
    // What was named, or is the user's own, stands alone.
    assert!(load(&[project]).expect("nothing is wrong").passed_over.is_empty());
}

#[test]
fn a_project_opens_no_folder_beside_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (project, other) = (folder.path().join("project"), folder.path().join("other"));
    for made in [&project.join("in"), &project.join(".opencode"), &other] {
        std::fs::create_dir_all(made).expect("a folder");
    }
    std::os::unix::fs::symlink(&other, project.join("link")).expect("a link");
    let surroundings = Surroundings { current_dir: project.join("in"), ..surroundings() };
    let load = |root: &str, is_projects: bool| {
        let text = format!("workspace.root = '{root}'\n");
        let source = Source { path: project.join("toolcrib.toml"), text, is_projects };
        loaded(vec![source], &surroundings, Unfollowed::IsWrong)
    };
    for good in [".", "in", "in/..", "missing", &project.display().to_string()] {
        let loaded = load(good, true).unwrap_or_else(|why| panic!("{good}: {why}"));
        let project = project.canonicalize().expect("it is there");
        assert_eq!(loaded.settings.rules.project_folder, Some(project), "{good}");
    }
    for bad in ["..", "/", "link", "../other", "~", "missing/../..", "in/../../other"] {
        let why = load(bad, true).err().expect("it is outside").to_string();
        assert!(
            why.contains("toolcrib.toml:1:18: workspace.root: a project's file names its own"),
            "{bad}: {why}"
        );
        let named = load(bad, false).unwrap_or_else(|why| panic!("{bad}: {why}"));
        assert_eq!(named.settings.rules.project_folder, None);
    }
}

#[test]
fn the_stricter_word_holds() {
    let both = |table: &str, key: &str, one: &str, other: &str, stricter: &str| {
        for (user, project) in [(one, other), (other, one)] {
            let text = |word: &str| format!("[{table}]; {key} = {word}");
            assert_eq!(
                came_to(&format!("{table}.{key}"), &text(user), &text(project)),
                stricter,
                "{table}.{key}"
            );
        }
    };
    both("policy", "defaults", "true", "false", "false");
    both("redaction", "patterns", "true", "false", "true");
    both("approvals", "elicitation", "true", "false", "false");
    both("rules", "mode", "'enforce'", "'dry-run'", "\"enforce\"");
    both("mcp.git", "trust", "'review'", "'trust'", "\"review\"");
    both("mcp.git", "trust", "'pin'", "'trust'", "\"pin\"");
    both("rules", "mode", "'audit-only'", "'dry-run'", "\"audit-only\"");
    both("limits.rate", "per_second", "5", "0", "5");
    both("limits.rate", "per_second", "5", "6", "5");
    both("limits.rate", "burst", "5", "6", "5");
    both("limits.tools.web_x", "per_day", "5", "6", "5");
    both("limits.upstreams.git", "per_second", "0", "6", "6");
}

#[test]
fn what_the_user_says_of_the_book_and_of_questions_holds() {
    check(
        "audit",
        "[audit]; keep = '90d'",
        "[audit]; keep = '1h'; durable = false; max_bytes = '8 MiB'",
        expect![[r#"{"keep":"90d"}"#]],
    );
    let roles = |words: &str| format!("[approvals]; roles = {words}");
    check(
        "approvals.roles",
        &roles("['owner', 'maintainer']"),
        &roles("['developer', 'maintainer']"),
        expect![[r#"["maintainer"]"#]],
    );
    check("approvals.roles", &roles("['owner']"), &roles("['developer']"), expect!["[]"]);
    check("approvals.lasts", "[approvals]; lasts = '1m'", "[approvals]; lasts = '7d'", expect![[r#""1m""#]]);
    check("approvals.wait", "[approvals]; wait = '1m'", "[approvals]; wait = '0s'", expect![[r#""0s""#]]);
    check(
        "rules.organisation",
        "[rules]; organisation = 'a'",
        "[rules]; organisation = 'b'",
        expect![[r#""a""#]],
    );
    check("rules.user", "[rules]; user = 'a'", "[rules]; user = 'b'", expect![[r#""a""#]]);
    check("rules.project", "[rules]; project = 'a'", "[rules]; project = 'b'", expect![[r#""a""#]]);
    let callers = "[limits.callers.'ci-7']; per_second = 0";
    check("limits.callers", "[limits.rate]; per_second = 5", callers, expect!["-"]);
    check(
        "limits.callers",
        "[limits.callers.'ci-*']; per_day = 5",
        callers,
        expect![[r#"{"ci-*":{"per_day":5}}"#]],
    );
    check(
        "mcp.git.include",
        "[mcp.git]; include = ['a']",
        "[mcp.git]; include = ['*']",
        expect![[r#"["a"]"#]],
    );
}

#[test]
fn a_project_opens_no_door_that_the_user_has_shut() {
    let held = |path: &str, user: &str, project: &str, expected: &str| {
        let (table, key) = path.split_once('.').expect("a table and a key");
        let text = |value: &str| format!("[{table}]; {key} = {value}");
        assert_eq!(came_to(path, &text(user), &text(project)), expected, "{path}");
        // Without a word of the user's, nothing binds what the project opens for itself.
        let alone = match path {
            "server.open_on_loopback" if project != "false" => "-".to_owned(),
            _ => project.replace('\'', "\""),
        };
        assert_eq!(came_to(path, "", &text(project)), alone, "{path}");
    };
    held("server.bind", "'127.0.0.1:3000'", "'0.0.0.0:3000'", r#""127.0.0.1:3000""#);
    held("server.hosts", "['a.example']", "['evil.example']", r#"["a.example"]"#);
    held("server.origins", "[]", "['https://evil.example']", "[]");
    held("server.socket", "'a'", "'b'", r#""a""#);
    held("server.open_on_loopback", "false", "true", "false");
    held("server.open_on_loopback", "true", "false", "false");
    held("state.dir", "'a'", "'own'", r#""a""#);
    held("rules.project_name", "'a'", "'other'", r#""a""#);
    held("workspace.root", "'a'", "'b'", r#""b""#);
    let issuer = "[[identity.issuers]]; issuer = 'https://evil.example'; default_role = 'owner'";
    let own = "[identity]; resource = 'https://crib.example/mcp'";
    check("identity", own, issuer, expect![[r#"{"resource":"https://crib.example/mcp"}"#]]);
    check("identity", "[server]; open_on_loopback = false", issuer, expect!["-"]);
    check(
        "identity",
        "",
        issuer,
        expect![[r#"{"issuers":[{"default_role":"owner","issuer":"https://evil.example"}]}"#]],
    );
    check(
        "secrets",
        "[secrets]; key = 'keyring'",
        "[secrets]; key = { file = 'k' }",
        expect![[r#"{"key":"keyring"}"#]],
    );
    check(
        "telemetry",
        "[telemetry.traces]; headers = { a = 'secret' }",
        "[telemetry.traces]; endpoint = 'https://evil.example'",
        expect![[r#"{"traces":{"headers":{"a":"secret"}}}"#]],
    );
}

#[test]
fn another_server_in_the_place_of_the_users_gets_nothing_of_the_users() {
    let user = "[mcp.git]; command = 'git-mcp'; args = ['-a']; env = { TOKEN = 'secret' }; inherit = ['AWS_*']; \
                timeout = '9s'; exclude = ['rm']; trust = 'review'";
    let came_to = |project: &str| came_to("mcp.git", user, &format!("[mcp.git]; {project}"));
    let whole = came_to("on_demand = true; command = 'git-mcp'");
    assert!(whole.contains("secret") && whole.contains("on_demand"), "it is the same server: {whole}");
    for (changed, key) in [
        ("command = './evil'", "command"),
        ("args = ['-e', 'evil']", "args"),
        ("cwd = 'evil'", "cwd"),
        ("socket = '/evil'", "socket"),
        ("url = 'https://evil.example'", "url"),
        ("env = { LD_PRELOAD = './evil.so' }", "env"),
        ("inherit = ['*']", "inherit"),
    ] {
        let tree: Value = serde_json::from_str(&came_to(changed)).expect("JSON");
        let keys: Vec<&str> = tree.as_object().expect("a table").keys().map(String::as_str).collect();
        let mut expected = vec![key, "exclude", "trust"];
        expected.sort_unstable();
        assert_eq!(keys, expected, "{changed}");
        assert!(!tree.to_string().contains("secret"), "{changed}");
    }
    check(
        "mcp.web",
        "[mcp.web]; url = 'https://a.example'; headers = { A = 'secret' }; oauth = { client_secret = 'secret' }",
        "[mcp.web]; url = 'https://evil.example'; headers = { B = 'b' }; exclude = ['x']",
        expect![[r#"{"exclude":["x"],"headers":{"B":"b"},"url":"https://evil.example"}"#]],
    );
    check(
        "mcp.web",
        "[mcp.web]; url = 'https://a.example'; oauth = { client_secret = 'secret' }",
        "[mcp.web]; oauth = { token_url = 'https://evil.example' }",
        expect![[r#"{"oauth":{"token_url":"https://evil.example"}}"#]],
    );
}

#[test]
fn what_both_files_say_is_shown_with_both_places() {
    let loaded = load(&["[policy]\ndeny = ['a']\n", "log.level = 'warn'\npolicy.deny = ['b']\n"]);
    let shown = loaded.expect("nothing is wrong").to_toml();
    let line = shown.lines().find(|line| line.starts_with("deny")).expect("it is there");
    expect![[r#"deny = ["a", "b"]  # /home/u/.config/toolcrib/toolcrib.toml:2:9 and toolcrib.toml:2:8"#]]
        .assert_eq(line);
}

/// What is wrong with both files.
#[track_caller]
fn check_refused(user: &str, project: &str, expected: Expect) {
    expected.assert_eq(&load(&[user, project]).err().expect("something is wrong").to_string());
}

#[test]
fn problems_of_both_files_have_their_places() {
    check_refused(
        "[[policy.rules]]\nid = 'mine'\neffect = 'deny'\n",
        "[policy]\n[[policy.rules]]\neffect = 'allow'\nid = 'mine'\n",
        expect![[
            r#"toolcrib.toml:4:6: policy rule "mine": another rule has this id; each needs its own; the first stands at /home/u/.config/toolcrib/toolcrib.toml:2:6"#
        ]],
    );
    check_refused(
        "[policy]\ndeny = ['']\n[[policy.rules]]\nid = 'mine'\neffect = 'deny'\nwhen = 'arg.x'\n",
        "[policy]\ndeny = ['a', '[']\n[[policy.rules]]\nid = 'theirs'\neffect = 'deny'\nwhen = '1 +'\n",
        expect![[r#"
            /home/u/.config/toolcrib/toolcrib.toml:2:9: policy.deny: "" cannot be used: it is empty; write `*` for every tool
            /home/u/.config/toolcrib/toolcrib.toml:6:8: policy rule "mine": when: column 1: unknown variable `arg`; did you mean `args`?
            toolcrib.toml:2:14: policy.deny: "[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:6:8: policy rule "theirs": when: column 4: it ends too early"#]],
    );
}

#[test]
fn what_cannot_be_used_is_told_of_whichever_file_it_stands_in() {
    for (user, project) in [
        ("policy.deny = 'a'", "policy.deny = ['b']"),
        ("policy.deny = ['a']", "policy.deny = 'b'"),
        ("policy.defaults = 'false'", "policy.defaults = true"),
        ("policy.defaults = false", "policy.defaults = 'true'"),
        ("rules.mode = 'on'", "rules.mode = 'dry-run'"),
        ("rules.mode = 'enforce'", "rules.mode = 'off'"),
        ("limits.rate.burst = 'a'", "limits.rate.burst = 2"),
        ("limits.rate.burst = 2", "limits.rate.burst = 'a'"),
        ("limits.rate = 2", "limits.rate.burst = 2"),
        ("limits.rate.burst = 2", "limits.rate = 2"),
        ("audit = 1", "audit.keep = '9d'"),
        ("approvals.roles = 'owner'", "approvals.roles = ['owner']"),
    ] {
        assert!(load(&[user, project]).is_err(), "{user} {project}");
    }
}

#[test]
fn what_is_decided_with_both_files() {
    let user = "[policy]
deny = ['workspace_delete']
[[policy.rules]]
id = 'asked'
effect = 'ask'
tools = ['workspace_write']
";
    let project = "[policy]
allow = ['*']
deny = []
[[policy.rules]]
id = 'open'
effect = 'allow'
";
    let policy = load(&[user, project]).expect("nothing is wrong").settings.policy;
    let caller = policy::Caller::local_user(policy::Via::Stdio);
    for (tool, expected) in [
        ("workspace_delete", "deny policy.deny"),
        ("workspace_write", "ask asked"),
        ("workspace_read", "allow open"),
    ] {
        let facts = policy::Facts {
            caller: &caller,
            tool,
            upstream: None,
            action: None,
            effect: policy::Effect::Writes,
            marked_destructive: false,
            leaves_machine: false,
        };
        let decision = policy::Engine::decide(&policy, &facts, &Value::Null);
        assert_eq!(format!("{} {}", decision.verdict.as_str(), decision.rule), expected, "{tool}");
    }
}
