//! What a tool asks in the middle of a call, put to the person at the terminal.

use std::collections::VecDeque;

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

/// The line that declines a form, whichever of its fields is asked for.
const DECLINE: &str = "decline";

/// How often a value is asked for that does not fit.
const TRIES_MAX: usize = 3;

/// Whether all that is asked are forms, which a person at a terminal fills in.
pub(super) fn are_all(requests: &Map<String, Value>) -> bool {
    let is_form = |it: &Value| it["method"] == "elicitation/create" && it["params"]["mode"] != "url";
    requests.values().all(is_form)
}

/// Has what a tool asks answered and gives the `inputResponses`.
pub(super) async fn answered(requests: Map<String, Value>) -> Result<Bytes, Trouble> {
    // The connections to servers go on meanwhile.
    let asked = unless_stopped(spawn_blocking(move || {
        let mut forms = Forms::begin(&requests);
        loop {
            match forms.done() {
                Some(responses) => return Ok::<_, Trouble>(responses),
                None => forms.take(ask::line()?.as_deref()),
            }
        }
    }));
    let responses = asked.await?.map_err(Trouble::because)??;
    Ok(Value::Object(responses).to_string().into())
}

/// Forms that a person fills in, line by line.
pub(super) struct Forms {
    /// Those that are not answered, by their keys; the first is being filled in.
    open: VecDeque<(String, Value)>,
    /// Its fields that have no value yet, the first of which is asked for; none for a form that only wants a yes.
    fields: VecDeque<Field>,
    content: Map<String, Value>,
    /// How often the field was given a value that does not fit.
    tries: usize,
    responses: Map<String, Value>,
}

struct Field {
    name: String,
    schema: Value,
    is_required: bool,
}

/// What a line means for a field.
enum Typed {
    Value(Value),
    /// It may be left out, and was.
    Nothing,
    Declined,
    /// Why it does not fit.
    Unfit(String),
}

impl Forms {
    /// Those of an `inputRequests` object; asks for the first value.
    pub(super) fn begin(requests: &Map<String, Value>) -> Forms {
        let open = requests.iter().map(|(key, request)| (key.clone(), request["params"].clone())).collect();
        let (content, responses) = (Map::new(), Map::new());
        let mut forms = Forms { open, fields: VecDeque::new(), content, tries: 0, responses };
        forms.open_first();
        forms
    }

    /// The `inputResponses` once all are answered.
    pub(super) fn done(&self) -> Option<Map<String, Value>> {
        self.open.is_empty().then(|| self.responses.clone())
    }

    /// Takes the next line, or that there is none any more, and asks for what is still missing.
    pub(super) fn take(&mut self, line: Option<&str>) {
        let Some(line) = line else { return self.end("cancel") };
        let Some(field) = self.fields.front() else {
            let agrees = matches!(line.to_lowercase().as_str(), "y" | "yes");
            return self.end(if agrees { "accept" } else { "decline" });
        };
        match field.typed(line) {
            Typed::Value(value) => {
                self.content.insert(field.name.clone(), value);
                self.next_field();
            }
            Typed::Nothing => self.next_field(),
            Typed::Declined => self.end("decline"),
            Typed::Unfit(why) => {
                self.tries += 1;
                print::remark(&why);
                if self.tries == TRIES_MAX { self.end("decline") } else { self.ask() }
            }
        }
    }

    /// Asks again for what is missing.
    pub(super) fn ask(&self) {
        match self.fields.front() {
            Some(field) => print::question(&question(&field.name, &field.schema, field.is_required)),
            None => print::question("Agree? [y/N]"),
        }
    }

    fn open_first(&mut self) {
        let Some((_, params)) = self.open.front() else { return };
        print::remark(&asked(params["message"].as_str().unwrap_or_default()));
        let schema = &params["requestedSchema"];
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_required = |name: &String| required.iter().any(|one| one == name);
        let fields = schema["properties"].as_object().into_iter().flatten();
        let field = |(name, schema): (&String, &Value)| Field {
            name: name.clone(),
            schema: schema.clone(),
            is_required: is_required(name),
        };
        self.fields = fields.map(field).collect();
        self.open_field();
    }

    fn open_field(&mut self) {
        self.tries = 0;
        let choices = self.fields.front().map(|field| choices::lines(&field.schema));
        choices.into_iter().flatten().for_each(|line| print::remark(&on_one_line(&line)));
        self.ask();
    }

    fn next_field(&mut self) {
        self.fields.pop_front();
        if self.fields.is_empty() { self.end("accept") } else { self.open_field() }
    }

    /// Answers the form with an `ElicitResult`, and opens the next one.
    fn end(&mut self, action: &str) {
        let content = std::mem::take(&mut self.content);
        let answer = match action {
            "accept" => json!({ "action": action, "content": content }),
            _ => json!({ "action": action }),
        };
        if let Some((key, _)) = self.open.pop_front() {
            self.responses.insert(key, answer);
        }
        self.open_first();
    }
}

