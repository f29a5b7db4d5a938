//! A schema as far as its cost is concerned: which parts look at the same value, and which at what is within it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::patterns::states_of;
use super::references::{Led, References};

/// Most pairs of a part and a value that are counted: each takes some 100 ns.
const PAIRS_MAX: usize = 200_000;

/// How often the schema of a draft looks at one value, about.
const LOOKS_OF_META_SCHEMA: u64 = 100;

/// Which part, by its place in the plan.
type Part = usize;

/// One part of a schema.
#[derive(Debug, Default)]
struct Node {
    /// How often it looks at a value by itself.
    looks: u64,
    /// Parts that look at the same value.
    in_place: Vec<Part>,
    /// True if it has the same value looked at once more, to learn what has been looked at.
    twice: bool,
    /// By the names of members.
    named: HashMap<Box<str>, Part>,
    /// For members that are not named.
    others: Option<Part>,
    /// For every member and every item besides.
    each: Vec<Part>,
    /// For items by their place, and for the rest.
    placed: Vec<Part>,
    items: Option<Part>,
}

/// All parts; the first is the whole.
#[derive(Debug)]
pub(super) struct Plan {
    nodes: Vec<Node>,
    /// States of the largest pattern.
    pub(super) states: u64,
}

impl Plan {
    /// Reads a schema.
    ///
    /// # Errors
    /// A reference whose cost cannot be counted.
    pub(super) fn of(schema: &Value) -> Result<Plan, String> {
        let mut reading = Reading {
            references: References::of(schema),
            plan: Plan { nodes: Vec::new(), states: 0 },
            known: HashMap::new(),
        };
        reading.part(schema)?;
        Ok(reading.plan)
    }

    /// How often it looks at one value at most, however deep that lies, if that does not depend on the depth.
    pub(super) fn looks(&self) -> Option<u64> {
        Looks { plan: self, known: HashMap::new(), open: HashSet::new() }.of(0)
    }

    /// How often it looks at all there is in a document, as an upper bound; the largest number if that is too much to
    /// be counted.
    pub(super) fn looks_at(&self, document: &Value) -> u64 {
        Counting { plan: self, known: HashMap::new(), open: HashSet::new() }.of(0, document)
    }
}

/// Schemas that apply to the same place as the one they stand in.
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
/// Lists of such schemas.
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Such schemas by the names of members.
const IN_PLACE_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
/// References to such schemas.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// What applies to members or items besides what is meant for them.
const EACH: [&str; 2] = ["contains", "propertyNames"];
/// What applies to those that nothing else has looked at, for which all else is asked once more.
const UNEVALUATED: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

struct Reading<'s> {
    references: References<'s>,
    plan: Plan,
    /// By the schema's address.
    known: HashMap<*const Value, Part>,
}

impl<'s> Reading<'s> {
    fn part(&mut self, schema: &'s Value) -> Result<Part, String> {
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*known);
        }
        let part = self.plan.nodes.len();
        self.plan.nodes.push(Node { looks: 1, ..Node::default() });
        self.known.insert(schema, part);
        if let Value::Object(members) = schema {
            let node = self.node(members)?;
            self.plan.nodes[part] = node;
        }
        Ok(part)
    }

    fn parts(&mut self, schemas: impl IntoIterator<Item = &'s Value>) -> Result<Vec<Part>, String> {
        schemas.into_iter().map(|schema| self.part(schema)).collect()
    }

    fn node(&mut self, members: &'s Map<String, Value>) -> Result<Node, String> {
        let list = |key: &str| members.get(key).and_then(Value::as_array).into_iter().flatten();
        let table = |key: &str| members.get(key).and_then(Value::as_object).into_iter().flatten();
        let patterns = table("patternProperties").map(|(pattern, _)| pattern.as_str());
        for pattern in patterns.chain(members.get("pattern").and_then(Value::as_str)) {
            self.plan.states = self.plan.states.max(states_of(pattern));
        }
        let mut node = Node { looks: 1 + list("enum").count() as u64, ..Node::default() };
        node.in_place = self.parts(IN_PLACE.into_iter().filter_map(|key| members.get(key)))?;
        node.in_place.extend(self.parts(IN_PLACE_LISTS.into_iter().flat_map(list))?);
        node.in_place
            .extend(self.parts(IN_PLACE_NAMED.into_iter().flat_map(table).map(|(_, schema)| schema))?);
        for reference in REFERENCES.into_iter().filter_map(|key| members.get(key)?.as_str()) {
            match self.references.follow(reference) {
                Some(Led::To(places)) => {
                    let parts = self.parts(places)?;
                    node.in_place.extend(parts);
                }
                Some(Led::MetaSchema) => node.looks += LOOKS_OF_META_SCHEMA,
                None => return Err(format!("it refers to {reference:?}, which is not within it")),
            }
        }
        for (name, schema) in table("properties") {
            let part = self.part(schema)?;
            node.named.insert(name.as_str().into(), part);
        }
        node.each = self.parts(table("patternProperties").map(|(_, schema)| schema))?;
        let besides = EACH.into_iter().chain(UNEVALUATED).filter_map(|key| members.get(key));
        node.each.extend(self.parts(besides)?);
        node.twice = UNEVALUATED.into_iter().any(|key| members.contains_key(key));
        node.others = members.get("additionalProperties").map(|schema| self.part(schema)).transpose()?;
        node.placed = self.parts(list("prefixItems").chain(list("items")))?;
        let rest = members.get("items").filter(|items| !items.is_array()).or(members.get("additionalItems"));
        node.items = rest.map(|schema| self.part(schema)).transpose()?;
        Ok(node)
    }
}

