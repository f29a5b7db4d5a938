//! VS Code and its relatives.

use serde_json::Value;

use super::client::{Client, program, slot};
use super::entry;
use super::form::Form;
use super::form::Word;
use super::variables::Syntax;

/// The folders of its editions.
const EDITIONS: [&str; 3] = ["Code", "Code - Insiders", "VSCodium"];

pub(super) const CLIENT: Client = Client {
    id: "vscode",
    title: "VS Code",
    files: &[".vscode/mcp.json", "User/mcp.json"],
    places: |here| {
        let folder = |edition: &str| here.applications().map(|folder| folder.join(edition).join("User"));
        let mut places: Vec<_> =
            EDITIONS.iter().flat_map(|edition| here.user(folder(edition), &["mcp.json"])).collect();
        places.extend(here.projects(&[".vscode/mcp.json"]));
        places
    },
    form: Form::Json,
    syntax: Syntax::Editor,
    knows: |root| root.get("servers").is_some_and(Value::is_object),
    slots: |_, _| vec![slot(&["servers"])],
    read: |fields| {
        // What the editor does with a server, not what the server is.
        for key in ["dev", "gallery", "version"] {
            fields.raw(key);
        }
        entry::read(fields)
    },
    notes: |root, _| {
        let inputs = root.get("inputs").and_then(Value::as_array).into_iter().flatten();
        let text = |input: &Value, key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        let note = |input: &Value| {
            let what = text(input, "description").unwrap_or_else(|| "no description".to_owned());
            Some(format!("`${{input:{}}}` is asked for by the editor: {what}", text(input, "id")?))
        };
        inputs.filter_map(note).collect()
    },
    write: |_, server| {
        let kind = ("type", Word::Text("stdio".to_owned()));
        [kind].into_iter().chain(program(server)).collect()
    },
    fresh: "{}\n",
};
