//! Changing the configuration file by command: a server goes in or out, everything else stays byte for byte. What comes
//! out is read again and compared before anybody gets to see it.

use std::path::{Path, PathBuf};

use clients::{Comment, Form, Server, line_end, not_toml, without_toml};
use toml_edit::{Document, DocumentMut, Item, Key, Table, TableLike};

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

/// The text with other values for these keys of a server. The rest of it stays byte for byte.
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
        expected[SERVERS][name][*key] = Form::Toml.read(&format!("it = {value}"))?["it"].take();
    }
    Form::Toml.proven(after, &expected)
}

fn with_key(text: &str, name: &str, key: &str, value: &str) -> Result<String, String> {
    let document = Document::parse(text).map_err(|error| not_toml(text, error.span(), error.message()))?;
    let server = table_of_servers(document.as_table())?.and_then(|servers| servers.get(name));
    let server = server.ok_or_else(|| format!("it has no server {name:?}"))?;
    let present = server.as_table_like().and_then(|table| table.get(key));
    let (place, written) = if let Some(present) = present {
        (present.span(), value.to_owned())
    } else if let Some(inline) = server.as_inline_table() {
        // Before its closing brace.
        let end = inline.span().map(|span| text[..span.end - 1].trim_end().len());
        (end.map(|end| end..end), format!(", {} = {value}", Key::new(key)))
    } else {
        let header = server.as_table().filter(|table| !table.is_dotted() && !table.is_implicit());
        let end = header.and_then(Table::span).map(|header| {
            let rest = &text[header.end..];
            header.end + rest.find('\n').map_or(rest.len(), |at| at + 1)
        });
        let before = if end.is_some_and(|end| !text[..end].ends_with('\n')) { line_end(text) } else { "" };
        (end.map(|end| end..end), format!("{before}{} = {value}{}", Key::new(key), line_end(text)))
    };
    let place = place.ok_or("it is written in a way that this command cannot change; change it by hand")?;
    let mut after = text.to_owned();
    after.replace_range(place, &written);
    Ok(after)
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
