//! The second judgement: of a call that a person has allowed, by what is in force by then.

use tool_api::CallId;

use super::Gate;
use crate::approvals;
use crate::candidate::Candidate;
use crate::checks;
use crate::failure::Failure;
use crate::record_scope::RecordScope;
use crate::ruleset::Ruleset;

impl Gate {
    /// Judges a call that a person has allowed by what is in force by now.
    pub(super) async fn judge_again(
        &self,
        id: CallId,
        mut candidate: Box<Candidate>,
        then: &Ruleset,
        record: &mut RecordScope<'_>,
    ) -> Result<Box<Candidate>, Failure> {
        let now = self.ruleset.load_full();
        let roles_are_same = then.approvals.roles == now.approvals.roles;
        let bytes = candidate.bytes();
        let judge = move || {
            let judged = checks::judge_again(&mut candidate, (&*now.policy, &now.rules), roles_are_same);
            (candidate, judged)
        };
        let (candidate, judged) = self.large.sized(bytes, id, judge).await?;
        candidate.judgement.decision.iter().for_each(|decision| record.obliged(decision));
        if let Err(mut outdated) = judged {
            record.decided_by(&mut outdated.decided);
            record.verdict(outdated.check.unwrap_or(approvals::STEP), Err(&outdated.refusal));
            return Err(outdated.refusal.into());
        }
        Ok(candidate)
    }
}
