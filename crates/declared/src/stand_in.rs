//! `StandIn`: a tool whose calls the gate makes calls of another one before anything is judged.

use futures_util::future::BoxFuture;
use tool_api::{AnyTool, Arguments, Context, Definition, Outcome, ToolError};

pub(crate) struct StandIn {
    pub(crate) definition: Definition,
}

impl AnyTool for StandIn {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, _: Arguments, _: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        let name = &self.definition.name;
        let why =
            format!("`{name}` stands for another tool, which runs in its place, and does nothing itself");
        Box::pin(std::future::ready(Err(ToolError::new("no_hand", why))))
    }
}
