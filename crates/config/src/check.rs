//! Holds a written configuration against the JSON Schema of its types and names every difference with its
//! place: unknown keys with the nearest right one, wrong types, values out of range. Only asked once the
//! types themselves have refused, so that a good configuration costs no schema.

use serde_json::Value;

use crate::problem::Problem;
use crate::tree::{Node, Place, Written};
use admin::nearest;

/// Deeper than any table of ours; a schema that refers to itself must end somewhere.
const DEPTH_MAX: usize = 32;

/// Keys as other clients have them, and ours.
const OTHER_WORDS: [(&str, &str); 9] = [
    ("cmd", "command"),
    ("program", "command"),
    ("arguments", "args"),
    ("environment", "env"),
    ("type", "transport"),
    ("disabled", "enabled"),
    ("mcpServers", "mcp"),
    ("mcp_servers", "mcp"),
    ("servers", "mcp"),
];

/// How the problem of a key begins that the schema does not know.
const UNKNOWN: &str = "unknown key";

/// Every difference between the tree and the schema.
pub(crate) fn check(schema: &Value, tree: &Node) -> Vec<Problem> {
    let mut check = Check { root: schema, problems: Vec::new() };
    check.node(schema, tree, &[]);
    check.problems
}

/// Keys from the top of the file, as people read them.
fn shown(path: &[&str]) -> String {
    path.join(".").replace(".[", "[")
}

struct Check<'s> {
    root: &'s Value,
    problems: Vec<Problem>,
}

impl<'s> Check<'s> {
    fn node(&mut self, schema: &'s Value, node: &Node, path: &[&str]) {
        if path.len() > DEPTH_MAX {
            return;
        }
        let schema = self.resolved(schema);
        if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return self.any_of(choices, node, path);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.node(part, node, path);
        }
        if !fits_type(schema, node) {
            let what = match types(schema).is_empty() {
                true => format!("{} cannot be {}", shown(path), node.kind()),
                false => {
                    format!("{} must be {}, not {}", shown(path), expected(self.root, schema), node.kind())
                }
            };
            return self.report(node.place, what);
        }
        self.word(&words(schema), node, path);
        self.range(schema, node, path);
        match &node.written {
            Written::Table(_) => self.table(schema, node, path),
            Written::List(items) => {
                for (nth, item) in items.iter().enumerate() {
                    self.node(&schema["items"], item, &[path, &[&format!("[{nth}]")]].concat());
                }
            }
            _ => {}
        }
    }

    fn table(&mut self, schema: &'s Value, node: &Node, path: &[&str]) {
        let Written::Table(members) = &node.written else { return };
        let before = self.problems.len();
        let properties = schema["properties"].as_object();
        let known = || properties.into_iter().flatten().map(|(name, _)| name.as_str());
        for (name, member) in members {
            match (properties.and_then(|properties| properties.get(name)), &schema["additionalProperties"]) {
                (Some(property), _) => self.node(property, &member.node, &[path, &[name]].concat()),
                (None, Value::Bool(false)) => self.problems.push(unknown(member.key, name, path, known())),
                (None, Value::Null) if schema["unevaluatedProperties"] == false => {
                    self.problems.push(unknown(member.key, name, path, known()));
                }
                (None, values) => self.node(values, &member.node, &[path, &[name]].concat()),
            }
        }
        if self.problems[before..].iter().any(|problem| problem.what.starts_with(UNKNOWN)) {
            return; // what is missing is most likely what was misspelt
        }
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(required) {
                self.report(node.place, format!("{} needs the key `{required}`", shown(path)));
            }
        }
    }

    /// The value must fit one of these. If it fits none, the one of its own type says what is wrong.
    fn any_of(&mut self, choices: &'s [Value], node: &Node, path: &[&str]) {
        let words: Vec<&str> = choices.iter().flat_map(|choice| words(self.resolved(choice))).collect();
        if !words.is_empty() && matches!(node.written, Written::Text(_)) {
            return self.word(&words, node, path);
        }
        let tried: Vec<Vec<Problem>> = choices
            .iter()
            .map(|choice| {
                let mut check = Check { root: self.root, problems: Vec::new() };
                check.node(choice, node, path);
                check.problems
            })
            .collect();
        if tried.iter().any(Vec::is_empty) {
            return;
        }
        if let Some(keys) = self.several(choices, node) {
            return self.report(node.place, format!("{} takes one of {keys}, not several", shown(path)));
        }
        let of_its_type =
            choices.iter().zip(tried).filter(|(choice, _)| fits_type(self.resolved(choice), node));
        match of_its_type.map(|(_, problems)| problems).min_by_key(Vec::len) {
            Some(problems) => self.problems.extend(problems),
            None => {
                let mut kinds: Vec<String> =
                    choices.iter().map(|choice| expected(self.root, choice)).collect();
                kinds.retain(|kind| kind != "nothing");
                kinds.dedup();
                let what = format!("{} must be {}, not {}", shown(path), kinds.join(" or "), node.kind());
                self.report(node.place, what);
            }
        }
    }

    /// The keys of which a table should have one, where it has several.
    fn several(&self, choices: &'s [Value], node: &Node) -> Option<String> {
        let Written::Table(members) = &node.written else { return None };
        let keys_of = |choice| self.resolved(choice)["properties"].as_object().filter(|keys| keys.len() == 1);
        let keys: Vec<&str> =
            choices.iter().filter_map(keys_of).flat_map(|keys| keys.keys()).map(String::as_str).collect();
        let is_several = members.len() > 1 && members.keys().all(|name| keys.contains(&name.as_str()));
        is_several.then(|| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "))
    }

    /// The text must be one of these words.
    fn word(&mut self, words: &[&str], node: &Node, path: &[&str]) {
        let Written::Text(text) = &node.written else { return };
        if words.is_empty() || words.contains(&text.as_str()) {
            return;
        }
        let problem = Problem::at(node.place, format!("{} must be one of {}", shown(path), quoted(words)));
        let hint = nearest(text, words.iter().copied()).map(|word| format!("did you mean \"{word}\"?"));
        self.problems.push(Problem { hint, ..problem });
    }

    fn range(&mut self, schema: &Value, node: &Node, path: &[&str]) {
        let number = match &node.written {
            Written::Integer(number) => *number as f64,
            Written::Float(number) => number.as_f64().unwrap_or(f64::NAN),
            _ => return,
        };
        let least = schema["minimum"].as_f64().filter(|least| number < *least);
        let most = schema["maximum"].as_f64().filter(|most| number > *most);
        match (least, most) {
            (Some(least), _) => self.report(node.place, format!("{} must be at least {least}", shown(path))),
            (_, Some(most)) => self.report(node.place, format!("{} must be at most {most}", shown(path))),
            (None, None) => {}
        }
    }

    fn report(&mut self, place: Place, what: String) {
        self.problems.push(Problem::at(place, what));
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        resolved(self.root, schema)
    }
}

