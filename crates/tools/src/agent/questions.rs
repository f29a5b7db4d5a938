//! Questions with choices: as an agent writes them, as a form that any client can show, and what comes back.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool_api::ToolError;

/// Most questions of one call: more is an examination.
const QUESTIONS_MAX: usize = 4;

/// Fewest and most choices of one question.
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=4;

/// The longest question, and the longest description of a choice, in characters.
const TEXT_CHARS_MAX: usize = 1_000;

/// The longest name of a choice, in characters: it stands on one line.
const LABEL_CHARS_MAX: usize = 100;

/// How every form begins: what an agent asks is not what we ask about its calls.
const ASKED_BY: &str = "Asked by the agent: ";

/// The key of the form among what a client is asked.
const KEY: &str = "questions";

/// What a user does with a form (MCP, "Elicitation"), beside dismissing it.
const ACCEPT: &str = "accept";
const DECLINE: &str = "decline";

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a question with `question` and `options`"
)]
pub(super) struct Question {
    pub(super) question: String,
    /// A word or two for it.
    header: Option<String>,
    options: Vec<Choice>,
    /// Whether several choices may be taken.
    #[serde(default)]
    multi_select: bool,
}

/// One of its choices.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an option with a `label`, as an object")]
struct Choice {
    label: String,
    description: Option<String>,
}

/// Reads the questions of a call: a list, or an object that has one.
pub(super) fn read(text: &str) -> Result<Vec<Question>, ToolError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, expecting = "an object with `questions`")]
    struct Wrapped {
        questions: Vec<Question>,
    }
    let is_wrapped = text.trim_start().starts_with('{');
    let read = match is_wrapped {
        true => serde_json::from_str::<Wrapped>(text).map(|all| all.questions),
        false => serde_json::from_str(text),
    };
    let form = r#"[{"question": "…", "options": [{"label": "…"}, {"label": "…"}]}]"#;
    let questions =
        read.map_err(|error| invalid(format!("`questions_json` is not of the form {form}: {error}")))?;
    if !(1..=QUESTIONS_MAX).contains(&questions.len()) {
        return Err(invalid(format!("ask 1 to {QUESTIONS_MAX} questions, not {}", questions.len())));
    }
    for (nth, question) in questions.iter().enumerate() {
        question
            .check(questions.iter().take(nth))
            .map_err(|why| invalid(format!("question {}: {why}", nth + 1)))?;
    }
    Ok(questions)
}

fn invalid(why: String) -> ToolError {
    ToolError::new("invalid_questions", why)
}

