//! The configuration as it was written: values that know where they stand. What the keys mean is left to
//! the schema and to the sections' owners.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A place in one of the files that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's number, in the order they were read.
    pub file: usize,
    /// Bytes before the place.
    pub byte: usize,
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub place: Place,
    pub written: Written,
}

/// A member of a table.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Where its key stands.
    pub key: Place,
    pub node: Node,
}

/// What was written.
#[derive(Debug, Clone)]
pub(crate) enum Written {
    Table(BTreeMap<String, Member>),
    List(Vec<Node>),
    Text(String),
    Integer(i64),
    /// A finite one.
    Float(serde_json::Number),
    Switch(bool),
    /// A date or a time, or a number beyond the range of 64 bits: nothing of ours is one.
    Other(&'static str),
}

impl Node {
    /// The empty configuration.
    pub(crate) fn nothing() -> Node {
        Node { place: Place { file: 0, byte: 0 }, written: Written::Table(BTreeMap::new()) }
    }

    /// The tree of a file that parsed.
    pub(crate) fn of(file: usize, table: &Spanned<DeTable<'_>>) -> Node {
        let place = Place { file, byte: table.span().start };
        Node { place, written: Written::Table(members(file, table.get_ref())) }
    }

    /// Lays `over` over this tree: tables are merged key by key, anything else is replaced.
    pub(crate) fn overlaid(self, over: Node) -> Node {
        match (self.written, over.written) {
            (Written::Table(mut under), Written::Table(members)) => {
                for (name, member) in members {
                    let node = match under.remove(&name) {
                        Some(below) => below.node.overlaid(member.node),
                        None => member.node,
                    };
                    under.insert(name, Member { key: member.key, node });
                }
                Node { place: over.place, written: Written::Table(under) }
            }
            (_, written) => Node { place: over.place, written },
        }
    }

    /// What is in it, if it is a table.
    pub(crate) fn table(&self) -> Option<&BTreeMap<String, Member>> {
        match &self.written {
            Written::Table(members) => Some(members),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn table_mut(&mut self) -> Option<&mut BTreeMap<String, Member>> {
        match &mut self.written {
            Written::Table(members) => Some(members),
            _ => None,
        }
    }

    /// The member of a table under this key.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        self.table()?.get(key)
    }

    /// The value to which these keys lead.
    pub(crate) fn at(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| Some(&node.member(key)?.node))
    }

    /// The same, to be changed.
    pub(crate) fn at_mut(&mut self, keys: &[&str]) -> Option<&mut Node> {
        keys.iter().try_fold(self, |node, key| Some(&mut node.table_mut()?.get_mut(*key)?.node))
    }

    /// The table in which `path` leads, made where it is missing; nothing if something else stands there.
    pub(crate) fn table_at(&mut self, path: &[&str], place: Place) -> Option<&mut BTreeMap<String, Member>> {
        let members = self.table_mut()?;
        let Some((first, rest)) = path.split_first() else { return Some(members) };
        let empty = || Member { key: place, node: Node { place, written: Written::Table(BTreeMap::new()) } };
        members.entry((*first).to_owned()).or_insert_with(empty).node.table_at(rest, place)
    }

    /// The keys that lead to what begins at this byte of its file.
    pub(crate) fn keys_at(&self, byte: usize) -> Option<Vec<&str>> {
        self.table()?.iter().find_map(|(name, member)| {
            let begins_here = member.key.byte == byte || member.node.place.byte == byte;
            // A table's own place may be that of its first key.
            let below = member.node.keys_at(byte).or_else(|| begins_here.then(Vec::new))?;
            Some([vec![name.as_str()], below].concat())
        })
    }

    /// Where the value at this path stands, or the nearest thing around it. List items go by their number.
    pub(crate) fn place_of<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Place {
        let mut node = self;
        for part in path {
            let next = match &node.written {
                Written::Table(members) => members.get(part).map(|member| &member.node),
                Written::List(items) => part.parse::<usize>().ok().and_then(|nth| items.get(nth)),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
        }
        node.place
    }

    /// The text that it is.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.written {
            Written::Text(text) => Some(text),
            _ => None,
        }
    }

    /// True if there is a value in it that nothing of ours is.
    pub(crate) fn has_other(&self) -> bool {
        match &self.written {
            Written::Table(members) => members.values().any(|member| member.node.has_other()),
            Written::List(items) => items.iter().any(Node::has_other),
            Written::Other(_) => true,
            Written::Text(_) | Written::Integer(_) | Written::Float(_) | Written::Switch(_) => false,
        }
    }

    /// The same without places, for the sections' own types.
    pub(crate) fn to_json(&self) -> Value {
        match &self.written {
            Written::Table(members) => Value::Object(
                members.iter().map(|(name, member)| (name.clone(), member.node.to_json())).collect(),
            ),
            Written::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Written::Text(text) => Value::String(text.clone()),
            Written::Integer(number) => Value::from(*number),
            Written::Float(number) => Value::Number(number.clone()),
            Written::Switch(on) => Value::Bool(*on),
            Written::Other(_) => Value::Null,
        }
    }

    /// What sort of value it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.written {
            Written::Table(_) => "a table",
            Written::List(_) => "a list",
            Written::Text(_) => "text",
            Written::Integer(_) => "a number",
            Written::Float(_) => "a number with a fraction",
            Written::Switch(_) => "true or false",
            Written::Other(kind) => kind,
        }
    }
}

fn members(file: usize, table: &DeTable<'_>) -> BTreeMap<String, Member> {
    let member = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let place = Place { file, byte: key.span().start };
        (key.get_ref().to_string(), Member { key: place, node: node(file, value) })
    };
    table.iter().map(member).collect()
}

fn node(file: usize, value: &Spanned<DeValue<'_>>) -> Node {
    let list = |items: &DeArray<'_>| items.iter().map(|item| node(file, item)).collect();
    let written = match value.get_ref() {
        DeValue::String(text) => Written::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Written::Integer(number),
            Err(_) => Written::Other("a number beyond 64 bits"),
        },
        DeValue::Float(number) => match number.as_str().parse().ok().and_then(serde_json::Number::from_f64) {
            Some(number) => Written::Float(number),
            None => Written::Other("a number without a finite value"),
        },
        DeValue::Boolean(on) => Written::Switch(*on),
        DeValue::Datetime(_) => Written::Other("a date or time"),
        DeValue::Array(items) => Written::List(list(items)),
        DeValue::Table(table) => Written::Table(members(file, table)),
    };
    Node { place: Place { file, byte: value.span().start }, written }
}
