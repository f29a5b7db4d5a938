//! What the rules for AI would do with a call, without making it.

use gate::Caller;
use hyper::body::Incoming;
use serde_json::Value;

use super::super::answer::{Answered, fresh};
use super::super::door::Door;
use super::super::endpoint::Endpoint;
use super::auditors::check_may_audit;
use super::operations::perform;
use super::posted::{self, BODY_BYTES_MAX};

/// How a body looks.
const SAMPLE: &str = r#"{"tool":"workspace_read","arguments":{"path":".env"}}"#;

/// Holds a call against the rules. Whoever may try them finds what they let through, so that is for those who look after
/// others' calls.
pub(super) async fn test(door: &Door, endpoint: &Endpoint, caller: &Caller, body: Incoming) -> Answered {
    check_may_audit(caller, "trying the rules")?;
    let input: Value = posted::read(endpoint, body, BODY_BYTES_MAX, SAMPLE).await?;
    Ok(fresh(&perform(door, "rules.test", input, caller).await?))
}