impl Field {
    fn typed(&self, text: &str) -> Typed {
        if text.is_empty() {
            return match self.schema.get("default") {
                Some(default) => Typed::Value(default.clone()),
                None if self.is_required => Typed::Declined,
                None => Typed::Nothing,
            };
        }
        if text == DECLINE && !choices::names(&self.schema, text) {
            return Typed::Declined;
        }
        let value = chosen(&self.schema, text).map_or_else(|| typed(&self.schema, text), Ok);
        value.map_or_else(Typed::Unfit, Typed::Value)
    }
}

/// What is asked, in lines that stand further right than any of ours.
fn asked(message: &str) -> String {
    let lines: Vec<&str> = message.lines().collect();
    harmless(&format!("the tool asks: {}", lines.join("\n    ")))
}

/// The text of a tool where only one line is shown: a line of its own would read like one of ours.
fn on_one_line(text: &str) -> String {
    harmless(text).replace('\n', " ")
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
        Some(default) => format!("Enter: {}, or `{DECLINE}`", shown(std::slice::from_ref(default))),
        None if is_required => "Enter: decline".to_owned(),
        None => format!("Enter: leave out, or `{DECLINE}`"),
    };
    let notes: Vec<String> =
        description.into_iter().chain(choices::hint(field).or(kind)).chain([empty]).collect();
    on_one_line(&format!("{label} ({}):", notes.join("; ")))
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
            let read = serde_json::from_str(requests).expect("an object");
            assert_eq!(are_all(&read), expected, "{requests}");
        }
    }

    #[test]
    fn what_is_typed_line_by_line_fills_in_the_forms() {
        let form = |params: Value| json!({ "a": { "method": "elicitation/create", "params": params } });
        let schema = |required: &[&str]| {
            json!({
                "properties": { "n": { "type": "integer" }, "w": { "enum": ["x", "y"] } },
                "required": required,
            })
        };
        let (open, strict) =
            (json!({ "requestedSchema": schema(&[]) }), json!({ "requestedSchema": schema(&["w"]) }));
        for (params, lines, expected) in [
            (
                &open,
                &[Some("5"), Some("2")][..],
                json!({ "action": "accept", "content": { "n": 5, "w": "y" } }),
            ),
            (
                &open,
                &[Some("five"), Some("5"), Some("")],
                json!({ "action": "accept", "content": { "n": 5 } }),
            ),
            (&open, &[Some("a"), Some("b"), Some("c")], json!({ "action": "decline" })),
            (&open, &[Some("5"), Some("decline")], json!({ "action": "decline" })),
            (
                &json!({ "requestedSchema": { "properties": { "w": { "enum": ["accept", "decline"] } } } }),
                &[Some("decline")],
                json!({ "action": "accept", "content": { "w": "decline" } }),
            ),
            (&open, &[Some("5"), None], json!({ "action": "cancel" })),
            (&strict, &[Some(""), Some("")], json!({ "action": "decline" })),
            (&json!({}), &[Some("Yes")], json!({ "action": "accept", "content": {} })),
            (&json!({}), &[Some("")], json!({ "action": "decline" })),
        ] {
            let requests = form(params.clone());
            let mut forms = Forms::begin(requests.as_object().expect("an object"));
            for line in lines {
                assert_eq!(forms.done(), None, "{lines:?}");
                forms.take(*line);
            }
            assert_eq!(forms.done().map(|all| all["a"].clone()), Some(expected), "{lines:?}");
        }
    }

    #[test]
    fn no_line_of_what_is_asked_begins_like_ours() {
        assert_eq!(asked("a\r\nthe code:\n\nb"), "the tool asks: a\n    the code:\n    \n    b");
        assert_eq!(on_one_line("  1  a\nthe code:"), "  1  a the code:");
    }

    #[test]
    fn a_question_says_what_may_be_typed() {
        for (field, is_required, expected) in [
            (json!({ "type": "string" }), true, "x (Enter: decline):"),
            (
                json!({ "type": "integer", "title": "Age" }),
                false,
                "Age (integer; Enter: leave out, or `decline`):",
            ),
            (
                json!({ "enum": ["a", "b"], "description": "A letter", "default": "a" }),
                true,
                "x (A letter; 1 to 2; Enter: a, or `decline`):",
            ),
            (json!({ "type": "boolean" }), false, "x (y or n; Enter: leave out, or `decline`):"),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b", "c"] } }),
                false,
                "x (several of 1 to 3, as 1,2; Enter: leave out, or `decline`):",
            ),
            (json!({ "title": "a\nthe code:\r" }), true, "a the code:\u{fffd} (Enter: decline):"),
            (json!({ "title": "\u{1b}[2J" }), true, "\u{fffd}[2J (Enter: decline):"),
        ] {
            assert_eq!(question("x", &field, is_required), expected);
        }
    }
}
