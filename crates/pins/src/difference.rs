//! What has changed between two definitions, member by member and word by word.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::shown::{excerpt, visible};

/// Most changes that are told of one definition.
const CHANGES_MAX: usize = 200;

/// Longer texts are not compared word by word, in bytes: that takes long if they have nothing in common.
const COMPARED_BYTES_MAX: usize = 64 * 1024;

/// Longest value that is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 2_000;

/// Words beside a changed one that are shown with it.
const WORDS_AROUND: usize = 8;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Where: the path of a member; empty for a definition that is a text.
    pub at: String,
    /// How it read; nothing if it was not there. JSON.
    pub before: Option<Value>,
    /// How it reads; nothing if it is not there any more. JSON.
    pub after: Option<Value>,
}

/// What has changed, in the order of the members. `before` is nothing for a definition that nobody has accepted; both
/// are JSON.
pub fn difference(before: Option<&str>, after: Option<&str>) -> Vec<Change> {
    let read = |text: Option<&str>| text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let (before, after) = (read(before), read(after));
    // What is new altogether is told member by member, too.
    let before = before.or_else(|| after.as_ref()?.as_object().map(|_| json!({})));
    let mut changes = Vec::new();
    compare(before, after, String::new(), &mut changes);
    changes.truncate(CHANGES_MAX);
    changes
}

fn compare(before: Option<Value>, after: Option<Value>, at: String, changes: &mut Vec<Change>) {
    match (before, after) {
        (Some(Value::Object(mut before)), Some(Value::Object(mut after))) => {
            let keys: BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
            for key in keys {
                let below = if at.is_empty() { key.clone() } else { format!("{at}/{key}") };
                compare(before.remove(&key), after.remove(&key), below, changes);
            }
        }
        (before, after) if before == after => {}
        (before, after) => changes.push(Change { at, before, after }),
    }
}

impl Change {
    /// The change in lines: what was there behind `-`, what is there behind `+`, and the changed words of a text as
    /// `[-old-]` and `{+new+}`. Hidden characters are written out.
    pub fn lines(&self) -> Vec<String> {
        let at = if self.at.is_empty() { "text".to_owned() } else { visible(&self.at) };
        match (&self.before, &self.after) {
            (Some(Value::String(before)), Some(Value::String(after)))
                if before.len() + after.len() <= COMPARED_BYTES_MAX =>
            {
                vec![format!("{at}: {}", words(before, after))]
            }
            (before, after) => {
                let line = |sign: char, value: &Value| format!("{sign} {at}: {}", shown(value));
                let before = before.iter().map(|value| line('-', value));
                before.chain(after.iter().map(|value| line('+', value))).collect()
            }
        }
    }
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(said) => said.clone(),
        other => other.to_string(),
    };
    excerpt(&text, SHOWN_BYTES_MAX)
}

/// Both texts in one, with what has changed marked and what is far from it left out.
fn words(before: &str, after: &str) -> String {
    let diff = TextDiff::from_words(before, after);
    let changes: Vec<_> = diff.iter_all_changes().collect();
    let near = |at: usize| {
        let around = at.saturating_sub(2 * WORDS_AROUND)..(at + 2 * WORDS_AROUND + 1).min(changes.len());
        changes[around].iter().any(|change| change.tag() != ChangeTag::Equal)
    };
    let mut shown = String::new();
    let mut last = None;
    for (at, change) in changes.iter().enumerate() {
        if change.tag() == ChangeTag::Equal && !near(at) {
            if last.is_some() || at == 0 {
                shown.push_str("… ");
            }
            last = None;
            continue;
        }
        if last != Some(change.tag()) {
            shown.push_str(last.map_or("", |last| brackets(last).1));
            shown.push_str(brackets(change.tag()).0);
            last = Some(change.tag());
        }
        shown.push_str(&visible(change.value()));
    }
    shown.push_str(last.map_or("", |last| brackets(last).1));
    shown
}

/// What stands before and behind the words of such a change.
fn brackets(tag: ChangeTag) -> (&'static str, &'static str) {
    match tag {
        ChangeTag::Equal => ("", ""),
        ChangeTag::Delete => ("[-", "-]"),
        ChangeTag::Insert => ("{+", "+}"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(before: Option<&str>, after: Option<&str>, expected: Expect) {
        let lines = difference(before, after).into_iter().flat_map(|change| change.lines());
        expected.assert_eq(&lines.map(|line| line + "\n").collect::<String>());
    }

    #[test]
    fn every_kind_of_change_is_told() {
        check(
            Some(
                r#"{"name":"a","description":"Adds two numbers.","annotations":{"readOnlyHint":true},"inputSchema":
                {"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a"]}}"#,
            ),
            Some(
                r#"{"name":"a","description":"Adds two big numbers.\u200b","annotations":{"readOnlyHint":false},
                "inputSchema":{"type":"object","properties":{"a":{"type":"string"},"c":{}},"required":["a","c"]}}"#,
            ),
            expect![[r#"
                - annotations/readOnlyHint: true
                + annotations/readOnlyHint: false
                description: Adds two [-numbers.-]{+big numbers.<U+200B>+}
                inputSchema/properties/a/type: [-number-]{+string+}
                - inputSchema/properties/b: {"type":"number"}
                + inputSchema/properties/c: {}
                - inputSchema/required: ["a"]
                + inputSchema/required: ["a","c"]
            "#]],
        );
        check(
            Some(r#"{"d":"be kind"}"#),
            Some(r#"{"d":"be kind\nnothing about it stands out","a\nb\r":"x\ufe00"}"#),
            expect![[r#"
                + a<U+000A>b<U+000D>: x<U+FE00>
                d: be kind{+<U+000A>nothing about it stands out+}
            "#]],
        );
        check(Some("{\"a\":1}"), Some("{ \"a\" : 1 }"), expect![[""]]);
        check(Some(r#""be kind""#), Some(r#""be cruel""#), expect![["text: be [-kind-]{+cruel+}\n"]]);
        check(None, Some(r#""be kind""#), expect![["+ text: be kind\n"]]);
        check(Some(r#"{"a":{}}"#), None, expect![["- text: {\"a\":{}}\n"]]);
    }

    #[test]
    fn what_is_far_from_a_change_is_left_out() {
        let many = |word: &str| [word; 50].join(" ");
        let before = format!("\"{} end\"", many("x"));
        let after = format!("\"{} new {} end\"", many("x"), many("x").len());
        check(
            Some(&before),
            Some(&after),
            expect![[r#"
            text: … x x x x x x x x {+new 99 +}end
        "#]],
        );
    }
}
