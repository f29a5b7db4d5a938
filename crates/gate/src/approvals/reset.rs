//! Taking a denial back: the same call asks anew.

use policy::Caller;

use super::answer::rules_here;
use super::fault::AnswerFault;
use super::record::{Approval, State};
use super::{Approvals, Kept};

impl Approvals {
    /// Takes back the denial of this id, or all that still hold, so that the same calls ask anew. Gives those that were taken
    /// back. Blocks on the disk.
    ///
    /// # Errors
    /// There is no denial of this id that still holds, or none that this caller may take back.
    pub fn reset(&self, id: Option<&str>, by: &Caller) -> Result<Vec<Approval>, AnswerFault> {
        let now_ms = self.now_ms();
        let holds = |approval: &Approval| {
            let is_meant = id.is_none_or(|id| *approval.id == *id);
            is_meant && approval.state == State::Denied && now_ms < approval.expires_at_ms
        };
        let kept = if rules_here(by) { self.store.approvals()? } else { Vec::new() };
        let denied: Vec<_> = kept.into_iter().map(|Kept { record, .. }| record).filter(holds).collect();
        if let (Some(id), []) = (id, &denied[..]) {
            return Err(AnswerFault::NotDenied(id.to_owned()));
        }
        for approval in &denied {
            self.end(&approval.id, &[State::Denied])?;
        }
        self.tell();
        Ok(denied)
    }
}
