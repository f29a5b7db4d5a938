//! Writes arguments that a rule has changed so that what it has not changed stays as the caller wrote it: numbers of any
//! length keep all their digits.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// `after` as JSON text, with the spelling of `text` wherever it is as `before`, which is what `text` means.
pub(super) fn respell(text: &str, before: &Value, after: &Value) -> String {
    let mut out = String::with_capacity(text.len());
    write(&mut out, text, before, after);
    out
}

fn write(out: &mut String, text: &str, before: &Value, after: &Value) {
    if before == after {
        out.push_str(text);
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let texts: HashMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
            let members = after.iter().map(|(name, value)| {
                let was = before.get(name).and_then(|was| Some((texts.get(name)?.get(), was)));
                (Some(&**name), was, value)
            });
            list(out, ['{', '}'], members);
        }
        (Value::Array(before), Value::Array(after)) => {
            let texts: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            // What was taken out of a list or put in moves those behind it: the ends that are the same are kept.
            let same_end =
                before.iter().rev().zip(after.iter().rev()).take_while(|(was, is)| was == is).count();
            let items = after.iter().enumerate().map(|(nth, value)| {
                let is_at_end = after.len() - nth <= same_end;
                let at = if is_at_end { before.len() + nth - after.len() } else { nth };
                let was = before.get(at).and_then(|was| Some((texts.get(at)?.get(), was)));
                (None, was, value)
            });
            list(out, ['[', ']'], items);
        }
        (_, after) => out.push_str(&after.to_string()),
    }
}

/// A value, and what stood there before: its text and what that means.
type Item<'a> = (Option<&'a str>, Option<(&'a str, &'a Value)>, &'a Value);

fn list<'a>(out: &mut String, [open, close]: [char; 2], items: impl Iterator<Item = Item<'a>>) {
    out.push(open);
    for (nth, (name, was, value)) in items.enumerate() {
        if nth > 0 {
            out.push(',');
        }
        if let Some(name) = name {
            out.push_str(&Value::from(name).to_string());
            out.push(':');
        }
        match was {
            Some((text, before)) => write(out, text, before, value),
            None => out.push_str(&value.to_string()),
        }
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_stays_as_it_was_written() {
        let big = "99999999999999999999999999";
        for (text, change, expected) in [
            ("{ \"big\":BIG, \"z\":-0 }", r#"{"dry_run":true}"#, r#"{"big":BIG,"dry_run":true,"z":-0}"#),
            (r#"{"a":{"n":1.50,"b":BIG},"x":1}"#, r#"{"x":2}"#, r#"{"a":{"n":1.50,"b":BIG},"x":2}"#),
            (
                r#"{"a":[BIG,{"n":BIG,"s":"k"}]}"#,
                r#"{"a":[BIG,{"n":BIG,"s":"*"}]}"#,
                r#"{"a":[BIG,{"n":BIG,"s":"*"}]}"#,
            ),
            (r#"{"a":[1,BIG]}"#, r#"{"a":[BIG]}"#, r#"{"a":[BIG]}"#),
            (r#"{"a":[1e2,BIG,3]}"#, r#"{"a":[1e2,0,BIG,3]}"#, r#"{"a":[1e2,0,BIG,3]}"#),
            (r#"{"a":BIG}"#, r#"{"a":{"b":1}}"#, r#"{"a":{"b":1}}"#),
            (r#"{"a\n":BIG,"b":1}"#, r#"{"b":"\""}"#, r#"{"a\n":BIG,"b":"\""}"#),
        ] {
            let read = |text: &str| serde_json::from_str::<Value>(&text.replace("BIG", big)).expect("JSON");
            let (before, change) = (read(text), read(change));
            let mut after = before.clone();
            for (name, value) in change.as_object().expect("an object") {
                after[name] = value.clone();
            }
            let text = text.replace("BIG", big);
            assert_eq!(respell(&text, &before, &after), expected.replace("BIG", big), "{text}");
        }
    }
}
