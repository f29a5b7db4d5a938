//! `tools_call`: a call of a tool that stands in no list. The gate puts that tool in its place before anything is judged, so what
//! is here says what such a call looks like, and never runs.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool_api::{About, ArgumentRoles, Context, Document, Effect, Example, Need, TOOLS_CALL, Tool, ToolError};

use crate::plain_schema::plain;

/// Calls a tool by its name.
#[derive(Debug)]
pub(crate) struct Call;

/// The arguments of `tools_call`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
#[expect(dead_code, reason = "the gate reads them; what they look like is said here")]
pub(crate) struct Input {
    /// The tool, as `tools_search` says it.
    name: String,
    /// Its arguments, as `tools_describe` says them.
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Tool for Call {
    const ABOUT: About = About {
        name: TOOLS_CALL,
        title: "Call a tool",
        summary: "Call a tool that `tools_search` has found, with its arguments. It is checked and recorded as a call of that \
                  tool.",
        // What it calls may do anything, and a client may ask its user by what this says.
        effect: Effect::Destroys,
        arguments: ArgumentRoles::NONE,
        scopes: &[],
        needs: &[Need::Catalogue],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example {
            title: "A tool without arguments",
            arguments: r#"{"name": "workspace_list", "arguments": {"path": "docs"}}"#,
        }],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, _: Input, _: &Context) -> Result<Document, ToolError> {
        Err(ToolError::new(
            "unknown_tool",
            "this tool only stands for others, and is called through the gate alone",
        ))
    }
}
