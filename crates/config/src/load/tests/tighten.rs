//! What a folder's file changes of what the user's own file says, and what it cannot.
use expect_test::{Expect, expect};
use serde_json::Value;

use super::super::{Unfollowed, loaded, read};
use super::{load, sources, surroundings};
use crate::consent::Consent;

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
fn denials_of_both_files_are_in_force() {
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
        "mcp.git.exclude",
        "[mcp.git]; exclude = ['a']",
        "[mcp.git]; exclude = ['b']",
        expect![[r#"["a","b"]"#]],
    );
}

#[test]
fn trust_becomes_stricter_and_never_looser() {
    // What both files say of it, and what holds.
    for (user, folder, expected) in [
        ("", "trust = 'review'", "\"review\""),
        ("", "trust = 'pin'", "\"pin\""),
        ("", "trust = 'trust'", "-"),
        ("", "trust = 'none'", "-"),
        ("", "trust = 5", "-"),
        ("trust = 'trust'", "trust = 'pin'", "\"pin\""),
        ("trust = 'trust'", "trust = 'review'", "\"review\""),
        ("trust = 'review'", "trust = 'pin'", "\"review\""),
        ("trust = 'review'", "trust = 'trust'", "\"review\""),
        ("trust = 'nonsense'", "trust = 'review'", "\"nonsense\""),
    ] {
        let (user, folder) = (format!("[mcp.git]; {user}"), format!("[mcp.git]; {folder}"));
        assert_eq!(came_to("mcp.git.trust", &user, &folder), expected, "{user} {folder}");
    }
}

#[test]
fn limits_become_lower_and_never_higher() {
    for (key, user, folder, expected) in [
        ("sandbox.timeout", "", "timeout = '9m'", "\"9m\""),
        ("sandbox.timeout", "", "timeout = '11m'", "-"),
        ("sandbox.timeout", "timeout = '1h'", "timeout = '11m'", "\"11m\""),
        ("sandbox.timeout", "timeout = '5m'", "timeout = '9m'", "\"5m\""),
        ("sandbox.timeout", "", "timeout = 'soon'", "-"),
        ("sandbox.cpu", "", "cpu = '1m'", "\"1m\""),
        ("sandbox.processes", "", "processes = 9", "9"),
        ("sandbox.processes", "processes = 8", "processes = 9", "8"),
        ("sandbox.open_files", "", "open_files = 5000", "-"),
        ("sandbox.memory", "", "memory = '1 GiB'", "\"1 GiB\""),
        ("sandbox.memory", "memory = '512 MiB'", "memory = '1 GiB'", "\"512 MiB\""),
        ("sandbox.file_size", "", "file_size = '5 GiB'", "-"),
        ("sandbox.scratch", "", "scratch = '1 MiB'", "\"1 MiB\""),
        ("sandbox.output", "", "output = 5", "-"),
        // A server has the limits of all programs where its table has none.
        ("mcp.git.sandbox.memory", "", "[mcp.git.sandbox]; memory = '1 GiB'", "\"1 GiB\""),
        ("mcp.git.sandbox.memory", "", "[mcp.git.sandbox]; memory = '8 GiB'", "-"),
        ("mcp.git.sandbox.memory", "memory = '512 MiB'", "[mcp.git.sandbox]; memory = '1 GiB'", "-"),
        ("mcp.git.sandbox.memory", "memory = '16 GiB'", "[mcp.git.sandbox]; memory = '8 GiB'", "\"8 GiB\""),
        (
            "mcp.git.sandbox.processes",
            "[mcp.git.sandbox]; processes = 9",
            "[mcp.git.sandbox]; processes = 10",
            "9",
        ),
        (
            "mcp.git.sandbox.open_files",
            "[mcp.git.sandbox]; open_files = 99",
            "[mcp.git.sandbox]; open_files = 64",
            "64",
        ),
    ] {
        let (user, folder) = (format!("[sandbox]; {user}"), format!("[sandbox]; {folder}"));
        let user = if user.contains("mcp.git") { user } else { format!("{user}; [mcp.git]; command = 'x'") };
        assert_eq!(came_to(key, &user, &folder), expected, "{user} {folder}");
    }
}

#[test]
fn nobody_is_asked_where_one_of_both_files_says_so() {
    for (user, folder, expected) in [
        ("", "ask = false", "false"),
        ("", "ask = true", "-"),
        ("ask = true", "ask = false", "false"),
        ("ask = false", "ask = true", "false"),
        ("ask = false", "", "false"),
        ("ask = true", "ask = 'no'", "true"),
    ] {
        let (user, folder) = (format!("[sandbox]; {user}"), format!("[sandbox]; {folder}"));
        assert_eq!(came_to("sandbox.ask", &user, &folder), expected, "{user} {folder}");
    }
}

/// Every key of the schema, wherever it stands, but for the rows of the list and the servers of its own: it holds
/// nowhere, with or without a person's agreement, and is told.
#[test]
fn nothing_else_of_a_folders_file_holds() {
    let schema = read::schema();
    let mut sections: Vec<&str> =
        schema["properties"].as_object().expect("sections").keys().map(String::as_str).collect();
    sections.extend([
        "policy.allow",
        "policy.rules",
        "policy.tests",
        "policy.defaults",
        "sandbox.hosts",
        "sandbox.read",
        "sandbox.waive",
        "polcy",
        "mcp.git.enabled",
    ]);
    sections.retain(|section| !["policy", "mcp", "sandbox"].contains(section));
    for section in sections {
        for value in ["{ x = 1 }", "5", "[]", "true", "'a'"] {
            let project = format!("{section} = {value}\n");
            for surroundings in [surroundings(), super::agreed()] {
                let user = "[mcp.git]\ncommand = 'x'\n[limits.rate]\nburst = 9\n";
                let loaded = loaded(sources(&[user, &project]), &surroundings, Unfollowed::IsWrong);
                let loaded = loaded.unwrap_or_else(|why| panic!("{project}: {why}"));
                let told = loaded.passed_over.join("\n");
                assert!(told.starts_with("toolcrib.toml:1:"), "{project}: {told}");
                assert!(told.contains(&format!(": {section} is passed over")), "{project}: {told}");
                assert_eq!(loaded.sections(), load(&[user]).expect("sound").sections(), "{project}");
            }
        }
    }
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
        toolcrib.toml:5:2: limits
        toolcrib.toml:10:1: policy.allow
        toolcrib.toml:11:2: log
        toolcrib.toml:14:1: mcp.mail.command"#]]
    .assert_eq(&keys.join("\n"));
    expect!["toolcrib.toml:1:2: audit is passed over, as it is not for a folder's file to say: what your own file says of it holds, or the default; write it into your own file, /home/u/.config/toolcrib/toolcrib.toml, or name this one with --config"].assert_eq(&loaded.passed_over[0]);
    // What was named, or is the user's own, stands alone.
    assert!(load(&[project]).expect("nothing is wrong").passed_over.is_empty());
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
            "enabled = false",
            "tool = { send = { enabled = false } }",
            "tool = { send = { effect = 'reads' } }",
        ] {
            let found = come_to("mcp.mail", user, &format!("[mcp.mail]; {said}"), &consent);
            assert_eq!(found, alone, "{said}");
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
    for project in ["[mcp", "[policy]\ndeny = ['[']\n", "policy.deny = ['']\n"] {
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

fn loaded_agreed(user: &str, project: &str) -> Result<crate::Loaded, crate::Problems> {
    loaded(sources(&[user, project]), &super::agreed(), Unfollowed::IsWrong)
}

#[test]
fn what_both_files_say_is_shown_with_both_places() {
    let loaded = load(&["[policy]\ndeny = ['a']\n", "policy.deny = ['b']\n"]);
    let shown = loaded.expect("nothing is wrong").to_toml();
    let line = shown.lines().find(|line| line.starts_with("deny")).expect("it is there");
    expect![[r#"deny = ["a", "b"]  # /home/u/.config/toolcrib/toolcrib.toml:2:9 and toolcrib.toml:1:8"#]]
        .assert_eq(line);
}

#[test]
fn problems_of_both_files_have_their_places() {
    let refused = loaded_agreed(
        "[policy]\ndeny = ['']\n[[policy.rules]]\nid = 'mine'\neffect = 'deny'\nwhen = 'arg.x'\n",
        "[policy]\ndeny = ['a', '[']\n",
    );
    expect![[r#"
        /home/u/.config/toolcrib/toolcrib.toml:2:9: policy.deny: "" cannot be used: it is empty; write `*` for every tool
        /home/u/.config/toolcrib/toolcrib.toml:6:8: policy rule "mine": when: column 1: unknown variable `arg`; did you mean `args`?
        toolcrib.toml:2:14: policy.deny: "[" cannot be used: unclosed character class; missing ']'"#]]
    .assert_eq(&refused.err().expect("something is wrong").to_string());
    assert!(loaded_agreed("policy.deny = 'a'", "policy.deny = ['b']").is_err(), "the user's own is told");
    assert!(loaded_agreed("policy.deny = ['a']", "policy.deny = 'b'").is_ok(), "a folder's is passed over");
}

#[test]
fn a_folder_says_nothing_of_where_artifacts_are() {
    let folders = "[artifacts]; store = 's3://theirs'; endpoint = 'https://theirs.example'; access_key = 'a'; secret_key = 'b'";
    check("artifacts", "", folders, expect!["-"]);
    check("artifacts", "[artifacts]; keep = '1h'", folders, expect![[r#"{"keep":"1h"}"#]]);
}
