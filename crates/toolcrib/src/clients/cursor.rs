//! Cursor.

use super::client::{Client, program, slot};
use super::entry;
use super::form::Form;
use super::variables::Syntax;

pub(super) const CLIENT: Client = Client {
    id: "cursor",
    title: "Cursor",
    files: &[".cursor/mcp.json"],
    places: |here| {
        let mut places = here.user(here.home(), &[".cursor/mcp.json"]);
        places.extend(here.projects(&[".cursor/mcp.json"]));
        places
    },
    form: Form::Json,
    syntax: Syntax::Editor,
    knows: |_| false,
    slots: |_, _| vec![slot(&["mcpServers"])],
    read: entry::read,
    notes: |_, _| Vec::new(),
    write: |_, server| program(server),
    fresh: "{}\n",
};
