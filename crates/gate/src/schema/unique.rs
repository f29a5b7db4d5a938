//! Whether the items of an array are all different, as JSON compares: `1` is `1.0`, and the order of members does not matter.
//!
//! The validator's own way takes numbers by their nearest float, so that thousands of large ones hash alike and each is
//! compared with all others.

use std::collections::HashSet;

use serde_json::{Number, Value};

/// True if no two items are equal.
pub(super) fn all_differ(items: &[Value]) -> bool {
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|item| seen.insert(in_one_way(item)))
}

/// The same value with every whole number written as an integer.
fn in_one_way(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
        Value::Number(number) => Value::Number(whole(number).unwrap_or_else(|| number.clone())),
        Value::Array(items) => items.iter().map(in_one_way).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), in_one_way(member))).collect()
        }
    }
}

/// The integer that a float is, if it is one and stands for it exactly.
fn whole(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    match float < 0.0 {
        true => Some((float as i64).into()).filter(|_| float >= i64::MIN as f64),
        false => Some((float as u64).into()).filter(|_| float < u64::MAX as f64),
    }
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
