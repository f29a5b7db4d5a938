//! Whether the items of an array are all different, as JSON compares: `1` is `1.0`, and the order of members does not matter.
//!
//! The validator's own way takes numbers by their nearest float, so that thousands of large ones hash alike and each is
//! compared with all others.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use jsonschema::json::cmp;
use serde_json::{Number, Value};

/// True if no two items are equal.
pub(super) fn all_differ(items: &[Value]) -> bool {
    let state = RandomState::new();
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|value| seen.insert(Item { hash: hash(&state, value), value }))
}

/// An item with its hash, which is made once.
struct Item<'v> {
    hash: u64,
    value: &'v Value,
}

impl Hash for Item<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.hash);
    }
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && cmp::equal(self.value, other.value)
    }
}

impl Eq for Item<'_> {}

fn hash(state: &RandomState, value: &Value) -> u64 {
    let one = |kind: u8, value: u64| state.hash_one((kind, value));
    match value {
        Value::Null => one(0, 0),
        Value::Bool(flag) => one(1, u64::from(*flag)),
        Value::Number(number) => one(2, number_bits(number)),
        Value::String(text) => state.hash_one((3_u8, text)),
        Value::Array(items) => {
            items.iter().fold(one(4, 0), |before, item| one(4, before ^ hash(state, item).rotate_left(1)))
        }
        Value::Object(members) => members
            .iter()
            .fold(5, |sum, (name, member)| sum ^ state.hash_one((5_u8, name, hash(state, member)))),
    }
}

/// The same for numbers that are equal: of an integer the integer, however it is written.
fn number_bits(number: &Number) -> u64 {
    if let Some(integer) = number.as_u64() {
        return integer;
    }
    if let Some(integer) = number.as_i64() {
        return integer.cast_unsigned();
    }
    let float = number.as_f64().unwrap_or_default();
    // Whole ones beyond both ranges, and those with a fraction, are equal to no integer that stands as one.
    if float.fract() != 0.0 || float.abs() >= u64::MAX as f64 {
        return float.to_bits();
    }
    if float < 0.0 { (float as i64).cast_unsigned() } else { float as u64 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_json_holds_for_equal_is_equal() {
        for (items, differ) in [
            (json!([1, 2, "1", true, null, [], {}, [1], [[1]]]), true),
            (json!([1, 1.0]), false),
            (json!([0.0, -0.0]), false),
            (json!([-1, -1.0]), false),
            (json!([0.5, 0.5]), false),
            (json!([1e300, 1e300]), false),
            (json!([1e300, 1e301, -1e300]), true),
            (json!([u64::MAX, u64::MAX - 1, i64::MIN, i64::MIN + 1]), true),
            (json!([{ "a": 1, "b": 2 }, { "b": 2.0, "a": 1 }]), false),
            (json!([{ "a": 1, "b": 2 }, { "a": 2, "b": 1 }]), true),
            (json!([[1, 2], [2, 1]]), true),
            (json!([["ab", "c"], ["a", "bc"]]), true),
            (Value::Array((0..20_000_u64).map(|nth| json!((1 << 63) + nth)).collect()), true),
        ] {
            assert_eq!(all_differ(items.as_array().expect("it is one")), differ, "{items}");
        }
    }
}
