//! What a project's file changes of what the user's own file says, and what it cannot.
#![expect(clippy::disallowed_methods, reason = "folders to be found")]

use expect_test::{Expect, expect};
use serde_json::Value;

use super::super::consent::Consent;
use super::super::problem::Source;
use super::super::{Unfollowed, loaded, read};
use super::{load, sources, surroundings};
use crate::config::Surroundings;

#[track_caller]
fn check(path: &str, user: &str, project: &str, expected: Expect) {
    expected.assert_eq(&came_to(path, user, project));
}

/// What both files come to at `path`, where nothing is agreed to; `; ` ends a line.
#[track_caller]
fn came_to(path: &str, user: &str, project: &str) -> String {
    come_to(path, user, project, &Consent::KeptIn(None))
}

#[track_caller]
fn come_to(path: &str, user: &str, project: &str, consent: &Consent) -> String {
    let texts = [user, project].map(|text| text.replace("; ", "\n"));
    let read = read::tree(&sources(&[&texts[0], &texts[1]]), &surroundings(), consent);
    let json = read.unwrap_or_else(|problems| panic!("{problems:?}")).tree.to_json();
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
        "[[policy.rules]]; id = 'b'; effect = 'deny'",
        expect![[r#"[{"effect":"ask","id":"a"},{"effect":"deny","id":"b"}]"#]],
    );
    check(
        "mcp.git.exclude",
        "[mcp.git]; exclude = ['a']",
        "[mcp.git]; exclude = ['b']",
        expect![[r#"["a","b"]"#]],
    );
    check("mcp.git.enabled", "[mcp.git]; command = 'x'", "[mcp.git]; enabled = false", expect!["false"]);
    check("mcp.git.enabled", "[mcp.git]; enabled = false", "[mcp.git]; enabled = true", expect!["false"]);
}

#[test]
fn a_folder_permits_nothing_of_the_users() {
    let own = "[mcp.git]; command = 'git-mcp'";
    let agreed = |project: &str| come_to("policy", own, project, &Consent::ForThisRun);
    let rule = |upstream: &str| format!("[[policy.rules]]; id = 'b'; effect = 'allow'{upstream}");
    for project in [
        "[policy]; allow = ['*', 'workspace_write', 'built-in/*', 'git/*', '*/x']",
        &rule(""),
        &rule("; upstream = []"),
        &rule("; upstream = ['*']"),
        &rule("; upstream = ['built-in']"),
        &rule("; upstream = ['git']"),
        &rule("; upstream = ['mine', 'git']"),
    ] {
        let project = format!("{project}; [mcp.mine]; command = 'x'");
        let found = agreed(&project);
        assert!(["-", "{}", r#"{"rules":[]}"#].contains(&found.as_str()), "{project}: {found}");
    }
    let project = format!(
        "[policy]; allow = ['mine/rm', 'git/rm']; {}; [mcp.mine]; command = 'x'",
        rule("; upstream = ['mine']")
    );
    assert_eq!(
        agreed(&project),
        r#"{"allow":["mine/rm"],"rules":[{"effect":"allow","id":"b","upstream":["mine"]}]}"#
    );
    // Nor is it in force before it is agreed to.
    assert_eq!(came_to("policy", own, &project), r#"{"rules":[]}"#);
}

#[test]
fn what_is_not_for_a_folder_to_say_holds_nowhere() {
    let unsaid = |table: &str, project: &str, expected: &str| {
        for consent in [Consent::KeptIn(None), Consent::ForThisRun] {
            for user in ["", "[log]; level = 'warn'"] {
                let found = come_to(table, user, &format!("[{table}]; {project}"), &consent);
                let found = if user.is_empty() { found } else { found.replace(r#"{"level":"warn"}"#, "-") };
                assert_eq!(found, expected.replace('\'', "\""), "[{table}] {project}");
            }
        }
    };
    unsaid("audit", "keep = '1d'; max_bytes = '8 MiB'; sync = 'never'", "-");
    unsaid("telemetry.traces", "endpoint = 'http://127.0.0.1:9/x'", "-");
    unsaid("state", "dir = 'own'", "-");
    unsaid("secrets", "key = { file = 'k' }", "-");
    unsaid("redaction", "patterns = true; allow = ['.*']; disable = ['jwt']", "-");
    unsaid("identity", "resource = 'https://evil.example'", "-");
    unsaid("server", "bind = '0.0.0.0:3000'; open_on_loopback = true; hosts = ['evil.example']", "-");
    unsaid("log", "level = 'debug'", "-");
    unsaid("experimental", "mcp_timeout = 1", "-");
    unsaid("rules", "mode = 'dry-run'; organisation = 'a'; user = 'b'; project_name = 'c'", "{}");
    unsaid("rules", "mode = 'enforce'; project = 'mine.json'", "{'mode':'enforce','project':'mine.json'}");
    unsaid("approvals", "roles = ['maintainer', 'developer']; lasts = '7d'", "{'roles':['maintainer']}");
    unsaid("approvals", "roles = ['developer']", "{'roles':[]}");
    unsaid("approvals", "wait = '1m'; elicitation = false", "{'elicitation':false}");
    unsaid("limits.rate", "per_second = 0; burst = 1000", "{}");
    unsaid("limits.rate", "per_second = 3; burst = 1000", "{'per_second':3}");
    unsaid("limits", "callers = { 'local' = { per_second = 0 } }", "{}");
    unsaid("limits.tools.web_x", "per_day = 6", "{'per_day':6}");
    check("tools.offer", "[tools]; offer = []", "[tools]; offer = ['workspace']", expect!["[]"]);
    check("tools.offer", "", "[tools]; offer = []", expect!["[]"]);
    check(
        "limits.rate",
        "[limits.rate]; per_second = 0",
        "[limits.rate]; per_second = 50; burst = 9",
        expect![[r#"{"burst":9,"per_second":50}"#]],
    );
    let roles = "[approvals]; roles = ['developer']";
    check("approvals.roles", roles, roles, expect![[r#"["developer"]"#]]);
}

/// Every key of the file is said at once, declared, or not for a folder to say.
#[test]
fn every_key_is_in_one_list() {
    let schema = read::schema();
    let declared = [["policy", "allow"], ["policy", "rules"]];
    let keys = |section: &Value| -> Vec<String> {
        let reference = section["$ref"].as_str().or_else(|| section["allOf"][0]["$ref"].as_str());
        let section =
            reference.map_or(section, |found| &schema["$defs"][found.trim_start_matches("#/$defs/")]);
        section["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    for (name, section) in schema["properties"].as_object().expect("sections") {
        for key in keys(section) {
            let is_in = |path: &[&str]| {
                path[0] == name && path.get(1).is_none_or(|listed| *listed == key || *listed == "*")
            };
            let said = crate::config::join::SAID.iter().any(|(path, _)| is_in(path));
            let unsaid = crate::config::join::UNSAID.iter().any(|path| is_in(path));
            let declared = declared.contains(&[name, &key]);
            assert!(
                said || unsaid || declared,
                "nobody has said what a folder's file may say of {name}.{key}"
            );
        }
    }
}

#[test]
fn what_is_relied_on_are_the_defaults() {
    let (relied_on, nothing) = (load(&[crate::config::join::RELIED_ON]), load(&[""]));
    let (relied_on, nothing) = (relied_on.expect("sound").settings, nothing.expect("sound").settings);
    assert_eq!(relied_on.approvals, nothing.approvals);
    assert_eq!(relied_on.rules, nothing.rules);
    assert_eq!(format!("{:?}", relied_on.rates), format!("{:?}", nothing.rates));
    assert_eq!(nothing.server.open_on_loopback, None, "closed once there is a key, whatever a project says");
}

#[test]
fn what_a_folder_says_in_vain_is_told() {
    let user = "[audit]\nkeep = '9d'\n[policy]\ndeny = ['a']\nallow = ['c']\n[mcp.mail]\ncommand = 'mail'\n";
    let project = "[audit]\nkeep = '1d'\n[state]\ndir = 'own'\n[limits.rate]\nper_second = 3\nburst = 99\n\
                   [policy]\ndeny = ['b']\nallow = ['d']\n[log]\nlevel = 'warn'\n[mcp.mail]\ncommand = 'evil'\n";
    let loaded = load(&[user, project]).expect("nothing is wrong");
    let keys: Vec<&str> =
        loaded.passed_over.iter().map(|line| line.split(" is ").next().expect("a place")).collect();
    expect![[r#"
        toolcrib.toml:1:2: audit
        toolcrib.toml:3:2: state
        toolcrib.toml:7:1: limits.rate.burst
        toolcrib.toml:10:10: policy.allow
        toolcrib.toml:11:2: log
        toolcrib.toml:14:1: mcp.mail.command"#]]
    .assert_eq(&keys.join("\n"));
    expect!["toolcrib.toml:1:2: audit is passed over, as it is not for a folder's file to say: what your own file says of it holds, or the default; write it into your own file, /home/u/.config/toolcrib/toolcrib.toml, or name this one with --config"].assert_eq(&loaded.passed_over[0]);
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
        let flags = super::agreed().flags;
        loaded(vec![source], &Surroundings { flags, ..surroundings.clone() }, Unfollowed::IsWrong)
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
    both("approvals", "elicitation", "true", "false", "false");
    both("rules", "mode", "'enforce'", "'dry-run'", "\"enforce\"");
    both("rules", "mode", "'audit-only'", "'dry-run'", "\"audit-only\"");
    both("limits.rate", "per_second", "5", "0", "5");
    both("limits.rate", "per_second", "5", "6", "5");
    both("limits.rate", "burst", "5", "6", "5");
    both("limits.tools.web_x", "per_day", "5", "6", "5");
    both("limits.upstreams.git", "per_second", "0", "6", "6");
}

#[test]
fn the_users_servers_are_as_without_the_folder() {
    let user = "[mcp.mail]; command = 'mail-mcp'; args = ['-a']; env = { TOKEN = 'secret' }; timeout = '9s'; exclude = ['rm']";
    let alone = came_to("mcp.mail", user, "");
    for consent in [Consent::KeptIn(None), Consent::ForThisRun] {
        for said in [
            "command = './evil'",
            "args = ['-e', 'evil']",
            "cwd = 'evil'",
            "socket = '/evil'",
            "url = 'https://evil.example'",
            "env = { LD_PRELOAD = './evil.so' }",
            "headers = { X = { store = 'TOKEN' } }",
            "inherit = ['*']",
            "prefix = ''",
            "trust = 'trust'",
            "include = ['*']",
            "timeout = '1ms'",
            "exclude = []",
            "enabled = true",
            "tool = { send = { enabled = false } }",
            "tool = { send = { effect = 'reads' } }",
        ] {
            let found = come_to("mcp.mail", user, &format!("[mcp.mail]; {said}"), &consent);
            assert_eq!(found.replace(r#""enabled":true,"#, ""), alone, "{said}");
        }
    }
    // Nor does a folder say what its own servers' tools do.
    let own = "[mcp.own]; command = 'z'; [mcp.own.tool.a]; name = 'b'; effect = 'reads'";
    let tool = come_to("mcp.own.tool", user, own, &Consent::ForThisRun);
    assert_eq!(tool, r#"{"a":{"name":"b"}}"#);
    let tool = come_to("mcp.own.tool", own, "", &Consent::ForThisRun);
    assert_eq!(tool, r#"{"a":{"effect":"reads","name":"b"}}"#);
    // What is offered as theirs is not offered.
    let prefix = |said: &str| {
        come_to(
            "mcp.own.prefix",
            "[mcp.mail]; command = 'x'; prefix = 'post'; [mcp.git]; command = 'y'",
            &format!("[mcp.own]; command = 'z'; prefix = '{said}'"),
            &Consent::ForThisRun,
        )
    };
    for (said, expected) in
        [("", "-"), ("post", "-"), ("POST", "-"), ("git", "-"), ("mail", "\"mail\""), ("o", "\"o\"")]
    {
        assert_eq!(prefix(said), expected, "{said}");
    }
}

#[test]
fn servers_of_a_folder_wait_for_a_person() {
    let project = "[experimental]; mcp_timeout = 5000; [mcp.one]; command = 'x'; [mcp.two]; url = 'https://h'; timeout = '1s'";
    assert_eq!(came_to("mcp", "", project), "-");
    let text = project.replace("; ", "\n");
    let held = |texts: &[&str]| -> Vec<String> {
        let loaded = load(texts).expect("nothing is wrong");
        loaded
            .held
            .iter()
            .map(|held| format!("{}: {} {:?}", held.declaration.place, held.declaration.key, held.why))
            .collect()
    };
    assert_eq!(
        held(&["", &text]),
        [
            "toolcrib.toml:3:6: toolcrib.toml mcp.one Unknown",
            "toolcrib.toml:5:6: toolcrib.toml mcp.two Unknown"
        ]
    );
    assert_eq!(held(&[&text]), [""; 0]);
    let agreed = come_to("mcp", "", project, &Consent::ForThisRun);
    assert_eq!(agreed, r#"{"one":{"command":"x","timeout":5000},"two":{"timeout":"1s","url":"https://h"}}"#);
}

#[test]
fn the_users_servers_come_first() {
    let loaded = loaded_agreed("[mcp.zeta]\ncommand = 'x'\n", "[mcp.alpha]\ncommand = 'y'\n").expect("sound");
    let names: Vec<&str> = loaded.settings.upstreams.iter().map(|server| server.name()).collect();
    assert_eq!(names, ["zeta", "alpha"], "who is first has a name that two want");
}

#[test]
fn mistakes_of_a_folder_that_nobody_knows_stop_nobody() {
    let user = "[mcp.mine]\ncommand = 'x'\n";
    for project in ["[mcp", "[polcy]\n", "[policy]\ndeny = 5\n", "[workspace]\nroot = '/'\n"] {
        let loaded = load(&[user, project]).unwrap_or_else(|why| panic!("{project}: {why}"));
        assert_eq!(loaded.settings.upstreams.len(), 1, "{project}");
        let told = loaded.passed_over.join("\n");
        assert!(told.ends_with("; the folder's files are not obeyed"), "{told}");
        // Whoever has agreed to something of it mends it.
        assert!(loaded_agreed(user, project).is_err(), "{project}");
    }
    // What is wrong in their own file stops everything, as ever.
    assert!(load(&["[polcy]\n", ""]).is_err());
}

fn loaded_agreed(user: &str, project: &str) -> Result<crate::config::Loaded, crate::config::Problems> {
    loaded(sources(&[user, project]), &super::agreed(), Unfollowed::IsWrong)
}

#[test]
fn what_both_files_say_is_shown_with_both_places() {
    let loaded = load(&["[policy]\ndeny = ['a']\n", "limits.rate.burst = 3\npolicy.deny = ['b']\n"]);
    let shown = loaded.expect("nothing is wrong").to_toml();
    let line = shown.lines().find(|line| line.starts_with("deny")).expect("it is there");
    expect![[r#"deny = ["a", "b"]  # /home/u/.config/toolcrib/toolcrib.toml:2:9 and toolcrib.toml:2:8"#]]
        .assert_eq(line);
}

/// What is wrong with both files.
#[track_caller]
fn check_refused(user: &str, project: &str, expected: Expect) {
    expected.assert_eq(&loaded_agreed(user, project).err().expect("something is wrong").to_string());
}

#[test]
fn problems_of_both_files_have_their_places() {
    check_refused(
        "[[policy.rules]]\nid = 'mine'\neffect = 'deny'\n",
        "[policy]\n[[policy.rules]]\neffect = 'ask'\nid = 'mine'\n",
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
        ("audit = 1", ""),
        ("approvals.roles = 'owner'", "approvals.roles = ['owner']"),
    ] {
        assert!(loaded_agreed(user, project).is_err(), "{user} {project}");
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
deny = []
[[policy.rules]]
id = 'shut'
effect = 'deny'
tools = ['workspace_list']
";
    let policy = load(&[user, project]).expect("nothing is wrong").settings.policy;
    let caller = policy::Caller::local_user(policy::Via::Stdio);
    for (tool, expected) in [
        ("workspace_delete", "deny policy.deny"),
        ("workspace_write", "ask asked"),
        ("workspace_list", "deny shut"),
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

#[test]
fn a_project_sets_nothing_free_that_others_obey() {
    let project = "[workspace]; writable = ['**']";
    check(
        "workspace.writable",
        "[workspace]; writable = ['CLAUDE.md']",
        project,
        expect![[r#"["CLAUDE.md"]"#]],
    );
    check("workspace.writable", "[policy]", project, expect!["-"]);
}
