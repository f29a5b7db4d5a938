//! What the rules for AI would do with a call, without making it.

use gate::Caller;
use hyper::body::Incoming;
use serde_json::{Map, Value};

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
    let posted = posted::read(endpoint, body, BODY_BYTES_MAX, SAMPLE).await?;
    Ok(fresh(&perform(door, "rules.test", input(posted)?, caller).await?))
}

/// As the operation knows it, which says `tool`; that word is heard here, too.
fn input(mut posted: Map<String, Value>) -> Result<Value, Problem> {
    match (posted.remove("tool_id"), posted.contains_key("tool")) {
        (Some(_), true) => {
            return Err(Problem::bad("`tool` is another word for `tool_id`; send one of them"));
        }
        (Some(tool), false) => drop(posted.insert("tool".to_owned(), tool)),
        (None, true) => {}
        (None, false) => {
            return Err(Problem::bad(format!("`tool_id` is missing; send an object such as {SAMPLE}")));
        }
    }
    Ok(posted.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_has_one_name_under_either_word() {
        let named = |body: Value| input(body.as_object().expect("an object").clone()).ok();
        let expected = json!({ "tool": "a", "result": "b" });
        assert_eq!(named(json!({ "tool_id": "a", "result": "b" })), Some(expected.clone()));
        assert_eq!(named(json!({ "tool": "a", "result": "b" })), Some(expected));
        assert_eq!(named(json!({ "tool": "a", "tool_id": "a" })), None);
        assert_eq!(named(json!({ "result": "b" })), None);
    }
}
