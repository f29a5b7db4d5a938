//! What a person sees of a configuration: every message, and what is shown of secrets.

use expect_test::{Expect, expect};

use super::*;

const SECRET: &str = "hunter2";

fn surroundings() -> Surroundings {
    let variables = [("HOME", "/home/u"), ("TOKEN", SECRET)].map(|(name, value)| (name.into(), value.into()));
    Surroundings { current_dir: "/project".into(), variables: variables.into() }
}

fn sources(texts: &[&str]) -> Vec<Source> {
    let path = |nth: usize| match (texts.len(), nth) {
        (1, _) | (_, 1) => "toolcrib.toml".into(),
        _ => "/home/u/.config/toolcrib/toolcrib.toml".into(),
    };
    texts.iter().enumerate().map(|(nth, text)| Source { path: path(nth), text: (*text).to_owned() }).collect()
}

fn load(texts: &[&str]) -> Result<Loaded, Problems> {
    let sources = sources(texts);
    match settle(&sources, &surroundings()) {
        Ok((settings, tree)) => Ok(Loaded { settings, log_override: None, sources, tree }),
        Err(problems) => Err(Problems::new(&sources, problems)),
    }
}

/// Our own file `ours` above the other program's file `others`.
fn load_above(others: &str, ours: &str) -> Result<Loaded, Problems> {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.to_owned() };
    loaded(vec![source(".opencode/config.toml", others), source("toolcrib.toml", ours)], &surroundings())
}

#[track_caller]
fn check_refused(text: &str, expected: Expect) {
    let said = load(&[text]).err().expect("something is wrong").to_string();
    assert!(!said.contains(SECRET), "{said}");
    expected.assert_eq(&said);
}

#[track_caller]
fn check_shown(texts: &[&str], expected: Expect) {
    let shown = load(texts).expect("nothing is wrong").to_toml();
    assert!(!shown.contains(SECRET), "{shown}");
    expected.assert_eq(&shown);
}

