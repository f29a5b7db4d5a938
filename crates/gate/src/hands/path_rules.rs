//! What the rules in force say of a path that a tool of ours comes upon.

use std::sync::Arc;

use rules::Rules;
use serde_json::json;
use tool_api::{Definition, Listing, PathRules};

/// The rules as they are held against calls of one tool.
struct OfTool {
    rules: Arc<Rules>,
    tool: String,
    open_world: bool,
}

/// Nothing for tools that are not ours, and where there are no rules.
pub(super) fn path_rules(rules: &Arc<Rules>, definition: &Definition) -> Option<Arc<dyn PathRules>> {
    if !matches!(definition.listing, Listing::Ours(_)) || !rules.are_any() {
        return None;
    }
    let (rules, tool) = (rules.clone(), definition.name.to_string());
    Some(Arc::new(OfTool { rules, tool, open_world: definition.open_world }))
}

impl PathRules for OfTool {
    fn concern(&self, path: &str) -> bool {
        self.rules.concern_paths(&rules::Call {
            tool: &self.tool,
            upstream: None,
            open_world: self.open_world,
            is_action: false,
            paths: Some(&["path"]),
            input_schema: None,
            output_schema: None,
            arguments: &json!({ "path": path }),
            begun_with: None,
            answers: None,
            meta: None,
        })
    }
}
