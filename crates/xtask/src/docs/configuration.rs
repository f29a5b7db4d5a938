//! `docs/configuration.md` and the schema it is made from, which editors use for completion.

use anyhow::Context as _;
use serde_json::Value;

use super::schema::{self, Field};
use crate::program::Program;

/// What is read from where and which wins; an example; the tables by theme.
const HEAD: &str = include_str!("configuration_head.md");

/// The schema, laid out for reading.
pub(super) fn schema(program: &Program) -> anyhow::Result<String> {
    Ok(format!("{:#}\n", read(program)?))
}

/// The schema of a manifest, likewise.
pub(super) fn manifest_schema(program: &Program) -> anyhow::Result<String> {
    let printed = program.says(&["manifest", "schema"])?;
    let schema: Value = serde_json::from_str(&printed).context("`manifest schema` did not print JSON")?;
    Ok(format!("{schema:#}\n"))
}

/// One part for each table of the file.
pub(super) fn page(program: &Program) -> anyhow::Result<String> {
    Ok(format!("{HEAD}{}", tables(&read(program)?)))
}

fn read(program: &Program) -> anyhow::Result<Value> {
    serde_json::from_str(&program.says(&["config", "schema"])?).context("`config schema` did not print JSON")
}

/// Where in the file a table stands.
struct Place {
    path: String,
    /// True if it is one of a list of tables.
    is_listed: bool,
    depth: usize,
}

impl Place {
    fn below(&self, name: &str, is_listed: bool) -> Place {
        Place { path: format!("{}.{name}", self.path), is_listed, depth: self.depth + 1 }
    }

    fn heading(&self) -> String {
        let path = &self.path;
        if self.is_listed { format!("[[{path}]]") } else { format!("[{path}]") }
    }
}

fn tables(root: &Value) -> String {
    let mut page = String::new();
    for field in schema::fields(root, root) {
        let place = Place { path: field.name.clone(), is_listed: false, depth: 1 };
        add_table(&mut page, root, place, &field);
    }
    page
}

/// Adds a table of the file: its own keys first, then the tables within it, then those that its lists hold.
fn add_table(page: &mut String, root: &Value, mut place: Place, field: &Field<'_>) {
    let values = schema::values(root, field.schema);
    if values.is_some() {
        place.path.push_str(".NAME");
    }
    let fields = schema::fields(root, values.unwrap_or(field.schema));
    let is_table = |field: &Field<'_>| {
        place.depth < schema::DEPTH_MAX
            && (!schema::fields(root, field.schema).is_empty()
                || schema::values(root, field.schema)
                    .is_some_and(|values| !schema::fields(root, values).is_empty()))
    };
    let (tables, keys): (Vec<_>, Vec<_>) = fields.iter().partition(|field| is_table(field));
    page.push_str(&format!("\n## `{}`\n", place.heading()));
    if !field.description.is_empty() {
        page.push_str(&format!("\n{}\n", field.description));
    }
    if !keys.is_empty() {
        page.push_str(&format!("\n{}", schema::table("Key", &keys)));
    }
    if place.depth == schema::DEPTH_MAX {
        return;
    }
    let instead: Vec<_> = keys.iter().filter_map(|key| key.table_instead(root)).collect();
    for table in instead.iter().chain(tables) {
        add_table(page, root, place.below(&table.name, false), table);
    }
    for item in keys.iter().filter_map(|key| key.table_listed(root)) {
        add_table(page, root, place.below(&item.name, true), &item);
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
                "policy": { "type": "object", "properties": { "rules": { "type": "array", "items": { "$ref": "#/$defs/Rule" } } } },
                "limits": { "type": "object", "properties": { "rate": { "anyOf": [{ "$ref": "#/$defs/Rate" }, { "type": "null" }] } } }
            },
            "$defs": {
                "Server": { "type": "object", "properties": { "bind": { "type": "string", "default": "127.0.0.1:3000", "description": "Where | it\nlistens." } } },
                "Upstream": { "type": "object", "properties": { "command": { "type": ["string", "null"] }, "oauth": { "anyOf": [{ "type": "boolean" }, { "$ref": "#/$defs/Rate" }] } }, "required": ["command"] },
                "Rate": { "type": "object", "properties": { "burst": { "type": "integer" } } },
                "Rule": { "type": "object", "description": "One rule.", "properties": { "caller": { "$ref": "#/$defs/Rate" }, "id": { "type": "string" } }, "required": ["id"] }
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

## `[policy]`

| Key | Type | Default | Meaning |
|---|---|---|---|
| `rules` | list of table |  |  |

## `[[policy.rules]]`

One rule.

| Key | Type | Default | Meaning |
|---|---|---|---|
| `id` | string | required |  |

## `[policy.rules.caller]`

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
