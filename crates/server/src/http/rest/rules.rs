//! What the rules for AI would do with a call, without making it.

use gate::Caller;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::answer::{Answered, fresh};
use super::super::door::Door;
use super::super::endpoint::Endpoint;
use super::super::posted::{self, BODY_BYTES_MAX};
use super::super::problem::Problem;
use super::auditors::check_may_audit;
use super::operations::perform;

/// How a body looks.
const SAMPLE: &str = r#"{"tool_id":"workspace_read","arguments":{"path":".env"}}"#;

/// Holds a call against the rules. Whoever may try them finds what they let through, so that is for those who look after
/// others' calls.
pub(super) async fn test(door: &Door, endpoint: &Endpoint, caller: &Caller, body: Incoming) -> Answered {
    check_may_audit(caller, "trying the rules")?;
    let posted: Posted = posted::read(endpoint, body, BODY_BYTES_MAX, SAMPLE).await?;
    Ok(fresh(&perform(door, "rules.test", posted.input()?, caller).await?))
}

/// What is posted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    tool_id: Option<String>,
    /// The same in the word of the operation.
    tool: Option<String>,
    #[serde(default)]
    arguments: Map<String, Value>,
    result: Option<String>,
    upstream: Option<String>,
}

impl Posted {
    /// As the operation knows it.
    fn input(self) -> Result<Value, Problem> {
        let Posted { tool_id, tool, arguments, result, upstream } = self;
        let tool = match (tool_id, tool) {
            (Some(_), Some(_)) => {
                return Err(Problem::bad("`tool` is another word for `tool_id`; send one of them"));
            }
            (Some(tool), None) | (None, Some(tool)) => tool,
            (None, None) => {
                let why = format!("`/tool_id` is missing; send an object such as {SAMPLE}");
                return Err(Problem::bad(why));
            }
        };
        Ok(json!({ "tool": tool, "arguments": arguments, "result": result, "upstream": upstream }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_one_name_under_either_word() {
        let named = |body: Value| posted::parse::<Posted>(body.to_string().into(), SAMPLE)?.input();
        let expected = json!({ "tool": "a", "arguments": {}, "result": "b", "upstream": null });
        assert_eq!(named(json!({ "tool_id": "a", "result": "b" })), Ok(expected.clone()));
        assert_eq!(named(json!({ "tool": "a", "result": "b" })), Ok(expected));
        for (body, why) in [
            (json!({ "tool": "a", "tool_id": "a" }), "`tool` is another word for `tool_id`; send one"),
            (json!({ "result": "b" }), "`/tool_id` is missing; send an object such as"),
            (json!({ "tool_id": 7 }), "`/tool_id` must be a text, and is a number; send"),
            (json!({ "tool_id": "a", "arguments": [] }), "`/arguments` must be an object, and is a list;"),
        ] {
            let problem = json!(named(body).expect_err(why));
            assert!(problem["detail"].as_str().is_some_and(|told| told.starts_with(why)), "{problem}");
        }
    }
}
