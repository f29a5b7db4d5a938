//! A call that is not yet admitted: all that the stages may look at.

use policy::Caller;
use std::sync::Arc;
use tool_api::{Action, Arguments, CallId, Definition};

use crate::offer::Offered;

/// A call on its way through the stages.
pub(crate) struct Pending<'a> {
    /// Names the call.
    pub(crate) id: CallId,
    /// Who asks.
    pub(crate) caller: &'a Caller,
    /// For which tool.
    pub(crate) offered: Arc<Offered>,
    /// With what.
    pub(crate) arguments: Arguments,
    /// True if it goes on with a call that was admitted in an earlier round.
    pub(crate) goes_on: bool,
    /// What it does, if it is no call of a tool.
    pub(crate) action: Option<Action>,
}

impl Pending<'_> {
    /// What is known of the tool.
    pub(crate) fn definition(&self) -> &Definition {
        self.offered.definition()
    }

    /// The tool's name, for sentences.
    pub(crate) fn tool_name(&self) -> String {
        self.definition().name.to_string()
    }
}
