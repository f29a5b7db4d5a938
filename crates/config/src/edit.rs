//! Changing the configuration file by command: a server goes in or out, everything else stays byte for byte. What comes
//! out is read again and compared before anybody gets to see it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clients::{Form, Server, line_end, not_toml};
use serde_json::Value;
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
    let before = Document::parse(text).map_err(|error| not_toml(text, error.span(), error.message()))?;
    let Some((key, server)) =
        table_of_servers(before.as_table())?.and_then(|servers| servers.get_key_value(name))
    else {
        return Ok(None);
    };
    let mut spans = Vec::new();
    collect_spans(key.span(), server, &mut spans);
    let after = without_lines(text, &spans);
    let mut expected = Form::Toml.read(text)?;
    let root = expected.as_object_mut().expect("a text in TOML is a table");
    let servers = root.get_mut(SERVERS).and_then(Value::as_object_mut).expect("it has the server");
    servers.remove(name);
    // With its last server a table goes that has no header of its own.
    if servers.is_empty() && Form::Toml.read(&after).is_ok_and(|after| after.get(SERVERS).is_none()) {
        root.remove(SERVERS);
    }
    Form::Toml.proven(after, &expected).map(Some)
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

/// The places of an item in the text: each header with all up to its last value, and each value outside of these.
fn collect_spans(key: Option<Range<usize>>, item: &Item, spans: &mut Vec<Range<usize>>) {
    match item {
        Item::Value(value) => {
            let start = key.map(|key| key.start);
            spans.extend(value.span().map(|value| start.unwrap_or(value.start)..value.end));
        }
        Item::Table(table) => {
            let mut body = Vec::new();
            for (name, item) in table {
                let has_header = item.as_table().is_some_and(|table| !table.is_dotted());
                let spans = if has_header { &mut *spans } else { &mut body };
                collect_spans(table.key(name).and_then(Key::span), item, spans);
            }
            match table.span().filter(|_| !table.is_dotted() && !table.is_implicit()) {
                Some(header) => {
                    let end = body.iter().map(|span| span.end).max();
                    spans.push(header.start..end.unwrap_or(header.end));
                }
                None => spans.extend(body),
            }
        }
        // No key of a server is one.
        Item::ArrayOfTables(_) | Item::None => {}
    }
}

/// The text without the lines that the spans are on, and without the comment right above the first of them.
fn without_lines(text: &str, spans: &[Range<usize>]) -> String {
    let mut kept = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        match spans.iter().any(|span| span.start < end && start < span.end) {
            false => kept.push(line),
            true => {
                let is_header = line.trim_start().starts_with('[');
                while is_header && kept.last().is_some_and(|above| above.trim_start().starts_with('#')) {
                    kept.pop();
                }
                // What separated it from what was above.
                if is_header && kept.last().is_some_and(|above| above.trim().is_empty()) {
                    kept.pop();
                }
            }
        }
    }
    kept.concat()
}

#[cfg(test)]
mod tests;
