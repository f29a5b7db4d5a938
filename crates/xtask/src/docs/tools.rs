//! `docs/tools.md`: the built-in tools, as `toolcrib tools list --json` describes them to an agent, each with an example. The case
//! `tool_examples` makes these calls, and holds the answers.

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::schema::{self, Field};
use crate::program::Program;

const HEAD: &str = "# Built-in tools

<!-- Made by `cargo xtask docs` from `toolcrib tools list --json`. -->

What the program offers before any upstream is added, in the words an agent sees. Four kinds are there only where they are of
use: `InvokeSkill` where there are [skills](skills.md); `artifact_read` and `artifact_search`, for [results that are too
large](artifacts.md), where something can be that large; `job_wait` and `job_result` where `tools.offer` names `jobs`
([jobs](jobs.md)); `tools_search`, `tools_describe` and `tools_call` where `tools.exposure` is `search`
([exposure](configuration.md)).

The examples are made one after the other by a test, in a workspace with `posts.sh`, `check.sh` and `fence.png`; `…` stands for what is
another each time.
";

/// The calls with their answers, in the order in which they are made.
const EXAMPLES: &str = include_str!("../../../../e2e/fixtures/tool_examples.json");

/// A call and what it answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    tool: String,
    arguments: Map<String, Value>,
    answer: String,
}

/// What is to be configured so that every tool is there: a skill beside it, too.
const CONFIGURATION: &str = r#"[tools]
offer = ["workspace", "shell", "web", "agent", "skills", "artifacts", "jobs"]
exposure = "search"
"#;
const SKILL: &str =
    "---\nname: fixing\ndescription: Use this when a defect is to be mended.\n---\nMend it.\n";

pub(super) fn page(program: &Program) -> anyhow::Result<String> {
    // A home of its own: the other pages tell of one without configuration.
    let program = program.beside()?;
    program.put(".config/toolcrib/toolcrib.toml", CONFIGURATION)?;
    program.put(".config/toolcrib/skills/fixing/SKILL.md", SKILL)?;
    let printed = program.says(&["tools", "list", "--json"])?;
    let list = serde_json::from_str(&printed).context("`tools list --json` did not print JSON")?;
    let examples: Vec<Example> =
        serde_json::from_str(EXAMPLES).context("the examples are no list of calls")?;
    Ok(format!("{HEAD}{}", parts(&list, &examples)?))
}

/// One part for each tool of a list in the protocol's form.
fn parts(list: &Value, examples: &[Example]) -> anyhow::Result<String> {
    let tools = list.as_array().or(list["tools"].as_array()).context("the list of tools is not a list")?;
    tools.iter().map(|tool| part(tool, examples)).collect()
}

fn part(tool: &Value, examples: &[Example]) -> anyhow::Result<String> {
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
    let examples: Vec<&Example> = examples.iter().filter(|example| example.tool == name).collect();
    ensure!(!examples.is_empty(), "{name} has no example in e2e/fixtures/tool_examples.json");
    part.extend(examples.into_iter().map(Example::shown));
    Ok(part)
}

impl Example {
    /// The call as a client makes it, and the text of the answer.
    fn shown(&self) -> String {
        let arguments = serde_json::to_string_pretty(&self.arguments).expect("texts are its keys");
        format!("\n```json\n{arguments}\n```\n\n```text\n{}\n```\n", self.answer.trim_end())
    }
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

```json
{
  \"path\": \"a\"
}
```

```text
one
two
```
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
        let example =
            json!({ "tool": "workspace_read", "arguments": { "path": "a" }, "answer": "one\ntwo\n" });
        let examples = [serde_json::from_value(example).expect("an example")];
        assert_eq!(parts(&json!([tool]), &examples).expect("a list"), EXPECTED);
        assert_eq!(parts(&json!({ "tools": [tool] }), &examples).expect("a list"), EXPECTED);
        for (list, expected) in [
            (json!([{ "name": "silent" }]), "silent has no description"),
            (json!([tool]), "workspace_read has no example in e2e/fixtures/tool_examples.json"),
            (json!("none"), "the list of tools is not a list"),
        ] {
            assert_eq!(parts(&list, &[]).expect_err("no page").to_string(), expected);
        }
    }
}
