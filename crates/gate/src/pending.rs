//! A call that is not yet admitted: all that the stages may look at.

use policy::Caller;
use std::sync::Arc;
use tool_api::{Arguments, CallId, Definition};

use crate::catalog::Offered;

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
