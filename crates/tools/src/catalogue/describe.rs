//! `tools_describe`: what tools do and take, as a list of all tools would say it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    About, ArgumentRoles, Block, Context, Definition, Document, Effect, Example, Need, TOOLS_DESCRIBE, Tool,
    ToolError, near_names,
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
        let (mut shown, mut missing) = (Vec::new(), Vec::new());
        for name in &names {
            match tools.iter().find(|tool| tool.name.as_str() == name) {
                Some(tool) => shown.push(described(tool)),
                None => missing.push(no_such_tool(name, tools)),
            }
        }
        if shown.is_empty() {
            return Err(ToolError::new("unknown_tool", missing.join("; ")));
        }
        // One that is not there keeps the others from nobody.
        shown.extend(missing.into_iter().map(|why| format!("[{why}]")));
        Ok(Document(vec![Block::Text(shown.join("\n\n"))]))
    }
}

fn no_such_tool(name: &str, tools: &[Definition]) -> String {
    let near = near_names(name, tools.iter().map(|tool| tool.name.as_str()));
    let hint = match near.is_empty() {
        true => "`tools_search` says which there are".to_owned(),
        false => format!("the nearest are {}", near.join(", ")),
    };
    format!("there is no tool `{name}` for you; {hint}")
}

fn described(tool: &Definition) -> String {
    let (name, description) = (&tool.name, &tool.description);
    let arguments = String::from_utf8_lossy(&tool.input_schema);
    format!("# {name}\n{description}\n\nArguments: {arguments}")
}
