//! Tries a condition once, on samples of what it will see. What arguments look like is not known, so for those that it
//! names every sort of value is tried: a condition that fits none can never give an answer.

use serde_json::{Map, Value, json};

/// How many samples a condition is tried on: every sort of value for each of three arguments.
const SAMPLES_MAX: usize = 1_000;

/// Tries a condition that looks at these arguments; `tried` evaluates it.
///
/// # Errors
/// It gave no answer on any sample.
pub(super) fn try_out(
    paths: &[Vec<String>],
    tried: impl Fn(&Value) -> Result<(), String>,
) -> Result<(), String> {
    let is_inner =
        |path: &&Vec<String>| paths.iter().any(|other| other.len() > path.len() && other.starts_with(path));
    let mut leaves: Vec<&Vec<String>> = paths.iter().filter(|path| !is_inner(path)).collect();
    leaves.sort();
    leaves.dedup();
    let sorts = sorts();
    let all = sorts.len().checked_pow(u32::try_from(leaves.len()).unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
    let mut first = None;
    for nth in 0..all.min(SAMPLES_MAX) {
        // With more arguments than can be tried in every combination, all are of one sort, then all of the next.
        let of_leaf = |leaf: usize| match all > SAMPLES_MAX {
            true => nth % sorts.len(),
            false => nth / sorts.len().pow(u32::try_from(leaf).unwrap_or(u32::MAX)) % sorts.len(),
        };
        let mut arguments = Value::Object(Map::new());
        for (leaf, path) in leaves.iter().enumerate() {
            put(&mut arguments, path, sorts[of_leaf(leaf)].clone());
        }
        match tried(&arguments) {
            Ok(()) => return Ok(()),
            Err(why) => first = first.or(Some(why)),
        }
    }
    match first {
        // Then nothing can be said against it.
        Some(_) if all > SAMPLES_MAX => Ok(()),
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// Every sort of value that an argument may be.
fn sorts() -> [Value; 9] {
    [
        json!("a"),
        json!(1),
        json!(["a"]),
        json!(true),
        json!({}),
        json!(1.5),
        json!([1]),
        json!([{}]),
        json!(null),
    ]
}

fn put(arguments: &mut Value, path: &[String], sample: Value) {
    let mut place = arguments;
    for key in path {
        // A sample at an inner path is never reached: only the outermost ones are put.
        let Value::Object(members) = place else { return };
        place = members.entry(key).or_insert_with(|| Value::Object(Map::new()));
    }
    *place = sample;
}
