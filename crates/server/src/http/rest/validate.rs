//! Checking without running: arguments against the schema of a tool, and a manifest.

use bytes::Bytes;
use gate::{Caller, Failure, Refusal};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::answer::{Answered, fresh};
use super::super::door::Door;
use super::super::endpoint::Endpoint;
use super::super::posted::{self, BODY_BYTES_MAX};
use super::super::problem::Problem;
use super::operations::on_disk;
use super::verdict;

/// How a body looks.
const SAMPLE: &str = r#"{"tool_id":"workspace_read","arguments":{"path":"a.txt"}} or {"manifest":{…}}"#;

/// What is to be checked: one of both, or both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    tool_id: Option<String>,
    arguments: Option<Box<RawValue>>,
    manifest: Option<Value>,
}

/// Checks it.
pub(super) async fn handle(door: &Door, endpoint: &Endpoint, caller: &Caller, body: Incoming) -> Answered {
    let Posted { tool_id, arguments, manifest } =
        posted::read(endpoint, body, BODY_BYTES_MAX, SAMPLE).await?;
    if tool_id.is_none() && (manifest.is_none() || arguments.is_some()) {
        return Err(Problem::bad(format!("there is nothing to check; send {SAMPLE}")).into());
    }
    let mut violations = Vec::new();
    if let Some(tool_id) = tool_id {
        let arguments = arguments.map(|arguments| Bytes::from(String::from(Box::<str>::from(arguments))));
        match endpoint.server.gate().check_arguments(caller, &tool_id, arguments).await {
            Ok(()) => {}
            Err(Failure::Refused(Refusal::InvalidArguments { violations: found, .. })) => violations = found,
            Err(failure) => return Err(verdict::of_failure(&failure).problem().into()),
        }
    }
    let administration = door.administration.clone();
    let problems = match manifest {
        None => Vec::new(),
        Some(manifest) if !manifest.is_object() => vec!["a manifest is a JSON object".to_owned()],
        Some(manifest) => on_disk(door, move || administration.manifest_problems(&manifest)).await?,
    };
    let is_valid = violations.is_empty() && problems.is_empty();
    Ok(fresh(&json!({ "valid": is_valid, "violations": violations, "problems": problems })))
}
