//! The texts of a table with their references followed.

use serde_json::Value as Json;

use super::super::expand::{self, Part};
use super::Check;
use crate::config::{Reference, Value};

/// What a text may refer to.
#[derive(Debug, Clone, Copy)]
pub(super) enum May {
    /// Environment variables and files.
    Everything,
    /// Environment variables alone; who writes a file there is told this.
    Variables(&'static str),
}

/// Variables that every program inherits; what they say is no secret, and messages without it would puzzle.
const COMMON: [&str; 7] = ["HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "LANG"];

impl Check<'_> {
    /// `text` with its references followed; nothing if that could not be, or was not to be done.
    pub(super) fn text(&mut self, key: &str, text: &str, may: May) -> Option<String> {
        let parts = match expand::parts(text) {
            Ok(parts) => parts,
            Err(why) => {
                self.wrong(key, why);
                return None;
            }
        };
        let mut whole = Some(String::with_capacity(text.len()));
        for part in parts {
            let piece = match part {
                Part::Plain(text) => Some(text.to_owned()),
                Part::Reference(reference) => self.allowed(key, &reference, may),
            };
            whole = whole.zip(piece).map(|(whole, piece)| whole + &piece);
        }
        whole
    }

    fn allowed(&mut self, key: &str, reference: &Reference, may: May) -> Option<String> {
        match (reference, may) {
            (Reference::File(_), May::Variables(why)) => {
                self.wrong(key, why);
                None
            }
            _ => self.followed(key, reference),
        }
    }

    fn followed(&mut self, key: &str, reference: &Reference) -> Option<String> {
        if !self.follow {
            return None;
        }
        match (self.look_up)(reference) {
            Ok(text) => {
                if !matches!(reference, Reference::Env(name) if COMMON.contains(&name.as_str())) {
                    self.secrets.push(text.as_str().into());
                }
                Some(text)
            }
            Err(why) => {
                self.wrong(key, why);
                None
            }
        }
    }

    /// What a value says, written out or kept elsewhere.
    pub(super) fn value(&mut self, key: &str, value: &Value) -> Option<String> {
        match value {
            Value::Plain(text) => self.text(key, text, May::Everything),
            Value::Reference(reference) => self.followed(key, reference),
        }
    }

    /// A value with the references in its texts followed.
    pub(super) fn json(&mut self, key: &str, value: &Json, may: May) -> Json {
        match value {
            Json::String(text) => self.text(key, text, may).map_or(Json::Null, Json::String),
            Json::Array(items) => items.iter().map(|item| self.json(key, item, may)).collect(),
            Json::Object(members) => {
                members.iter().map(|(name, member)| (name.clone(), self.json(key, member, may))).collect()
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
