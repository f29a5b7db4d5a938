//! A call that is not yet admitted: all that the checks may look at, and what they leave for those after them.

use std::sync::Arc;
use std::time::Duration;

use audit::Decided;
use bytes::Bytes;
use policy::{Caller, Decision, Roles};
use rules::OnResult;
use sandbox::{ObeyedFile, Root};
use tool_api::{Action, Arguments, CallId, Definition};

use crate::beside::Beside;
use crate::failure::Refusal;
use crate::offer::Offered;
use crate::tokens::Origin;

/// A call on its way through the checks.
pub(crate) struct Pending<'a> {
    /// Names the call.
    pub(crate) id: CallId,
    /// Who asks.
    pub(crate) caller: &'a Caller,
    /// For which tool.
    pub(crate) offered: Arc<Offered>,
    /// With what.
    pub(crate) arguments: Arguments,
    /// What the client answers to what the tool has asked in an earlier round, as JSON text.
    pub(crate) answers: Option<Bytes>,
    /// True if it goes on with a call that was admitted in an earlier round.
    pub(crate) goes_on: bool,
    /// What it does, if it is no call of a tool.
    pub(crate) action: Option<Action>,
    /// The call that goes on in the task that it is about.
    pub(crate) origin: Option<Origin>,
    /// Where a tool of ours would write.
    pub(crate) files: Option<&'a Root>,
    /// What it would write there that others obey: a person is asked about each.
    pub(crate) obeyed: Vec<ObeyedFile>,
    /// What the caller says beside the arguments, if it is sent on.
    pub(crate) beside: Option<Beside>,
    /// What of it the AI rules have changed, as it came.
    pub(crate) came: Option<Box<Came>>,
    /// True once the AI rules have changed the arguments, until the record knows.
    pub(crate) is_rewritten: bool,
    /// What the policy decided, once it was asked.
    pub(crate) decision: Option<Decision>,
    /// What a person must agree to before it runs.
    pub(crate) questions: Vec<Question>,
    /// The rules that had a say, for the record; the loop around the checks takes them out.
    pub(crate) decisions: Vec<Decided>,
    /// How many places the AI rules struck out of the arguments.
    pub(crate) struck: u32,
    /// The AI rules that what it gives is held against.
    pub(crate) on_result: Option<OnResult>,
}

/// What a caller has sent.
#[derive(Clone)]
pub(crate) struct Came {
    pub(crate) arguments: Arguments,
    pub(crate) answers: Option<Bytes>,
    pub(crate) beside: Option<Beside>,
}

/// One thing that a person must agree to.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The rule that asks.
    pub(crate) rule: Arc<str>,
    /// Its reason, completing "the tool …".
    pub(crate) why: Arc<str>,
    /// Who may answer; empty for the configured roles.
    pub(crate) approvers: Roles,
    /// How long it stays open; none for the configured time.
    pub(crate) lasts: Option<Duration>,
}

impl Question {
    /// What a rule of the policy asks.
    pub(crate) fn of_policy(decision: &Decision) -> Question {
        Question {
            rule: decision.rule.clone(),
            why: decision.why.clone(),
            approvers: decision.obligations.approvers,
            lasts: decision.obligations.approval_lasts,
        }
    }

    /// The refusal of a call that nobody can be asked about.
    pub(crate) fn refusal(&self, tool: String) -> Refusal {
        Refusal::NeedsApproval { tool, rule: self.rule.clone(), why: self.why.clone() }
    }
}

impl<'a> Pending<'a> {
    /// A call that no check has seen.
    pub(crate) fn new(
        id: CallId,
        caller: &'a Caller,
        offered: Arc<Offered>,
        arguments: Arguments,
        goes_on: bool,
        action: Option<Action>,
    ) -> Pending<'a> {
        Pending {
            id,
            caller,
            offered,
            arguments,
            answers: None,
            goes_on,
            action,
            origin: None,
            files: None,
            obeyed: Vec::new(),
            beside: None,
            came: None,
            is_rewritten: false,
            decision: None,
            questions: Vec::new(),
            decisions: Vec::new(),
            struck: 0,
            on_result: None,
        }
    }

    /// The same call as it came, which no check has seen.
    pub(crate) fn as_it_came(&self) -> Pending<'a> {
        let now = || Came {
            arguments: self.arguments.clone(),
            answers: self.answers.clone(),
            beside: self.beside.clone(),
        };
        let Came { arguments, answers, beside } = self.came.as_deref().cloned().unwrap_or_else(now);
        let new =
            Pending::new(self.id, self.caller, self.offered.clone(), arguments, self.goes_on, self.action);
        Pending { answers, beside, origin: self.origin.clone(), files: self.files, ..new }
    }

    /// What is known of the tool.
    pub(crate) fn definition(&self) -> &Definition {
        self.offered.definition()
    }

    /// The tool's name, for sentences.
    pub(crate) fn tool_name(&self) -> String {
        self.definition().name.to_string()
    }
}
