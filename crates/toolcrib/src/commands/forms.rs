//! What a tool asks in the middle of a call, put to the person at the terminal.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use terminal::print::{self, harmless};
use terminal::{Trouble, signals::unless_stopped};
use tokio::task::spawn_blocking;

use super::choices::{self, chosen};
use super::mcp::ask;
use super::typed::{shown, typed};

/// What a client at a terminal declares: it can fill in forms.
pub(super) const FILLS_IN_FORMS: &[u8] = br#"{"elicitation":{"form":{}}}"#;

/// How often a value is asked for that does not fit.
const TRIES_MAX: usize = 3;

/// Whether all that is asked are forms, which a person at a terminal fills in.
pub(super) fn are_all(requests: &Bytes) -> bool {
    let requests: Map<String, Value> = serde_json::from_slice(requests).unwrap_or_default();
    let is_form = |it: &Value| it["method"] == "elicitation/create" && it["params"]["mode"] != "url";
    requests.values().all(is_form)
}

/// Has what a tool asks answered and gives the `inputResponses`.
pub(super) async fn answered(requests: &Bytes) -> Result<Bytes, Trouble> {
    let requests: Map<String, Value> = serde_json::from_slice(requests).map_err(Trouble::because)?;
    // The connections to servers go on meanwhile.
    let asked = unless_stopped(spawn_blocking(move || {
        let answer = |(key, request): (&String, &Value)| Ok((key.clone(), one(&request["params"])?));
        requests.iter().map(answer).collect::<Result<Map<_, _>, Trouble>>()
    }));
    let responses = asked.await?.map_err(Trouble::because)??;
    Ok(Value::Object(responses).to_string().into())
}

/// Asks one thing: an `ElicitResult`.
fn one(params: &Value) -> Result<Value, Trouble> {
    let message = params["message"].as_str().unwrap_or_default();
    print::remark(&harmless(&format!("the tool asks: {message}")));
    let schema = &params["requestedSchema"];
    let fields = schema["properties"].as_object().filter(|fields| !fields.is_empty());
    let Some(fields) = fields else {
        let action = if ask::confirm("Agree?")? { "accept" } else { "decline" };
        return Ok(json!({ "action": action, "content": {} }));
    };
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut content = Map::new();
    for (name, field) in fields {
        match value(name, field, required.iter().any(|one| one == name))? {
            Typed::Value(value) => drop(content.insert(name.clone(), value)),
            Typed::Nothing => {}
            Typed::Declined => return Ok(json!({ "action": "decline" })),
            Typed::Ended => return Ok(json!({ "action": "cancel" })),
        }
    }
    Ok(json!({ "action": "accept", "content": content }))
}

/// What came of asking for a value.
enum Typed {
    Value(Value),
    /// It may be left out, and was.
    Nothing,
    Declined,
    /// Nobody types any more.
    Ended,
}

fn value(name: &str, field: &Value, is_required: bool) -> Result<Typed, Trouble> {
    choices::lines(field).iter().for_each(|line| print::remark(&harmless(line)));
    for _ in 0..TRIES_MAX {
        let Some(text) = ask::ask(&question(name, field, is_required))? else { return Ok(Typed::Ended) };
        if text.is_empty() {
            return Ok(match field.get("default") {
                Some(default) => Typed::Value(default.clone()),
                None if is_required => Typed::Declined,
                None => Typed::Nothing,
            });
        }
        match chosen(field, &text).map_or_else(|| typed(field, &text), Ok) {
            Ok(value) => return Ok(Typed::Value(value)),
            Err(why) => print::remark(&why),
        }
    }
    Ok(Typed::Declined)
}

/// The name of a field, what may stand in it, and what an empty line means.
fn question(name: &str, field: &Value, is_required: bool) -> String {
    let label = field["title"].as_str().unwrap_or(name);
    let description = field["description"].as_str().map(str::to_owned);
    let kind = field["type"].as_str().filter(|kind| *kind != "string").map(|kind| match kind {
        "boolean" => "y or n".to_owned(),
        kind => kind.to_owned(),
    });
    let empty = match field.get("default") {
        Some(default) => format!("Enter: {}", shown(std::slice::from_ref(default))),
        None if is_required => "Enter: decline".to_owned(),
        None => "Enter: leave out".to_owned(),
    };
    let notes: Vec<String> =
        description.into_iter().chain(choices::hint(field).or(kind)).chain([empty]).collect();
    harmless(&format!("{label} ({}):", notes.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_fills_in_forms_alone() {
        for (requests, expected) in [
            (r#"{"a":{"method":"elicitation/create","params":{"mode":"form"}}}"#, true),
            (r#"{"a":{"method":"elicitation/create","params":{}}}"#, true),
            (r#"{"a":{"method":"elicitation/create","params":{"mode":"url"}}}"#, false),
            (r#"{"a":{"method":"elicitation/create"},"b":{"method":"roots/list"}}"#, false),
        ] {
            assert_eq!(are_all(&Bytes::from_static(requests.as_bytes())), expected, "{requests}");
        }
    }

    #[test]
    fn a_question_says_what_may_be_typed() {
        for (field, is_required, expected) in [
            (json!({ "type": "string" }), true, "x (Enter: decline):"),
            (json!({ "type": "integer", "title": "Age" }), false, "Age (integer; Enter: leave out):"),
            (
                json!({ "enum": ["a", "b"], "description": "A letter", "default": "a" }),
                true,
                "x (A letter; 1 to 2; Enter: a):",
            ),
            (json!({ "type": "boolean" }), false, "x (y or n; Enter: leave out):"),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b", "c"] } }),
                false,
                "x (several of 1 to 3, as 1,2; Enter: leave out):",
            ),
            (json!({ "title": "\u{1b}[2J" }), true, "\u{fffd}[2J (Enter: decline):"),
        ] {
            assert_eq!(question("x", &field, is_required), expected);
        }
    }
}
