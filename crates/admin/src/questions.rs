//! What agents ask whoever watches at a terminal, and the answers. Works on the store itself, as approvals do.

use gate::Approvals;
use gate::questions::Questions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// A person's answer to what an agent asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Which question.
    pub id: String,
    /// What the person says: an `inputResponses` object.
    pub responses: Map<String, Value>,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Which question.
    pub id: String,
    /// Whose agent asked.
    pub caller: String,
}

impl Operation for Answer {
    const NAME: &'static str = "questions.answer";
    type Part = Approvals;
    type Output = Answered;

    fn perform(self, kept: &Approvals, by: &By) -> Result<Answered, Fault> {
        let questions = Questions::beside(kept);
        let gone = || {
            let message =
                format!("there is no question `{}`, or nobody waits for its answer any more", self.id);
            Fault::unknown("unknown_question", message)
        };
        let question =
            questions.open()?.into_iter().find(|question| *question.id == *self.id).ok_or_else(gone)?;
        by.in_person()?.is_none_of(&question.askers)?;
        let answered = questions.answer(&self.id, Value::Object(self.responses.clone()))?.ok_or_else(gone)?;
        Ok(Answered { id: self.id, caller: answered.caller.to_string() })
    }
}
