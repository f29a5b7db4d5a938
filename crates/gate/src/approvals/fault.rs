//! Why an answer is not taken, in words for the one who gives it.

use std::sync::Arc;

use store::StoreError;

use super::approval_store::GRANTS_MAX;
use super::code::CodeFault;

/// Why an answer, or a revocation, is not taken.
#[derive(Debug, thiserror::Error)]
pub enum AnswerFault {
    /// There is no such question, or none that this caller may know of.
    #[error("there is no approval `{0}`; `toolcrib approvals list --all` shows those there are")]
    Unknown(String),
    /// There is no such denial, or it holds no longer.
    #[error(
        "there is no denial `{0}` that still holds; `toolcrib approvals list --all` shows what was answered"
    )]
    NotDenied(String),
    /// There is no such permission, or none that this caller may revoke.
    #[error("there is no grant `{0}`; `toolcrib approvals grants` shows those there are")]
    UnknownGrant(String),
    /// The caller has none of the roles.
    #[error("you may not answer approval {id}: it takes the role {}", roles.join(" or "))]
    WrongRole {
        /// The question.
        id: Arc<str>,
        /// Who may.
        roles: Vec<String>,
    },
    /// Nobody answers for themselves.
    #[error(
        "you asked for it yourself, so somebody else must answer approval {0}, or you at a terminal of your own"
    )]
    OwnQuestion(Arc<str>),
    /// Whoever shows nothing may be the one who asked.
    #[error("over HTTP approval {0} is answered with a person's key or token")]
    Nobody(Arc<str>),
    /// What the caller came by is not only in the hands of people.
    #[error(
        "you may not answer approval {0}: this key or token was not given to a person (`keys create --person`)"
    )]
    NotAPerson(Arc<str>),
    /// The code is missing or wrong.
    #[error(transparent)]
    Code(#[from] CodeFault),
    /// Somebody was faster.
    #[error("approval {id} was {state} by {by} at {at} already")]
    Answered {
        /// The question.
        id: Arc<str>,
        /// What was said.
        state: &'static str,
        /// By whom.
        by: Arc<str>,
        /// When.
        at: String,
    },
    /// It is too late.
    #[error("approval {id} has expired at {at}; if the call is made again, it asks again")]
    Expired {
        /// The question.
        id: Arc<str>,
        /// When.
        at: String,
    },
    /// A permission cannot be bound to this member.
    #[error("`{pointer}` is no member of these arguments that a grant can be bound to; there are: {}", members.join(", "))]
    NoMember {
        /// What was named.
        pointer: String,
        /// What there is.
        members: Vec<String>,
    },
    /// What another call would change nobody has seen.
    #[error(
        "approval {0} shows what this one call would change, so it is allowed once: a rule wants the same for each call"
    )]
    OnceOnly(Arc<str>),
    /// It would be for whatever program has the number by then.
    #[error(
        "approval {0} is for what is typed to one background task, so it is not for good: allow it once, or for this session"
    )]
    NotForGood(Arc<str>),
    /// Nothing says what such commands would be.
    #[error(
        "approval {0} is for no plain command line, so it is not for commands that begin with the same words; allow these \
         arguments, or the tool"
    )]
    NoBeginnings(Arc<str>),
    /// There are too many standing permissions.
    #[error(
        "approval {0} is approved for this call, but there are {GRANTS_MAX} grants already, so none was added; revoke \
         some: toolcrib approvals revoke ID"
    )]
    TooManyGrants(Arc<str>),
    /// The store does not do its work.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AnswerFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            AnswerFault::Unknown(_) => "unknown_approval",
            AnswerFault::NotDenied(_) => "not_denied",
            AnswerFault::UnknownGrant(_) => "unknown_grant",
            AnswerFault::WrongRole { .. } => "wrong_role",
            AnswerFault::OwnQuestion(_) => "own_question",
            AnswerFault::Nobody(_) => "key_required",
            AnswerFault::NotAPerson(_) => "not_a_person",
            AnswerFault::Code(CodeFault::Needed) => "code_required",
            AnswerFault::Code(CodeFault::Wrong | CodeFault::Length) => "wrong_code",
            AnswerFault::Code(CodeFault::Wait { .. }) => "too_many_codes",
            AnswerFault::Code(CodeFault::Unreadable | CodeFault::Store(_)) => "store_unavailable",
            AnswerFault::Answered { .. } => "already_answered",
            AnswerFault::Expired { .. } => "approval_expired",
            AnswerFault::NoMember { .. } => "no_such_member",
            AnswerFault::OnceOnly(_) => "once_only",
            AnswerFault::NotForGood(_) => "not_for_good",
            AnswerFault::NoBeginnings(_) => "no_beginnings",
            AnswerFault::TooManyGrants(_) => "too_many_grants",
            AnswerFault::Store(_) => "store_unavailable",
        }
    }
}
