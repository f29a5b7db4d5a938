//! What only results of the modern revision have: their type, who we are, and questions to the client.

use wire::message::Text;
use wire::string::literal;
use wire::{Object, Revision, meta, patch, string};

use crate::ourselves::{OUR_INFO, OUR_META};

/// Puts the type of a complete result behind the other members of the object that has just been written.
pub(super) fn mark_complete(out: &mut Vec<u8>, revision: Revision) {
    if revision.is_modern() {
        out.pop();
        out.extend_from_slice(b",\"resultType\":\"complete\"}");
    }
}

/// The result of a source about a task, with the caller's token in place of the source's id.
pub(super) fn under_token(result: &Text, token: &str) -> Option<String> {
    let object = result.object()?;
    if object.get("taskId").is_none() {
        return Some(object.text().to_owned());
    }
    Some(patch::set(object, "taskId", &literal(token)))
}

/// Writes a result with its type and who we are, where it does not say so itself. In most cases this copies it
/// once.
pub(super) fn write_modern(out: &mut Vec<u8>, result: &str) {
    let Some(object) = Object::parse(result) else { return out.extend_from_slice(result.as_bytes()) };
    let (mut has_type, mut own_meta, mut is_empty) = (false, None, true);
    for member in object.members() {
        is_empty = false;
        has_type |= member.is("resultType");
        if member.is("_meta") {
            own_meta = Some(member.value);
        }
    }
    let names_server =
        |meta: &str| Object::parse(meta).is_some_and(|meta| meta.get(meta::SERVER_INFO).is_some());
    match own_meta {
        Some(value) if has_type && names_server(value) => out.extend_from_slice(object.text().as_bytes()),
        Some(_) => out.extend_from_slice(meta::complete(object, &OUR_INFO).as_bytes()),
        None => {
            out.push(b'{');
            if !has_type {
                out.extend_from_slice(b"\"resultType\":\"complete\",");
            }
            out.extend_from_slice(b"\"_meta\":");
            out.extend_from_slice(OUR_META.as_bytes());
            if !is_empty {
                out.push(b',');
            }
            out.extend_from_slice(&object.text().as_bytes()[1..]);
        }
    }
}

/// What a modern client is asked for before the call can go on. `requests` is JSON text.
pub(super) fn input_required(out: &mut Vec<u8>, requests: Option<&[u8]>, state: Option<&str>) {
    out.extend_from_slice(b"{\"resultType\":\"input_required\"");
    if let Some(requests) = requests {
        out.extend_from_slice(b",\"inputRequests\":");
        out.extend_from_slice(requests);
    }
    if let Some(state) = state {
        out.extend_from_slice(b",\"requestState\":");
        string::encode(state, out);
    }
    out.extend_from_slice(b",\"_meta\":");
    out.extend_from_slice(OUR_META.as_bytes());
    out.push(b'}');
}
