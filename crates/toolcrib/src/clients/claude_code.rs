//! Claude Code: the user's servers and those of single projects in one file, and a file that projects share.

use std::path::Path;

use serde_json::{Map, Value};

use super::client::{Client, Slot, program, slot};
use super::entry;
use super::form::Form;
use super::form::Word;
use super::origin::Origin;
use super::variables::Syntax;

pub(super) const CLIENT: Client = Client {
    id: "claude-code",
    title: "Claude Code",
    files: &[".claude.json", ".mcp.json"],
    places: |here| {
        let folder = here.variable("CLAUDE_CONFIG_DIR").or_else(|| here.home());
        let mut places = here.user(folder, &[".claude.json"]);
        places.extend(here.projects(&[".mcp.json"]));
        places
    },
    form: Form::Json,
    syntax: Syntax::Shell,
    knows: |root| root.contains_key("projects"),
    slots: |root, origin| {
        let ours = projects(root).filter(|(path, _)| is_here(path, origin));
        let ours = ours
            .map(|(path, _)| Slot { project: Some(path.into()), ..slot(&["projects", path, "mcpServers"]) });
        [slot(&["mcpServers"])].into_iter().chain(ours).collect()
    },
    read: entry::read,
    notes,
    write: |_, server| {
        let kind = ("type", Word::Text("stdio".to_owned()));
        [kind].into_iter().chain(program(server)).collect()
    },
    fresh: "{}\n",
};

/// The projects that the file knows.
fn projects(root: &Value) -> impl Iterator<Item = (&String, &Map<String, Value>)> {
    let projects = root.get("projects").and_then(Value::as_object);
    projects.into_iter().flatten().filter_map(|(path, project)| Some((path, project.as_object()?)))
}

fn is_here(path: &str, origin: &Origin<'_>) -> bool {
    let path = Path::new(path);
    path.is_absolute() && origin.surroundings.current_dir.starts_with(path)
}

fn notes(root: &Value, origin: &Origin<'_>) -> Vec<String> {
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
