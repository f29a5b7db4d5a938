//! Other MCP clients: where each keeps its servers, and in which form. One file for each; this file is the list of them.

mod claude_code;
mod claude_desktop;
mod client;
mod codex;
mod cursor;
mod entry;
mod fields;
mod form;
mod opencode;
mod origin;
mod scorpiox;
mod server;
mod variables;
mod vscode;

use std::path::Path;

use serde_json::Value;

pub(crate) use client::{Client, Export, Found};
pub(crate) use form::{Form, to_json};
pub(crate) use origin::{Origin, Place, Whereabouts};
pub(crate) use server::{Oauth, Server};
pub(crate) use variables::Findings;

/// Clients write into their files themselves, some of them a lot, in bytes.
pub(crate) const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// All clients, in the order in which they are looked at.
pub(crate) const CLIENTS: [&Client; 7] = [
    &claude_code::CLIENT,
    &claude_desktop::CLIENT,
    &vscode::CLIENT,
    &cursor::CLIENT,
    &opencode::CLIENT,
    &codex::CLIENT,
    &scorpiox::CLIENT,
];

/// The client of this name.
pub(crate) fn client(id: &str) -> Option<&'static Client> {
    CLIENTS.into_iter().find(|client| client.id == id)
}

/// Whose form a file has that somebody named: by its path, else by what is in it.
pub(crate) fn client_of(path: &Path, text: &str) -> Option<&'static Client> {
    let ends = |end: &&str| path.ends_with(end);
    if let Some(client) = CLIENTS.into_iter().find(|client| client.files.iter().any(ends)) {
        return Some(client);
    }
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let form = if is_toml { Form::Toml } else { Form::Json };
    let Ok(Value::Object(root)) = form.read(text) else { return None };
    CLIENTS.into_iter().find(|client| client.form == form && (client.knows)(&root))
}

#[cfg(test)]
mod tests;
