//! A schema as far as its cost is concerned: which parts look at the same value, and which at what is within it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::references::{Led, References};

/// Most parts that are looked through while counting: each takes some 50 ns.
const COUNTED_MAX: u64 = 1_000_000;

/// Deepest way from one part into the next while reading. The validator is compiled along the same way, in a thread's stack
/// of 2 MiB.
const DEPTH_MAX: usize = 600;

/// How often the schema of a draft looks at one value, about.
const LOOKS_OF_META_SCHEMA: u64 = 100;

/// Which part, by its place in the plan.
type Part = usize;

/// One part of a schema.
#[derive(Debug, Default)]
struct Node {
    /// How often it looks at a value by itself.
    looks: u64,
    /// It says nothing of a value, and neither does anything else that it leads to.
    is_unseen: bool,
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
    /// Patterns of names of members.
    pub(super) name_patterns: Vec<String>,
}

impl Plan {
    /// Reads a schema.
    ///
    /// # Errors
    /// A reference whose cost cannot be counted.
    pub(super) fn of(schema: &Value) -> Result<Plan, String> {
        let mut reading = Reading {
            references: References::of(schema),
            plan: Plan { nodes: Vec::new(), name_patterns: Vec::new() },
            known: HashMap::new(),
            depth: 0,
        };
        reading.part(schema)?;
        Ok(reading.plan)
    }

    /// What any of its parts makes of one value by itself at most, and, as `unseen`, what of one within another; nothing if
    /// that cannot be counted.
    pub(super) fn looks(&self) -> Option<Looks> {
        let mut counting =
            Counting { plan: self, known: HashMap::new(), open: HashSet::new(), left: COUNTED_MAX };
        let mut most = Looks::default();
        for part in 0..self.nodes.len() {
            let looks = counting.of(part)?;
            most.all = most.all.max(looks.all);
            most.deep = most.deep.max(looks.deep);
            most.unseen = counting.below(part)?.max(most.unseen);
        }
        Some(most)
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

/// Keywords for which a value is looked at, whatever it is. Not all: others may say nothing, and are then left out.
const LOOKING: [&str; 8] =
    ["type", "const", "enum", "pattern", "minimum", "maximum", "required", "properties"];

struct Reading<'s> {
    references: References<'s>,
    plan: Plan,
    /// By the schema's address.
    known: HashMap<*const Value, Part>,
    depth: usize,
}

impl<'s> Reading<'s> {
    fn part(&mut self, schema: &'s Value) -> Result<Part, String> {
        if let Some(known) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*known);
        }
        let part = self.plan.nodes.len();
        self.plan.nodes.push(Node { looks: 1, is_unseen: true, ..Node::default() });
        self.known.insert(schema, part);
        if let Value::Object(members) = schema {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(format!("its parts lead into each other more than {DEPTH_MAX} deep"));
            }
            let node = self.node(members)?;
            self.plan.nodes[part] = node;
            self.depth -= 1;
        }
        Ok(part)
    }

    fn parts(&mut self, schemas: impl IntoIterator<Item = &'s Value>) -> Result<Vec<Part>, String> {
        schemas.into_iter().map(|schema| self.part(schema)).collect()
    }

    fn node(&mut self, members: &'s Map<String, Value>) -> Result<Node, String> {
        let list = |key: &str| members.get(key).and_then(Value::as_array).into_iter().flatten();
        let table = |key: &str| members.get(key).and_then(Value::as_object).into_iter().flatten();
        self.plan.name_patterns.extend(table("patternProperties").map(|(pattern, _)| pattern.clone()));
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
        let is_empty = |member: &Value| match member {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        let looks = LOOKING.into_iter().filter_map(|key| members.get(key)).any(|member| !is_empty(member));
        node.is_unseen = node.in_place.is_empty() && !looks;
        Ok(node)
    }
}

/// What one look at a value leads to, at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Looks {
    /// Parts that look at the same value.
    pub(super) all: u64,
    /// How many of them wait for each other.
    pub(super) deep: u64,
    /// Those among them that do not look, so that no meter sees them.
    pub(super) unseen: u64,
    /// It leads back to where it came from; there the validator stops.
    is_cut: bool,
}

/// Counts looks at one value, as the validator goes.
struct Counting<'p> {
    plan: &'p Plan,
    known: HashMap<Part, Looks>,
    open: HashSet<Part>,
    left: u64,
}