/// Counts the looks at one value without having one.
struct Looks<'p> {
    plan: &'p Plan,
    known: HashMap<Part, u64>,
    open: HashSet<Part>,
}

impl Looks<'_> {
    /// Nothing if a part leads back to itself.
    fn of(&mut self, part: Part) -> Option<u64> {
        if let Some(known) = self.known.get(&part) {
            return Some(*known);
        }
        if !self.open.insert(part) {
            return None;
        }
        let node = &self.plan.nodes[part];
        let mut in_place: u64 = 0;
        for other in &node.in_place {
            in_place = in_place.saturating_add(self.of(*other)?);
        }
        if node.twice {
            in_place = in_place.saturating_mul(2);
        }
        // Where one of several applies, the dearest counts.
        let mut below: u64 = 0;
        for one in node.named.values().chain(&node.others).chain(&node.placed).chain(&node.items) {
            below = below.max(self.of(*one)?);
        }
        for each in &node.each {
            below = below.saturating_add(self.of(*each)?);
        }
        let looks = node.looks.saturating_add(in_place).max(in_place.saturating_add(below));
        self.open.remove(&part);
        self.known.insert(part, looks);
        Some(looks)
    }
}

/// Counts the looks at a document.
struct Counting<'p> {
    plan: &'p Plan,
    /// By the part and the value's address.
    known: HashMap<(Part, *const Value), u64>,
    open: HashSet<(Part, *const Value)>,
}

