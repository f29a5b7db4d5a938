//! `docs/tools.md`: the built-in tools, as `toolcrib tools list --json` describes them to an agent.

use anyhow::Context as _;
use serde_json::Value;

use super::schema::{self, Field};
use crate::program::Program;

const HEAD: &str = "# Built-in tools

<!-- Made by `cargo xtask docs` from `toolcrib tools list --json`. -->

What the program offers before any upstream is added, in the words an agent sees. Beside upstreams and declared
tools there are also `artifact_read` and `artifact_search`, for [results that are too large](artifacts.md).
";

pub(super) fn page(program: &Program) -> anyhow::Result<String> {
    let printed = program.says(&["tools", "list", "--json"])?;
    let list = serde_json::from_str(&printed).context("`tools list --json` did not print JSON")?;
    Ok(format!("{HEAD}{}", parts(&list)?))
}

/// One part for each tool of a list in the protocol's form.
fn parts(list: &Value) -> anyhow::Result<String> {
    let tools = list.as_array().or(list["tools"].as_array()).context("the list of tools is not a list")?;
    tools.iter().map(part).collect()
}

fn part(tool: &Value) -> anyhow::Result<String> {
    let name = tool["name"].as_str().context("a tool has no name")?;
    let description = tool["description"].as_str().with_context(|| format!("{name} has no description"))?;
    let mut part = format!("\n## `{name}`\n\n{description}\n");
    for (heading, key) in [("Parameter", "inputSchema"), ("Result", "outputSchema")] {
        let schema = &tool[key];
        let fields = schema::fields(schema, schema);
        let fields: Vec<&Field<'_>> = fields.iter().collect();
        if !fields.is_empty() {
            part.push_str(&format!("\n{}", schema::table(heading, &fields)));
        }
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const EXPECTED: &str = "
## `workspace_read`

Reads a file.

| Parameter | Type | Default | Meaning |
|---|---|---|---|
| `path` | string | required | The file. |
";

    #[test]
    fn a_tool_is_told_with_its_parameters() {
        let tool = json!({
            "name": "workspace_read",
            "description": "Reads a file.",
            "inputSchema": {
                "type": "object",
                "properties": { "path": { "type": "string", "description": "The file." } },
                "required": ["path"]
            }
        });
        assert_eq!(parts(&json!([tool])).expect("a list"), EXPECTED);
        assert_eq!(parts(&json!({ "tools": [tool] })).expect("a list"), EXPECTED);
        let error = parts(&json!([{ "name": "silent" }])).expect_err("a tool without words");
        assert_eq!(error.to_string(), "silent has no description");
        assert!(parts(&json!("none")).is_err());
    }
}
