//! Writing a JSON object member by member. The keys are ours, and hold nothing that must be escaped.

use crate::string;

/// An object that is being written.
pub(crate) struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    /// What stands before the next member.
    before: u8,
}

impl<'o> ObjectWriter<'o> {
    /// Begins an object behind what is there.
    pub(crate) fn begin(out: &'o mut Vec<u8>) -> ObjectWriter<'o> {
        ObjectWriter { out, before: b'{' }
    }

    /// Writes a key, behind which the caller writes the value.
    pub(crate) fn member(&mut self, key: &str) -> &mut Vec<u8> {
        self.out.push(std::mem::replace(&mut self.before, b','));
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Writes a member whose value is JSON text already; none if there is no value.
    pub(crate) fn json<'t>(mut self, key: &str, json: impl Into<Option<&'t str>>) -> ObjectWriter<'o> {
        if let Some(json) = json.into() {
            self.member(key).extend_from_slice(json.as_bytes());
        }
        self
    }

    /// Writes a member whose value is a string; none if there is no value.
    pub(crate) fn string<'t>(mut self, key: &str, text: impl Into<Option<&'t str>>) -> ObjectWriter<'o> {
        if let Some(text) = text.into() {
            string::encode(text, self.member(key));
        }
        self
    }

    /// Ends the object.
    pub(crate) fn end(self) {
        if self.before == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}

/// The text of an object that `write` has put together.
pub(crate) fn object_text(bytes: usize, write: impl FnOnce(ObjectWriter<'_>)) -> String {
    let mut out = Vec::with_capacity(bytes);
    write(ObjectWriter::begin(&mut out));
    String::from_utf8(out).expect("slices of text and encoded strings are UTF-8")
}
