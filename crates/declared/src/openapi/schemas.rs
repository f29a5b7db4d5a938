//! `Schemas`: schemas of an OpenAPI document as JSON Schemas that stand by themselves: what they refer to comes along, and what
//! OpenAPI 3.0 says in its own way is said as JSON Schema says it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Where a document keeps them, and where a schema keeps its own.
const KEPT: &str = "#/components/schemas/";
const DEFS: &str = "$defs";

/// Deeper than any schema that a person has written.
const DEPTH_MAX: usize = 64;

/// Which way a value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the server, which says itself what is `readOnly`.
    Sent,
    /// From it.
    Received,
}

/// Those of one whole schema.
pub(super) struct Schemas<'d> {
    document: &'d Value,
    direction: Direction,
    /// Those that were referred to, by their names.
    defined: BTreeMap<String, Value>,
    /// What is referred to and is not in the document.
    lost: Vec<String>,
}

impl<'d> Schemas<'d> {
    pub(super) fn of(document: &'d Value, direction: Direction) -> Schemas<'d> {
        Schemas { document, direction, defined: BTreeMap::new(), lost: Vec::new() }
    }

    /// A sentence for each that is referred to and is not in the document.
    pub(super) fn lost(&self) -> impl Iterator<Item = String> {
        self.lost.iter().map(|lost| format!("{lost} is not in the document: any value is taken in its place"))
    }

    /// A schema that stands by itself, with the keys of what it refers to at its top.
    pub(super) fn whole(&mut self, schema: &Value) -> Value {
        let mut whole = self.part(schema);
        for _ in 0..DEPTH_MAX {
            let Some(name) = whole["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) else { break };
            whole = self.defined.get(name).cloned().unwrap_or_default();
        }
        if whole.is_object() && !self.defined.is_empty() {
            whole[DEFS] = json!(self.defined);
        }
        whole
    }

    /// A part of one, to which what it refers to is added by [`Schemas::define_in`].
    pub(super) fn part(&mut self, schema: &Value) -> Value {
        self.converted(schema, 0)
    }

    pub(super) fn define_in(self, schema: &mut Value) {
        if !self.defined.is_empty() {
            schema[DEFS] = json!(self.defined);
        }
    }

    fn converted(&mut self, schema: &Value, depth: usize) -> Value {
        let Value::Object(members) = schema else { return schema.clone() };
        if depth > DEPTH_MAX {
            return json!({});
        }
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return self.referred(reference, depth);
        }
        // What stands there is said where it is referred to from, which no schema by itself knows: any value is good.
        if members.contains_key("$dynamicRef") {
            return json!({});
        }
        let mut converted = Map::new();
        for (key, value) in members {
            let value = match (key.as_str(), value) {
                ("properties" | "patternProperties", Value::Object(all)) => all
                    .iter()
                    .map(|(name, one)| (name.clone(), self.converted(one, depth + 1)))
                    .collect::<Map<_, _>>()
                    .into(),
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "contains"
                    | "propertyNames"
                    | "if"
                    | "then"
                    | "else",
                    one,
                ) => self.converted(one, depth + 1),
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => {
                    all.iter().map(|one| self.converted(one, depth + 1)).collect()
                }
                // Words of OpenAPI alone, and samples that no longer fit what is left.
                ("nullable" | "discriminator" | "xml" | "externalDocs" | "example" | "examples", _)
                // Names in the document, which this is taken out of.
                | ("$id" | "$anchor" | "$dynamicAnchor" | "$schema" | DEFS, _) => continue,
                (extension, _) if extension.starts_with("x-") => continue,
                (_, value) => value.clone(),
            };
            converted.insert(key.clone(), value);
        }
        bounds(&mut converted);
        if members.get("nullable") == Some(&Value::Bool(true)) {
            nullable(&mut converted);
        }
        self.without_others(&mut converted);
        Value::Object(converted)
    }

    fn referred(&mut self, reference: &str, depth: usize) -> Value {
        let schemas = &self.document["components"]["schemas"];
        let Some((name, schema)) =
            reference.strip_prefix(KEPT).and_then(|name| Some((name, schemas.get(name)?)))
        else {
            if !self.lost.iter().any(|lost| lost == reference) {
                self.lost.push(reference.to_owned());
            }
            return json!({});
        };
        if !self.defined.contains_key(name) {
            // First of all: it may refer to itself.
            self.defined.insert(name.to_owned(), Value::Null);
            let converted = self.converted(schema, depth + 1);
            self.defined.insert(name.to_owned(), converted);
        }
        json!({ "$ref": format!("#/{DEFS}/{name}") })
    }

    /// Takes out what only the other side says.
    fn without_others(&self, schema: &mut Map<String, Value>) {
        let word = match self.direction {
            Direction::Sent => "readOnly",
            Direction::Received => "writeOnly",
        };
        let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
        let others: Vec<String> =
            properties.iter().filter(|(_, one)| one[word] == true).map(|(name, _)| name.clone()).collect();
        for name in &others {
            properties.remove(name);
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| !others.iter().any(|other| name == other.as_str()));
        }
    }
}

/// In 3.0 a boolean says that a bound itself is excluded.
fn bounds(schema: &mut Map<String, Value>) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match schema.get(exclusive) {
            Some(Value::Bool(true)) => {
                let bound = schema.remove(bound);
                schema.remove(exclusive);
                schema.extend(bound.map(|bound| (exclusive.to_owned(), bound)));
            }
            Some(Value::Bool(false)) => drop(schema.remove(exclusive)),
            _ => {}
        }
    }
}

/// In 3.0 a word beside the type says that there may be nothing.
fn nullable(schema: &mut Map<String, Value>) {
    if let Some(Value::String(kind)) = schema.get("type") {
        let either = json!([kind, "null"]);
        schema.insert("type".to_owned(), either);
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
}
