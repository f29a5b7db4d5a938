//! Which failure is told how, and the words for it.

use gate::{Awaited, Failure, Protocol, Refusal, RequestFault, ToolError};
use serde_json::{Value, json};
use wire::{Code, Object, Revision, WireError, resources, tools};

use super::facts::{About, RequestFacts};
use super::modern::mark_complete;
use crate::ourselves::OUR_INFO;

/// The member of `_meta` that holds the structured error object of a failed call.
const ERROR_KEY: &str = "toolcrib/error";

/// What upstreams of the legacy revisions say of a resource that does not exist.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// The same in the modern revision, and other faults of parameters.
const INVALID_PARAMS: i64 = -32602;
/// What our own sources of resources say of one that they do not have.
const NOT_THERE: [&str; 2] = ["artifact_not_found", "not_found"];
/// The client lacks what the tool needs.
const MISSING_CAPABILITY: i64 = -32021;
/// Faults between an upstream and us, which are none of our client's: headers and versions of the modern
/// revision, and the URL elicitations that older ones told as errors.
const BETWEEN_US: [i64; 3] = [-32020, -32022, -32042];

/// Which failure is told how: as a JSON-RPC error, or as the result of a tool that failed, with facts for programs. What a
/// model can act on is told as a result, where there is a place for it: only `tools/call` has one.
pub(super) fn answer(facts: &RequestFacts, failure: &Failure) -> Result<Option<Value>, WireError> {
    if let About::Tool(_) = facts.about {
        match failure {
            Failure::Refused(refusal) => {
                let told = told(facts.revision, refusal);
                if told.is_for_models {
                    return Ok(told.details);
                }
            }
            Failure::Tool(error) if !is_of_the_protocol(facts, error) => return Ok(error.details().cloned()),
            Failure::Tool(_) | Failure::Internal(_) => {}
        }
    }
    Err(protocol_error(facts, failure))
}

/// How a refusal is told.
struct Told {
    /// Whether it is a result where a result can be given.
    is_for_models: bool,
    /// The code where it is an error.
    code: Code,
    /// What programs are told.
    details: Option<Value>,
}

/// How each refusal is told. Every kind is decided here.
fn told(revision: Revision, refusal: &Refusal) -> Told {
    let (is_for_models, code, details) = match refusal {
        Refusal::InvalidArguments { violations, .. } => {
            (true, Code::InvalidParams, Some(json!({ "violations": violations })))
        }
        Refusal::Denied(ruling) | Refusal::RuleBlocked(ruling) | Refusal::NeedsApproval(ruling) => {
            let rule = &ruling.rule;
            (true, Code::InvalidParams, Some(json!({ "rule": &**rule })))
        }
        Refusal::ApprovalPending(awaited) => {
            let Awaited { expires_at_ms, roles, .. } = &**awaited;
            let details = json!({ "code": refusal.code(), "expires_at_ms": expires_at_ms, "roles": roles });
            (true, Code::InvalidParams, Some(details))
        }
        Refusal::ApprovalDenied { .. } | Refusal::ApprovalExpired(_) => {
            (true, Code::InvalidParams, Some(json!({ "code": refusal.code() })))
        }
        Refusal::TooManyApprovals { max, .. } => {
            (true, Code::InvalidParams, Some(json!({ "code": refusal.code(), "pending_max": max })))
        }
        Refusal::Repeated(RequestFault::Unavailable(_)) => (true, Code::InternalError, None),
        Refusal::Repeated(RequestFault::TooMany { retry_after_ms, .. }) => {
            let details = json!({ "code": refusal.code(), "retry_after_ms": retry_after_ms });
            (true, Code::InvalidParams, Some(details))
        }
        Refusal::Repeated(_)
        | Refusal::KeyRevoked(_)
        | Refusal::Outdated(_)
        | Refusal::HeldBack(_)
        | Refusal::NoDryRun(_)
        | Refusal::NotPlanned(_)
        | Refusal::Planning { .. } => (true, Code::InvalidParams, None),
        Refusal::TooManyJobs { max, .. } => {
            (true, Code::InvalidParams, Some(json!({ "code": refusal.code(), "jobs_max": max })))
        }
        Refusal::JobState { .. } => (true, Code::InvalidParams, None),
        Refusal::UnusableSchema { .. }
        | Refusal::NoJobs(_)
        | Refusal::NoApprovals(_)
        | Refusal::NoQuota(_)
        | Refusal::NoPlanMode(_)
        | Refusal::NoAuditLog(_) => (true, Code::InternalError, None),
        // A legacy client has no states; ours ran out between two rounds.
        Refusal::BadState(_) => (!revision.is_modern(), Code::InvalidParams, None),
        Refusal::UnknownTool(_)
        | Refusal::UnknownResource(_)
        | Refusal::UnknownPrompt(_)
        | Refusal::UnknownTask
        | Refusal::UnknownJob
        | Refusal::BadCursor
        | Refusal::NotAJob
        | Refusal::NoRetries(_)
        | Refusal::SeveralOwners { .. }
        | Refusal::Unsupported { .. } => (false, Code::InvalidParams, None),
        Refusal::UnknownMethod(_) => (false, Code::MethodNotFound, None),
        Refusal::HeaderMismatch(_) => (false, Code::HeaderMismatch, None),
        Refusal::RateLimited { retry_after_ms, limit } => {
            let details = json!({ "retry_after_ms": retry_after_ms, "limit": &**limit });
            (false, Code::RateLimited, Some(details))
        }
    };
    Told { is_for_models, code, details }
}

