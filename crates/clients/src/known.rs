//! The clients, in the order in which they are looked at: what each calls its files, its table of servers and what is in
//! it, as far as it differs from what most of them do.

use std::path::Path;

use serde_json::{Map, Value};

use crate::client::{Client, ProjectTable, Remote};
use crate::entry::Spellings;
use crate::form::{ClientEntry, Form};
use crate::origin::Location::{Config, Home, Named, Project, Variable};
use crate::origin::Origin;
use crate::server::Server;
use crate::variables::Syntax;

/// What most of them do.
const USUAL: Client = Client {
    id: "",
    title: "",
    files: &[],
    form: Form::Json,
    syntax: Syntax::Plain,
    knows: |_| false,
    table: |_| &["mcpServers"],
    projects: |_, _| Vec::new(),
    spellings: Spellings { env: "env", headers: "headers" },
    notes: |_, _| Vec::new(),
    write: |_, server| program(server),
    remote: Remote::Plain,
    fresh: "{}\n",
};

/// All of them.
pub static CLIENTS: [Client; 7] = [
    Client {
        id: "claude-code",
        title: "Claude Code",
        files: &[Variable("CLAUDE_CONFIG_DIR", "", ".claude.json"), Project(".mcp.json")],
        syntax: Syntax::Shell,
        knows: |root| root.contains_key("projects"),
        projects: |root, origin| {
            let here = projects(root).filter(|(path, _)| is_here(path, origin));
            here.filter_map(project_table).collect()
        },
        notes: claude_code_notes,
        write: |_, server| typed_program(server),
        remote: Remote::Typed("http"),
        ..USUAL
    },
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        files: &[Config("Claude/claude_desktop_config.json")],
        remote: Remote::Never,
        knows: |root| root.contains_key("mcpServers"),
        ..USUAL
    },
    Client {
        id: "vscode",
        title: "VS Code",
        files: &[
            Config("Code/User/mcp.json"),
            Config("Code - Insiders/User/mcp.json"),
            Config("VSCodium/User/mcp.json"),
            Project(".vscode/mcp.json"),
        ],
        syntax: Syntax::Editor,
        knows: |root| root.get("servers").is_some_and(Value::is_object),
        table: |_| &["servers"],
        notes: vscode_notes,
        write: |_, server| typed_program(server),
        remote: Remote::Typed("http"),
        ..USUAL
    },
    Client {
        id: "cursor",
        title: "Cursor",
        files: &[Home(".cursor/mcp.json"), Project(".cursor/mcp.json")],
        syntax: Syntax::Editor,
        ..USUAL
    },
    Client {
        id: "opencode",
        title: "OpenCode",
        files: &[
            Config("opencode/opencode.json"),
            Config("opencode/opencode.jsonc"),
            Config("opencode/config.json"),
            Named("OPENCODE_CONFIG"),
            Project("opencode.jsonc"),
            Project("opencode.json"),
            Project(".opencode/opencode.jsonc"),
            Project(".opencode/opencode.json"),
        ],
        syntax: Syntax::Braces,
        knows: |root| root.get("mcp").is_some_and(Value::is_object),
        table: |root| if is_second_opencode(root) { &["mcp", "servers"] } else { &["mcp"] },
        spellings: Spellings { env: "environment", ..USUAL.spellings },
        notes: |root, _| opencode_notes(root),
        write: |root, server| {
            let words: Vec<&String> = server.command.iter().chain(&server.args).collect();
            let entry = [("type", "local".into()), ("command", words.into_iter().cloned().collect())];
            let enabled = (!is_second_opencode(root)).then(|| ("enabled", true.into()));
            entry.into_iter().chain(enabled).collect()
        },
        remote: Remote::Typed("remote"),
        fresh: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",
        ..USUAL
    },
    Client {
        id: "codex",
        title: "Codex",
        files: &[Variable("CODEX_HOME", ".codex", "config.toml"), Project(".codex/config.toml")],
        form: Form::Toml,
        knows: |root| root.contains_key("mcp_servers"),
        table: |_| &["mcp_servers"],
        spellings: Spellings { headers: "http_headers", ..USUAL.spellings },
        fresh: "",
        ..USUAL
    },
    Client {
        id: "scorpiox",
        title: "scorpiox code",
        files: &[
            Home(".scorpiox/mcp_servers.json"),
            // Its own setting of that name wins over everything else.
            Named("MCP_CONFIG"),
            Project(".scorpiox/mcp_servers.json"),
            Project("mcp_servers.json"),
        ],
        knows: |root| {
            let address =
                |entry: &Value| entry.get("command").or(entry.get("url")).is_some_and(Value::is_string);
            !root.is_empty() && root.values().all(address)
        },
        table: |root| if root.get("mcpServers").is_some() { &["mcpServers"] } else { &[] },
        ..USUAL
    },
];

