//! What is wrong with the answers to what a job asks, before its tool is given them as they are written.

use serde_json::{Map, Value};

use crate::pointer::below;
use crate::schema::{VIOLATIONS_MAX, Violation};

/// What asks a person, and what they may have done (MCP, "Elicitation").
const ELICIT: &str = "elicitation/create";
const ACTIONS: [&str; 3] = ["accept", "decline", "cancel"];

/// What is asked and not answered by an object, or, where a person is asked, by none that says what they have done.
pub(super) fn unanswered(asked: &[u8], responses: &[u8]) -> Vec<Violation> {
    let asked: Map<String, Value> = serde_json::from_slice(asked).unwrap_or_default();
    let responses: Value = serde_json::from_slice(responses).unwrap_or_default();
    let violation = |(key, request): (&String, &Value)| {
        let pointer = below("", key);
        let wrong = |pointer: String, expected: &str, found: Option<&Value>| {
            let found = if found.is_some() { "something else" } else { "nothing" };
            Some(Violation { pointer, expected: expected.to_owned(), found: found.to_owned() })
        };
        let response = responses.get(key);
        let Some(answer) = response.filter(|response| response.is_object()) else {
            return wrong(pointer, "an answer, which is an object", response);
        };
        // A tool takes any other word for a person who did not want to answer, and its job is over.
        let action = answer.get("action");
        let is_known = action.and_then(Value::as_str).is_some_and(|action| ACTIONS.contains(&action));
        let is_form = request["method"] == ELICIT;
        if is_form && !is_known {
            return wrong(format!("{pointer}/action"), "accept, decline or cancel", action);
        }
        None
    };
    asked.iter().filter_map(violation).take(VIOLATIONS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_who_is_asked_has_done_one_of_three_things() {
        let asked = br#"{"a/b":{"method":"elicitation/create"},"r":{"method":"roots/list"}}"#;
        for (responses, expected) in [
            (r#"{"a/b":{"action":"accept"},"r":{}}"#, &[][..]),
            (r#"{"a/b":{"action":"cancel"},"r":{"roots":[]},"more":1}"#, &[]),
            (
                r#"{"a/b":{"action":"maybe"},"r":{}}"#,
                &["/a~1b/action accept, decline or cancel something else"],
            ),
            (r#"{"a/b":{"content":{"x":1}},"r":{}}"#, &["/a~1b/action accept, decline or cancel nothing"]),
            (
                r#"{"a/b":"accept"}"#,
                &[
                    "/a~1b an answer, which is an object something else",
                    "/r an answer, which is an object nothing",
                ],
            ),
        ] {
            let wrong = unanswered(asked, responses.as_bytes()).into_iter();
            let told: Vec<_> =
                wrong.map(|it| format!("{} {} {}", it.pointer, it.expected, it.found)).collect();
            assert_eq!(told, expected, "{responses}");
        }
    }
}
