//! A call that is not yet admitted, as values: what the checks look at, and what they leave for those after them.

use std::sync::Arc;
use std::time::Duration;

use audit::Decided;
use bytes::Bytes;
use policy::{Caller, Covers, Decision, Roles};
use rules::OnResult;
use sandbox::{ObeyedFile, Root};
use tool_api::{Action, Arguments, Definition};

use crate::meta::Meta;
use crate::offer::Offered;
use crate::tokens::Origin;

/// A call on its way through the checks.
pub(crate) struct Candidate {
    pub(crate) caller: Caller,
    pub(crate) offered: Arc<Offered>,
    /// What the caller calls the target.
    pub(crate) target: Arc<str>,
    /// What it is and what is done with it, if it is no call of a tool.
    pub(crate) kind: Option<&'static str>,
    pub(crate) action: Option<Action>,
    /// The call that goes on in the task that it is about.
    pub(crate) origin: Option<Origin>,
    /// True if it goes on with a call that was admitted in an earlier round.
    pub(crate) goes_on: bool,
    /// Where a tool of ours would write.
    pub(crate) files: Root,
    /// The plan that it would leave plan mode with, once a person is asked about that.
    pub(crate) plan: Option<Bytes>,
    /// As the AI rules have left it.
    pub(crate) content: Content,
    /// As it came, if the AI rules have changed it.
    pub(crate) original: Option<Box<Content>>,
    pub(crate) judgement: Judgement,
}

/// What a caller sends, and AI rules may change.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) arguments: Arguments,
    /// What the client answers to what the tool has asked in an earlier round, as JSON text.
    pub(crate) answers: Option<Bytes>,
    /// The caller's own members of `_meta`, if they are sent on.
    pub(crate) meta: Option<Meta>,
}

/// What the policy and the AI rules say of a call.
#[derive(Default)]
pub(crate) struct Judgement {
    /// Nothing until the policy was asked.
    pub(crate) decision: Option<Decision>,
    /// What a person must agree to before the call runs.
    pub(crate) consents: Vec<Consent>,
    /// The files that others obey and the call would write: a person is asked about each.
    pub(crate) obeyed: Vec<ObeyedFile>,
    /// The rules that had a say, until the record has them.
    pub(crate) decided: Vec<Decided>,
    /// True once the AI rules have changed the arguments, until the record knows.
    pub(crate) is_rewritten: bool,
    /// How many places the AI rules struck out of the arguments.
    pub(crate) struck: u32,
    /// The AI rules that the result is held against.
    pub(crate) on_result: Option<OnResult>,
}

/// One thing that a person must agree to.
#[derive(Debug, Clone)]
pub(crate) struct Consent {
    /// The rule that asks.
    pub(crate) rule: Arc<str>,
    /// Its reason, completing "the tool …".
    pub(crate) why: Arc<str>,
    /// Who may answer; empty for the configured roles.
    pub(crate) approvers: Roles,
    /// How long the question stays open; none for the configured time.
    pub(crate) lasts: Option<Duration>,
    /// What a plain yes is good for.
    pub(crate) covers: Covers,
    /// Whether a person is shown what the call would change.
    pub(crate) dry_run_first: bool,
}

impl Candidate {
    /// The same call as it came, which no check has seen.
    pub(crate) fn as_it_came(&self) -> Candidate {
        Candidate {
            caller: self.caller.clone(),
            offered: self.offered.clone(),
            target: self.target.clone(),
            kind: self.kind,
            action: self.action,
            origin: self.origin.clone(),
            goes_on: self.goes_on,
            files: self.files.clone(),
            plan: self.plan.clone(),
            content: self.original.as_deref().unwrap_or(&self.content).clone(),
            original: None,
            judgement: Judgement::default(),
        }
    }

    pub(crate) fn definition(&self) -> &Definition {
        self.offered.definition()
    }

    /// The tool's name, for sentences.
    pub(crate) fn tool_name(&self) -> String {
        self.definition().name.to_string()
    }

    /// Bytes that the checks look at.
    pub(crate) fn bytes(&self) -> usize {
        let Content { arguments, answers, meta } = &self.content;
        let meta = meta.as_ref().map_or(0, |meta| meta.text().len());
        arguments.text().len() + answers.as_ref().map_or(0, Bytes::len) + meta
    }
}
