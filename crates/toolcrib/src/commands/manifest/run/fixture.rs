//! `Fixture`: what is to come of the calls of a manifest, as an earlier run printed it.

use std::path::Path;

use gate::pointer;
use serde::Deserialize;
use serde_json::Value;

use super::tried::Tried;

/// More is no fixture that a person has read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Differences that are told of one result.
const TOLD_MAX: usize = 10;

/// Any member of a list or an object.
const ANY: &str = "*";

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fixture {
    /// The tool that it is for, as it was printed.
    #[serde(default, rename = "tool")]
    _tool: Option<String>,
    examples: Vec<Expected>,
    /// What is not compared in any of them.
    #[serde(default)]
    ignore: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    arguments: Value,
    result: Option<Value>,
    error: Option<ExpectedError>,
    /// What is not compared in this one.
    #[serde(default)]
    ignore: Vec<String>,
}

/// The sentence may change; the code is what callers go by.
#[derive(Debug, Deserialize)]
struct ExpectedError {
    code: String,
}

impl Fixture {
    pub(super) fn read(path: &Path) -> Result<Fixture, String> {
        let told = |why: String| format!("{}: {why}", path.display());
        let text = sandbox::text_file::read(path, BYTES_MAX).map_err(|error| told(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| told(error.to_string()))
    }

    /// Why this is not what is to come of a call with these arguments.
    pub(super) fn fault(&self, arguments: &Value, came: &Result<Value, (String, String)>) -> Option<String> {
        let Some(expected) = self.examples.iter().find(|expected| expected.arguments == *arguments) else {
            return Some(format!("the fixture has no example with the arguments {arguments}"));
        };
        match (came, &expected.result, &expected.error) {
            (Ok(came), Some(result), _) => {
                let ignored = self.ignore.iter().chain(&expected.ignore);
                let ignored: Vec<&str> = ignored.map(String::as_str).collect();
                let mut found = Vec::new();
                compare(&without(result, &ignored), &without(came, &ignored), "", &mut found);
                (!found.is_empty()).then(|| found.join("\n"))
            }
            (Err((code, _)), _, Some(error)) if *code == error.code => None,
            (Err((_, why)), _, _) => Some(why.clone()),
            (Ok(_), None, Some(error)) => Some(format!("it should have failed with {}", error.code)),
            (Ok(_), None, None) => Some("the fixture says neither `result` nor `error` of it".to_owned()),
        }
    }

    /// What the fixture has and nobody called.
    pub(super) fn left(&self, tried: &[Tried]) -> Vec<String> {
        let is_called = |one: &&Expected| tried.iter().any(|tried| tried.arguments == one.arguments);
        let left = self.examples.iter().filter(|one| !is_called(one));
        left.map(|one| format!("no example was called with {}, which the fixture has", one.arguments))
            .collect()
    }
}

/// The value without what the pointers name.
fn without(value: &Value, pointers: &[&str]) -> Value {
    let mut value = value.clone();
    for pointer in pointers {
        let segments: Vec<String> = pointer.split('/').skip(1).map(pointer::name).collect();
        strike(&mut value, &segments);
    }
    value
}

fn strike(value: &mut Value, segments: &[String]) {
    let Some((first, rest)) = segments.split_first() else {
        *value = Value::Null;
        return;
    };
    match value {
        Value::Object(members) => {
            members
                .iter_mut()
                .filter(|(name, _)| first == ANY || *name == first)
                .for_each(|(_, member)| strike(member, rest));
        }
        Value::Array(items) => {
            let is_meant = |nth: usize| first == ANY || first.parse() == Ok(nth);
            items
                .iter_mut()
                .enumerate()
                .filter(|(nth, _)| is_meant(*nth))
                .for_each(|(_, item)| strike(item, rest));
        }
        _ => {}
    }
}

/// Where one differs from the other, as far as a person wants to read it.
fn compare(expected: &Value, came: &Value, at: &str, found: &mut Vec<String>) {
    if expected == came || found.len() >= TOLD_MAX {
        return;
    }
    match (expected, came) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for name in ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name))) {
                let (one, other) = (ours.get(name), theirs.get(name));
                both(one, other, &pointer::below(at, name), found);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            for nth in 0..ours.len().max(theirs.len()) {
                both(ours.get(nth), theirs.get(nth), &format!("{at}/{nth}"), found);
            }
        }
        _ => found.push(format!(
            "{}: expected {expected}, got {came}",
            if at.is_empty() { "(the whole)" } else { at }
        )),
    }
}

fn both(expected: Option<&Value>, came: Option<&Value>, at: &str, found: &mut Vec<String>) {
    match (expected, came) {
        (Some(expected), Some(came)) => compare(expected, came, at, found),
        (Some(expected), None) => found.push(format!("{at}: expected {expected}, and it is not there")),
        (None, Some(came)) => found.push(format!("{at}: {came} should not be there")),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(result: Value, ignore: &[&str], came: Value, expected: &[&str]) {
        let fixture =
            json!({ "examples": [{ "arguments": { "a": 1 }, "result": result }], "ignore": ignore });
        let fixture: Fixture = serde_json::from_value(fixture).expect("a fixture");
        let fault = fixture.fault(&json!({ "a": 1 }), &Ok(came)).unwrap_or_default();
        assert_eq!(fault.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_difference_is_told_with_its_place() {
        check(json!({ "n": [1, 2] }), &[], json!({ "n": [1, 2] }), &[]);
        check(json!({ "n": [1, 2] }), &[], json!({ "n": [1, 3] }), &["/n/1: expected 2, got 3"]);
        check(json!({ "n": [1] }), &[], json!({ "n": [1, 3] }), &["/n/1: 3 should not be there"]);
        check(json!({ "a/b": 1 }), &[], json!({}), &["/a~1b: expected 1, and it is not there"]);
        check(json!("x"), &[], json!(1), &["(the whole): expected \"x\", got 1"]);
    }

    #[test]
    fn what_differs_each_time_is_not_compared() {
        let (one, other) =
            (json!({ "ms": 1, "r": [{ "at": 1, "n": 1 }] }), json!({ "ms": 2, "r": [{ "at": 2, "n": 1 }] }));
        check(one.clone(), &["/ms", "/r/*/at"], other.clone(), &[]);
        check(one.clone(), &["/ms", "/r/0/at"], other.clone(), &[]);
        check(one, &["/ms"], other, &["/r/0/at: expected 1, got 2"]);
        // What is not there at all is another thing.
        check(json!({ "ms": 1 }), &["/ms"], json!({}), &["/ms: expected null, and it is not there"]);
    }

    #[test]
    fn a_failure_is_compared_by_its_code() {
        let expected = json!({ "arguments": {}, "error": { "code": "tool_failed", "message": "x" } });
        let fixture: Fixture = serde_json::from_value(json!({ "examples": [expected] })).expect("a fixture");
        let failed = |code: &str| Err((code.to_owned(), "why".to_owned()));
        assert_eq!(fixture.fault(&json!({}), &failed("tool_failed")), None);
        assert_eq!(fixture.fault(&json!({}), &failed("timeout")), Some("why".to_owned()));
        let came = fixture.fault(&json!({}), &Ok(json!({})));
        assert_eq!(came, Some("it should have failed with tool_failed".to_owned()));
        let unknown = fixture.fault(&json!({ "b": 1 }), &Ok(json!({})));
        assert_eq!(unknown, Some("the fixture has no example with the arguments {\"b\":1}".to_owned()));
        assert_eq!(fixture.left(&[]), ["no example was called with {}, which the fixture has"]);
    }
}
