//! `tools_describe`: what tools do and take, as a list of all tools would say it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    About, ArgumentRoles, Block, Context, Definition, Document, Effect, Example, Need, TOOLS_DESCRIBE, Tool,
    ToolError,
};

use crate::plain_schema::plain;

/// Most tools of one call.
const NAMES_MAX: u32 = 10;

/// Shows tools.
#[derive(Debug)]
pub(crate) struct Describe;

/// The arguments of `tools_describe`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// Names of tools, as `tools_search` says them.
    #[schemars(length(min = 1, max = NAMES_MAX))]
    names: Vec<String>,
}

impl Tool for Describe {
    const ABOUT: About = About {
        name: TOOLS_DESCRIBE,
        title: "Describe tools",
        summary: "Show what tools do and the JSON Schema of their arguments, by the names that `tools_search` says. Up to ten at \
                  once.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &[],
        needs: &[Need::Catalogue],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example { title: "One tool", arguments: r#"{"names": ["tools_describe"]}"# }],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, Input { names }: Input, cx: &Context) -> Result<Document, ToolError> {
        let tools = cx.catalogue()?;
        let described = |name: String| {
            let tool = tools.iter().find(|tool| tool.name.as_str() == name);
            tool.map(described).ok_or_else(|| {
                let why = format!("there is no tool `{name}` for you; `tools_search` says which there are");
                ToolError::new("unknown_tool", why)
            })
        };
        let all: Vec<String> = names.into_iter().map(described).collect::<Result<_, _>>()?;
        Ok(Document(vec![Block::Text(all.join("\n\n"))]))
    }
}

fn described(tool: &Definition) -> String {
    let (name, description) = (&tool.name, &tool.description);
    let arguments = String::from_utf8_lossy(&tool.input_schema);
    format!("# {name}\n{description}\n\nArguments: {arguments}")
}
