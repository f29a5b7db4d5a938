//! The choices of a field in a form, as a person sees them and names them: by number, or by their words.

use serde_json::Value;

use super::typed::{shown, words};

/// One line for each choice: its number, and what it is called.
pub(super) fn lines(field: &Value) -> Vec<String> {
    let field = listed(field);
    let titles = titles(field);
    let line = |(nth, word): (usize, Value)| {
        let word = shown(&[word]);
        format!("  {}  {}", nth + 1, titles.get(nth).cloned().unwrap_or(word))
    };
    words(field).into_iter().enumerate().map(line).collect()
}

/// What may be typed; nothing for a field without choices.
pub(super) fn hint(field: &Value) -> Option<String> {
    let count = words(listed(field)).len();
    let several = if field["type"] == "array" { "several of " } else { "" };
    let how = if several.is_empty() { "" } else { ", as 1,2" };
    (count > 0).then(|| format!("{several}1 to {count}{how}"))
}

/// What a person means by a number, by numbers, or by yes and no; nothing if the text is none of these. A choice that is called
/// by such a text is meant by it.
pub(super) fn chosen(field: &Value, text: &str) -> Option<Value> {
    if names(field, text) {
        return None;
    }
    let words = words(listed(field));
    let nth = |text: &str| {
        text.trim().parse::<usize>().ok()?.checked_sub(1).and_then(|nth| words.get(nth).cloned())
    };
    match field["type"].as_str() {
        Some("boolean") => match text.to_ascii_lowercase().as_str() {
            "y" | "yes" => Some(Value::Bool(true)),
            "n" | "no" => Some(Value::Bool(false)),
            _ => None,
        },
        Some("array") => text.split(',').map(nth).collect(),
        _ => nth(text),
    }
}

/// Whether a choice is called by this text.
pub(super) fn names(field: &Value, text: &str) -> bool {
    words(listed(field)).iter().any(|word| shown(std::slice::from_ref(word)) == text)
}

/// Where the choices stand: in the field, or in the items of its list.
fn listed(field: &Value) -> &Value {
    if field["type"] == "array" { &field["items"] } else { field }
}

/// The names for people, in the order of the choices: those of MCP 2025-06-18, or those of later revisions.
fn titles(field: &Value) -> Vec<String> {
    let names = field["enumNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let several = field["oneOf"].as_array().or(field["anyOf"].as_array()).into_iter().flatten();
    names.chain(several.filter_map(|choice| choice["title"].as_str())).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_choice_is_named_by_its_number() {
        let letters = json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B: the second"] });
        let numbers = json!({ "type": "string", "enum": ["2", "1"] });
        let several = json!({ "type": "array", "items": { "enum": ["a", "b"] } });
        let titled = json!({ "oneOf": [{ "const": "a", "title": "A" }] });
        let yes = json!({ "type": "boolean" });
        for (field, text, expected) in [
            (&letters, "2", Some(json!("b"))),
            (&letters, "3", None),
            (&letters, "0", None),
            (&letters, "b", None),
            (&numbers, "2", None),
            (&titled, "1", Some(json!("a"))),
            (&several, "2, 1", Some(json!(["b", "a"]))),
            (&several, "2,5", None),
            (&several, "a", None),
            (&yes, "Yes", Some(json!(true))),
            (&yes, "n", Some(json!(false))),
            (&yes, "true", None),
            (&json!({ "type": "integer" }), "1", None),
        ] {
            assert_eq!(chosen(field, text), expected, "{field} {text}");
        }
        assert_eq!(lines(&letters), ["  1  A", "  2  B: the second"]);
        assert_eq!(lines(&titled), ["  1  A"]);
        assert_eq!(lines(&several), ["  1  a", "  2  b"]);
        assert!(lines(&yes).is_empty());
    }
}
