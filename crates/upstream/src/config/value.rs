//! A setting that may be secret: written out, or a reference to where it is kept. Following a reference
//! is left to whoever reads the configuration.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// A plain text, or where to find it. Prints as `***`.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "Written")]
#[schemars(inline)]
pub enum Value {
    /// The text itself.
    Plain(Box<str>),
    /// The text is kept elsewhere.
    #[schemars(skip)]
    Reference(Reference),
}

/// Where a text is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
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

#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "must be a string, or one of `{ env = \"NAME\" }`, `{ file = \"PATH\" }` and `{ store = \"NAME\" }`"
)]
#[schemars(inline)]
enum Written {
    Text(Box<str>),
    Env {
        /// The environment variable that holds the value.
        env: String,
    },
    File {
        /// The file that holds the value.
        file: String,
    },
    Store {
        /// The secret, set with `toolcrib secrets set`, that is the value.
        store: String,
    },
}

impl From<Written> for Value {
    fn from(written: Written) -> Value {
        Value::Reference(match written {
            Written::Text(text) => return Value::Plain(text),
            Written::Env { env } => Reference::Env(env),
            Written::File { file } => Reference::File(file),
            Written::Store { store } => Reference::Store(store),
        })
    }
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
