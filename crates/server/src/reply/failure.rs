//! Which failure is told how, and the words for it.

use gate::{Failure, Protocol, Refusal, ToolError};
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
/// The client lacks what the tool needs.
const MISSING_CAPABILITY: i64 = -32021;
/// Faults between an upstream and us, which are none of our client's: headers and versions of the modern
/// revision, and the URL elicitations that older ones told as errors.
const BETWEEN_US: [i64; 3] = [-32020, -32022, -32042];

/// How a failure is told.
pub(super) enum Answer {
    /// As a JSON-RPC error: the request itself was wrong, or we are.
    Protocol(WireError),
    /// As the result of a tool that failed, so that the model sees it and can act on it.
    Result {
        /// Facts for programs.
        details: Option<Value>,
    },
}

/// Which failure is told how. Every kind is decided here. What a model can act on is told as a result, where there
/// is a place for it: only `tools/call` has one.
pub(super) fn answer(facts: &RequestFacts, failure: &Failure) -> Answer {
    let result = |details| Answer::Result { details };
    match (failure, &facts.about) {
        (Failure::Refused(refusal), About::Tool) => match refusal {
            Refusal::InvalidArguments { .. }
            | Refusal::Denied { .. }
            | Refusal::RuleBlocked { .. }
            | Refusal::NeedsApproval { .. }
            | Refusal::ApprovalPending(_)
            | Refusal::ApprovalDenied { .. }
            | Refusal::ApprovalExpired { .. }
            | Refusal::KeyRevoked { .. }
            | Refusal::Outdated { .. }
            | Refusal::TooManyApprovals { .. } => result(details(refusal)),
            Refusal::UnusableSchema { .. }
            | Refusal::HeldBack { .. }
            | Refusal::NoApprovals(_)
            | Refusal::NoQuota(_)
            | Refusal::NoAuditLog(_) => result(None),
            // A legacy client has no states; ours ran out between two rounds.
            Refusal::BadState(_) if !facts.revision.is_modern() => result(None),
            Refusal::UnknownTool(_)
            | Refusal::UnknownMethod(_)
            | Refusal::SeveralOwners { .. }
            | Refusal::UnknownResource(_)
            | Refusal::UnknownPrompt(_)
            | Refusal::UnknownTask
            | Refusal::Unsupported { .. }
            | Refusal::HeaderMismatch(_)
            | Refusal::BadState(_)
            | Refusal::RateLimited { .. } => Answer::Protocol(protocol_error(facts, failure)),
        },
        (Failure::Tool(error), About::Tool) if !is_of_the_protocol(facts, error) => {
            result(error.details().cloned())
        }
        (Failure::Refused(_) | Failure::Tool(_) | Failure::Internal(_), _) => {
            Answer::Protocol(protocol_error(facts, failure))
        }
    }
}

/// True for the few errors of an upstream that a client must be told as such to go on.
fn is_of_the_protocol(facts: &RequestFacts, error: &ToolError) -> bool {
    let code = error.protocol().map(|protocol| protocol.code);
    facts.revision.is_modern()
        && (code == Some(MISSING_CAPABILITY) || (code == Some(INVALID_PARAMS) && facts.has_state))
}