#[test]
fn nothing_written_is_a_good_configuration() {
    check_shown(
        &[""],
        expect![[r#"
            [experimental]
            mcp_timeout = 30000  # default

            [limits.rate]
            burst = 20       # default
            per_second = 10  # default

            [log]
            format = "text"  # default
            level = "info"   # default

            [policy]
            allow = []  # default
            deny = []   # default

            [server]
            bind = "127.0.0.1:3000"  # default
            hosts = []               # default
            origins = []             # default

            [state]
            dir = "/home/u/.local/share/toolcrib"  # default

            [workspace]
            root = "/project"  # default
        "#]],
    );
}

#[test]
fn every_value_tells_where_it_was_set() {
    let user = "[limits.rate]\nper_second = 5\nburst = 6\n[policy]\ndeny = [\"*_rm\"]\n";
    let project = "[limits.rate]\nper_second = 0\n[state]\ndir = \"state\"\n[workspace]\nroot = \"../ws\"\n";
    check_shown(
        &[user, project],
        expect![[r#"
            [experimental]
            mcp_timeout = 30000  # default

            [limits.rate]
            burst = 6       # /home/u/.config/toolcrib/toolcrib.toml:3:1
            per_second = 0  # toolcrib.toml:2:1

            [log]
            format = "text"  # default
            level = "info"   # default

            [policy]
            allow = []       # default
            deny = ["*_rm"]  # /home/u/.config/toolcrib/toolcrib.toml:5:1

            [server]
            bind = "127.0.0.1:3000"  # default
            hosts = []               # default
            origins = []             # default

            [state]
            dir = "/project/state"  # toolcrib.toml:4:1

            [workspace]
            root = "/project/../ws"  # toolcrib.toml:6:1
        "#]],
    );
}

#[test]
fn secrets_are_not_shown() {
    let text = r#"
[mcp.git]
command = "uvx"
args = ["mcp-server-git"]
env = { A = "hunter2", B = { env = "TOKEN" } }
timeout = "2s"

[mcp.web]
url = "https://a.example/mcp?key=hunter2"
headers = { Authorization = "Bearer hunter2" }
"#;
    check_shown(
        &[text],
        expect![[r#"
            [experimental]
            mcp_timeout = 30000  # default

            [limits.rate]
            burst = 20       # default
            per_second = 10  # default

            [log]
            format = "text"  # default
            level = "info"   # default

            [mcp.git]
            args = ["mcp-server-git"]  # toolcrib.toml:4:1
            command = "uvx"            # toolcrib.toml:3:1
            enabled = true             # default
            exclude = []               # default
            include = []               # default
            inherit = []               # default
            on_demand = false          # default
            timeout = "2s"             # toolcrib.toml:6:1

            [mcp.git.env]
            A = "***"  # toolcrib.toml:5:9
            B = "***"  # toolcrib.toml:5:24, from the environment variable TOKEN

            [mcp.web]
            args = []                              # default
            enabled = true                         # default
            exclude = []                           # default
            include = []                           # default
            inherit = []                           # default
            on_demand = false                      # default
            url = "https://a.example/mcp?key=***"  # toolcrib.toml:9:1

            [mcp.web.headers]
            Authorization = "***"  # toolcrib.toml:10:13

            [policy]
            allow = []  # default
            deny = []   # default

            [server]
            bind = "127.0.0.1:3000"  # default
            hosts = []               # default
            origins = []             # default

            [state]
            dir = "/home/u/.local/share/toolcrib"  # default

            [workspace]
            root = "/project"  # default
        "#]],
    );
    let shown = load(&[text]).expect("nothing is wrong").to_json().to_string();
    assert!(!shown.contains(SECRET) && shown.contains(r#""A":"***""#), "{shown}");
}

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
            toolcrib.toml:2:1: unknown key `colour` in the file; its keys are experimental, limits, log, mcp, policy, server, state, tools, workspace
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
[server]
bind = "0.0.0.0:3000"
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
            toolcrib.toml:3:8: server.bind: 0.0.0.0:3000 can be reached from other machines, and everybody who reaches it would have the local user's rights; use a loopback address such as 127.0.0.1:3000
            toolcrib.toml:5:23: tools.offer: unknown set of tools "workspce"; did you mean "workspace"
            toolcrib.toml:7:16: policy.allow: "git_[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:9:1: unknown key `mcp_timeot` in [experimental]; did you mean `mcp_timeout`?
            toolcrib.toml:10:1: mcp.git: has `command` and `url`; keep one
            toolcrib.toml:16:11: mcp.web.timeout: invalid value: string "soon", expected milliseconds or a time such as "30s" (units: ms, s, m, h)
            toolcrib.toml:19:7: mcp.off.url: must begin with http:// or https:// and a host"#]],
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
        expect!["toolcrib.toml:2:8: server.bind: invalid socket address syntax"],
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
        expect!["toolcrib.toml:1:8: this is no TOML: unclosed table, expected `]`"],
    );
    check_refused("a = 1\na = 2\n", expect!["toolcrib.toml:2:1: this is no TOML: duplicate key"]);
}

#[test]
fn a_value_that_is_too_deep_is_no_stack_overflow() {
    let deep = format!("a = {}", "[".repeat(100_000));
    let said = load(&[&deep]).err().expect("something is wrong").to_string();
    assert!(said.starts_with("toolcrib.toml:1:"), "{}", said.get(..200).unwrap_or(&said));
}

#[test]
fn another_programs_servers_are_taken_where_ours_has_none_of_that_name() {
    let others = r#"
theme = "dark"
[provider.x]
key = 5
[experimental]
mcp_timeout = 5000
batch_tool = true
[mcp.git]
command = "git-server"
timeout = 60000
cwd = "sub"
[mcp.web]
url = "https://a.example/mcp"
headers = { "X-Key" = "hunter2" }
oauth = false
[policy]
allow = ["*"]
"#;
    let ours = "[mcp.git]\ncommand = \"ours\"\n";
    let loaded = load_above(others, ours).expect("nothing is wrong");
    let shown: String = loaded
        .to_toml()
        .lines()
        .filter(|line| line.contains(".toml:") || line.starts_with("[mcp"))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        mcp_timeout = 5000  # .opencode/config.toml:6:1
        [mcp.git]
        command = "ours"   # toolcrib.toml:2:1
        [mcp.web]
        oauth = false                  # .opencode/config.toml:15:1
        url = "https://a.example/mcp"  # .opencode/config.toml:13:1
        [mcp.web.headers]
        X-Key = "***"  # .opencode/config.toml:14:13
    "#]]
    .assert_eq(&shown);
    let settings: Vec<_> =
        loaded.settings.upstreams.iter().map(|it| (it.name(), it.timeout().as_millis())).collect();
    assert_eq!(settings, [("git", 5000), ("web", 5000)]);
    // Our own file has the last word about what both may say.
    let loaded = load_above(others, "[experimental]\nmcp_timeout = 7000").expect("nothing is wrong");
    let settings: Vec<_> =
        loaded.settings.upstreams.iter().map(|it| (it.name(), it.timeout().as_millis())).collect();
    assert_eq!(settings, [("git", 60_000), ("web", 7000)]);
}

#[test]
fn what_is_wrong_in_another_programs_servers_is_told_and_the_rest_ignored() {
    let others =
        "colour = 5\nexperimental = { x = 1 }\n[mcp.git]\ncomand = \"a\"\n[mcp.off]\nenviroment = 1\n";
    let said = load_above(others, "[mcp.off]\ncommand = \"ours\"\n").err().expect("something is wrong");
    expect![".opencode/config.toml:4:1: unknown key `comand` in [mcp.git]; did you mean `command`?"]
        .assert_eq(&said.to_string());
    assert!(load_above("mcp = { a = { command = \"a\" } }", "mcp = 5").is_err());
}

#[test]
fn paths_start_at_home_or_at_the_file() {
    let program = |loaded: &Loaded| {
        let program = loaded.settings.upstreams[0].program().expect("a program");
        (program.command.clone(), program.cwd.clone().map(|cwd| cwd.display().to_string()))
    };
    for (command, cwd, expected) in [
        ("~/bin/x", "~", ("/home/u/bin/x", "/home/u")),
        ("x", "~/a", ("x", "/home/u/a")),
        ("./x", "a/./b", ("./x", "/project/a/b")),
        ("${env:HOME}/x", "${env:HOME}/y", ("/home/u/x", "/home/u/y")),
        ("~x/y", "~x", ("~x/y", "/project/~x")),
    ] {
        let text = format!("[mcp.it]\ncommand = {command:?}\ncwd = {cwd:?}");
        let (command, folder) = program(&load(&[&text]).expect("nothing is wrong"));
        assert_eq!((command.as_str(), folder.as_deref()), (expected.0, Some(expected.1)));
    }
    // The other program's file lies a folder below what its paths mean.
    let others = load_above("[mcp.it]\ncommand = \"x\"\ncwd = \"a\"", "").expect("nothing is wrong");
    assert_eq!(program(&others).1.as_deref(), Some("/project/a"));
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
            toolcrib.toml:4:29: mcp.web.headers.Authorization: the file /project/none cannot be read: No such file or directory (os error 2)
            toolcrib.toml:4:55: mcp.web.headers.B: the value must be printable ASCII without line ends
            toolcrib.toml:7:14: mcp.git.args[1]: what stands here is visible in the machine's list of processes, and a file holds secrets; put it into `env`
            toolcrib.toml:8:17: mcp.git.inherit[1]: "[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:9:12: mcp.git.include[0]: "a[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:12:9: mcp.sign.oauth: has `client_secret` and `private_key`; keep one
            toolcrib.toml:12:44: mcp.sign.oauth.client_secret: the file /home/u/none cannot be read: No such file or directory (os error 2)
            toolcrib.toml:12:79: mcp.sign.oauth.private_key: must be PKCS#8 as PEM, which begins with `-----BEGIN PRIVATE KEY-----`"#]],
    );
}

#[test]
fn secrets_of_clients_are_not_shown() {
    let text = r#"
[mcp.web]
url = "https://a.example/mcp"
oauth = { client_id = "me", client_secret = "hunter2", grant = "enterprise", identity_provider = { token_url = "https://i.example/", client_id = "us", id_token = { env = "TOKEN" } } }
"#;
    let shown = load(&[text]).expect("nothing is wrong").to_toml();
    assert!(!shown.contains(SECRET), "{shown}");
    let oauth: String = shown
        .lines()
        .skip_while(|line| !line.contains("oauth"))
        .take_while(|line| !line.starts_with("[policy"))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        [mcp.web.oauth]
        client_id = "me"       # toolcrib.toml:4:11
        client_secret = "***"  # toolcrib.toml:4:29
        grant = "enterprise"   # toolcrib.toml:4:56

        [mcp.web.oauth.identity_provider]
        client_id = "us"                  # toolcrib.toml:4:134
        id_token = "***"                  # toolcrib.toml:4:152, from the environment variable TOKEN
        token_url = "https://i.example/"  # toolcrib.toml:4:100

    "#]]
    .assert_eq(&oauth);
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
