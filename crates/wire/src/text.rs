//! Checked JSON text.

use std::borrow::Cow;

use bytes::Bytes;
use bytestring::ByteString;

use crate::object::Object;
use crate::{scan, string};

/// A piece of checked JSON text that shares the frame's memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(ByteString);

impl Text {
    /// Checks `bytes` and keeps them.
    pub fn check(bytes: Bytes) -> Result<Text, scan::Fault> {
        let text = ByteString::try_from(bytes).map_err(|error| scan::Fault::Utf8(error.valid_up_to()))?;
        scan::check_text(&text)?;
        Ok(Text(text))
    }

    /// Takes bytes that were part of a checked text before, such as a listing or a result on its way through; nothing
    /// if they are no UTF-8 after all.
    pub fn known(bytes: Bytes) -> Option<Text> {
        ByteString::try_from(bytes).ok().map(Text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same bytes, shared.
    pub fn bytes(&self) -> Bytes {
        self.0.as_bytes().clone()
    }

    /// The bytes themselves.
    pub fn into_bytes(self) -> Bytes {
        self.0.into_bytes()
    }

    /// A part of this text, sharing its memory. `part` must be a slice of it.
    pub fn slice(&self, part: &str) -> Text {
        Text(self.0.slice_ref(part))
    }

    /// What a string in this text says; the memory is shared unless escapes spell it. Nothing for a value of
    /// another kind. `value` must be a slice of this text.
    pub(crate) fn string(&self, value: &str) -> Option<ByteString> {
        Some(match string::decode_if_string(value)? {
            Cow::Borrowed(text) => self.0.slice_ref(text),
            Cow::Owned(text) => ByteString::from(text),
        })
    }

    /// A text of ours that was put together from checked pieces and is not checked again.
    pub(crate) fn from_checked(text: String) -> Text {
        debug_assert!(scan::check_text(&text).is_ok(), "put together wrongly");
        Text(ByteString::from(text))
    }

    /// The text itself, shared.
    pub(crate) fn into_inner(self) -> ByteString {
        self.0
    }

    /// The text as an object, if it is one.
    pub fn object(&self) -> Option<Object<'_>> {
        Object::parse(self.as_str())
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Text({} bytes)", self.0.len())
    }
}
