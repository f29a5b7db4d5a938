//! scorpiox code: `mcp_servers.json`, with the servers at the top or below `mcpServers`.

use serde_json::Value;

use super::client::{Client, program, slot};
use super::entry;
use super::form::Form;
use super::variables::Syntax;

pub(super) const CLIENT: Client = Client {
    id: "scorpiox",
    title: "scorpiox code",
    files: &["mcp_servers.json"],
    places: |here| {
        let mut places = here.user(here.home(), &[".scorpiox/mcp_servers.json"]);
        // Its own setting of that name wins over everything else.
        places.extend(here.variable("MCP_CONFIG").into_iter().map(super::Place::named));
        places.extend(here.projects(&[".scorpiox/mcp_servers.json", "mcp_servers.json"]));
        places
    },
    form: Form::Json,
    syntax: Syntax::Plain,
    knows: |root| {
        let is_server =
            |entry: &Value| entry.get("command").or_else(|| entry.get("url")).is_some_and(Value::is_string);
        !root.is_empty() && root.values().all(is_server)
    },
    slots: |root, _| vec![if root.get("mcpServers").is_some() { slot(&["mcpServers"]) } else { slot(&[]) }],
    read: entry::read,
    notes: |_, _| Vec::new(),
    write: |_, server| program(server),
    fresh: "{}\n",
};
