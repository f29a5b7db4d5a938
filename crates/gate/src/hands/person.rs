//! `AtTerminal`: the hand by which a tool asks whoever watches at a terminal of their own.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use redact::Redactor;
use tool_api::{Person, ToolError};

use crate::approvals::{Asker, new_id};
use crate::questions::{ANSWER_WAIT_MAX, Question, Questions, Told};

/// That of one call.
pub(crate) struct AtTerminal {
    pub(crate) questions: Arc<Questions>,
    pub(crate) caller: Arc<str>,
    pub(crate) workspace: String,
    pub(crate) askers: Arc<[Asker]>,
    /// Nothing is asked that has a secret in it. What is answered is kept as it was typed until the call has ended.
    pub(crate) redactor: Redactor,
}

impl Person for AtTerminal {
    fn ask(&self, requests: Bytes) -> BoxFuture<'_, Result<Option<Bytes>, ToolError>> {
        Box::pin(async move {
            // Struck out of a choice, the answer would fit no choice any more.
            if self.redactor.json(&requests).is_some() {
                let why = "a secret stands in what is asked, which nobody is shown; ask again without it";
                return Err(ToolError::new("secret_in_question", why));
            }
            let unavailable = |why: &str| {
                ToolError::new("no_user", format!("the person at the terminal cannot be asked now: {why}"))
            };
            let question = Question {
                id: new_id().ok_or_else(|| unavailable("the system gives no randomness for an id"))?,
                caller: self.caller.clone(),
                workspace: self.workspace.clone(),
                requests: serde_json::from_slice(&requests)
                    .map_err(|error| unavailable(&error.to_string()))?,
                askers: self.askers.to_vec(),
                asked_at_ms: self.questions.now_ms(),
                responses: None,
            };
            let told = self.questions.ask(question).await;
            match told.map_err(|error| unavailable(&error.to_string()))? {
                Told::Answered(responses) => Ok(Some(responses.to_string().into())),
                Told::Nobody => Ok(None),
                Told::Late => {
                    let why = format!(
                        "nobody has answered within {ANSWER_WAIT_MAX:?}; go on without, or ask in your own text"
                    );
                    Err(ToolError::new("no_answer", why))
                }
                Told::Full => Err(unavailable("too many questions wait for an answer already")),
            }
        })
    }
}
