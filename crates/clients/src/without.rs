//! Taking an entry out of a file, JSON or TOML: everything else stays byte for byte, and what comes out is read again and
//! compared before anybody gets to see it.

use std::ops::Range;

use jsonc_parser::cst::CstRootNode;
use serde_json::Value;
use toml_edit::{Document, Item, Key, TableLike};

use crate::form::{Form, LENIENT, not_json, not_toml, without_mark};

/// What becomes of a comment right above a table that is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comment {
    /// It goes, too: the file is ours.
    Goes,
    /// It stays: the file is another's.
    Stays,
}

impl Form {
    /// The text without the entry of this name in the table that `keys` lead to; nothing if there is none.
    ///
    /// # Errors
    /// A sentence, with line and column if the text is broken.
    pub fn without(self, text: &str, keys: &[&str], name: &str) -> Result<Option<String>, String> {
        match self {
            Form::Json => without_json(text, keys, name),
            Form::Toml => without_toml(text, keys, name, Comment::Stays),
        }
    }
}

fn without_json(text: &str, keys: &[&str], name: &str) -> Result<Option<String>, String> {
    let bare = without_mark(text);
    let root = CstRootNode::parse(bare, &LENIENT).map_err(|error| not_json(text, &error))?;
    let table = keys.iter().try_fold(root.object_value(), |table, key| Some(table?.object_value(key)));
    let Some(entry) = table.flatten().and_then(|table| table.get(name)) else { return Ok(None) };
    entry.remove();
    let after = format!("{}{root}", &text[..text.len() - bare.len()]);
    let mut expected = Form::Json.read(text)?;
    remove(&mut expected, keys, name);
    Form::Json.proven(after, &expected).map(Some)
}

/// The TOML text without the table of this name in the one that `keys` lead to; nothing if there is none.
///
/// # Errors
/// A sentence, with line and column if the text is no TOML.
pub fn without_toml(
    text: &str,
    keys: &[&str],
    name: &str,
    comment: Comment,
) -> Result<Option<String>, String> {
    let before = Document::parse(text).map_err(|error| not_toml(text, error.span(), error.message()))?;
    let mut table: &dyn TableLike = before.as_table();
    for key in keys {
        let Some(inner) = table.get(key) else { return Ok(None) };
        table = inner.as_table_like().ok_or_else(|| format!("its `{key}` is no table"))?;
    }
    let Some((key, entry)) = table.get_key_value(name) else { return Ok(None) };
    let mut spans = Vec::new();
    collect_spans(key.span(), entry, &mut spans);
    let after = without_lines(text, &spans, comment);
    let mut expected = Form::Toml.read(text)?;
    remove(&mut expected, keys, name);
    // With its last entry a table goes that has no header of its own.
    let found = Form::Toml.read(&after).unwrap_or_default();
    for depth in (1..=keys.len()).rev() {
        let is_empty = at(&mut expected, &keys[..depth])
            .is_some_and(|table| *table == Value::Object([].into_iter().collect()));
        let is_gone = keys[..depth].iter().try_fold(&found, |table, key| table.get(key)).is_none();
        if is_empty && is_gone {
            remove(&mut expected, &keys[..depth - 1], keys[depth - 1]);
        }
    }
    Form::Toml.proven(after, &expected).map(Some)
}

fn at<'v>(root: &'v mut Value, keys: &[&str]) -> Option<&'v mut Value> {
    keys.iter().try_fold(root, |table, key| table.get_mut(key))
}

fn remove(root: &mut Value, keys: &[&str], name: &str) {
    if let Some(table) = at(root, keys).and_then(Value::as_object_mut) {
        table.remove(name);
    }
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

/// The text without the lines that the spans are on, and without the comment right above a header if that goes.
fn without_lines(text: &str, spans: &[Range<usize>], comment: Comment) -> String {
    let mut kept = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        match spans.iter().any(|span| span.start < end && start < span.end) {
            false => kept.push(line),
            true => {
                let is_header = line.trim_start().starts_with('[');
                let goes = is_header && comment == Comment::Goes;
                while goes && kept.last().is_some_and(|above| above.trim_start().starts_with('#')) {
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
