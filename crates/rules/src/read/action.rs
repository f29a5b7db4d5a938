//! What a rule does, as its file says it.

use std::sync::Arc;

use crate::node::{Node, Place};
use crate::rule::{Action, PLACEHOLDER};
use crate::transform::{Change, EDITS_MAX, Edit, Pointer};

use super::reader::{PATTERNS_MAX, Reader, Table};

/// Longest placeholder, in characters.
const PLACEHOLDER_CHARS_MAX: usize = 100;

/// The members that go with one action only, and with which.
const DETAILS: [(&str, &[&str]); 4] = [
    ("redaction_placeholder", &["redact", "redact_and_warn"]),
    ("approval_roles", &["require_approval"]),
    ("allowed_providers", &["override_provider"]),
    ("transform", &["transform"]),
];

pub(super) fn read(reader: &mut Reader, node: &Node) -> Option<Action> {
    let known = ["on_violation", "redaction_placeholder", "approval_roles", "allowed_providers", "transform"];
    let table = reader.table(node, "action", &known)?;
    let Some(written) = table.get("on_violation") else {
        let what = format!("`action` needs `on_violation`: one of {}", Action::WORDS.join(", "));
        reader.report(node.place, what);
        return None;
    };
    let word = reader.text(written, "on_violation")?;
    if !Action::WORDS.contains(&word) {
        reader.not_one_of(written, "on_violation", &Action::WORDS, word);
        return None;
    }
    for (detail, of) in DETAILS {
        if let Some(node) = table.get(detail).filter(|_| !of.contains(&word)) {
            reader.report(node.place, format!("`{detail}` goes with {}, not with {word}", of.join(" or ")));
        }
    }
    Some(match word {
        "ignore" => Action::Ignore,
        "warn" => Action::Warn,
        "block" => Action::Block,
        "require_approval" => Action::RequireApproval(names(reader, &table, "approval_roles")),
        "override_provider" => Action::OverrideProvider(names(reader, &table, "allowed_providers")),
        "transform" => Action::Transform(edits(reader, &table, node.place)?),
        _ => {
            let placeholder = placeholder(reader, &table);
            Action::Redact { warns: word == "redact_and_warn", placeholder }
        }
    })
}

fn placeholder(reader: &mut Reader, table: &Table<'_>) -> Arc<str> {
    let Some(node) = table.get("redaction_placeholder") else { return PLACEHOLDER.into() };
    let Some(text) = reader.text(node, "redaction_placeholder") else { return PLACEHOLDER.into() };
    if text.chars().count() > PLACEHOLDER_CHARS_MAX || text.chars().any(char::is_control) {
        let what = format!(
            "redaction_placeholder must be at most {PLACEHOLDER_CHARS_MAX} characters without control characters"
        );
        reader.report(node.place, what);
    }
    text.into()
}

fn names(reader: &mut Reader, table: &Table<'_>, key: &str) -> Arc<[Box<str>]> {
    let texts = table.get(key).and_then(|node| reader.texts(node, key, PATTERNS_MAX)).unwrap_or_default();
    texts.into_iter().map(|(_, text)| text.into()).collect()
}

fn edits(reader: &mut Reader, action: &Table<'_>, place: Place) -> Option<Arc<[Edit]>> {
    let Some(node) = action.get("transform") else {
        let what = "`action` needs `transform`, an object with `set`, `replace` or `remove`".to_owned();
        reader.report(place, what);
        return None;
    };
    let table = reader.table(node, "transform", &["set", "replace", "remove"])?;
    let mut edits = Vec::new();
    if let Some(removed) = table.get("remove") {
        for (place, text) in reader.texts(removed, "remove", EDITS_MAX)? {
            edits.extend(edit(reader, place, text, Change::Remove));
        }
    }
    for (key, change) in [("replace", Change::Replace as fn(_) -> _), ("set", Change::Set)] {
        let Some(node) = table.get(key) else { continue };
        for member in reader.any_table(node, key)?.members() {
            edits.extend(edit(reader, member.place, &member.name, change(member.node.to_json())));
        }
    }
    if edits.len() > EDITS_MAX {
        reader.report(node.place, format!("transform changes more than {EDITS_MAX} members"));
    }
    if edits.is_empty() && reader.problems.is_empty() {
        reader.report(
            node.place,
            "transform changes nothing; name a member in `set`, `replace` or `remove`".into(),
        );
    }
    Some(edits.into())
}

fn edit(reader: &mut Reader, place: Place, pointer: &str, change: Change) -> Option<Edit> {
    match Pointer::parse(pointer) {
        Ok(pointer) => Some(Edit { pointer, change }),
        Err(what) => {
            reader.report(place, what);
            None
        }
    }
}
