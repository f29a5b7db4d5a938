//! A call that may run, as values: nothing in it is borrowed, so it outlives the request that it came with.

use std::sync::Arc;

use bytes::Bytes;
use policy::{Caller, Decision};
use rules::OnResult;
use sandbox::ObeyedFile;
use tool_api::{Action, Arguments, CallId, Input, Outcome};

use crate::approvals::Carried;
use crate::checks::Findings;
use crate::failure::Failure;
use crate::offer::Offered;
use crate::tokens::Origin;

/// Who calls what: what a further round, or the task that the call becomes, belongs to.
pub(crate) struct Identity {
    pub(crate) id: CallId,
    pub(crate) caller: Caller,
    /// The tool, by the definition that was admitted.
    pub(crate) offered: Arc<Offered>,
    /// What is done, unless a tool is called.
    pub(crate) action: Option<Action>,
    /// What the caller calls the target.
    pub(crate) target: Arc<str>,
    /// The call that goes on in the task that it is about.
    pub(crate) origin: Option<Origin>,
    /// The arguments as they came.
    pub(crate) arguments: Bytes,
    /// What AI rules have made of them, if they have changed something.
    pub(crate) rewritten: Option<Bytes>,
    /// What a person has allowed, if one was asked.
    pub(crate) approval: Option<Carried>,
}

/// A call that every check has let pass, and whose intent is in the audit log if it may change something.
pub(crate) struct Admitted {
    pub(crate) identity: Identity,
    /// What the source knows the target by, if that is not what the caller said.
    pub(crate) key: Option<Arc<str>>,
    pub(crate) arguments: Arguments,
    /// The `_meta` that the tool is sent.
    pub(crate) meta: Option<Bytes>,
    /// What the client sends for the tool in a further round.
    pub(crate) input: Option<Input>,
    /// The plan that a person has seen, if it leaves plan mode.
    pub(crate) plan: Option<Bytes>,
    /// The policy's, with its obligations.
    pub(crate) decision: Option<Decision>,
    /// The files that others obey and a person has allowed to be written.
    pub(crate) obeyed: Vec<ObeyedFile>,
    /// The AI rules that the result is held against.
    pub(crate) on_result: Option<OnResult>,
}

/// A call that has run.
pub(crate) struct Ran {
    pub(crate) identity: Identity,
    pub(crate) on_result: Option<OnResult>,
    /// What AI rules found in the messages on the way.
    pub(crate) in_messages: Findings,
    pub(crate) result: Result<Outcome, Failure>,
}
