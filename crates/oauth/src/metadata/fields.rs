//! `Fields`: a metadata document, read field by field; what has the wrong type is named.

use http::Uri;
use serde_json::{Map, Value};

use crate::error::{Failure, Reason};
use crate::location;

/// A metadata document. `null` and the empty text count as absent: several servers write them so.
pub(super) struct Fields<'a> {
    /// Whose it is, as the beginning of a sentence: "the metadata of https://…".
    pub(super) of: &'a str,
    /// The document.
    pub(super) object: &'a Map<String, Value>,
}

impl Fields<'_> {
    /// A text.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.wrong(key, "a text")),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Failure> {
        let items = match self.object.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong(key, "a list of texts")),
        };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>().map(Some).ok_or_else(|| self.wrong(key, "a list of texts"))
    }

    /// True or false; absent is false.
    pub(super) fn flag(&self, key: &str) -> Result<bool, Failure> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    /// An address that obeys the rules of [`location::endpoint`].
    pub(super) fn endpoint(&self, key: &str) -> Result<Option<Uri>, Failure> {
        match self.text(key)? {
            Some(text) => location::endpoint(&format!("{key} in {}", self.of), &text).map(Some),
            None => Ok(None),
        }
    }

    fn wrong(&self, key: &str, expected: &str) -> Failure {
        Failure::new(Reason::Other, format!("{key} in {} is not {expected}", self.of))
    }

    /// A part that it must have is not there.
    pub(super) fn lacks(&self, key: &str) -> Failure {
        Failure::new(Reason::Other, format!("{} has no {key}", self.of))
    }
}
