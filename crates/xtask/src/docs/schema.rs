//! A JSON Schema as tables for a reader: what the generated pages share.

use serde_json::Value;

/// Deeper than any schema of ours: one that refers to itself must end somewhere.
pub(super) const DEPTH_MAX: usize = 8;

/// One member of an object.
pub(super) struct Field<'a> {
    pub(super) name: String,
    /// What it means, in words of the schema; may be empty.
    pub(super) description: String,
    /// What its value must be, references followed.
    pub(super) schema: &'a Value,
    kind: String,
    default: String,
}

impl<'a> Field<'a> {
    /// The table that its value may be in place of something plain, as a member of its own.
    pub(super) fn table_instead(&self, root: &'a Value) -> Option<Field<'a>> {
        let choices = self.schema["anyOf"].as_array()?;
        let mut tables =
            choices.iter().map(|it| resolved(root, it)).filter(|it| it["properties"].is_object());
        let schema = tables.next().filter(|_| tables.next().is_none())?;
        Some(self.as_table(schema))
    }

    /// The tables that its value is a list of, as a member of its own.
    pub(super) fn table_listed(&self, root: &'a Value) -> Option<Field<'a>> {
        let schema = resolved(root, self.schema.get("items")?);
        schema["properties"].is_object().then(|| self.as_table(schema))
    }

    fn as_table(&self, schema: &'a Value) -> Field<'a> {
        let description = schema["description"].as_str().unwrap_or_default().to_owned();
        Field { name: self.name.clone(), description, schema, kind: String::new(), default: String::new() }
    }
}

/// The members of an object, in the schema's order; none for anything else.
pub(super) fn fields<'a>(root: &'a Value, object: &'a Value) -> Vec<Field<'a>> {
    let object = resolved(root, object);
    let required =
        |name: &str| object["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
    let Some(properties) = object["properties"].as_object() else { return Vec::new() };
    let field = |(name, outer): (&String, &'a Value)| {
        let schema = resolved(root, outer);
        // What is said where the member is declared is nearer to it than what is said of its type.
        let member = |key: &str| outer.get(key).or_else(|| schema.get(key));
        let default = match member("default") {
            Some(Value::Null) | None if required(name) => "required".to_owned(),
            Some(Value::Null) | None => String::new(),
            Some(value) => format!("`{value}`"),
        };
        let description = member("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        Field { name: name.clone(), description, schema, kind: kind(root, outer, 0), default }
    };
    properties.iter().map(field).collect()
}

/// What the values of a map must be, if the schema is one of a map with free names.
pub(super) fn values<'a>(root: &'a Value, map: &'a Value) -> Option<&'a Value> {
    let values = resolved(root, map).get("additionalProperties")?;
    values.is_object().then(|| resolved(root, values))
}

/// A table with one row for each member.
pub(super) fn table(heading: &str, fields: &[&Field<'_>]) -> String {
    let mut table = format!("| {heading} | Type | Default | Meaning |\n|---|---|---|---|\n");
    for field in fields {
        let cells = [&field.kind, &field.default, &field.description].map(|cell| cell_text(cell));
        table.push_str(&format!("| `{}` | {} |\n", field.name, cells.join(" | ")));
    }
    table
}

/// Text that stays in one cell.
fn cell_text(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', r"\|")
}

/// Follows references, and looks through "this or nothing".
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        let target = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
        let one_of = |key: &str| {
            let mut something = schema[key].as_array()?.iter().filter(|it| it["type"] != "null");
            something.next().filter(|_| something.next().is_none())
        };
        match target.or_else(|| one_of("anyOf")).or_else(|| one_of("oneOf")).or_else(|| one_of("allOf")) {
            Some(inner) => schema = inner,
            None => break,
        }
    }
    schema
}

/// The type in a few words.
fn kind(root: &Value, schema: &Value, depth: usize) -> String {
    let schema = resolved(root, schema);
    if depth > DEPTH_MAX {
        return String::new();
    }
    let inner = |schema: &Value| kind(root, schema, depth + 1);
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .filter(|it| !it.is_null())
            .map(|it| format!("`{it}`"))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let mut kinds: Vec<String> = choices.iter().filter(|it| it["type"] != "null").map(inner).collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        name => name.as_str().into_iter().collect(),
    };
    match names.as_slice() {
        ["array"] if schema["items"].is_object() => format!("list of {}", inner(&schema["items"])),
        ["object"] => values(root, schema).map_or("table".into(), |it| format!("table of {}", inner(it))),
        names => names.join(" or "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, expected: &str) {
        assert_eq!(kind(&schema, &schema, 0), expected);
    }

    #[test]
    fn a_type_reads_as_words() {
        check(json!({ "type": "string" }), "string");
        check(json!({ "type": ["integer", "null"] }), "integer");
        check(json!({ "type": "array", "items": { "type": "string" } }), "list of string");
        check(json!({ "type": "object", "additionalProperties": { "type": "string" } }), "table of string");
        check(json!({ "enum": ["all", "search"] }), r#"`"all"` or `"search"`"#);
        check(json!({ "oneOf": [{ "const": "text" }, { "const": "json" }] }), r#"`"text"` or `"json"`"#);
        check(json!({ "anyOf": [{ "type": "boolean" }, { "type": "null" }] }), "boolean");
        check(json!({ "oneOf": [{ "type": "string" }, { "type": "object" }] }), "string or table");
        check(json!(true), "");
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "type": "array", "items": { "$ref": "#" } });
        assert!(kind(&schema, &schema, 0).starts_with("list of list of"));
        let schema = json!({ "$ref": "#" });
        assert_eq!(kind(&schema, &schema, 0), "");
    }
}
