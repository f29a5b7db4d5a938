//! What a call keeps of its approval between two rounds: the question while the client asks its user, and then the permission.

use std::sync::Arc;

use audit::Hash;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tool_api::Input;

use super::call::ExactCall;
use super::record::Through;

/// What a client brings from an earlier round.
#[derive(Default)]
pub(crate) struct Brought {
    /// True if the call was admitted, or asked about, in an earlier round.
    pub(crate) goes_on: bool,
    /// What it sends for the tool.
    pub(crate) input: Option<Input>,
    /// The permission that the call got.
    pub(crate) carried: Option<Carried>,
    /// What the client was asked about the call, and its `inputResponses`.
    pub(crate) question: Option<ClientQuestion>,
    pub(crate) answers: Option<Bytes>,
}

/// A permission that a call has got, for its further rounds: they are the same call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Carried {
    pub(super) id: Arc<str>,
    pub(super) by: Arc<str>,
    pub(super) through: Through,
    /// The exact call.
    call: Hash,
    /// The rules whose questions are answered.
    rules: Vec<Arc<str>>,
}

impl Carried {
    pub(super) fn of(exact: &ExactCall, id: Arc<str>, (by, through): (Arc<str>, Through)) -> Carried {
        let rules = exact.question.questions.iter().map(|asked| asked.rule.clone()).collect();
        Carried { id, by, through, call: exact.question.call_sha256, rules }
    }

    pub(crate) fn covers(&self, exact: &ExactCall) -> bool {
        self.call == exact.question.call_sha256
            && exact.question.questions.iter().all(|asked| self.rules.contains(&asked.rule))
    }
}

/// What the client keeps while it asks its user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientQuestion {
    /// The approval.
    pub(super) id: String,
    /// What the client had brought for the tool.
    responses: Option<String>,
    /// What the tool had wanted back.
    state: Option<String>,
}

impl ClientQuestion {
    pub(super) fn new(id: &str, input: Option<&Input>) -> ClientQuestion {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        ClientQuestion {
            id: id.to_owned(),
            responses: input.and_then(|input| input.responses.as_ref()).map(text),
            state: input.and_then(|input| input.state.as_deref()).map(str::to_owned),
        }
    }

    /// How long it is in a sealed state, in bytes.
    pub(super) fn bytes(&self) -> usize {
        serde_json::to_string(self).map_or(usize::MAX, |text| text.len())
    }

    /// Takes out what the client had brought for the tool.
    pub(crate) fn take_input(&mut self) -> Option<Input> {
        let (responses, state) = (self.responses.take(), self.state.take());
        let is_there = responses.is_some() || state.is_some();
        is_there.then(|| Input { responses: responses.map(Bytes::from), state: state.map(Arc::from) })
    }
}
