//! A value of a rules file, and where it stands.

use serde_json::{Number, Value};

/// Largest rules file, in bytes. A rule is some hundred bytes.
pub const BYTES_MAX: u64 = 1024 * 1024;

/// Deepest nesting: a rules file needs six levels, a value that is set in arguments some more.
pub(super) const DEPTH_MAX: usize = 64;

/// Most values in one file.
pub(super) const NODES_MAX: usize = 20_000;

/// Where something stands in a text, counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// What makes a text no tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) what: String,
}

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) written: Written,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Member>),
}

/// A member of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) node: Node,
}

impl Node {
    /// What kind of value it is, for sentences.
    pub(crate) fn kind(&self) -> &'static str {
        match self.written {
            Written::Null => "null",
            Written::Bool(_) => "a boolean",
            Written::Number(_) => "a number",
            Written::Text(_) => "text",
            Written::List(_) => "a list",
            Written::Table(_) => "an object",
        }
    }

    /// The same without its places.
    pub(crate) fn to_json(&self) -> Value {
        match &self.written {
            Written::Null => Value::Null,
            Written::Bool(flag) => Value::Bool(*flag),
            Written::Number(number) => Value::Number(number.clone()),
            Written::Text(text) => Value::String(text.clone()),
            Written::List(items) => items.iter().map(Node::to_json).collect(),
            Written::Table(members) => {
                Value::Object(members.iter().map(|it| (it.name.clone(), it.node.to_json())).collect())
            }
        }
    }
}