/// True for the few errors of an upstream that a client must be told as such to go on, and for those of a server whose
/// table wants it.
fn is_of_the_protocol(facts: &RequestFacts, error: &ToolError) -> bool {
    let code = error.protocol().map(|protocol| protocol.code);
    let is_needed = facts.revision.is_modern()
        && (code == Some(MISSING_CAPABILITY) || (code == Some(INVALID_PARAMS) && facts.has_state));
    is_needed || error.is_protocol_told()
}

/// A failure as a JSON-RPC error.
pub(crate) fn protocol_error(facts: &RequestFacts, failure: &Failure) -> WireError {
    match failure {
        Failure::Refused(refusal) => refused(facts, refusal),
        Failure::Tool(error) => match error.protocol() {
            Some(protocol) => relayed(facts, protocol),
            None if let Some(uri) = missing(facts, error) => {
                not_found(facts.revision, &error.to_string(), uri)
            }
            None => {
                let mut data = json!({ "code": error.code() });
                if let Some(details) = error.details() {
                    data["details"] = details.clone();
                }
                WireError::new(Code::InternalError, error.to_string()).with_data(data.to_string())
            }
        },
        Failure::Internal(internal) => {
            let data = json!({ "call": internal.call.to_string() }).to_string();
            WireError::new(Code::InternalError, internal.to_string()).with_data(data)
        }
    }
}

fn refused(facts: &RequestFacts, refusal: &Refusal) -> WireError {
    let Told { code, details, .. } = told(facts.revision, refusal);
    let message = match (refusal, code) {
        (Refusal::UnknownTool(name), _) => format!("Unknown tool: {name}"),
        (Refusal::UnknownPrompt(name), _) => format!("Unknown prompt: {name}"),
        (Refusal::UnknownResource(uri), _) if matches!(facts.about, About::Resource(..)) => {
            return not_found(facts.revision, "Resource not found", uri);
        }
        (Refusal::UnknownResource(uri), _) => format!("Unknown resource template: {uri}"),
        (Refusal::UnknownMethod(method), _) => format!("Method not found: {method}"),
        (_, Code::InvalidParams) => format!("Invalid params: {refusal}"),
        _ => refusal.to_string(),
    };
    let error = WireError::new(code, message);
    match details {
        Some(details) => error.with_data(details.to_string()),
        None => error,
    }
}

/// The resource of ours that is not there, if that is what failed.
fn missing<'f>(facts: &'f RequestFacts, error: &ToolError) -> Option<&'f str> {
    let About::Resource(_, uri) = &facts.about else { return None };
    NOT_THERE.contains(&&**error.code()).then_some(&**uri)
}

fn not_found(revision: Revision, message: &str, uri: &str) -> WireError {
    let code = if revision.is_modern() { Code::InvalidParams } else { Code::ResourceNotFound };
    WireError::new(code, message).with_data(resources::not_found_data(uri))
}

/// An upstream's error, for a client of the revision that was asked in.
fn relayed(facts: &RequestFacts, protocol: &Protocol) -> WireError {
    let Protocol { code, message, data } = protocol;
    let names_uri = || data.as_deref().and_then(Object::parse).is_some_and(|data| data.get("uri").is_some());
    if let About::Resource(_, uri) = &facts.about
        && (*code == RESOURCE_NOT_FOUND || (*code == INVALID_PARAMS && names_uri()))
    {
        // Under the URI that the client knows it by.
        return not_found(facts.revision, message, uri);
    }
    let code = match *code {
        MISSING_CAPABILITY if facts.revision.is_modern() => Code::MissingClientCapability,
        RESOURCE_NOT_FOUND if facts.revision.is_modern() => Code::InvalidParams,
        code if BETWEEN_US.contains(&code) => Code::InternalError,
        code => Code::Relayed(code),
    };
    WireError { code, message: message.clone(), data: data.clone() }
}

/// Appends the result of a tool that failed.
pub(super) fn write_result(out: &mut Vec<u8>, revision: Revision, failure: &Failure, details: Option<Value>) {
    let text = failure.to_string();
    let mut error = json!({ "code": failure.code(), "message": text });
    if let Some(details) = details {
        error["details"] = details;
    }
    let ours = match revision.is_modern() {
        true => format!(",\"{}\":{}", wire::meta::SERVER_INFO, *OUR_INFO),
        false => String::new(),
    };
    let meta = format!("{{\"{ERROR_KEY}\":{error}{ours}}}");
    let blocks = std::iter::once(tools::Block::Text(&text));
    tools::write_call_result(out, revision, blocks, None, true, Some(&meta));
    mark_complete(out, revision);
}