impl Question {
    fn check<'q>(&self, mut before: impl Iterator<Item = &'q Question>) -> Result<(), String> {
        let fits = |what: &str, text: &str, most: usize| match text.trim().chars().count() {
            0 => Err(format!("{what} is empty")),
            count if count > most => Err(format!("{what} has {count} characters, and {most} are the most")),
            _ => Ok(()),
        };
        fits("its text", &self.question, TEXT_CHARS_MAX)?;
        self.header.iter().try_for_each(|header| fits("its header", header, LABEL_CHARS_MAX))?;
        if before.any(|other| other.question == self.question) {
            return Err("it was asked before".to_owned());
        }
        let (least, most, count) = (OPTIONS.start(), OPTIONS.end(), self.options.len());
        if !OPTIONS.contains(&count) {
            return Err(format!(
                "give {least} to {most} options, not {count}; a free answer can always be given"
            ));
        }
        for (nth, Choice { label, description }) in self.options.iter().enumerate() {
            fits("a label", label, LABEL_CHARS_MAX)?;
            description.iter().try_for_each(|text| fits("a description", text, TEXT_CHARS_MAX))?;
            if self.options.iter().take(nth).any(|other| other.label == *label) {
                return Err(format!("two options are called {label:?}"));
            }
        }
        Ok(())
    }

    /// Its fields: flat and plain, since clients of older revisions show no others. `q` names it.
    fn fields(&self, q: &str, fields: &mut Map<String, Value>) {
        let title = self.header.as_deref().unwrap_or(&self.question);
        let told = |choice: &Choice| match &choice.description {
            Some(description) => format!("{}: {description}", choice.label),
            None => choice.label.clone(),
        };
        if self.multi_select {
            for (nth, choice) in self.options.iter().enumerate() {
                let description = format!("{} — {}", self.question, told(choice));
                let field = json!({ "type": "boolean", "title": choice.label, "description": description });
                fields.insert(format!("{q}_{}", nth + 1), field);
            }
        } else {
            let labels: Vec<_> = self.options.iter().map(|choice| &choice.label).collect();
            let all: Vec<_> = self.options.iter().map(told).collect();
            let field = json!({ "type": "string", "title": title, "description": self.question, "enum": labels, "enumNames": all });
            fields.insert(q.to_owned(), field);
        }
        let other = json!({
            "type": "string",
            "title": format!("{title}: another answer"),
            "description": "In your own words, in place of the choices",
            "maxLength": TEXT_CHARS_MAX,
        });
        fields.insert(format!("{q}_other"), other);
    }

    /// The answer to it; nothing if there is none.
    fn answer(&self, q: &str, content: &Value) -> Option<Value> {
        let other = content[format!("{q}_other")].as_str().map(str::trim).filter(|text| !text.is_empty());
        if let Some(other) = other {
            return Some(json!(other.chars().take(TEXT_CHARS_MAX).collect::<String>()));
        }
        if self.multi_select {
            let is_taken = |nth: usize| content[format!("{q}_{}", nth + 1)].as_bool() == Some(true);
            let taken = self.options.iter().enumerate().filter(|(nth, _)| is_taken(*nth));
            return Some(taken.map(|(_, choice)| json!(choice.label)).collect());
        }
        let label = content[q].as_str()?;
        self.options.iter().any(|choice| choice.label == label).then(|| json!(label))
    }
}

/// The `inputRequests` object that asks them (MCP 2026-07-28, "Elicitation").
pub(super) fn form(questions: &[Question]) -> Value {
    let mut fields = Map::new();
    for (nth, question) in questions.iter().enumerate() {
        question.fields(&name(nth), &mut fields);
    }
    let texts: Vec<_> = questions.iter().map(|question| &*question.question).collect();
    let schema = json!({ "type": "object", "properties": fields });
    let params = json!({ "mode": "form", "message": format!("{ASKED_BY}{}", texts.join("\n")), "requestedSchema": schema });
    json!({ KEY: { "method": "elicitation/create", "params": params } })
}

/// Whether an `inputResponses` object says neither yes nor no.
pub(super) fn is_dismissed(responses: &[u8]) -> bool {
    let responses: Value = serde_json::from_slice(responses).unwrap_or_default();
    !matches!(responses[KEY]["action"].as_str(), Some(ACCEPT | DECLINE))
}

/// What the user says to each question, from an `inputResponses` object.
///
/// # Errors
/// The user has not answered.
pub(super) fn answers(questions: &[Question], responses: &[u8]) -> Result<Map<String, Value>, ToolError> {
    let responses: Value = serde_json::from_slice(responses).unwrap_or_default();
    let response = &responses[KEY];
    match response["action"].as_str() {
        Some(ACCEPT) => {}
        Some(DECLINE) => {
            return Err(ToolError::new(
                "declined",
                "the user does not want to answer; go on as you think best, or stop",
            ));
        }
        _ => {
            let why =
                "nobody has answered: the question was dismissed; go on without, or ask in your own text";
            return Err(ToolError::new("no_answer", why));
        }
    }
    let said = |(nth, question): (usize, &Question)| {
        Some((question.question.clone(), question.answer(&name(nth), &response["content"])?))
    };
    Ok(questions.iter().enumerate().filter_map(said).collect())
}

fn name(nth: usize) -> String {
    format!("q{}", nth + 1)
}
