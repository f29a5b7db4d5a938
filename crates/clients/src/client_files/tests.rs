//! The files of every client: where they lie, and what is read out of them.

mod export;

use std::path::Path;

use expect_test::{Expect, expect};

use crate::*;

const PROJECT: &str = "/home/ada/project";

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../e2e/fixtures/clients/", $name))
    };
}

/// A file of each kind, under the path at which it would lie.
const FILES: [(&str, &str); 9] = [
    ("/home/ada/.config/Claude/claude_desktop_config.json", fixture!("claude_desktop_config.json")),
    ("/home/ada/.claude.json", fixture!("dot_claude.json")),
    ("/home/ada/project/.mcp.json", fixture!("project_mcp.json")),
    ("/home/ada/project/.vscode/mcp.json", fixture!("vscode_mcp.json")),
    ("/home/ada/.cursor/mcp.json", fixture!("cursor_mcp.json")),
    ("/home/ada/.config/opencode/opencode.jsonc", fixture!("opencode_v1.jsonc")),
    ("/home/ada/project/opencode.json", fixture!("opencode_v2.json")),
    ("/home/ada/.codex/config.toml", fixture!("codex_config.toml")),
    ("/home/ada/.scorpiox/mcp_servers.json", fixture!("scorpiox_mcp_servers.json")),
];

fn surroundings() -> Surroundings {
    let variables =
        [("HOME", "/home/ada"), ("API_KEY", "k"), ("LOG_LEVEL", "debug"), ("SUPABASE_TOKEN", "t")];
    let variables = variables.map(|(name, value)| (name.into(), value.into())).into();
    Surroundings { current_dir: PROJECT.into(), variables }
}

fn place(path: &str) -> ClientFile {
    let is_in_project = path.starts_with(PROJECT);
    ClientFile { path: path.into(), project: is_in_project.then(|| PROJECT.into()), is_shared: is_in_project }
}

fn read(path: &str, text: &str) -> (Vec<FoundServer>, Vec<String>) {
    let (place, surroundings) = (place(path), surroundings());
    let client = client_of(Path::new(path), text).expect("a client's file");
    client.servers(text, &Origin { place: &place, surroundings: &surroundings }).expect("a sound file")
}

#[track_caller]
fn check(nth: usize, expected: Expect) {
    let (path, text) = FILES[nth];
    let (found, notes) = read(path, text);
    let mut said = String::new();
    for FoundServer { name, server, findings, .. } in found {
        said += &format!("[{name}]\n");
        match server {
            Ok(server) => said += &server.to_toml(),
            Err(why) => said += &format!("! {why}\n"),
        }
        findings.remarks.iter().for_each(|remark| said += &format!("# {remark}\n"));
        findings.missing.iter().for_each(|what| said += &format!("# needs {what}\n"));
        said.push('\n');
    }
    notes.iter().for_each(|note| said += &format!("# {note}\n"));
    expected.assert_eq(said.trim_end());
}

