//! `docs/configuration.md` and the schema it is made from, which editors use for completion.

use anyhow::Context as _;
use serde_json::Value;

use super::schema::{self, Field};
use crate::program::Program;

const HEAD: &str = "# Configuration

<!-- Made by `cargo xtask docs` from `toolcrib config schema`. -->

Every key of `toolcrib.toml`. `toolcrib config check` names each mistake with its line and column; editors that
read JSON Schema find it in `configuration.schema.json`.
";

/// The schema, laid out for reading.
pub(super) fn schema(program: &Program) -> anyhow::Result<String> {
    Ok(format!("{:#}\n", read(program)?))
}

/// One part for each table of the file.
pub(super) fn page(program: &Program) -> anyhow::Result<String> {
    Ok(format!("{HEAD}{}", tables(&read(program)?)))
}

fn read(program: &Program) -> anyhow::Result<Value> {
    serde_json::from_str(&program.says(&["config", "schema"])?).context("`config schema` did not print JSON")
}

fn tables(root: &Value) -> String {
    let mut page = String::new();
    for field in schema::fields(root, root) {
        add_table(&mut page, root, &field.name, &field, 1);
    }
    page
}

/// Adds a table of the file: its own keys first, then the tables within it.
fn add_table(page: &mut String, root: &Value, path: &str, field: &Field<'_>, depth: usize) {
    let (path, inner) = match schema::values(root, field.schema) {
        Some(values) => (format!("{path}.NAME"), values),
        None => (path.to_owned(), field.schema),
    };
    let fields = schema::fields(root, inner);
    let is_table = |field: &Field<'_>| {
        depth < schema::DEPTH_MAX
            && (!schema::fields(root, field.schema).is_empty()
                || schema::values(root, field.schema)
                    .is_some_and(|values| !schema::fields(root, values).is_empty()))
    };
    let (tables, keys): (Vec<_>, Vec<_>) = fields.iter().partition(|field| is_table(field));
    page.push_str(&format!("\n## `[{path}]`\n"));
    if !field.description.is_empty() {
        page.push_str(&format!("\n{}\n", field.description));
    }
    if !keys.is_empty() {
        page.push_str(&format!("\n{}", schema::table("Key", &keys)));
    }
    let instead = keys.iter().filter_map(|key| key.table_instead(root)).filter(|_| depth < schema::DEPTH_MAX);
    for table in instead.collect::<Vec<_>>().iter().chain(tables) {
        add_table(page, root, &format!("{path}.{}", table.name), table, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keys_and_named_tables_each_have_their_place() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "server": { "description": "The doors.", "$ref": "#/$defs/Server" },
                "mcp": { "additionalProperties": { "$ref": "#/$defs/Upstream" } },
                "limits": { "type": "object", "properties": { "rate": { "anyOf": [{ "$ref": "#/$defs/Rate" }, { "type": "null" }] } } }
            },
            "$defs": {
                "Server": { "type": "object", "properties": { "bind": { "type": "string", "default": "127.0.0.1:3000", "description": "Where | it\nlistens." } } },
                "Upstream": { "type": "object", "properties": { "command": { "type": ["string", "null"] }, "oauth": { "anyOf": [{ "type": "boolean" }, { "$ref": "#/$defs/Rate" }] } }, "required": ["command"] },
                "Rate": { "type": "object", "properties": { "burst": { "type": "integer" } } }
            }
        });
        let expected = r#"
## `[limits]`

## `[limits.rate]`

| Key | Type | Default | Meaning |
|---|---|---|---|
| `burst` | integer |  |  |

## `[mcp.NAME]`

| Key | Type | Default | Meaning |
|---|---|---|---|
| `command` | string | required |  |
| `oauth` | boolean or table |  |  |

## `[mcp.NAME.oauth]`

| Key | Type | Default | Meaning |
|---|---|---|---|
| `burst` | integer |  |  |

## `[server]`

The doors.

| Key | Type | Default | Meaning |
|---|---|---|---|
| `bind` | string | `"127.0.0.1:3000"` | Where \| it listens. |
"#;
        assert_eq!(tables(&schema), expected);
    }
}
