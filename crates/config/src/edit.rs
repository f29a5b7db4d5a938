//! Changing the configuration file by command: a server goes in or out, everything else stays byte for byte. What comes
//! out is read again and compared before anybody gets to see it.

use std::path::{Path, PathBuf};

use clients::{Comment, Form, Server, line_end, not_toml, without_toml};
use toml_edit::{Document, DocumentMut, Item, Key, Table, TableLike, Value};

use crate::find;
use crate::surroundings::Surroundings;
use crate::written;

/// The table of servers.
const SERVERS: &str = "mcp";

/// The file that commands change: the one that was named, else the project's, else the user's, which need not exist yet.
///
/// # Errors
/// If the user has no home.
pub(crate) fn target(named: Option<&Path>, surroundings: &Surroundings) -> Result<PathBuf, String> {
    let found = written::named(named, surroundings)
        .or_else(|| find::project(surroundings))
        .or_else(|| find::user(surroundings));
    found.ok_or_else(|| "there is no home folder to keep the configuration in; use --config FILE".to_owned())
}

/// The text with all these servers more.
///
/// # Errors
/// A sentence, with line and column if the text is no TOML.
pub(crate) fn add_servers(text: &str, new: &[(&str, &Server)]) -> Result<String, String> {
    let before = Document::parse(text).map_err(|error| not_toml(text, error.span(), error.message()))?;
    table_of_servers(before.as_table())?;
    let (mut after, mut expected) = (text.to_owned(), Form::Toml.read(text)?);
    for (name, server) in new {
        after = appended(&after, name, server);
        let server = Form::Toml.read(&server.to_toml())?;
        if !std::mem::replace(&mut expected[SERVERS][*name], server).is_null() {
            return Err(format!("it has a server {name:?} already"));
        }
    }
    Form::Toml.proven(after, &expected)
}

/// The text with a server less; nothing if it has none of that name.
///
/// # Errors
/// A sentence, with line and column if the text is no TOML.
pub fn remove_server(text: &str, name: &str) -> Result<Option<String>, String> {
    without_toml(text, &[SERVERS], name, Comment::Goes)
}

/// The text with other values for these keys of a server, or of tables in its own (`sandbox.network`). The rest of it stays
/// byte for byte.
///
/// # Errors
/// A sentence, with line and column if the text is no TOML.
pub(crate) fn set_keys(
    text: &str,
    name: &str,
    values: &[(&str, toml_edit::Value)],
) -> Result<String, String> {
    let (mut after, mut expected) = (text.to_owned(), Form::Toml.read(text)?);
    for (key, value) in values {
        let value = value.to_string();
        after = with_key(&after, name, key, value.trim())?;
        let changed = &mut expected[SERVERS][name];
        let changed = key.split('.').fold(changed, |table, key| &mut table[key]);
        *changed = Form::Toml.read(&format!("it = {value}"))?["it"].take();
    }
    Form::Toml.proven(after, &expected)
}

fn with_key(text: &str, name: &str, key: &str, value: &str) -> Result<String, String> {
    let document = Document::parse(text).map_err(|error| not_toml(text, error.span(), error.message()))?;
    let server = table_of_servers(document.as_table())?.and_then(|servers| servers.get(name));
    let server = server.ok_or_else(|| format!("it has no server {name:?}"))?;
    let (table, key) = home_of(server, key)?;
    let present = key.iter().try_fold(table, |item, key| item.as_table_like()?.get(key));
    let key = key.iter().map(|key| Key::new(*key).to_string()).collect::<Vec<_>>().join(".");
    let (place, written) = if let Some(present) = present {
        (present.span(), value.to_owned())
    } else if let Some(inline) = table.as_inline_table() {
        // Before its closing brace.
        let end = inline.span().map(|span| text[..span.end - 1].trim_end().len());
        let (before, after) = if inline.is_empty() { ("", " ") } else { (",", "") };
        (end.map(|end| end..end), format!("{before} {key} = {value}{after}"))
    } else {
        let header = table.as_table().filter(|table| !table.is_dotted() && !table.is_implicit());
        let end = header.and_then(Table::span).map(|header| {
            let rest = &text[header.end..];
            header.end + rest.find('\n').map_or(rest.len(), |at| at + 1)
        });
        let before = if end.is_some_and(|end| !text[..end].ends_with('\n')) { line_end(text) } else { "" };
        (end.map(|end| end..end), format!("{before}{key} = {value}{}", line_end(text)))
    };
    let place = place.ok_or("it is written in a way that this command cannot change; change it by hand")?;
    let mut after = text.to_owned();
    after.replace_range(place, &written);
    Ok(after)
}

/// The table that has, or gets, this key of a server's: one of its own that stands by itself, else the server's. With the key
/// as that table has it.
fn home_of<'d, 'k>(server: &'d Item, key: &'k str) -> Result<(&'d Item, Vec<&'k str>), String> {
    let Some((table, below)) = key.split_once('.') else { return Ok((server, vec![key])) };
    let of_server = Ok((server, vec![table, below]));
    let Some(item) = server.as_table_like().and_then(|server| server.get(table)) else { return of_server };
    let is_dotted = match item {
        Item::Table(item) => item.is_dotted() || item.is_implicit(),
        Item::Value(Value::InlineTable(item)) => item.is_dotted(),
        _ => return Err(format!("its `{table}` is no table")),
    };
    if is_dotted { of_server } else { Ok((item, vec![below])) }
}

/// The table of servers, if there is one.
fn table_of_servers(root: &Table) -> Result<Option<&dyn TableLike>, String> {
    match root.get(SERVERS) {
        None => Ok(None),
        Some(item) => item.as_table_like().map(Some).ok_or_else(|| format!("its `{SERVERS}` is no table")),
    }
}

/// With the server's table at the end of the text, in the text's own line ends.
fn appended(text: &str, name: &str, server: &Server) -> String {
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(name, Item::Table(server.to_table()));
    let mut root = DocumentMut::new();
    root.insert(SERVERS, Item::Table(servers));
    let line_end = line_end(text);
    let mut after = text.to_owned();
    if !text.trim_start_matches('\u{feff}').is_empty() {
        // A blank line between, and the last line's end where it has none.
        let ends = if text.ends_with('\n') { 1 } else { 2 };
        after.push_str(&line_end.repeat(ends));
    }
    after.push_str(&root.to_string().replace('\n', line_end));
    after
}

#[cfg(test)]
mod tests;
