//! Where references lead within one schema, in all the ways that the validator follows: pointers, anchors, and the ids of
//! schemas within it. Whatever could be meant counts; one of which nothing can be meant, the validator refuses.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The places of one schema that can be referred to.
pub(super) struct References<'s> {
    root: &'s Value,
    objects: Vec<&'s Value>,
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
        let mut references =
            References { root, objects: Vec::new(), anchors: HashMap::new(), ids: Vec::new() };
        references.note(root);
        references
    }

    /// All that may be a part of the schema.
    pub(super) fn objects(&self) -> impl Iterator<Item = &'s Value> {
        self.objects.iter().copied()
    }

    /// Names may stand anywhere: a member that only looks like one costs nothing but room.
    fn note(&mut self, value: &'s Value) {
        match value {
            Value::Object(members) => {
                self.objects.push(value);
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

    /// Where this leads.
    pub(super) fn follow(&self, reference: &str) -> Led<'s> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let documents = self.documents(base);
        if documents.is_empty() && META_SCHEMAS.iter().any(|known| reference.starts_with(known)) {
            return Led::MetaSchema;
        }
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        Led::To(match &*fragment {
            "" => documents,
            pointer if pointer.starts_with('/') => {
                documents.into_iter().filter_map(|document| document.pointer(pointer)).collect()
            }
            anchor => self.anchors.get(anchor).cloned().unwrap_or_default(),
        })
    }

    /// Those whose id a relative or absolute address could be; of none, all: within which of them a reference stands
    /// decides which is meant.
    fn documents(&self, address: &str) -> Vec<&'s Value> {
        let last = |path: &str| {
            let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
            percent_decode_str(&last).decode_utf8_lossy().into_owned()
        };
        let is_meant = |id: &str| address.is_empty() || last(id) == last(address);
        let own = address.is_empty().then_some(self.root);
        own.into_iter()
            .chain(self.ids.iter().filter(|(id, _)| is_meant(id)).map(|(_, place)| *place))
            .collect()
    }
}