/// Follows references.
pub(crate) fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

fn unknown<'a>(place: Place, name: &str, path: &[&str], known: impl Iterator<Item = &'a str>) -> Problem {
    let known: Vec<&str> = known.collect();
    let table = if path.is_empty() { "the file".to_owned() } else { format!("[{}]", shown(path)) };
    let what = format!("{UNKNOWN} `{name}` in {table}");
    let meant =
        OTHER_WORDS.iter().find(|(other, ours)| name.eq_ignore_ascii_case(other) && known.contains(ours));
    if let (["mcp", server, "sandbox"], "env" | "inherit") = (path, name) {
        let hint = format!("variables of a server stand beside its `sandbox` table: `mcp.{server}.{name}`");
        return Problem::at(place, what).with_hint(hint);
    }
    let near = meant.map(|(_, ours)| *ours).or_else(|| nearest(name, known.iter().copied()));
    let hint = match near {
        Some("mcp") => "a server has the table [mcp.NAME] here".to_owned(),
        Some(key) => format!("did you mean `{key}`?"),
        None => return Problem::at(place, format!("{what}; its keys are {}", known.join(", "))),
    };
    Problem::at(place, what).with_hint(hint)
}

/// The words a schema allows, if it lists them.
fn words(schema: &Value) -> Vec<&str> {
    let listed = schema["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
    listed.iter().chain(schema.get("const")).filter_map(Value::as_str).collect()
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ if schema["properties"].is_object() => vec!["object"],
        _ if schema["enum"].is_array() || schema["const"].is_string() => vec!["string"],
        _ => Vec::new(),
    }
}

fn fits_type(schema: &Value, node: &Node) -> bool {
    let fits = |name: &&str| match &node.written {
        Written::Table(_) => *name == "object",
        Written::List(_) => *name == "array",
        Written::Text(_) => *name == "string",
        Written::Integer(_) => *name == "integer" || *name == "number",
        Written::Float(_) => *name == "number",
        Written::Switch(_) => *name == "boolean",
        Written::Other(_) => false,
    };
    let types = types(schema);
    types.is_empty() && !matches!(node.written, Written::Other(_)) || types.iter().any(fits)
}

/// What a schema asks for, for people.
fn expected(root: &Value, schema: &Value) -> String {
    let schema = resolved(root, schema);
    let word = |name: &&str| match *name {
        "object" => "a table",
        "array" => "a list",
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        _ => "nothing",
    };
    let types = types(schema);
    let words: Vec<&str> = types.iter().filter(|name| **name != "null").map(word).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(" or ") }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}
