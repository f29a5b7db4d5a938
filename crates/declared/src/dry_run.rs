//! `DryRun`: the argument by which a caller asks what a tool would do. It is always said to the program, whoever left it out.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tool_api::DRY_RUN;

use crate::manifest::Manifest;

/// Who has this scope changes something; who says nothing of it does not want to.
const WRITE: &str = "write_workspace";

const DESCRIPTION: &str = "True: say what would be done, and do nothing.";

/// What holds for a tool that knows the argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DryRun {
    by_default: bool,
}

impl DryRun {
    /// That of a tool whose caller must hold `scopes`; its inputs say the argument from now on. Nothing for one that does not
    /// know it.
    pub(crate) fn declared(
        manifest: &mut Manifest,
        scopes: &[Box<str>],
        problems: &mut Vec<String>,
    ) -> Option<DryRun> {
        if !manifest.dry_run_supported {
            return None;
        }
        let properties = manifest.inputs.entry("properties").or_insert_with(|| Map::new().into());
        let schema = properties
            .as_object_mut()?
            .entry(DRY_RUN)
            .or_insert_with(|| json!({ "type": "boolean", "description": DESCRIPTION }));
        if schema["type"] != "boolean" {
            problems.push(format!("inputs: `{DRY_RUN}` must be a boolean for `dry_run_supported`"));
            return None;
        }
        let by_default = schema["default"].as_bool();
        let by_default = by_default.unwrap_or_else(|| scopes.iter().any(|scope| &**scope == WRITE));
        schema["default"] = by_default.into();
        Some(DryRun { by_default })
    }

    /// The arguments of a call, which say it, and what they say.
    pub(crate) fn said(this: Option<DryRun>, arguments: &Value) -> (Cow<'_, Value>, bool) {
        let Some(DryRun { by_default }) = this else { return (Cow::Borrowed(arguments), false) };
        match (arguments.get(DRY_RUN).and_then(Value::as_bool), arguments.as_object()) {
            (None, Some(members)) => {
                let mut members = members.clone();
                members.insert(DRY_RUN.to_owned(), by_default.into());
                (Cow::Owned(members.into()), by_default)
            }
            (said, _) => (Cow::Borrowed(arguments), said.unwrap_or(by_default)),
        }
    }
}