/// A command with its arguments, as most clients write it.
fn program(server: &Server) -> ClientEntry {
    vec![("command", server.command.clone().into()), ("args", server.args.clone().into())]
}

fn typed_program(server: &Server) -> ClientEntry {
    [("type", "stdio".into())].into_iter().chain(program(server)).collect()
}

/// The projects that a file of Claude Code knows.
fn projects(root: &Value) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
    let projects = root.get("projects").and_then(Value::as_object);
    projects.into_iter().flatten().filter_map(|(path, project)| Some((path.as_str(), project.as_object()?)))
}

fn project_table<'v>((project, table): (&'v str, &'v Map<String, Value>)) -> Option<ProjectTable<'v>> {
    let servers = table.get("mcpServers")?;
    Some(ProjectTable { project, keys: vec!["projects", project, "mcpServers"], servers })
}

fn is_here(path: &str, origin: &Origin<'_>) -> bool {
    let path = Path::new(path);
    path.is_absolute() && origin.surroundings.current_dir.starts_with(path)
}

fn claude_code_notes(root: &Value, origin: &Origin<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for (path, project) in projects(root) {
        let servers = project.get("mcpServers").and_then(Value::as_object).map_or(0, Map::len);
        if servers > 0 && !is_here(path, origin) {
            notes.push(format!(
                "the servers of the project {path} are left out; to get them, run this command there"
            ));
        }
        for key in ["disabledMcpServers", "disabledMcpjsonServers"] {
            let names = project.get(key).and_then(Value::as_array).into_iter().flatten();
            let names: Vec<&str> = names.filter_map(Value::as_str).collect();
            if !names.is_empty() && is_here(path, origin) {
                notes.push(format!("switched off there for the project {path}: {}", names.join(", ")));
            }
        }
    }
    notes
}

fn vscode_notes(root: &Value, _: &Origin<'_>) -> Vec<String> {
    let inputs = root.get("inputs").and_then(Value::as_array).into_iter().flatten();
    let note = |input: &Value| {
        let what = input["description"].as_str().unwrap_or("no description");
        Some(format!("`${{input:{}}}` is asked for by the editor: {what}", input["id"].as_str()?))
    };
    inputs.filter_map(note).collect()
}

/// OpenCode's second form is `mcp.servers.NAME`. In its first one a server may be called `servers`; it then has a `type`.
fn is_second_opencode(root: &Value) -> bool {
    let servers = &root["mcp"]["servers"];
    servers.is_object() && !servers["type"].is_string()
}

fn opencode_notes(root: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    if is_second_opencode(root) && root["mcp"].get("timeout").is_some() {
        notes.push("`mcp.timeout` is left out; set `timeout` for each server".to_owned());
    }
    let switched = root.get("tools").and_then(Value::as_object).into_iter().flatten();
    let off: Vec<&str> = switched.filter(|(_, on)| **on == false).map(|(glob, _)| glob.as_str()).collect();
    if !off.is_empty() {
        notes.push(format!(
            "tools switched off there: {}; `exclude` of a server does that here",
            off.join(", ")
        ));
    }
    notes
}
