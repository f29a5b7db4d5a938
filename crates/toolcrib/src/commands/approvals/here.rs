//! Where a person answers: the store of approvals, and who sits here.

use std::path::Path;

use admin::{By, Person};
use daemon::person;
use gate::Approvals as Kept;
use gate::approvals::{Answer, Approval, State};
use terminal::Trouble;

/// What is answered here, and where.
pub(in crate::commands) struct Here<'a> {
    pub(in crate::commands) kept: &'a Kept,
    /// The state folder.
    pub(in crate::commands) state: &'a Path,
}

impl Here<'_> {
    /// The person here, who is not at the client that asked.
    pub(super) fn person(&self, approval: &Approval) -> Result<Person, Trouble> {
        person::present(self.state, &approval.askers)
    }

    /// The person with the code, if this answer takes one.
    pub(super) fn with_code(&self, person: Person, answer: &Answer) -> Result<By, Trouble> {
        let code = match answer {
            Answer::Approve { .. } => person::code(self.kept)?,
            Answer::Deny { .. } => None,
        };
        Ok(By::person(person.with_code(code)))
    }

    pub(super) fn is_open(&self, approval: &Approval) -> bool {
        approval.status(self.kept.now_ms()) == State::Pending
    }
}