impl Counting<'_> {
    fn of(&mut self, part: Part, value: &Value) -> u64 {
        let pair = (part, std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        if self.known.len() + self.open.len() >= PAIRS_MAX {
            return u64::MAX;
        }
        // A reference that leads back to itself at the same value: the validator stops there, too.
        if !self.open.insert(pair) {
            return 1;
        }
        let node = &self.plan.nodes[part];
        let mut sum =
            node.in_place.iter().fold(0_u64, |sum, other| sum.saturating_add(self.of(*other, value)));
        if node.twice {
            sum = sum.saturating_mul(2);
        }
        sum = sum.saturating_add(node.looks).saturating_add(self.within(node, value));
        self.open.remove(&pair);
        self.known.insert(pair, sum);
        sum
    }

    fn within(&mut self, node: &Node, value: &Value) -> u64 {
        let mut sum: u64 = 0;
        let mut add = |parts: &mut dyn Iterator<Item = &Part>, value: &Value| {
            for part in parts {
                sum = sum.saturating_add(self.of(*part, value));
            }
        };
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    add(&mut node.named.get(name.as_str()).or(node.others.as_ref()).into_iter(), member);
                    add(&mut node.each.iter(), member);
                }
            }
            Value::Array(items) => {
                for (nth, item) in items.iter().enumerate() {
                    add(&mut node.placed.get(nth).or(node.items.as_ref()).into_iter(), item);
                    add(&mut node.each.iter(), item);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, looks: Option<u64>) {
        assert_eq!(Plan::of(&schema).expect("it can be counted").looks(), looks, "{schema}");
    }

    #[test]
    fn what_applies_to_one_place_adds_up_and_what_is_chosen_from_does_not() {
        check(json!(true), Some(1));
        check(json!({ "properties": { "a": {}, "b": {}, "c": {} } }), Some(1));
        check(json!({ "anyOf": [{}, {}, {}] }), Some(4));
        check(json!({ "items": { "anyOf": [{}, {}, {}] } }), Some(4));
        check(
            json!({ "anyOf": [{ "items": { "oneOf": [{}, {}] } }, { "items": { "oneOf": [{}, {}] } }] }),
            Some(7),
        );
        check(json!({ "enum": [1, 2, 3] }), Some(4));
        check(json!({ "patternProperties": { "a": {}, "b": {} }, "additionalProperties": {} }), Some(3));
        check(json!({ "$defs": { "a": { "allOf": [{}, {}] } }, "$ref": "#/$defs/a" }), Some(4));
        check(json!({ "allOf": [{}, {}], "unevaluatedProperties": false }), Some(5));
        check(json!({ "properties": { "a": { "$ref": "#" } } }), None);
    }

    /// Each of sixty refers twice to the one before it, by a reference of this form.
    fn doubling(named: impl Fn(usize) -> Value, reference: impl Fn(usize) -> String) -> Value {
        let mut defs = Map::new();
        for nth in 0..=60_usize {
            let mut schema = named(nth);
            if let Some(before) = nth.checked_sub(1) {
                let before = json!({ "$ref": reference(before) });
                schema["allOf"] = json!([before, before]);
            }
            defs.insert(format!("d{nth}"), schema);
        }
        json!({ "$id": "http://x.y/s", "$defs": defs, "$ref": reference(60) })
    }

    #[test]
    fn references_that_double_are_found_however_they_are_written() {
        let plain = |_| json!({});
        let anchored = |nth| json!({ "$anchor": format!("a{nth}") });
        let identified = |nth| json!({ "$id": format!("part{nth}") });
        for schema in [
            doubling(plain, |nth| format!("#/$defs/d{nth}")),
            doubling(plain, |nth| format!("#/%24defs/d{nth}")),
            doubling(plain, |nth| format!("http://x.y/s#/$defs/d{nth}")),
            doubling(plain, |nth| format!("HTTP://X.Y/s#/$defs/%64{nth}")),
            doubling(anchored, |nth| format!("#a{nth}")),
            doubling(anchored, |nth| format!("s#a{nth}")),
            doubling(identified, |nth| format!("part{nth}")),
            doubling(identified, |nth| format!("http://x.y/part{nth}")),
        ] {
            let looks = Plan::of(&schema).expect("it can be counted").looks();
            assert!(looks.is_none_or(|looks| looks > 1 << 40), "{looks:?} {}", schema["$ref"]);
        }
        let elsewhere = Plan::of(&json!({ "$ref": "http://x.y/other" })).expect_err("it is nowhere");
        assert_eq!(elsewhere, "it refers to \"http://x.y/other\", which is not within it");
    }

    #[test]
    fn recursion_is_counted_with_the_document() {
        let deep = |levels: usize| (0..levels).fold(json!(5), |within, _| json!([within]));
        let tree = json!({ "properties": { "children": { "items": { "$ref": "#" } } } });
        let plan = Plan::of(&tree).expect("it can be counted");
        assert_eq!(plan.looks(), None);
        let document = json!({ "children": [{ "children": [] }, { "children": [{}] }] });
        assert!(plan.looks_at(&document) < 20);
        for doubled in [
            json!({ "oneOf": [{ "type": "string" }, { "items": { "$ref": "#" } }, { "items": { "$ref": "#" }, "maxItems": 0 }] }),
            json!({ "type": ["array", "string"], "allOf": [{ "items": { "$ref": "#" } }, { "items": { "$ref": "#" } }] }),
        ] {
            let plan = Plan::of(&doubled).expect("it can be counted");
            assert!(plan.looks_at(&deep(5)) < 1_000, "{doubled}");
            assert!(plan.looks_at(&deep(30)) > 1 << 30, "{doubled}");
        }
    }
}
