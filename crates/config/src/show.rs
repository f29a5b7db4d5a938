//! What is in effect and where it was set, as TOML with notes or as JSON. Secrets are shown as `***`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::check::resolved;
use crate::problem::{Source, spot};
use crate::secret;
use crate::tree::{Node, Place, Written};

/// A part of the configuration, ready to be shown.
enum Shown {
    Table(BTreeMap<String, Shown>),
    Value { value: Value, note: String },
}

/// Where what is shown comes from.
pub(crate) struct Show<'a> {
    /// The schema, for the defaults.
    pub schema: &'a Value,
    /// The files, for the places.
    pub sources: &'a [Source],
    /// Values that were worked out, by their dotted keys, in place of what was written.
    pub effective: BTreeMap<&'static str, String>,
}

impl Show<'_> {
    /// As a TOML file that a person can read: every value with the place it was set at.
    pub(crate) fn toml(&self, tree: &Node) -> String {
        let mut out = String::new();
        write_table(&self.shown(tree), &mut Vec::new(), &mut out);
        out
    }

    /// As a JSON object, for programs.
    pub(crate) fn json(&self, tree: &Node) -> Value {
        to_json(&self.shown(tree))
    }

    fn shown(&self, tree: &Node) -> Shown {
        let mut path = Vec::new();
        self.table(self.schema, Some(tree), &mut path)
    }

    fn table(&self, schema: &Value, node: Option<&Node>, path: &mut Vec<String>) -> Shown {
        let members = node.and_then(Node::table);
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let mut shown = BTreeMap::new();
        for name in properties.keys().chain(members.into_iter().flatten().map(|(name, _)| name)) {
            let inner = properties.get(name).unwrap_or(&schema["additionalProperties"]);
            let member = members.and_then(|members| members.get(name));
            path.push(name.clone());
            if let Some(value) = self.member(inner, member.map(|member| (&member.node, member.key)), path) {
                shown.insert(name.clone(), value);
            }
            path.pop();
        }
        Shown::Table(shown)
    }

    fn member(
        &self,
        outer: &Value,
        written: Option<(&Node, Place)>,
        path: &mut Vec<String>,
    ) -> Option<Shown> {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let schema = or_nothing(self.schema, outer);
        if let Some(text) = self.effective.get(keys.join(".").as_str()) {
            let note = written.map_or("default".to_owned(), |(_, key)| self.spot(key));
            return Some(Shown::Value { value: Value::String(text.clone()), note });
        }
        match written {
            Some((node, key)) if secret::is_secret(&keys) => {
                let note = format!("{}{}", self.spot(key), secret::origin(node));
                Some(Shown::Value { value: redact::MASK.into(), note })
            }
            Some((node, _)) if matches!(node.written, Written::Table(_)) => {
                Some(self.table(schema, Some(node), path))
            }
            Some((node, key)) => {
                let value = secret::without_credentials_at(&keys, node.to_json());
                Some(Shown::Value { value, note: self.spots(node, key) })
            }
            // A table that may be left out says something only if it is written.
            None if schema["properties"].is_object() => {
                (!may_be_nothing(outer)).then(|| self.table(schema, None, path))
            }
            None => {
                let default = outer.get("default").filter(|value| !value.is_null() && !value.is_object())?;
                Some(Shown::Value { value: default.clone(), note: "default".to_owned() })
            }
        }
    }

    /// Where a value was set; a list that two files have a share in, in both.
    fn spots(&self, node: &Node, key: Place) -> String {
        let items = if let Written::List(items) = &node.written { items.as_slice() } else { &[] };
        match items.iter().find(|item| item.place.file != key.file) {
            Some(item) => format!("{} and {}", self.spot(item.place), self.spot(key)),
            None => self.spot(key),
        }
    }

    fn spot(&self, place: Place) -> String {
        spot(self.sources, place).unwrap_or_default()
    }
}

/// Follows references, and looks through "this or nothing".
fn or_nothing<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let schema = resolved(root, schema);
    let mut something =
        schema["anyOf"].as_array().into_iter().flatten().filter(|choice| choice["type"] != "null");
    match (something.next(), something.next()) {
        (Some(only), None) => resolved(root, only),
        _ => schema,
    }
}

fn may_be_nothing(schema: &Value) -> bool {
    schema["anyOf"].as_array().is_some_and(|choices| choices.iter().any(|choice| choice["type"] == "null"))
}

fn to_json(shown: &Shown) -> Value {
    match shown {
        Shown::Table(members) => {
            Value::Object(members.iter().map(|(name, member)| (name.clone(), to_json(member))).collect())
        }
        Shown::Value { value, .. } => value.clone(),
    }
}

fn write_table(shown: &Shown, path: &mut Vec<String>, out: &mut String) {
    let Shown::Table(members) = shown else { return };
    let values: Vec<(String, &str)> = members
        .iter()
        .filter_map(|(name, member)| match member {
            Shown::Value { value, note } => {
                Some((format!("{} = {}", key(name), toml_text(value)), note.as_str()))
            }
            Shown::Table(_) => None,
        })
        .collect();
    if !values.is_empty() {
        let break_before = if out.is_empty() { "" } else { "\n" };
        let title: Vec<String> = path.iter().map(|part| key(part)).collect();
        let _ = writeln!(out, "{break_before}[{}]", title.join(".")); // memory takes every byte
    }
    let width = values.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    for (line, note) in values {
        let _ = writeln!(out, "{line:width$}  # {note}"); // memory takes every byte
    }
    for (name, member) in members {
        path.push(name.clone());
        write_table(member, path, out);
        path.pop();
    }
}

/// A key as TOML spells it.
fn key(name: &str) -> String {
    toml_edit::Key::new(name).display_repr().into_owned()
}

/// A value on one line, as TOML spells it.
fn toml_text(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |value| value.to_string())
}
