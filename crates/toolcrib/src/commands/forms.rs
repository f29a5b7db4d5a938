//! What a tool asks in the middle of a call, put to the person at the terminal.

use std::collections::VecDeque;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use terminal::print::{self, harmless};
use terminal::{Trouble, signals::unless_stopped};
use tokio::task::spawn_blocking;

use super::choices::{self, chosen};
use super::mcp::ask;
use super::typed::{fitting, kind_words, shown, typed};

/// What a client at a terminal declares: it can fill in forms.
pub(super) const FILLS_IN_FORMS: &[u8] = br#"{"elicitation":{"form":{}}}"#;

/// The line that declines a form, whichever of its fields is asked for.
const DECLINE: &str = "decline";

/// What the name of a field ends with that takes own words in place of the choice whose name it begins with.
const OTHER: &str = "_other";

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
    /// The field that takes an answer in one's own words in place of a choice; it is asked for in the same line.
    own_words: Option<Box<Field>>,
}

/// What a line means for a field.
enum Typed {
    /// Of the field of this name.
    Value(String, Value),
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
            Typed::Value(name, value) => {
                self.content.insert(name, value);
                self.next_field();
            }
            Typed::Nothing => self.next_field(),
            Typed::Declined => self.end("decline"),
            Typed::Unfit(why) => {
                self.tries += 1;
                print::remark(&on_one_line(&why));
                if self.tries == TRIES_MAX {
                    print::remark(&format!("declined, since none of {TRIES_MAX} answers fits"));
                    self.end("decline");
                } else {
                    self.ask();
                }
            }
        }
    }

    /// Asks again for what is missing.
    pub(super) fn ask(&self) {
        match self.fields.front() {
            Some(field) => print::question(&question(field)),
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
        let fields = fields.map(|(name, schema)| Field::new(name, schema, is_required(name)));
        self.fields = with_own_words(fields.collect());
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

/// The same fields, but each that takes own words in place of a choice within the field of that choice.
fn with_own_words(mut fields: VecDeque<Field>) -> VecDeque<Field> {
    let mut nth = 0;
    while nth < fields.len() {
        let choice = &fields[nth];
        let name = format!("{}{OTHER}", choice.name);
        let may_be_left = choice.is_choice() && !choice.is_required;
        let other =
            fields.iter().position(|it| it.name == name && it.schema["type"] == "string" && !it.is_required);
        if let Some(at) = other.filter(|_| may_be_left) {
            let other = fields.remove(at).map(Box::new);
            nth -= usize::from(at < nth);
            fields[nth].own_words = other;
        }
        nth += 1;
    }
    fields
}

impl Field {
    fn new(name: &str, schema: &Value, is_required: bool) -> Field {
        let mut schema = schema.clone();
        let is_untyped = schema.get("type").is_none() && choices::hint(&schema).is_none();
        if let Some(members) = schema.as_object_mut().filter(|_| is_untyped) {
            // A person who fills in a form writes words.
            members.insert("type".to_owned(), json!("string"));
        }
        Field { name: name.to_owned(), schema, is_required, own_words: None }
    }

    /// Whether it is one of several things.
    fn is_choice(&self) -> bool {
        self.schema["type"] != "array" && choices::hint(&self.schema).is_some()
    }

    /// What may be typed; nothing for a text.
    fn hint(&self) -> Option<String> {
        let own_words = if self.own_words.is_some() { ", or your own words" } else { "" };
        let choices = choices::hint(&self.schema).map(|hint| format!("{hint}{own_words}"));
        choices.or_else(|| match self.schema["type"].as_str()? {
            "string" => None,
            "boolean" => Some("y or n".to_owned()),
            kind => Some(kind_words(kind, &self.schema)),
        })
    }

    fn typed(&self, text: &str) -> Typed {
        if text.is_empty() {
            return match self.schema.get("default") {
                Some(default) => Typed::Value(self.name.clone(), default.clone()),
                None if self.is_required => Typed::Declined,
                None => Typed::Nothing,
            };
        }
        if text == DECLINE && !choices::names(&self.schema, text) {
            return Typed::Declined;
        }
        let value = match chosen(&self.schema, text) {
            Some(value) => fitting(&self.schema, value),
            None => typed(&self.schema, text).map_err(|why| self.plainly(why)),
        };
        match (value, &self.own_words) {
            (Ok(value), _) => Typed::Value(self.name.clone(), value),
            // A number that counts no choice is a slip.
            (Err(_), Some(own)) if text.parse::<f64>().is_err() => own.typed(text),
            (Err(why), _) => Typed::Unfit(why),
        }
    }

    /// Why a text does not fit, where more can be typed than its type says.
    fn plainly(&self, why: String) -> String {
        match (choices::hint(&self.schema), self.schema["type"].as_str()) {
            (Some(_), _) => format!("that is none of the choices: type {}", self.hint().unwrap_or_default()),
            (None, Some("boolean")) => "type y or n".to_owned(),
            (None, _) => why,
        }
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
fn question(field: &Field) -> String {
    let Field { name, schema, is_required, own_words: _ } = field;
    let label = schema["title"].as_str().unwrap_or(name);
    let description = schema["description"].as_str().map(str::to_owned);
    let empty = match schema.get("default") {
        Some(default) => format!("Enter: {}, or `{DECLINE}`", shown(std::slice::from_ref(default))),
        None if *is_required => "Enter: decline".to_owned(),
        None => format!("Enter: leave out, or `{DECLINE}`"),
    };
    let notes: Vec<String> = description.into_iter().chain(field.hint()).chain([empty]).collect();
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
    fn each_answer_is_read_by_the_type_of_its_field() {
        let field = |schema: Value| Field::new("x", &schema, false);
        let other = || json!({ "type": "string", "maxLength": 5 });
        let fields = [
            Field::new("x", &json!({ "enum": ["a", "b"] }), false),
            Field::new("x_other", &other(), false),
            Field::new("y", &json!({ "type": "string" }), false),
        ];
        let mut joined = with_own_words(fields.into());
        assert_eq!(joined.iter().map(|field| &*field.name).collect::<Vec<_>>(), ["x", "y"]);
        let choice = joined.remove(0).expect("a field");
        assert_eq!(question(&choice), "x (1 to 2, or your own words; Enter: leave out, or `decline`):");
        for (field, text, expected) in [
            (field(json!({ "type": "string" })), "5", "x: \"5\""),
            (field(json!({ "type": "string" })), "true", "x: \"true\""),
            (field(json!({ "title": "X" })), "5", "x: \"5\""),
            (field(json!({ "type": "integer" })), "5", "x: 5"),
            (field(json!({ "type": "integer" })), "five", "this must be a whole number"),
            (field(json!({ "type": "boolean" })), "yes", "x: true"),
            (field(json!({ "type": "boolean" })), "5", "type y or n"),
            (field(json!({ "enum": ["a", "b"] })), "c", "that is none of the choices: type 1 to 2"),
            (
                field(json!({ "type": "array", "items": { "enum": ["a", "b"] }, "minItems": 2 })),
                "1",
                "this has 1 entries; there must be at least 2",
            ),
            (field(json!({ "enum": ["1", "2"] })), "2", "x: \"2\""),
            (choice, "3", "that is none of the choices: type 1 to 2, or your own words"),
        ] {
            assert_eq!(told(&field.typed(text)), expected, "{text}");
        }
    }

    #[test]
    fn own_words_are_offered_beside_the_choices() {
        let other = |schema: Value, is_required| Field::new("x_other", &schema, is_required);
        let choice = || json!({ "type": "string", "enum": ["a", "b"] });
        let text = || json!({ "type": "string", "maxLength": 5 });
        for (of, is_required, beside, typed, expected) in [
            (choice(), false, other(text(), false), "none", Some("x_other: \"none\"")),
            (choice(), false, other(text(), false), "2", Some("x: \"b\"")),
            (
                choice(),
                false,
                other(text(), false),
                "neither",
                Some("this has 7 characters; there must be at most 5"),
            ),
            (choice(), true, other(text(), false), "none", None),
            (choice(), false, other(text(), true), "none", None),
            (choice(), false, other(json!({ "type": "integer" }), false), "none", None),
            (json!({ "type": "string" }), false, other(text(), false), "none", None),
        ] {
            // Whichever of them comes first.
            let fields = with_own_words([beside, Field::new("x", &of, is_required)].into());
            let came = (fields.len() == 1).then(|| told(&fields[0].typed(typed)));
            assert_eq!(came.as_deref(), expected, "{of} {typed}");
        }
    }

    fn told(typed: &Typed) -> String {
        match typed {
            Typed::Value(name, value) => format!("{name}: {value}"),
            Typed::Unfit(why) => why.clone(),
            Typed::Nothing => "nothing".to_owned(),
            Typed::Declined => "declined".to_owned(),
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
                "Age (a whole number; Enter: leave out, or `decline`):",
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
            assert_eq!(question(&Field::new("x", &field, is_required)), expected);
        }
    }
}
