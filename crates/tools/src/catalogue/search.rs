//! `tools_search`: which tools there are for something.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    About, ArgumentRoles, Block, Context, Definition, Document, Effect, Example, Need, TOOLS_SEARCH, Tool,
    ToolError, is_of_catalogue,
};

use super::ranking::{arguments, ranked};
use crate::plain_schema::plain;

/// How many tools are shown to a call that does not say how many it wants, and at most.
const LIMIT: u16 = 10;
const LIMIT_MAX: u16 = 50;

/// The longest query, in characters.
const QUERY_CHARS_MAX: u32 = 1_000;

/// How much of a description is shown, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// Finds tools.
#[derive(Debug)]
pub(crate) struct Search;

/// The arguments of `tools_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// A few words for what is to be done, such as `create issue`. Empty: all tools, by name.
    #[schemars(length(max = QUERY_CHARS_MAX))]
    query: String,
    /// How many to show at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: u16,
}

fn limit() -> u16 {
    LIMIT
}

impl Tool for Search {
    const ABOUT: About = About {
        name: TOOLS_SEARCH,
        title: "Find tools",
        summary: "Find the tools there are for something: files, shell, web, and whatever services are connected. Search here \
                  before you say that something cannot be done. Then `tools_describe` shows what a tool takes, and \
                  `tools_call` calls it.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &[],
        needs: &[Need::Catalogue],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example { title: "For issues", arguments: r#"{"query": "create an issue"}"# }],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, Input { query, limit }: Input, cx: &Context) -> Result<Document, ToolError> {
        let tools = cx.catalogue()?.clone();
        let found = move || Ok(found(&tools, &query, usize::from(limit)));
        Ok(Document(vec![Block::Text(cx.blocking(found).await?)]))
    }
}

fn found(tools: &[Definition], query: &str, limit: usize) -> String {
    let mut all: Vec<&Definition> = tools.iter().filter(|tool| !is_of_catalogue(tool)).collect();
    let count = all.len();
    if query.trim().is_empty() {
        all.sort_by(|one, other| one.name.cmp(&other.name));
    } else {
        all = ranked(tools, query).into_iter().filter(|tool| !is_of_catalogue(tool)).collect();
    }
    if all.is_empty() {
        return format!("None of the {count} tools has to do with these words; try others, or fewer.");
    }
    let mut lines: Vec<String> = all.iter().take(limit).map(|tool| line(tool)).collect();
    if all.len() > limit {
        lines.push(format!("{} more; say more exactly what you want, or raise `limit`.", all.len() - limit));
    }
    lines.join("\n")
}

/// A tool as a call of it looks, and what it is for.
fn line(tool: &Definition) -> String {
    let argument = |(name, is_required)| if is_required { name } else { format!("{name}?") };
    let arguments: Vec<String> = arguments(tool).into_iter().map(argument).collect();
    let words = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = words.chars().take(SHOWN_CHARS_MAX).collect();
    let more = if shown.len() < words.len() { "…" } else { "" };
    format!("{}({}): {shown}{more}", tool.name, arguments.join(", "))
}

#[cfg(test)]
mod tests;
