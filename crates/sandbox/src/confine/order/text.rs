//! Words of an order as JSON: text where they are text. Serde makes numbers of their bytes, three or four letters for each, and an order from the
//! pool is read twice.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Rule;

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Word {
    Text(String),
    /// It is not UTF-8.
    Bytes(Vec<u8>),
}

/// What is or holds such words, and how it is written.
pub(super) trait Written: Clone {
    type Form: Serialize + DeserializeOwned;

    fn form(self) -> Self::Form;
    fn of(form: Self::Form) -> Self;
}

impl Written for OsString {
    type Form = Word;

    fn form(self) -> Word {
        self.into_string().map_or_else(|odd| Word::Bytes(odd.into_vec()), Word::Text)
    }

    fn of(word: Word) -> OsString {
        match word {
            Word::Text(text) => text.into(),
            Word::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

impl Written for Rule {
    type Form = Rule;

    fn form(self) -> Rule {
        self
    }

    fn of(rule: Rule) -> Rule {
        rule
    }
}

impl<A: Written, B: Written> Written for (A, B) {
    type Form = (A::Form, B::Form);

    fn form(self) -> Self::Form {
        (self.0.form(), self.1.form())
    }

    fn of((a, b): Self::Form) -> (A, B) {
        (A::of(a), B::of(b))
    }
}

impl<W: Written> Written for Vec<W> {
    type Form = Vec<W::Form>;

    fn form(self) -> Self::Form {
        self.into_iter().map(W::form).collect()
    }

    fn of(forms: Self::Form) -> Vec<W> {
        forms.into_iter().map(W::of).collect()
    }
}

pub(super) fn serialize<W: Written, S: Serializer>(written: &W, serializer: S) -> Result<S::Ok, S::Error> {
    written.clone().form().serialize(serializer)
}

pub(super) fn deserialize<'d, W: Written, D: Deserializer<'d>>(deserializer: D) -> Result<W, D::Error> {
    W::Form::deserialize(deserializer).map(W::of)
}
