//! `AskUserQuestion`: the person at the client chooses.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, Need, Outcome, Output, Payload, Structured, Tool,
    ToolError, shows_forms,
};

use super::questions::{self, Question};
use crate::plain_schema::plain;

/// What is to come back with the answers.
const ASKED: &str = "asked";

/// Asks the person.
#[derive(Debug)]
pub(crate) struct AskUserQuestion;

/// The arguments of `AskUserQuestion`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// JSON text: 1 to 4 of `{"question", "header"?, "options": [{"label", "description"?}], "multiSelect"?}`, with 2 to 4
    /// options each.
    questions_json: String,
}

/// What the person says.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Answers {
    /// By the text of the question: the label of the choice, a list of them with `multiSelect`, or the person's own words. What
    /// was left open is missing.
    answers: Map<String, Value>,
    /// The questions in their order.
    #[serde(skip)]
    asked: Vec<String>,
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.answers.is_empty() {
            return f.write_str("The user has left everything open.");
        }
        let answered = |question: &String| Some((question.clone(), self.answers.get(question)?));
        for (nth, (question, answer)) in self.asked.iter().filter_map(answered).enumerate() {
            let line_end = if nth == 0 { "" } else { "\n" };
            let answer = match answer {
                Value::String(text) => text.clone(),
                Value::Array(labels) if labels.is_empty() => "none of them".to_owned(),
                Value::Array(labels) => {
                    labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
                }
                other => other.to_string(),
            };
            write!(f, "{line_end}{question} {answer}")?;
        }
        Ok(())
    }
}

/// The question on its way to the person, or what came back.
pub(crate) enum Asked {
    Asks(Value),
    Answered(Answers),
}

impl Output for Asked {
    const SCHEMA: Option<fn() -> schemars::Schema> = Structured::<Answers>::SCHEMA;

    fn into_outcome(self) -> Outcome {
        match self {
            Asked::Asks(requests) => Outcome::of(Payload::InputRequired {
                requests: Some(requests.to_string().into()),
                state: Some(ASKED.into()),
                hold: None,
            }),
            Asked::Answered(answers) => Structured(answers).into_outcome(),
        }
    }
}

impl Tool for AskUserQuestion {
    const ABOUT: About = About {
        name: "AskUserQuestion",
        title: "Ask the user",
        summary: "Ask the user to choose, where a decision is theirs and you cannot find it out: up to four questions with \
                  options at once. They may also answer in their own words.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &[],
        needs: &[Need::Person],
        idempotent: false,
        open_world: false,
        // Longer than a person at a terminal is waited for.
        timeout: Duration::from_secs(6 * 60),
        examples: &[Example {
            title: "One question",
            arguments: r#"{"questions_json": "[{\"question\": \"Which database?\", \"options\": [{\"label\": \"SQLite\"}, {\"label\": \"PostgreSQL\", \"description\": \"for several machines\"}]}]"}"#,
        }],
    };
    type Input = Input;
    type Output = Asked;

    async fn run(&self, input: Input, cx: &Context) -> Result<Asked, ToolError> {
        let questions = questions::read(&input.questions_json)?;
        let brought = cx.input.as_ref().filter(|input| input.state.as_deref() == Some(ASKED));
        let brought = brought.map(|brought| brought.responses.as_deref().unwrap_or(b"{}"));
        if let Some(brought) = brought.filter(|responses| !questions::is_dismissed(responses)) {
            return answered(questions, brought);
        }
        let form = questions::form(&questions);
        if brought.is_none() && shows_forms(&cx.client.capabilities) {
            return Ok(Asked::Asks(form));
        }
        let responses = match &cx.person {
            Some(person) => person.ask(form.to_string().into()).await?,
            None => None,
        };
        // A client without a person at it dismisses a form by itself: where nobody watches either, that is what has come.
        if let Some(dismissed) = brought {
            return answered(questions, responses.as_deref().unwrap_or(dismissed));
        }
        let why = "no user can be asked here: this client shows no questions, and nobody watches at a terminal \
                   (`toolcrib approvals watch`); ask in your own text instead";
        answered(questions, &responses.ok_or_else(|| ToolError::new("no_user", why))?)
    }
}

fn answered(questions: Vec<Question>, responses: &[u8]) -> Result<Asked, ToolError> {
    let answers = questions::answers(&questions, responses)?;
    let asked = questions.into_iter().map(|question| question.question).collect();
    Ok(Asked::Answered(Answers { answers, asked }))
}

#[cfg(test)]
mod tests;
