//! `Format`: the ways in which a manifest is written.

use std::ffi::OsStr;
use std::path::Path;

use schemars::SchemaGenerator;
use serde_json::Value;

use crate::grammar::plain;
use crate::manifest::Manifest;
use crate::unique::Unique;

/// What some editors write before a text, of which JSON knows nothing.
const MARK: char = '\u{feff}';

/// How a manifest is written, told by the ending of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.toml`
    Toml,
    /// `.json`
    Json,
    /// JSON that was made of something else: where something stands in it tells nobody anything.
    Value,
}

impl Format {
    /// That of a file; nothing for one that is no manifest.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension().and_then(OsStr::to_str)? {
            "toml" => Some(Format::Toml),
            "json" => Some(Format::Json),
            _ => None,
        }
    }

    /// Reads a manifest as it is written; whether it makes sense is for [`crate::tool`] to say. Gives what can be read of it, so
    /// that more can be said, and what is wrong, each with the key or the line.
    pub(crate) fn read(self, text: &str) -> (Option<Manifest>, Vec<String>) {
        let text = text.strip_prefix(MARK).unwrap_or(text);
        if text.trim().is_empty() {
            return (
                None,
                vec!["the file is empty; `toolcrib manifest new` writes one to begin with".to_owned()],
            );
        }
        let first = match self.read_strictly(text) {
            Ok(manifest) => return (Some(manifest), Vec::new()),
            Err(why) => why,
        };
        // That names one fault only. Of keys, all are named that are none or are missing.
        let mut written = match self.read_loosely(text) {
            Some(Value::Object(written)) => written,
            Some(_) => return (None, vec!["a manifest is one table: names with their values".to_owned()]),
            None => return (None, vec![first]),
        };
        let schema = SchemaGenerator::default().into_root_schema_for::<Manifest>().to_value();
        let unknown: Vec<String> =
            written.keys().filter(|key| schema["properties"].get(key.as_str()).is_none()).cloned().collect();
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing =
            required.filter(|key| !written.contains_key(*key)).map(|key| format!("missing field `{key}`"));
        let faults = unknown.iter().map(|key| format!("unknown field `{key}`")).chain(missing);
        let mut problems = vec![first];
        for fault in faults {
            if !problems[0].contains(&fault) {
                problems.push(fault);
            }
        }
        for key in &unknown {
            written.remove(key);
        }
        (serde_json::from_value(written.into()).ok(), problems)
    }

    fn read_strictly(self, text: &str) -> Result<Manifest, String> {
        match self {
            Format::Toml => {
                let table = toml::Deserializer::parse(text).map_err(|error| at_line(text, &error))?;
                serde_path_to_error::deserialize(table).map_err(|error| {
                    let key = error.path().to_string();
                    keyed(&key, &at_line(text, error.inner()))
                })
            }
            Format::Json | Format::Value => {
                let told = |error: &serde_json::Error| self.in_json(text, error);
                let mut json = serde_json::Deserializer::from_str(text);
                let read: Result<Manifest, _> = serde_path_to_error::deserialize(&mut json);
                let manifest =
                    read.map_err(|error| keyed(&error.path().to_string(), &told(error.inner())))?;
                json.end().map_err(|error| told(&error))?;
                // Last: the keys of a manifest have been looked at, and this is about what stands deeper, in a schema.
                serde_json::from_str::<Unique>(text).map_err(|error| told(&error))?;
                Ok(manifest)
            }
        }
    }

    /// What is wrong, in one line and with its place if that is somebody's.
    fn in_json(self, text: &str, error: &serde_json::Error) -> String {
        let (said, (mut line, mut column)) = (error.to_string(), (error.line(), error.column()));
        let said = said.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&said);
        if self == Format::Value || line == 0 {
            return plain(said);
        }
        if column == 0 {
            // Behind the end of the line before.
            line = line.saturating_sub(1).max(1);
            column = text.lines().nth(line - 1).map_or(0, |line| line.chars().count()) + 1;
        }
        format!("{} (line {line}, column {column})", plain(said))
    }

    /// Whatever is written there.
    fn read_loosely(self, text: &str) -> Option<Value> {
        match self {
            Format::Toml => toml::from_str(text).ok(),
            Format::Json | Format::Value => serde_json::from_str(text).ok(),
        }
    }
}

/// Reads any JSON that a person wrote.
///
/// # Errors
/// What is wrong with it, with its place.
pub fn json(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    serde_json::from_str(text).map_err(|error| Format::Json.in_json(text, &error))
}

fn keyed(key: &str, why: &str) -> String {
    if key == "." || key == "?" { why.to_owned() } else { format!("{key}: {why}") }
}

/// What is wrong, in one line and with its place.
fn at_line(text: &str, error: &toml::de::Error) -> String {
    let message = plain(error.message().lines().next().unwrap_or_default());
    match error.span() {
        Some(span) => {
            let (line, column) = sandbox::text_file::line_and_column(text, span.start);
            format!("{message} (line {line}, column {column})")
        }
        None => message,
    }
}
