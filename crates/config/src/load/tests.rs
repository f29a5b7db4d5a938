//! What a person sees of a configuration: every message, and what is shown of secrets.

mod confinement;
mod governing;
mod kept;
mod mistakes;
mod policy;
mod tighten;
mod wide;
mod workspaces;

use expect_test::{Expect, expect, expect_file};

use super::*;
use crate::surroundings::Flags;

const SECRET: &str = "hunter2";

fn surroundings() -> Surroundings {
    let variables = [("HOME", "/home/u"), ("TOKEN", SECRET)].map(|(name, value)| (name.into(), value.into()));
    Surroundings { current_dir: "/project".into(), variables: variables.into(), ..Surroundings::default() }
}

fn sources(texts: &[&str]) -> Vec<Source> {
    let path = |nth: usize| match (texts.len(), nth) {
        (1, _) | (_, 1) => "toolcrib.toml".into(),
        _ => "/home/u/.config/toolcrib/toolcrib.toml".into(),
    };
    let source = |(nth, text): (usize, &&str)| Source {
        path: path(nth),
        text: (*text).to_owned(),
        is_projects: nth == 1,
    };
    texts.iter().enumerate().map(source).collect()
}

fn load(texts: &[&str]) -> Result<Loaded, Problems> {
    loaded(sources(texts), &surroundings(), Unfollowed::IsWrong)
}

/// Where everything that a folder declares is agreed to.
fn agreed() -> Surroundings {
    Surroundings { flags: Flags { trust_folder: true, ..Flags::default() }, ..surroundings() }
}

#[track_caller]
fn check_refused(text: &str, expected: Expect) {
    let said = load(&[text]).err().expect("something is wrong").to_string();
    assert!(!said.contains(SECRET), "{said}");
    expected.assert_eq(&said);
}

fn shown(texts: &[&str]) -> String {
    load(texts).expect("nothing is wrong").to_toml()
}

/// The sections that are shown otherwise than an empty configuration's are.
#[track_caller]
fn check_shown(texts: &[&str], expected: Expect) {
    let (defaults, shown) = (shown(&[""]), shown(texts));
    assert!(!shown.contains(SECRET), "{shown}");
    let sections = |shown: &str| shown.trim_end().split("\n\n").map(str::to_owned).collect::<Vec<_>>();
    let defaults = sections(&defaults);
    let changed = sections(&shown).into_iter().filter(|section| !defaults.contains(section));
    expected.assert_eq(&changed.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn nothing_written_is_a_good_configuration() {
    expect_file!["tests/defaults.snapshot"].assert_eq(&shown(&[""]));
}

#[test]
fn every_value_tells_where_it_was_set() {
    let user = "[limits.rate]\nper_second = 5\nburst = 6\n[policy]\ndeny = [\"*_rm\"]\n[workspace]\nroot = \"/ws\"\n";
    let project = "[policy]\ndeny = [\"*_mv\"]\n";
    check_shown(
        &[user, project],
        expect![[r#"
            [limits.rate]
            burst = 6       # /home/u/.config/toolcrib/toolcrib.toml:3:1
            per_second = 5  # /home/u/.config/toolcrib/toolcrib.toml:2:1

            [policy]
            allow = []               # default
            defaults = true          # default
            deny = ["*_rm", "*_mv"]  # /home/u/.config/toolcrib/toolcrib.toml:5:9 and toolcrib.toml:2:1
            rules = []               # default

            [workspace]
            root = "/ws"   # /home/u/.config/toolcrib/toolcrib.toml:7:1
            writable = []  # default"#]],
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
            [mcp.git]
            args = ["mcp-server-git"]  # toolcrib.toml:4:1
            command = "uvx"            # toolcrib.toml:3:1
            enabled = true             # default
            exclude = []               # default
            include = []               # default
            inherit = []               # default
            on_demand = false          # default
            timeout = "2s"             # toolcrib.toml:6:1
            trust = "pin"              # default

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
            trust = "pin"                          # default
            url = "https://a.example/mcp?key=***"  # toolcrib.toml:9:1

            [mcp.web.headers]
            Authorization = "***"  # toolcrib.toml:10:13"#]],
    );
    let shown = load(&[text]).expect("nothing is wrong").to_json().to_string();
    assert!(!shown.contains(SECRET) && shown.contains(r#""A":"***""#), "{shown}");
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

/// No server starts where Toolcrib was started, or in the workspace, unless its table says so.
#[test]
fn a_server_starts_in_a_folder_of_its_own() {
    let text = r#"
[state]
dir = "kept"
[mcp.plain]
command = "x"
[mcp.placed]
command = "x"
cwd = "sub"
[mcp."../up"]
command = "x"
[mcp.off]
command = "x"
enabled = false
isolation = "session"
[mcp.far]
url = "https://a.example/mcp"
"#;
    let settings = load(&[text]).expect("nothing is wrong").settings;
    let folders = settings.upstreams.iter().map(|upstream| {
        let folder = upstream.program().and_then(|program| program.folder());
        format!(
            "{}: {}",
            upstream.name(),
            folder.map_or(String::new(), |folder| folder.display().to_string())
        )
    });
    expect![[r#"
        ../up: /project/kept/servers/___up-8c722b8ae2c9de45
        far: 
        off: /project/kept/servers/off
        placed: /project/sub
        plain: /project/kept/servers/plain"#]]
    .assert_eq(&folders.collect::<Vec<_>>().join("\n"));
}

/// What the program of the only server is given, beside what it inherits, or why it cannot be started.
fn given(table: &str, workspace: &str) -> String {
    let flags = Flags { workspace: Some(workspace.into()), ..Flags::default() };
    let surroundings = Surroundings { flags, ..surroundings() };
    let text = format!("[mcp.it]\ncommand = 'x'\ninherit = ['TOK*']\n{table}");
    let settings = loaded(sources(&[&text]), &surroundings, Unfollowed::IsWrong).expect("sound").settings;
    let program = settings.upstreams[0].program().expect("a program");
    let cwd = program.cwd.iter().map(|cwd| cwd.display().to_string());
    let words: Vec<String> = program.args.iter().cloned().chain(cwd).collect();
    let inherited: Vec<_> = program.inherited.keys().map(|name| name.to_string_lossy()).collect();
    format!("{} with {}", words.join(" "), inherited.join(" "))
}

#[test]
fn a_server_is_given_the_workspace_and_what_it_inherits_of_the_client() {
    let table = "args = ['${workspace}', '--at=${workspace}/a']\ncwd = '${workspace}/sub'";
    assert_eq!(given(table, "/w/one"), "/w/one --at=/w/one/a /w/one/sub with HOME TOKEN");
    assert_eq!(given("cwd = 'sub'", "/w/one"), "/project/sub with HOME TOKEN");
}

#[test]
fn what_is_writable_must_be_globs() {
    check_refused(
        "[workspace]\nwritable = [\"CLAUDE.md\", \"a[\"]\n",
        expect![[
            r#"toolcrib.toml:2:26: workspace.writable: "a[" is no glob: unclosed character class; missing ']'"#
        ]],
    );
}
