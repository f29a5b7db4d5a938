//! The two forms of clients' files, JSON with comments and TOML: read into one kind of value, and changed at one place with
//! everything else kept as it is.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions};
use sandbox::text_file::line_and_column;
use serde::Serialize as _;
use serde_json::{Map, Value};
use toml_edit::ser::ValueSerializer;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// A file's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON; comments and trailing commas are allowed.
    Json,
    /// TOML.
    Toml,
}

/// What stands under a server's name in a client's file, in the client's own order.
pub type ClientEntry = Vec<(&'static str, Value)>;

/// Comments and trailing commas, which editors allow, and nothing else beyond JSON.
pub(crate) const LENIENT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl Form {
    /// The text as a value; an empty text is an empty table.
    ///
    /// # Errors
    /// A sentence with line and column.
    pub fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Form::Json => {
                let bare = without_mark(text);
                let read = jsonc_parser::parse_to_ast(bare, &CollectOptions::default(), &LENIENT);
                let value = read.map_err(|error| not_json(text, &error))?.value;
                Ok(value.map_or_else(|| Value::Object(Map::new()), Value::from))
            }
            Form::Toml => {
                let read = toml::from_str::<toml::Table>(text);
                let table = read.map_err(|error| not_toml(text, error.span(), error.message()))?;
                // Only dates are no JSON, and they become texts.
                Ok(serde_json::to_value(table).unwrap_or_default())
            }
        }
    }

    /// The entry alone, as it would be written into a file.
    ///
    /// # Errors
    /// None, unless the name cannot be written at all.
    pub fn shown(self, slot: &[&str], name: &str, written: &ClientEntry) -> Result<String, String> {
        match self {
            Form::Json => Ok(between_braces(&put_json("{}", &[], name, written)?)),
            Form::Toml => put_toml("", slot, name, written),
        }
    }

    /// The text with `written` under `name`, in the table that `slot` leads to; what was there is replaced.
    ///
    /// # Errors
    /// A sentence, if the text cannot be read or something else than a table is in the way.
    pub fn put(self, text: &str, slot: &[&str], name: &str, written: &ClientEntry) -> Result<String, String> {
        let after = match self {
            Form::Json => put_json(text, slot, name, written),
            Form::Toml => put_toml(text, slot, name, written),
        }?;
        let mut expected = self.read(text)?;
        // Whatever stands in the way of a table was refused above.
        let table = slot.iter().fold(&mut expected, |table, key| &mut table[*key]);
        table[name] = to_json(written);
        self.proven(after, &expected)
    }

    /// The text, if it says exactly what is expected.
    pub fn proven(self, text: String, expected: &Value) -> Result<String, String> {
        match self.read(&text) {
            Ok(found) if found == *expected => Ok(text),
            Ok(_) | Err(_) => {
                Err("it is written in a way that this command cannot change; change it by hand".to_owned())
            }
        }
    }
}

/// The text between the braces of a JSON object.
fn between_braces(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// What is written, as a value.
pub fn to_json(written: &ClientEntry) -> Value {
    written.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect::<Map<_, _>>().into()
}

/// Some editors begin a file with a byte order mark.
pub(crate) fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

fn put_json(text: &str, slot: &[&str], name: &str, written: &ClientEntry) -> Result<String, String> {
    let bare = without_mark(text);
    let root = CstRootNode::parse(bare, &LENIENT).map_err(|error| not_json(text, &error))?;
    let mut table = root.object_value_or_create().ok_or("it holds something else than a JSON object")?;
    for key in slot {
        table = table.object_value_or_create(key).ok_or_else(|| format!("`{key}` in it is no object"))?;
    }
    set(&table, name, written);
    Ok(format!("{}{root}", &text[..text.len() - bare.len()]))
}

fn set(table: &CstObject, name: &str, written: &ClientEntry) {
    let entry = written.iter().map(|(key, value)| ((*key).to_owned(), input(value))).collect();
    let value = CstInputValue::Object(entry);
    match table.get(name) {
        Some(found) => found.set_value(value),
        None => drop(table.append(name, value)),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Bool(switch) => (*switch).into(),
        Value::Null | Value::Number(_) | Value::Object(_) => CstInputValue::Null,
    }
}

fn put_toml(text: &str, slot: &[&str], name: &str, written: &ClientEntry) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| not_toml(text, error.span(), error.message()))?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in slot {
        if !table.contains_key(key) {
            let mut new = Table::new();
            new.set_implicit(true);
            table.insert(key, Item::Table(new));
        }
        table = table
            .get_mut(key)
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| format!("`{key}` in it is no table"))?;
    }
    let is_closed = table.iter().next().is_some_and(|(_, item)| item.is_inline_table());
    let mut new = Table::new();
    for (key, value) in written {
        let value = value.serialize(ValueSerializer::new()).map_err(|error| error.to_string())?;
        new.insert(key, Item::Value(value));
    }
    if let Some(old) = table.get(name).and_then(Item::as_table) {
        // The comment above it stays above it.
        *new.decor_mut() = old.decor().clone();
        new.set_position(old.position());
    }
    let item = if is_closed { toml_edit::value(new.into_inline_table()) } else { Item::Table(new) };
    table.insert(name, item);
    let mark = &text[..text.len() - without_mark(text).len()];
    Ok(format!("{mark}{}", document.to_string().replace('\n', line_end(text))))
}

pub(crate) fn not_json(text: &str, error: &ParseError) -> String {
    let skipped = text.len() - without_mark(text).len();
    let (line, column) = line_and_column(text, error.range().start + skipped);
    let what = error.kind().to_string();
    let mut letters = what.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    let what: String = first.into_iter().chain(letters).collect();
    format!("line {line}, column {column}: this is no JSON: {what}")
}

/// A text that is no TOML, with line and column.
pub fn not_toml(text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> String {
    let (line, column) = line_and_column(text, span.map_or(0, |span| span.start));
    format!("line {line}, column {column}: this is no TOML: {message}")
}

/// How the lines of a text end.
pub fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
