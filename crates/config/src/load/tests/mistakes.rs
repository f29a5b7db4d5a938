//! What is told of mistakes: each where it stands, all at once, and with what would be right.

use super::*;

#[test]
fn typing_mistakes_are_all_told_with_the_nearest_key() {
    check_refused(
        r#"
colour = "blue"
[server]
bnd = "127.0.0.1:0"

[limits.rate]
  per_secnd = 5
[mcp.git]
comand = "uvx"
env = { A = { envv = "TOKEN" } }
[log]
level = "inof"
"#,
        expect![[r#"
            toolcrib.toml:2:1: unknown key `colour` in the file; its keys are approvals, artifacts, audit, experimental, identity, jobs, limits, log, mcp, policy, redaction, rules, sandbox, search, secrets, server, state, telemetry, tools, workspace, workspaces
            toolcrib.toml:4:1: unknown key `bnd` in [server]; did you mean `bind`?
            toolcrib.toml:7:3: unknown key `per_secnd` in [limits.rate]; did you mean `per_second`?
            toolcrib.toml:9:1: unknown key `comand` in [mcp.git]; did you mean `command`?
            toolcrib.toml:10:15: unknown key `envv` in [mcp.git.env.A]; did you mean `env`?
            toolcrib.toml:12:9: log.level must be one of "off", "error", "warn", "info", "debug", "trace"; did you mean "info"?"#]],
    );
}

#[test]
fn wrong_types_and_values_are_told_with_what_is_right() {
    check_refused(
        r#"
mcp = { git = 5, web = { url = ["hunter2"], headers = { A = 1 }, timeout = -1 } }
log = "debug"
[server]
bind = 3000
[limits.rate]
per_second = -1
burst = 0.5
[policy]
allow = "git_*"
deny = ["a", 2]
[state]
dir = 2020-01-01
"#,
        expect![[r#"
            toolcrib.toml:2:15: mcp.git must be a table, not a number
            toolcrib.toml:2:32: mcp.web.url must be text, not a list
            toolcrib.toml:2:61: mcp.web.headers.A must be text or a table, not a number
            toolcrib.toml:2:76: mcp.web.timeout must be at least 1
            toolcrib.toml:3:7: log must be a table, not text
            toolcrib.toml:5:8: server.bind must be text, not a number
            toolcrib.toml:7:14: limits.rate.per_second must be at least 0
            toolcrib.toml:8:9: limits.rate.burst must be a whole number, not a number with a fraction
            toolcrib.toml:10:9: policy.allow must be a list, not text
            toolcrib.toml:11:14: policy.deny[1] must be text, not a number
            toolcrib.toml:13:7: state.dir must be text, not a date or time"#]],
    );
}

#[test]
fn what_only_the_meaning_shows_is_told_beside_the_rest() {
    check_refused(
        r#"
[tools]
offer = ["workspace", "workspce"]
[policy]
allow = ["ok", "git_["]
[experimental]
mcp_timeot = 1
[mcp.git]
command = "uvx"
url = "https://a.example"
[mcp.web]
url = "ftp://a.example"
headers = { A = { env = "NONE" }, B = { file = "none" } }
timeout = "soon"
[mcp.off]
enabled = false
url = "ftp://a.example"
"#,
        expect![[r#"
            toolcrib.toml:3:23: tools.offer[1] must be one of "workspace", "shell", "web", "agent", "skills", "artifacts", "jobs"; did you mean "workspace"?
            toolcrib.toml:5:16: policy.allow: "git_[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:7:1: unknown key `mcp_timeot` in [experimental]; did you mean `mcp_timeout`?
            toolcrib.toml:8:1: mcp.git: has `command` and `url`; keep one
            toolcrib.toml:14:11: mcp.web.timeout: must be milliseconds, or a time such as "90s", "1h 30m" or "7d" (units: ms, s, m, h, d, w)
            toolcrib.toml:17:7: mcp.off.url: must begin with http:// or https:// and a host"#]],
    );
}

#[test]
fn scopes_of_two_servers_must_differ() {
    check_refused(
        "[mcp.AWS]\ncommand = 'one'\n[mcp.GCP]\ncommand = 'two'\n[mcp.aws]\ncommand = 'three'\nprefix = 'x'\n",
        expect![
            "toolcrib.toml:5:1: its scope would be `aws:call` like that of mcp.AWS, so whoever may call one could call the other; rename one"
        ],
    );
}

#[test]
fn uris_of_two_servers_must_differ() {
    check_refused(
        r#"
[mcp.a_b]
command = "one"
[mcp.c]
command = "two"
prefix = "A-b"
[mcp.d]
command = "three"
prefix = ""
"#,
        expect![
            "toolcrib.toml:4:1: its resources would begin with `a-b+` like those of mcp.a_b; set another `prefix`"
        ],
    );
}

#[test]
fn an_address_must_be_one() {
    check_refused(
        "[server]\nbind = \"localhost:3000\"",
        expect![[
            r#"toolcrib.toml:2:8: server.bind: an address has a host and a port; did you mean "127.0.0.1:3000"?"#
        ]],
    );
}

#[test]
fn who_may_knock_is_written_as_it_arrives() {
    check_refused(
        r#"
[server]
hosts = ["crib.example", "crib.example:3000"]
origins = ["https://app.example", "*", "https://app.example/"]
socket = ""
"#,
        expect![[r#"
            toolcrib.toml:3:26: server.hosts: "crib.example:3000" is no host name; write it without scheme, port and path, such as "crib.example"
            toolcrib.toml:4:35: server.origins: "*" is no origin; write scheme and host in lower case without path, such as "https://app.example"
            toolcrib.toml:4:40: server.origins: "https://app.example/" is no origin; write scheme and host in lower case without path, such as "https://app.example"
            toolcrib.toml:5:10: server.socket: must not be empty; leave it out for no socket"#]],
    );
}

#[test]
fn text_that_is_no_toml_is_told_with_its_place() {
    check_refused(
        "[server\nbind = \"x\"\n",
        expect![[r#"
            toolcrib.toml:1:8: this is no TOML: unclosed table, expected `]`
              1 | [server
                |        ^"#]],
    );
    check_refused(
        "a = 1\na = 2\n",
        expect![[r#"
        toolcrib.toml:2:1: this is no TOML: the key `a` stands twice in its table
          2 | a = 2
            | ^"#]],
    );
}

#[test]
fn a_value_that_is_too_deep_is_no_stack_overflow() {
    let deep = format!("a = {}", "[".repeat(100_000));
    let said = load(&[&deep]).err().expect("something is wrong").to_string();
    assert!(said.starts_with("toolcrib.toml:1:"), "{}", said.get(..200).unwrap_or(&said));
}

#[test]
fn references_that_lead_nowhere_are_told_where_they_stand() {
    check_refused(
        r#"
[mcp.web]
url = "https://${env:NONE}/mcp"
headers = { Authorization = "Bearer {file:none}", B = "${env:TOKEN}\n" }
[mcp.git]
command = "git"
args = ["a", "${file:~/none}"]
inherit = ["A", "["]
include = ["a["]
[mcp.sign]
url = "https://a.example/"
oauth = { client_id = "x", client_secret = { file = "~/none" }, private_key = "hunter2" }
"#,
        expect![[r#"
            toolcrib.toml:3:7: mcp.web.url: the environment variable NONE is not set
            toolcrib.toml:4:29: mcp.web.headers.Authorization: there is no file /project/none
            toolcrib.toml:4:55: mcp.web.headers.B: the value must be printable ASCII without line ends
            toolcrib.toml:7:14: mcp.git.args[1]: what stands here is visible in the machine's list of processes, and what this refers to is secret; put it into `env`
            toolcrib.toml:8:17: mcp.git.inherit[1]: "[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:9:12: mcp.git.include[0]: "a[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:12:9: mcp.sign.oauth: has `client_secret` and `private_key`; keep one
            toolcrib.toml:12:44: mcp.sign.oauth.client_secret: there is no file /home/u/none
            toolcrib.toml:12:79: mcp.sign.oauth.private_key: must be PKCS#8 as PEM, which begins with `-----BEGIN PRIVATE KEY-----`"#]],
    );
}

#[test]
fn a_date_is_not_taken_for_nothing() {
    check_refused(
        "[state]\ndir = 2020-01-01",
        expect!["toolcrib.toml:2:7: state.dir must be text, not a date or time"],
    );
    check_refused(
        "[mcp.it]\ncommand = \"a\"\ntool.t.arguments.day = 2020-01-01\ntool.t.defaults.n = nan",
        expect![[r#"
            toolcrib.toml:3:24: mcp.it.tool.t.arguments.day cannot be a date or time
            toolcrib.toml:4:21: mcp.it.tool.t.defaults.n cannot be a number without a finite value"#]],
    );
}

/// Where the state lies by the user's file and a folder's, though something is wrong with them.
#[track_caller]
fn check_state(texts: &[&str], expected: &str) {
    assert!(load(texts).is_err(), "nothing is wrong with {texts:?}");
    let sources = sources(texts);
    let state = state_of(&read::legible(&sources), &sources, &surroundings());
    assert_eq!(state, Some(expected.into()), "{texts:?}");
}

#[test]
fn the_state_folder_is_known_whatever_else_is_wrong() {
    let default = "/home/u/.local/share/toolcrib";
    check_state(&["colour = 1"], default);
    check_state(&["[state]\ndir = \"/s\"\n[log]\nlevel = \"inof\""], "/s");
    check_state(&["[state]\ndir = \"/s\"\n[log\nlevel = 1"], "/s");
    check_state(&["[log]\nlevel = \n[state]\ndir = \"/s\""], "/s");
    check_state(&["[state]\ndir = 5"], default);
    check_state(&["colour = 1", "[state]\ndir = \"/folder\""], default);
    check_state(&["[state]\ndir = \"/s\"\n[", "[state]\ndir = \"/folder\""], "/s");
}

#[test]
fn a_store_of_artifacts_is_whole_or_none() {
    let keys = "access_key = 'a'\nsecret_key = 'b'\n";
    for (more, expected) in [
        ("store = 'crib'", "2:9: artifacts.store: must be written as s3://BUCKET or s3://BUCKET/PREFIX"),
        (
            "store = 's3://crib'\nendpoint = 'http://s3.example'",
            "3:12: artifacts.endpoint: must begin with https://, or with http:// on this machine: results would lie open on the way",
        ),
        (
            "store = 's3://crib'\nregion = ''",
            "3:10: artifacts.region: must be the name of a region, such as us-east-1",
        ),
        (
            "store = 's3://crib'\ncaller = '1024 GiB'\ntotal = '1024 GiB'",
            "3:10: artifacts.caller: must be at most 50000 MiB with a store",
        ),
    ] {
        check_refused_with(&format!("[artifacts]\n{more}\n{keys}"), expected);
    }
    for (more, expected) in [
        (
            "store = 's3://crib'",
            "2:9: artifacts.store: needs `artifacts.access_key` and `artifacts.secret_key`",
        ),
        (
            "store = 's3://crib'\naccess_key = 'a'",
            "2:9: artifacts.store: needs `artifacts.access_key` and `artifacts.secret_key`",
        ),
        ("endpoint = 'https://s3.example'", "2:12: artifacts.endpoint: is of a store: set `artifacts.store`"),
        ("secret_key = 'b'", "2:14: artifacts.secret_key: is of a store: set `artifacts.store`"),
        (
            "store = 's3://crib'\naccess_key = 'a'\nsecret_key = { env = 'NONE' }",
            "4:14: artifacts.secret_key: the environment variable NONE is not set",
        ),
    ] {
        check_refused_with(&format!("[artifacts]\n{more}\n"), expected);
    }
}

#[track_caller]
fn check_refused_with(text: &str, expected: &str) {
    let problems = load(&[text]).map(drop).expect_err("it is wrong");
    assert_eq!(problems.to_string(), format!("toolcrib.toml:{expected}"), "{text}");
}

#[test]
fn the_keys_of_a_store_are_kept_secret() {
    let text =
        format!("[artifacts]\nstore = 's3://crib'\naccess_key = '{SECRET}-id'\nsecret_key = '{SECRET}'\n");
    let loaded = load(&[&text]).expect("sound");
    assert!(!loaded.to_toml().contains(SECRET) && !loaded.to_json().to_string().contains(SECRET));
    assert!(loaded.to_toml().contains("s3://crib"));
    let known: Vec<_> = loaded.settings.secrets.iter().map(|known| (&*known.name, &*known.value)).collect();
    assert_eq!(known, [("artifacts.secret_key", SECRET)]);
    assert!(!format!("{:?}", loaded.settings.bucket).contains(SECRET));
}
