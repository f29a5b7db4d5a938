//! How a person is asked about what a call wants while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use tool_api::Cancel;

use super::Gate;
use crate::admitted::{Admitted, Identity};
use crate::approvals::{InRun, Wishing};
use crate::hands::{Heard, Notes, Wishes};
use crate::request::Call;
use crate::ruleset::Ruleset;
use crate::run::{Answering, Live};

/// Where the hands tell what they want, and who hears it; nothing if nobody can be asked.
pub(super) type Asking<'a> = (Option<Wishes>, Option<(Box<Answering<'a>>, Heard)>);

impl Gate {
    /// For a call whose hands may want more. What they want is noted in `notes`.
    pub(super) fn in_run<'a>(
        &'a self,
        admitted: &Admitted,
        (call, live): (&Call<'a>, &Live),
        ruleset: &'a Ruleset,
        notes: &Arc<Notes>,
    ) -> Asking<'a> {
        if !ruleset.programs.asks {
            return (None, None);
        }
        let Identity { id, caller, offered, .. } = &admitted.identity;
        let approvers = admitted.decision.as_ref().map(|decision| decision.obligations.approvers);
        let run = InRun {
            approvals: &self.approvals,
            config: &ruleset.approvals,
            redactor: &self.redactor,
            forms: call.forms,
            capabilities: live.client.capabilities.clone(),
            over: Cancel::new(),
            wishing: Wishing {
                id: *id,
                caller: caller.clone(),
                offered: offered.clone(),
                arguments: admitted.arguments.bytes(),
                workspace: self.files.path().to_string_lossy().into_owned(),
                conversation: live.client.over.is_some().then_some(live.client.conversation),
                askers: call.askers.clone(),
                approvers: approvers.unwrap_or_default(),
            },
            asked: AtomicUsize::new(0),
            is_alone: AtomicBool::new(false),
        };
        if !run.is_possible() {
            return (None, None);
        }
        let (wishes, heard) = Wishes::new();
        (Some(wishes), Some((Box::new(Answering { run, notes: notes.clone() }), heard)))
    }
}