/// A failure as a JSON-RPC error.
pub(crate) fn protocol_error(facts: &RequestFacts, failure: &Failure) -> WireError {
    match failure {
        Failure::Refused(refusal) => refused(facts, refusal),
        Failure::Tool(error) => match error.protocol() {
            Some(protocol) => relayed(facts, protocol),
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
    let (code, message) = match refusal {
        Refusal::UnknownTool(name) => (Code::InvalidParams, format!("Unknown tool: {name}")),
        Refusal::UnknownPrompt(name) => (Code::InvalidParams, format!("Unknown prompt: {name}")),
        Refusal::UnknownResource(uri) if matches!(facts.about, About::Resource(_)) => {
            return not_found(facts.revision, "Resource not found", uri);
        }
        Refusal::UnknownResource(uri) => (Code::InvalidParams, format!("Unknown resource template: {uri}")),
        Refusal::UnknownMethod(method) => (Code::MethodNotFound, format!("Method not found: {method}")),
        Refusal::SeveralOwners { .. }
        | Refusal::UnknownTask
        | Refusal::Unsupported { .. }
        | Refusal::HeldBack { .. }
        | Refusal::BadState(_)
        | Refusal::InvalidArguments { .. }
        | Refusal::Denied { .. }
        | Refusal::RuleBlocked { .. }
        | Refusal::NeedsApproval { .. }
        | Refusal::ApprovalPending(_)
        | Refusal::ApprovalDenied { .. }
        | Refusal::ApprovalExpired { .. }
        | Refusal::KeyRevoked { .. }
        | Refusal::Outdated { .. }
        | Refusal::TooManyApprovals { .. } => (Code::InvalidParams, format!("Invalid params: {refusal}")),
        Refusal::HeaderMismatch(_) => (Code::HeaderMismatch, refusal.to_string()),
        Refusal::RateLimited { .. } => (Code::RateLimited, refusal.to_string()),
        Refusal::UnusableSchema { .. }
        | Refusal::NoApprovals(_)
        | Refusal::NoQuota(_)
        | Refusal::NoAuditLog(_) => (Code::InternalError, refusal.to_string()),
    };
    let error = WireError::new(code, message);
    match details(refusal) {
        Some(details) => error.with_data(details.to_string()),
        None => error,
    }
}

/// What programs are told of a refusal.
fn details(refusal: &Refusal) -> Option<Value> {
    match refusal {
        Refusal::RateLimited { retry_after_ms, limit } => {
            Some(json!({ "retry_after_ms": retry_after_ms, "limit": &**limit }))
        }
        Refusal::InvalidArguments { violations, .. } => Some(json!({ "violations": violations })),
        Refusal::Denied { rule, .. } | Refusal::RuleBlocked { rule, .. } => Some(json!({ "rule": &**rule })),
        Refusal::NeedsApproval { rule, .. } => Some(json!({ "rule": &**rule })),
        Refusal::ApprovalPending(awaited) => Some(json!({
            "code": refusal.code(),
            "expires_at_ms": awaited.expires_at_ms,
            "roles": awaited.roles,
        })),
        Refusal::ApprovalDenied { .. } | Refusal::ApprovalExpired { .. } => {
            Some(json!({ "code": refusal.code() }))
        }
        Refusal::TooManyApprovals { max, .. } => Some(json!({ "code": refusal.code(), "pending_max": max })),
        Refusal::UnknownTool(_)
        | Refusal::UnknownMethod(_)
        | Refusal::SeveralOwners { .. }
        | Refusal::UnknownResource(_)
        | Refusal::UnknownPrompt(_)
        | Refusal::UnknownTask
        | Refusal::Unsupported { .. }
        | Refusal::HeldBack { .. }
        | Refusal::HeaderMismatch(_)
        | Refusal::BadState(_)
        | Refusal::KeyRevoked { .. }
        | Refusal::Outdated { .. }
        | Refusal::UnusableSchema { .. }
        | Refusal::NoApprovals(_)
        | Refusal::NoQuota(_)
        | Refusal::NoAuditLog(_) => None,
    }
}

fn not_found(revision: Revision, message: &str, uri: &str) -> WireError {
    let code = if revision.is_modern() { Code::InvalidParams } else { Code::ResourceNotFound };
    WireError::new(code, message).with_data(resources::not_found_data(uri))
}

/// An upstream's error, for a client of the revision that was asked in.
fn relayed(facts: &RequestFacts, protocol: &Protocol) -> WireError {
    let Protocol { code, message, data } = protocol;
    let names_uri = || data.as_deref().and_then(Object::parse).is_some_and(|data| data.get("uri").is_some());
    if let About::Resource(uri) = &facts.about
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
