//! Where references lead within one schema, in all the ways that the validator follows: pointers, anchors, and the ids of
//! schemas within it. Whatever could be meant counts; one of which nothing can be meant cannot be counted.

use std::collections::HashMap;

use serde_json::Value;

/// The places of one schema that can be referred to by a name.
pub(super) struct References<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    ids: Vec<(&'s str, &'s Value)>,
}

/// The schemas of drafts, which every validator knows: they refer to nothing but themselves.
const META_SCHEMAS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// Where a reference leads.
pub(super) enum Led<'s> {
    /// To these, one of which is meant.
    To(Vec<&'s Value>),
    /// To the schema of a draft.
    MetaSchema,
}

impl<'s> References<'s> {
    pub(super) fn of(root: &'s Value) -> References<'s> {
        let mut references = References { root, anchors: HashMap::new(), ids: Vec::new() };
        references.note(root);
        references
    }

    /// Names may stand anywhere: a member that only looks like one costs nothing but room.
    fn note(&mut self, value: &'s Value) {
        match value {
            Value::Object(members) => {
                let text = |key: &str| members.get(key).and_then(Value::as_str);
                for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                    self.anchors.entry(anchor).or_default().push(value);
                }
                if let Some(id) = text("$id") {
                    let (base, fragment) = id.split_once('#').unwrap_or((id, ""));
                    self.ids.push((base, value));
                    // Drafts before 2019-09 name places so.
                    self.anchors.entry(fragment).or_default().push(value);
                }
                members.values().for_each(|member| self.note(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.note(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Where this leads; nothing if that cannot be told.
    pub(super) fn follow(&self, reference: &str) -> Option<Led<'s>> {
        if META_SCHEMAS.iter().any(|known| reference.starts_with(known))
            && self.documents(reference).is_empty()
        {
            return Some(Led::MetaSchema);
        }
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = decoded(fragment)?;
        let documents = if base.is_empty() { self.all_documents() } else { self.documents(base) };
        let places: Vec<&Value> = match fragment.as_str() {
            "" => documents,
            pointer if pointer.starts_with('/') => {
                documents.into_iter().filter_map(|document| document.pointer(pointer)).collect()
            }
            anchor => self.anchors.get(anchor).cloned().unwrap_or_default(),
        };
        (!places.is_empty()).then_some(Led::To(places))
    }

    /// Within which of them a reference stands decides which is meant; here each could be.
    fn all_documents(&self) -> Vec<&'s Value> {
        std::iter::once(self.root).chain(self.ids.iter().map(|(_, document)| *document)).collect()
    }

    /// Those whose id a relative or absolute address could be.
    fn documents(&self, address: &str) -> Vec<&'s Value> {
        let address = address.split_once('#').map_or(address, |(base, _)| base);
        let last = |path: &str| {
            path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
        };
        let is_meant = |id: &str| decoded(&last(id)) == decoded(&last(address));
        self.ids.iter().filter(|(id, _)| is_meant(id)).map(|(_, document)| *document).collect()
    }
}

/// A text with its percent-encoded bytes; nothing if they are no text.
fn decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let encoded = (byte == b'%').then(|| after.get(..2)).flatten();
        let digits =
            encoded.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(digits.unwrap_or(byte));
        rest = if digits.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}
