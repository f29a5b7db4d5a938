//! The texts of a table with their references followed.

use serde_json::Value as Json;

use super::super::expand::{self, Part};
use super::Check;
use crate::config::{NotFollowed, Reference, Value};
use crate::settings::named::{
    is_ordinary, is_path, is_setting, looks_secret, secrets_in_address, sounds_secret,
};
use crate::settings::workspace_words::{WORKSPACE, WorkspaceWords};

/// What a text may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    /// Environment variables, files and kept secrets.
    Everything,
    /// Environment variables alone; who refers to a file or a secret there is told this.
    Variables(&'static str),
}

/// Variables that every program inherits; what they say is no secret, and messages without it would puzzle.
const COMMON: [&str; 7] = ["HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "LANG"];

/// How a reference is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// As a value of its own, which is how a secret is referred to.
    Alone,
    /// Within a text, where anything may be taken from the environment.
    WithinText,
}

/// Whether the text that the reference at `key` led to is a secret that nobody may see, in the results of other servers
/// either. An ordinary word that were taken for one would be struck out everywhere.
fn is_secret(key: &str, reference: &Reference, text: &str, stands: Stands) -> bool {
    let sounds = |name: &str| sounds_secret(name) || sounds_secret(key);
    match (reference, stands) {
        (Reference::File(_) | Reference::Store(_), _) => true,
        (Reference::Env(name), Stands::Alone) if sounds(name) => !is_setting(text),
        (Reference::Env(_), Stands::Alone) => !is_ordinary(text),
        (Reference::Env(name), Stands::WithinText) => {
            (sounds(name) && !is_setting(text) && !is_path(text)) || looks_secret(text)
        }
    }
}

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
        let stands =
            if parts.len() == 1 && may == May::Everything { Stands::Alone } else { Stands::WithinText };
        let mut whole = Some(String::with_capacity(text.len()));
        for part in parts {
            let piece = match part {
                Part::Plain(text) => Some(text.to_owned()),
                Part::Workspace => self.workspace(key, whole.as_deref()),
                Part::Reference(reference) => self.allowed(key, &reference, may, stands),
            };
            whole = whole.zip(piece).map(|(whole, piece)| whole + &piece);
        }
        whole
    }

    /// What stands for the workspace's folder until that is known, behind what is there of the text.
    fn workspace(&mut self, key: &str, before: Option<&str>) -> Option<String> {
        if !WorkspaceWords::may_stand_at(key) {
            self.wrong(key, format!("`{WORKSPACE}` may stand in `args`, `cwd`, `env` and the paths of `sandbox` alone; `${WORKSPACE}` is the text itself"));
            return None;
        }
        self.workspace.note(key, before?.len());
        Some(WORKSPACE.to_owned())
    }

    fn allowed(&mut self, key: &str, reference: &Reference, may: May, stands: Stands) -> Option<String> {
        match (reference, may) {
            (Reference::File(_) | Reference::Store(_), May::Variables(why)) => {
                self.wrong(key, why);
                None
            }
            _ => self.followed(key, reference, stands),
        }
    }

    fn followed(&mut self, key: &str, reference: &Reference, stands: Stands) -> Option<String> {
        if !self.follow {
            return None;
        }
        match (self.look_up)(reference) {
            Ok(text) => {
                if !matches!(reference, Reference::Env(name) if COMMON.contains(&name.as_str())) {
                    self.secrets.push(text.as_str().into());
                    if is_secret(key, reference, &text, stands) {
                        self.named.add(reference.name(), &text);
                    } else if stands == Stands::Alone && !text.is_empty() {
                        self.named.add_ordinary(reference.name());
                    }
                }
                Some(text)
            }
            Err(NotFollowed::Wrong(why)) => {
                self.wrong(key, why);
                None
            }
            Err(NotFollowed::Missing(why)) => {
                self.lacks.get_or_insert_with(|| format!("{}.{key}: {why}", self.table).into());
                None
            }
        }
    }

    /// What a value says, written out or kept elsewhere.
    pub(super) fn value(&mut self, key: &str, value: &Value) -> Option<String> {
        match value {
            Value::Plain(text) => self.text(key, text, May::Everything),
            Value::Reference(reference) => self.followed(key, reference, Stands::Alone),
        }
    }

    /// What a value says that is sent under `name`: as a variable or a header.
    pub(super) fn value_named(&mut self, key: &str, name: &str, value: &Value) -> Option<String> {
        let text = self.value(key, value)?;
        if matches!(value, Value::Plain(_)) && sounds_secret(name) && !is_path(&text) {
            // Of `Bearer KEY` the key alone is the secret.
            let secret = text.rsplit(' ').next().unwrap_or(&text);
            if !self.named.has(secret) && !is_setting(secret) {
                self.named.add(name, secret);
            }
        }
        self.address_named(name, &text);
        Some(text)
    }

    /// Notes what is secret in a text that is an address.
    pub(super) fn address_named(&mut self, name: &str, text: &str) {
        for secret in secrets_in_address(text).filter(|_| self.follow) {
            if !self.named.has(secret) {
                self.named.add(name, secret);
            }
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
