//! Claude Desktop.

use super::client::{Client, program, slot};
use super::entry;
use super::form::Form;
use super::variables::Syntax;

pub(super) const CLIENT: Client = Client {
    id: "claude-desktop",
    title: "Claude Desktop",
    files: &["claude_desktop_config.json"],
    places: |here| {
        here.user(here.applications().map(|folder| folder.join("Claude")), &["claude_desktop_config.json"])
    },
    form: Form::Json,
    syntax: Syntax::Plain,
    knows: |root| root.contains_key("mcpServers"),
    slots: |_, _| vec![slot(&["mcpServers"])],
    read: entry::read,
    notes: |_, _| Vec::new(),
    write: |_, server| program(server),
    fresh: "{}\n",
};