impl Counting<'_> {
    fn of(&mut self, part: Part) -> Option<Looks> {
        if let Some(known) = self.known.get(&part) {
            return Some(*known);
        }
        self.left = self.left.checked_sub(1)?;
        if !self.open.insert(part) {
            return Some(Looks { all: 1, deep: 1, unseen: 1, is_cut: true });
        }
        let node = &self.plan.nodes[part];
        let mut sum = Looks { unseen: u64::from(node.is_unseen), ..Looks::default() };
        for other in &node.in_place {
            let other = self.of(*other)?;
            sum.all = sum.all.saturating_add(other.all);
            sum.unseen = sum.unseen.saturating_add(other.unseen);
            sum.deep = sum.deep.max(other.deep);
            sum.is_cut |= other.is_cut;
        }
        if node.twice {
            sum.all = sum.all.saturating_mul(2);
            sum.unseen = sum.unseen.saturating_mul(2);
        }
        sum.all = sum.all.saturating_add(node.looks);
        sum.deep += 1;
        self.open.remove(&part);
        // One that leads back may lead further if it is come by from elsewhere.
        if !sum.is_cut {
            self.known.insert(part, sum);
        }
        Some(sum)
    }

    /// What a value within one that this part looks at is looked at without being seen.
    fn below(&mut self, part: Part) -> Option<u64> {
        let node = &self.plan.nodes[part];
        // Of those that apply to a place, one is chosen.
        let mut below = 0;
        for one in node.named.values().chain(&node.others).chain(&node.placed).chain(&node.items) {
            below = self.of(*one)?.unseen.max(below);
        }
        for each in &node.each {
            below = below.saturating_add(self.of(*each)?.unseen);
        }
        Some(below)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: (u64, u64)) {
        let looks = Plan::of(&schema).expect("it can be read").looks();
        assert_eq!(looks.map(|looks| (looks.all, looks.unseen)), Some(expected), "{schema}");
    }

    #[test]
    fn what_applies_to_one_place_adds_up_and_what_no_look_is_taken_for_is_known() {
        let typed = || json!({ "type": "string" });
        check(json!(true), (1, 0));
        check(json!({ "properties": { "a": {}, "b": {}, "c": {} } }), (1, 1));
        check(json!({ "properties": { "a": typed(), "b": typed() } }), (1, 0));
        check(json!({ "anyOf": [{}, {}, {}] }), (4, 0));
        check(json!({ "items": { "anyOf": [{}, {}, typed()] } }), (4, 2));
        check(
            json!({ "anyOf": [{ "items": { "oneOf": [{}, typed()] } }, { "items": { "oneOf": [{}, {}] } }] }),
            (3, 2),
        );
        check(json!({ "enum": [1, 2, 3] }), (4, 0));
        check(json!({ "patternProperties": { "a": {}, "b": {} }, "additionalProperties": {} }), (1, 3));
        check(json!({ "$defs": { "a": { "allOf": [{}, {}] } }, "items": { "$ref": "#/$defs/a" } }), (4, 2));
        check(json!({ "allOf": [{}, {}], "unevaluatedProperties": false }), (5, 1));
        check(json!({ "properties": { "a": { "$ref": "#" } } }), (2, 0));
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
            let looks = Plan::of(&schema).expect("it can be read").looks();
            assert!(looks.is_none_or(|looks| looks.all > 1 << 40), "{looks:?} {}", schema["$ref"]);
        }
        let elsewhere = Plan::of(&json!({ "$ref": "http://x.y/other" })).expect_err("it is nowhere");
        assert_eq!(elsewhere, "it refers to \"http://x.y/other\", which is not within it");
    }

    #[test]
    fn references_in_a_circle_are_followed_as_far_as_the_validator_follows_them() {
        let circle = |length: usize| {
            let others = |nth: usize| (0..length).filter(move |other| *other != nth);
            let refers = |nth: usize| others(nth).map(|other| json!({ "$ref": format!("#/$defs/d{other}") }));
            let defs = (0..length)
                .map(|nth| (format!("d{nth}"), json!({ "allOf": refers(nth).collect::<Vec<_>>() })));
            json!({ "$defs": defs.collect::<Map<_, _>>(), "$ref": "#/$defs/d0" })
        };
        let looks = |length| Plan::of(&circle(length)).expect("it can be read").looks();
        assert!(looks(3).is_some_and(|looks| looks.all < 50), "{:?}", looks(3));
        assert!(looks(12).is_none_or(|looks| looks.all > 1_000_000), "{:?}", looks(12));
    }
}
