//! What a schema costs, found before it is used.
//!
//! A schema comes from somebody else, and so do the values; together they must not keep the gate busy. How many parts of the
//! schema look at one value is found here, and so often every value is charged that the validator comes by (`counted`).

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::references::{Led, References};

/// Most bytes of a schema's text. The largest of well-known servers have some 50 KiB.
pub(super) const SCHEMA_BYTES_MAX: usize = 1024 * 1024;

/// Most parts of a schema that may look at one value: when a check is given up, each value that it is in the middle of is
/// still looked at so often, at some 5 ns each.
const LOOKS_MAX: u64 = 20_000;

/// Most parts that may wait for each other while values within each other are looked at: each has some 400 bytes of a
/// thread's stack of 2 MiB.
const WAITING_MAX: u64 = 1_500;

/// Deepest JSON that is read at all.
const JSON_DEPTH_MAX: u64 = 128;

/// Most parts that are looked through while counting: each takes some 50 ns.
const COUNTED_MAX: u64 = 1_000_000;

/// Deepest way from one part into the next over one value.
const DEPTH_MAX: usize = 600;

/// How often the schema of a draft looks at one value, about.
const LOOKS_OF_META_SCHEMA: u64 = 100;

/// What one pattern of names costs for each name, in looks: its engine takes some 50 ns for a short one.
const LOOKS_PER_NAME_PATTERN: u64 = 16;

/// Keywords whose schemas apply to the same place as the one they stand in: alone, in lists, and by the names of members.
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// What applies to those that nothing else has looked at, for which all else is asked once more.
const UNEVALUATED: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

/// What a schema costs.
#[derive(Debug)]
pub(super) struct Cost {
    /// How many parts look at one value, at most.
    pub(super) looks_per_value: u64,
    /// How many of them wait for each other.
    deep: u64,
}

impl Cost {
    /// Counts.
    ///
    /// # Errors
    /// It would cost too much whatever it is asked about, or cannot be counted.
    pub(super) fn of(schema: &Value) -> Result<Cost, String> {
        let references = References::of(schema);
        let mut counting = Counting {
            references: &references,
            known: HashMap::new(),
            open: HashSet::new(),
            left: COUNTED_MAX,
        };
        let mut most = Looks { all: 1, deep: 1, is_cut: false };
        for part in references.objects() {
            let looks = counting.of(part)?;
            most = Looks { all: most.all.max(looks.all), deep: most.deep.max(looks.deep), is_cut: false };
        }
        match most.all > LOOKS_MAX {
            true => {
                Err(format!("it looks at one value up to {} times; at most {LOOKS_MAX} are made", most.all))
            }
            false => Ok(Cost { looks_per_value: most.all, deep: most.deep }),
        }
    }

    /// False if a value is so deep that a thread's stack may be too small for looking at it.
    pub(super) fn is_bearable(&self, value: &Value) -> bool {
        // Nearly all schemas bear the deepest values there are.
        JSON_DEPTH_MAX * self.deep <= WAITING_MAX || depth(value) * self.deep <= WAITING_MAX
    }
}

fn depth(value: &Value) -> u64 {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    1 + deepest.unwrap_or_default()
}

/// What one look at a value leads to, at most.
#[derive(Debug, Clone, Copy)]
struct Looks {
    /// Parts that look at the same value.
    all: u64,
    /// How many of them wait for each other.
    deep: u64,
    /// It leads back to where it came from; there the validator stops.
    is_cut: bool,
}

/// Counts looks at one value, as the validator goes.
struct Counting<'r, 's> {
    references: &'r References<'s>,
    /// By the part's address.
    known: HashMap<*const Value, Looks>,
    open: HashSet<*const Value>,
    left: u64,
}

impl<'s> Counting<'_, 's> {
    fn of(&mut self, part: &'s Value) -> Result<Looks, String> {
        let address = std::ptr::from_ref(part);
        let Value::Object(members) = part else { return Ok(Looks { all: 1, deep: 1, is_cut: false }) };
        if let Some(known) = self.known.get(&address) {
            return Ok(*known);
        }
        self.left =
            self.left.checked_sub(1).ok_or("its parts refer to each other in more ways than are counted")?;
        if !self.open.insert(address) {
            return Ok(Looks { all: 1, deep: 1, is_cut: true });
        }
        if self.open.len() > DEPTH_MAX {
            return Err(format!("its parts lead into each other more than {DEPTH_MAX} deep"));
        }
        let (others, own) = self.in_place(members);
        let mut sum = Looks { all: 0, deep: 0, is_cut: false };
        for other in others {
            let other = self.of(other)?;
            sum.all = sum.all.saturating_add(other.all);
            sum.deep = sum.deep.max(other.deep);
            sum.is_cut |= other.is_cut;
        }
        if UNEVALUATED.into_iter().any(|key| members.contains_key(key)) {
            sum.all = sum.all.saturating_mul(2);
        }
        sum.all = sum.all.saturating_add(own);
        sum.deep += 1;
        self.open.remove(&address);
        // One that leads back may lead further if it is come by from elsewhere.
        if !sum.is_cut {
            self.known.insert(address, sum);
        }
        Ok(sum)
    }

    /// The parts that look at the same value as this one, and how often it does so itself.
    fn in_place(&self, members: &'s Map<String, Value>) -> (Vec<&'s Value>, u64) {
        let list = |key: &str| members.get(key).and_then(Value::as_array).into_iter().flatten();
        let table = |key: &str| members.get(key).and_then(Value::as_object).into_iter().flat_map(Map::values);
        let mut parts: Vec<&Value> = IN_PLACE.into_iter().filter_map(|key| members.get(key)).collect();
        parts.extend(IN_PLACE_LISTS.into_iter().flat_map(list));
        parts.extend(IN_PLACE_NAMED.into_iter().flat_map(table));
        let mut own = 1 + list("enum").count() as u64;
        own += LOOKS_PER_NAME_PATTERN * table("patternProperties").count() as u64;
        for reference in REFERENCES.into_iter().filter_map(|key| members.get(key)?.as_str()) {
            match self.references.follow(reference) {
                Led::To(places) => parts.extend(places),
                Led::MetaSchema => own += LOOKS_OF_META_SCHEMA,
            }
        }
        (parts, own)
    }
}
