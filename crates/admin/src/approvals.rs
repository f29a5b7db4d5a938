//! The calls that wait for a person, their answers, and standing permissions. Works on the store itself: whoever has this
//! done is the owner of the state folder, and running processes see what has changed.

use std::sync::Arc;

use gate::approvals::{self, AnswerFault, ApprovalReport, Approvals, GrantReport, NOTE_CHARS_MAX, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by::By;
use crate::fault::Fault;
use crate::nearest::nearest;
use crate::operation::Operation;
use crate::trust::{TrustPart, WaitingDefinition};

/// The calls that wait.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Those that are settled, too.
    pub all: bool,
}

/// Calls that wait, or have waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalList {
    /// The oldest first.
    pub approvals: Vec<ApprovalReport>,
    /// Definitions of servers that wait for the same person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<WaitingDefinition>,
}

/// One call that waits, or has waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Its id.
    pub id: String,
    /// All of its arguments, however long, as long as nobody has answered.
    #[serde(default)]
    pub full: bool,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Which call.
    pub id: String,
    /// What the person says.
    pub answer: approvals::Answer,
}

/// What is allowed without asking again.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grants {}

/// Standing permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantList {
    /// The oldest first.
    pub grants: Vec<GrantReport>,
}

/// One standing permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowGrant {
    /// Its id.
    pub id: String,
}

/// Takes a standing permission back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// Which one.
    pub id: String,
}

/// Takes back the denial of an id, or all that still hold: the same calls ask anew.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reset {
    /// Which denial.
    pub id: Option<String>,
}

impl Operation for List {
    const NAME: &'static str = "approvals.list";
    type Part = TrustPart;
    type Output = ApprovalList;

    fn perform(self, part: &TrustPart, by: &By) -> Result<ApprovalList, Fault> {
        let kept = &part.approvals;
        let now_ms = kept.now_ms();
        let mut found = kept.approvals(by.caller())?;
        found.retain(|approval| self.all || approval.status(now_ms) == State::Pending);
        let approvals = found.iter().map(|approval| approval.report(now_ms)).collect();
        Ok(ApprovalList { approvals, definitions: part.waiting()? })
    }
}

impl Operation for Show {
    const NAME: &'static str = "approvals.show";
    type Part = Approvals;
    type Output = ApprovalReport;

    fn perform(self, kept: &Approvals, by: &By) -> Result<ApprovalReport, Fault> {
        let found = match self.full {
            true => kept.whole_approval(&self.id, by.caller()),
            false => kept.approval(&self.id, by.caller()),
        };
        Ok(found.map_err(|fault| with_nearest(fault, kept, by))?.report(kept.now_ms()))
    }
}

impl Operation for Answer {
    const NAME: &'static str = "approvals.answer";
    type Part = Approvals;
    type Output = ApprovalReport;

    fn perform(self, kept: &Approvals, by: &By) -> Result<ApprovalReport, Fault> {
        let wrong = |fault| with_nearest(fault, kept, by);
        let approval = kept.approval(&self.id, by.caller()).map_err(wrong)?;
        let person = by.in_person()?;
        person.is_none_of(&approval.askers)?;
        let (approvals::Answer::Approve { note, .. } | approvals::Answer::Deny { reason: note }) =
            &self.answer;
        if note.as_ref().is_some_and(|note| note.chars().count() > NOTE_CHARS_MAX) {
            return Err(Fault::misused(format!("a remark may have at most {NOTE_CHARS_MAX} characters")));
        }
        let answered = kept.answer(&self.id, &self.answer, by.caller(), person.code());
        Ok(answered.map_err(wrong)?.report(kept.now_ms()))
    }
}

impl Operation for Grants {
    const NAME: &'static str = "approvals.grants";
    type Part = Approvals;
    type Output = GrantList;

    fn perform(self, kept: &Approvals, by: &By) -> Result<GrantList, Fault> {
        Ok(GrantList { grants: kept.grants(by.caller())?.iter().map(approvals::Grant::report).collect() })
    }
}

impl Operation for ShowGrant {
    const NAME: &'static str = "approvals.grant";
    type Part = Approvals;
    type Output = GrantReport;

    fn perform(self, kept: &Approvals, by: &By) -> Result<GrantReport, Fault> {
        let found = kept.find_grant(&self.id, by.caller());
        Ok(found.map_err(|fault| with_nearest(fault, kept, by))?.report())
    }
}

impl Operation for Revoke {
    const NAME: &'static str = "approvals.revoke";
    type Part = Approvals;
    type Output = GrantReport;

    fn perform(self, kept: &Approvals, by: &By) -> Result<GrantReport, Fault> {
        let revoked = kept.revoke(&self.id, by.caller());
        Ok(revoked.map_err(|fault| with_nearest(fault, kept, by))?.report())
    }
}

impl Operation for Reset {
    const NAME: &'static str = "approvals.reset";
    type Part = Approvals;
    type Output = ApprovalList;

    fn perform(self, kept: &Approvals, by: &By) -> Result<ApprovalList, Fault> {
        by.in_person()?;
        let now_ms = kept.now_ms();
        let reset = kept.reset(self.id.as_deref(), by.caller())?;
        let approvals = reset.iter().map(|approval| approval.report(now_ms)).collect();
        Ok(ApprovalList { approvals, definitions: Vec::new() })
    }
}

/// What is said of an id that there is none of: the one that may have been meant, too.
fn with_nearest(fault: AnswerFault, kept: &Approvals, by: &By) -> Fault {
    let (wrong, ids): (_, Vec<Arc<str>>) = match &fault {
        AnswerFault::Unknown(wrong) => {
            let (open, now_ms) = (kept.approvals(by.caller()).unwrap_or_default(), kept.now_ms());
            let open = open.into_iter().filter(|it| it.status(now_ms) == State::Pending);
            (wrong, open.map(|it| it.id).collect())
        }
        AnswerFault::UnknownGrant(wrong) => {
            (wrong, kept.grants(by.caller()).unwrap_or_default().into_iter().map(|it| it.id).collect())
        }
        _ => return fault.into(),
    };
    let begun = || ids.iter().map(|id| &**id).find(|id| !wrong.is_empty() && id.starts_with(&**wrong));
    let near = nearest(wrong, ids.iter().map(|id| &**id)).or_else(begun);
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let fault = Fault::from(fault);
    Fault { message: fault.message + &hint, ..fault }
}
