//! Does this call of a tool of ours write a file that others obey? A person must agree to that, whatever else is allowed.
//! Part of the policy's check: it looks at the arguments whenever that does.

use std::sync::Arc;

use audit::Decided;
use policy::{Covers, Roles};
use sandbox::{ObeyedFile, Root};
use serde_json::Value;
use tool_api::{Definition, Listing};

use crate::candidate::{Candidate, Consent};

/// Who asks, in records.
const NAME: &str = "obeyed";

/// The files that others obey among those that a call with these arguments would write.
pub fn obeyed_files(files: &Root, definition: &Definition, arguments: &Value) -> Vec<ObeyedFile> {
    let Listing::Ours(about) = definition.listing else { return Vec::new() };
    let named = about.arguments.writes.iter().filter_map(|name| arguments.get(name)).flat_map(texts);
    // What is no path of the workspace is refused by the tool.
    let mut found: Vec<_> =
        named.flat_map(|text| files.locate(text).map(|path| files.obeyed(&path))).flatten().collect();
    found.dedup();
    found
}

/// The rule that asks about a file.
pub fn obeyed_rule(file: &ObeyedFile) -> Arc<str> {
    format!("{NAME}:{}", file.name).into()
}

/// Asks for consent to each such file. What was asked about arguments before they were changed is asked besides.
pub(super) fn ask(candidate: &mut Candidate) {
    if candidate.action.is_some() {
        return;
    }
    let definition = candidate.offered.definition();
    let files = obeyed_files(&candidate.files, definition, candidate.content.arguments.value());
    let judgement = &mut candidate.judgement;
    for file in &files {
        let rule = obeyed_rule(file);
        let why: Arc<str> = format!("writes {file}").into();
        if judgement.consents.iter().any(|known| known.rule == rule && known.why == why) {
            continue;
        }
        judgement.decided.push(Decided { by: NAME, rule: rule.clone(), effect: "ask".into() });
        judgement.consents.push(Consent {
            rule,
            why,
            approvers: Roles::default(),
            lasts: None,
            covers: Covers::Call,
            dry_run_first: false,
        });
    }
    judgement.obeyed = files;
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
