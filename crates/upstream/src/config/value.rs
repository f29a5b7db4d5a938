//! A setting that may be secret: written out, or a reference to where it is kept. Following a reference
//! is left to whoever reads the configuration.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A plain text, or where to find it. Prints as `***`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "must be a string, or one of `{ env = \"NAME\" }`, `{ file = \"PATH\" }` and `{ store = \"NAME\" }`"
)]
pub enum Value {
    /// The text itself.
    Plain(Box<str>),
    /// The text is kept elsewhere.
    Reference(Reference),
}

/// Where a text is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reference {
    /// In this environment variable: `{ env = "NAME" }`.
    Env(String),
    /// In this file: `{ file = "PATH" }`.
    File(String),
    /// Among the secrets that `toolcrib secrets set` keeps: `{ store = "NAME" }`.
    Store(String),
}

/// Why a reference was not followed, in a sentence about the place it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFollowed {
    /// The table cannot be used.
    Wrong(String),
    /// The table is right, and its server fails until what is missing is there.
    Missing(String),
}

impl Reference {
    /// What the text is called where it must not be shown: the name of the variable, the file or the secret.
    pub(crate) fn name(&self) -> &str {
        match self {
            Reference::Env(name) | Reference::Store(name) => name,
            Reference::File(path) => path.rsplit('/').next().unwrap_or(path),
        }
    }
}

impl Value {
    /// A text written out.
    pub fn plain(text: &str) -> Value {
        Value::Plain(text.into())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl JsonSchema for Value {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let reference = |kind: &str, what: &str| {
            json_schema!({
                "type": "object",
                "properties": { kind: { "type": "string", "description": what } },
                "required": [kind],
                "additionalProperties": false,
            })
        };
        json_schema!({
            "anyOf": [
                { "type": "string" },
                reference("env", "The environment variable that holds the value."),
                reference("file", "The file that holds the value."),
                reference("store", "The secret, set with `toolcrib secrets set`, that is the value."),
            ],
        })
    }
}
