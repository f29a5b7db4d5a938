//! Tries a condition once, on samples of what it will see. What arguments look like is not known, so for those that it
//! names every sort of value is tried: a condition that fits none can never give an answer.

use serde_json::{Map, Value, json};

use cel::ExecutionError;

use super::given::Given;
use super::{Condition, Conditions, Fault, told};
use crate::caller::{Caller, Via};
use crate::facts::{Effect, Facts};

/// How many samples a condition is tried on: every sort of value for each of three arguments.
const SAMPLES_MAX: usize = 1_000;

/// Any time; a Tuesday.
const NOW: i64 = 1_700_000_000;

/// Tries a condition.
///
/// # Errors
/// It gave no answer on any sample.
pub(super) fn try_out(
    conditions: &Conditions,
    condition: &Condition,
    paths: &[Vec<String>],
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
        match tried(conditions, condition, &arguments) {
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

fn tried(conditions: &Conditions, condition: &Condition, arguments: &Value) -> Result<(), String> {
    let caller = Caller::local_user(Via::Stdio);
    let facts = Facts {
        caller: &caller,
        tool: "a_tool",
        upstream: None,
        action: None,
        effect: Effect::Reads,
        marked_destructive: false,
        leaves_machine: false,
    };
    let given = Given::new(&facts, Some(arguments), NOW, conditions);
    let Some(evaluation) = conditions.evaluation(&given) else { return Ok(()) };
    match condition.outcome(&evaluation) {
        Ok(_) => Ok(()),
        Err(Fault::Evaluation(error)) => match error {
            // It depends on what is in the arguments, which the next ones may have.
            ExecutionError::NoSuchKey(_)
            | ExecutionError::IndexOutOfBounds(_)
            | ExecutionError::DivisionByZero(_)
            | ExecutionError::RemainderByZero(_)
            | ExecutionError::Overflow(..)
            | ExecutionError::FunctionError { .. } => Ok(()),
            error => Err(told(&error, condition.source(), given.reached())),
        },
        Err(Fault::NotBoolean(sort)) => Err(format!("it gives a value of type {sort}, not true or false")),
        Err(Fault::Panic) => Err("it cannot be evaluated".to_owned()),
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
