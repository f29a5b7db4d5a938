//! Which arguments and commands a standing permission is good for.

use audit::Hash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::AnswerFault;
use super::record::{Acted, Approval, Member, begin_with};

/// Which arguments a standing permission is good for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// The very same ones.
    Same,
    /// Those in which these members, by JSON Pointer, are the same.
    Members(Vec<String>),
    /// Any.
    Any,
}

/// What the commands of a permission begin with.
pub(super) fn beginnings(approval: &Approval) -> Result<Vec<String>, AnswerFault> {
    match approval.beginnings.is_empty() {
        true => Err(AnswerFault::NoBeginnings(approval.id.clone())),
        false => Ok(approval.beginnings.clone()),
    }
}

/// A member that no call has: versions that know nothing of beginnings take a permission without members for one of any
/// arguments.
pub(super) fn no_member(approval: &Approval) -> Member {
    let shown = begin_with(&approval.beginnings);
    Member { pointer: "/command".to_owned(), sha256: Hash::of_parts([shown.as_bytes()]), shown }
}

/// The members that a permission is bound to.
pub(super) fn members(approval: &Approval, pattern: &Pattern) -> Result<Vec<Member>, AnswerFault> {
    let named = |pointer: &String| {
        let found = approval.members.iter().find(|member| member.pointer == *pointer);
        found.cloned().ok_or_else(|| AnswerFault::NoMember {
            pointer: pointer.clone(),
            members: approval.members.iter().map(|member| format!("`{}`", member.pointer)).collect(),
        })
    };
    match pattern {
        Pattern::Any => Ok(Vec::new()),
        // What a run wanted is all that is allowed, and no arguments are looked at.
        Pattern::Same if approval.target.as_ref().is_some_and(Acted::is_wish) => Ok(Vec::new()),
        _ if !approval.can_hold_for_good() => Err(AnswerFault::NotForGood(approval.id.clone())),
        Pattern::Same => named(&String::new()).map(|whole| vec![whole]),
        // No member at all would be any arguments, which must be said.
        Pattern::Members(pointers) if pointers.is_empty() => members(approval, &Pattern::Same),
        Pattern::Members(pointers) => pointers.iter().map(named).collect(),
    }
}
