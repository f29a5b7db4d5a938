//! What is left of a candidate once it may run.

use std::sync::Arc;

use bytes::Bytes;
use tool_api::{CallId, Input};

use crate::admitted::{Admitted, Identity};
use crate::approvals::Carried;
use crate::candidate::Candidate;

/// What is known of a call beside what was judged.
pub(super) struct Identified {
    pub(super) id: CallId,
    /// Its arguments as they came.
    pub(super) original: Bytes,
    pub(super) approval: Option<Carried>,
}

/// A candidate that may run, with what its source knows it by, the `_meta` for it, and what its client sends.
pub(super) fn admitted(
    candidate: Box<Candidate>,
    Identified { id, original, approval }: Identified,
    (key, meta, input): (Option<Arc<str>>, Option<Bytes>, Option<Input>),
) -> Box<Admitted> {
    let Candidate { caller, offered, target, action, origin, plan, content, judgement, .. } = *candidate;
    let changed = candidate.original;
    Box::new(Admitted {
        identity: Identity {
            id,
            caller,
            offered,
            action,
            target,
            origin,
            arguments: original,
            rewritten: changed.map(|_| content.arguments.bytes()),
            approval,
        },
        key,
        arguments: content.arguments,
        meta,
        input,
        plan,
        decision: judgement.decision,
        obeyed: judgement.obeyed,
        on_result: judgement.on_result,
    })
}