#[test]
fn claude_desktop() {
    check(
        0,
        expect![[r#"
        [brave-search]
        command = "docker"
        args = ["run", "-i", "--rm", "-e", "BRAVE_API_KEY", "mcp/brave-search"]
        env = { BRAVE_API_KEY = "BSA-very-secret" }

        [broken]
        ! it has neither `command` nor `url`

        [filesystem]
        command = "npx"
        args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Documents", "/home/ada/My Pictures"]

        [shell]
        command = "sh"
        args = ["-c", "exec my-server --home ${HOME}"]
        env = { REGION = "${env:REGION}" }
        # needs the environment variable REGION, which is not set

        [toolcrib]
        command = "/usr/local/bin/toolcrib"
        args = ["stdio"]

        [Ünïcode & spaces!]
        command = "uvx"
        args = ["mcp-server-time", "--local-timezone=Europe/Rome"]"#]],
    );
}

#[test]
fn claude_code() {
    check(
        1,
        expect![[r#"
        [airtable]
        command = "npx"
        args = ["-y", "airtable-mcp-server", "--base", "appDefault"]
        timeout = 120000
        env = { AIRTABLE_API_KEY = "pat-very-secret", LOG_LEVEL = "${env:LOG_LEVEL}" }
        # `${AIRTABLE_BASE:-appDefault}` became its default, since AIRTABLE_BASE is not set
        # `${LOG_LEVEL:-info}` lost its default, since LOG_LEVEL is set
        # left out, since there is nothing like it here: `alwaysLoad`

        [github]
        url = "https://api.githubcopilot.com/mcp/"
        headers = { Authorization = "Bearer ${env:GITHUB_PAT}" }
        # needs the environment variable GITHUB_PAT, which is not set

        [internal]
        url = "https://mcp.internal.example.com"
        oauth = { client_id = "crib", callback_port = 8080 }
        # needs the headers that `headersHelper` made

        [linear]
        url = "https://mcp.linear.app/sse"
        transport = "sse"

        [socket]
        ! its transport "ws" is not spoken here

        [db]
        command = "/home/ada/project/tools/db.sh"
        args = ["--dsn", "postgres://localhost/ada"]

        # the servers of the project /home/ada/elsewhere are left out; to get them, run this command there
        # switched off there for the project /home/ada/project: linear"#]],
    );
}

#[test]
fn claude_code_in_a_project() {
    check(
        2,
        expect![[r#"
        [api]
        url = "https://api.example.com/mcp"
        headers = { Authorization = "Bearer ${env:API_KEY}" }
        # `${API_BASE_URL:-https://api.example.com}` became its default, since API_BASE_URL is not set

        [local]
        command = "node"
        args = ["./dist/server.js", "--verbose"]
        cwd = "/home/ada/project""#]],
    );
}

#[test]
fn vscode() {
    check(
        3,
        expect![[r#"
        [Perplexity]
        command = "npx"
        args = ["-y", "server-perplexity-ask"]
        env = { PERPLEXITY_API_KEY = "${input:perplexity-key}" }
        # needs a value in place of `${input:perplexity-key}`

        [fetch]
        command = "uvx"
        args = ["mcp-server-fetch", "--cache", "/home/ada/.cache", "--root", "/home/ada/project/src"]
        cwd = "/home/ada/project"
        env = { RETRIES = "3", TOKEN = "${env:FETCH_TOKEN}" }
        # needs the environment variable FETCH_TOKEN, which is not set
        # needs the variables of /home/ada/project/.env in `env`

        [pipe]
        ! its address unix:///tmp/server.sock is not one of HTTP

        [remote]
        url = "https://user:hunter2@mcp.example.com/v1?key=hunter2"
        headers = { X-Api-Key = "very-secret" }

        # `${input:perplexity-key}` is asked for by the editor: Perplexity API Key"#]],
    );
}

#[test]
fn cursor() {
    check(
        4,
        expect![[r#"
        [figma]
        url = "http://127.0.0.1:3845/mcp"

        [oauth]
        url = "https://api.example.com/mcp"
        oauth = { client_id = "cursor-client", client_secret = "${env:MCP_CLIENT_SECRET}", scope = "read write" }
        # needs the environment variable MCP_CLIENT_SECRET, which is not set

        [off]
        command = "uvx"
        args = ["something"]
        enabled = false

        [supabase]
        command = "npx"
        args = ["-y", "@supabase/mcp-server-supabase@latest", "--read-only"]
        env = { SUPABASE_ACCESS_TOKEN = "${env:SUPABASE_TOKEN}" }
        # left out, since there is nothing like it here: `autoApprove`"#]],
    );
}

#[test]
fn opencode() {
    check(
        5,
        expect![[r#"
            [context7]
            url = "https://mcp.context7.com/mcp"
            enabled = false
            oauth = false
            headers = { CONTEXT7_API_KEY = "${file:/home/ada/.config/opencode/context7.key}" }
            # needs the file /home/ada/.config/opencode/context7.key, which is not there

            [everything]
            command = "npx"
            args = ["-y", "@modelcontextprotocol/server-everything"]
            timeout = 10000
            env = { KEY = "${env:MY_KEY}", MY_ENV_VAR = "my value" }
            # needs the environment variable MY_KEY, which is not set

            [ignored]
            command = "uvx"
            args = ["ignored"]
            # `env` is left out: only `environment` is read there

            [jira]
            ! it has neither `command` nor `url`

            [own]
            url = "https://mcp.example.com/mcp"
            oauth = { client_id = "crib", client_secret = "${env:OWN_SECRET}", scope = "tools:read tools:execute", redirect_uri = "http://127.0.0.1:19876/mcp/oauth/callback" }
            # needs the environment variable OWN_SECRET, which is not set

            [sentry]
            url = "https://mcp.sentry.dev/mcp"

            # tools switched off there: everything*; `exclude` of a server does that here"#]],
    );
}

#[test]
fn opencode_in_its_second_form() {
    check(
        6,
        expect![[r#"
        [everything]
        command = "bunx"
        args = ["server-everything"]
        timeout = 60000
        start_timeout = 5000
        list_timeout = 4000
        env = { A = "b" }
        # left out, since there is nothing like it here: `codemode`

        [sentry]
        url = "https://mcp.sentry.dev/mcp"
        enabled = false
        oauth = { client_id = "crib", callback_port = 19876 }

        # `mcp.timeout` is left out; set `timeout` for each server"#]],
    );
}

#[test]
fn codex() {
    check(
        7,
        expect![[r#"
        [chrome]
        command = "npx"
        args = ["chrome-devtools-mcp@latest"]
        enabled = false

        [context7]
        command = "npx"
        args = ["-y", "@upstash/context7-mcp"]
        timeout = 45500
        start_timeout = 20000
        inherit = ["CONTEXT7_REGION"]
        include = ["resolve-library-id"]
        exclude = ["get-*"]
        env = { MY_ENV_VAR = "MY_ENV_VALUE" }

        [figma]
        url = "https://mcp.figma.com/mcp"

        [headers]
        Authorization = "Bearer ${env:FIGMA_OAUTH_TOKEN}"
        X-Figma-Region = "us-east-1"
        X-Team = "${env:FIGMA_TEAM}"
        # left out, since there is nothing like it here: `required`
        # needs the environment variable FIGMA_TEAM, which is not set
        # needs the environment variable FIGMA_OAUTH_TOKEN, which is not set"#]],
    );
}

#[test]
fn scorpiox() {
    check(
        8,
        expect![[r#"
        [scorpiox]
        command = "/home/ada/.scorpiox/scorpiox-code"

        [search]
        command = "/opt/search"
        args = ["--engines", "11"]
        env = { TOOL_WEBSEARCH = "1" }

        [web]
        url = "http://localhost:8080/mcp""#]],
    );
}

#[test]
fn a_file_of_unknown_name_is_known_by_what_is_in_it() {
    let id = |path: &str, text: &str| client_of(Path::new(path), text).map(|client| client.id);
    for (text, expected) in [
        ("{\"mcpServers\": {}}", Some("claude-desktop")),
        ("{\"mcpServers\": {}, \"projects\": {}}", Some("claude-code")),
        ("{\"servers\": {}}", Some("vscode")),
        ("{\"mcp\": {}}", Some("opencode")),
        ("{\"a\": {\"command\": \"b\"}}", Some("scorpiox")),
        ("{\"a\": 1}", None),
        ("{}", None),
        ("", None),
        ("{", None),
    ] {
        assert_eq!(id("/x/y.json", text), expected, "{text}");
    }
    assert_eq!(id("/x/y.toml", "[mcp_servers]"), Some("codex"));
    assert_eq!(id("/x/y.toml", "[mcp.x]"), None);
    assert_eq!(id("/x/.cursor/mcp.json", ""), Some("cursor"));
}

#[test]
fn places_follow_the_platform() {
    let mut said = String::new();
    let mut surroundings = surroundings();
    surroundings.variables.insert("XDG_CONFIG_HOME".into(), "/xdg".into());
    for client in &CLIENTS {
        let target = client.target(&surroundings).expect("a home");
        said += &format!("{} {}\n", client.id, target.display());
    }
    expect![[r#"
        claude-code /home/ada/.claude.json
        claude-desktop /xdg/Claude/claude_desktop_config.json
        vscode /xdg/Code/User/mcp.json
        cursor /home/ada/.cursor/mcp.json
        opencode /xdg/opencode/opencode.json
        codex /home/ada/.codex/config.toml
        scorpiox /home/ada/.scorpiox/mcp_servers.json
    "#]]
    .assert_eq(&said);
}
