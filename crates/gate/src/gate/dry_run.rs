//! What the gate does for a call that is not simply made.

use std::error::Error;
use std::io;
use std::sync::Arc;

use audit::Hash;
use tokio::task::spawn_blocking;
use tool_api::{CallId, Change, DryRun, Outcome};

use super::Gate;
use crate::admitted::Ran;
use crate::candidate::Candidate;
use crate::dry_run::{self, Earnest, Found};
use crate::failure::{Failure, Internal, Refusal};
use crate::has_dry_run::has_dry_run;
use crate::plan_fault::PlanFault;

impl Gate {
    /// Lets a call pass that can be made as it wants to be.
    pub(super) async fn check_earnest(
        &self,
        id: CallId,
        earnest: &Earnest,
        candidate: &mut Candidate,
        original: &[u8],
    ) -> Result<(), Failure> {
        match earnest {
            Earnest::Real => Ok(()),
            Earnest::Dry if candidate.action.is_some() || !has_dry_run(candidate.definition()) => {
                Err(Refusal::NoDryRun(candidate.target.to_string()).into())
            }
            Earnest::Dry => {
                // Nothing changes that a person would have to agree to, and what the program reads it may read anyway.
                candidate.judgement.consents.clear();
                Ok(())
            }
            Earnest::Planned(plan) => {
                let call = dry_run::call_hash_of(&candidate.caller, &candidate.offered, original);
                self.follows(id, plan, call).await
            }
        }
    }

    /// Lets a call pass that would still do what its plan says.
    pub(super) async fn follows(&self, id: CallId, plan: &str, call: Hash) -> Result<(), Failure> {
        let files = self.plans.files(plan, call).await?;
        let workspace = self.files.path().to_owned();
        // What cannot be read is not what it was.
        let is_other = move |file: &Change| !file.is_current(&workspace).unwrap_or(false);
        let other = spawn_blocking(move || files.into_iter().find(is_other)).await;
        match other.map_err(|_| Internal { call: id })? {
            None => Ok(()),
            Some(Change { path, .. }) => {
                let fault = PlanFault::Outdated(path.to_string_lossy().into_owned());
                Err(Refusal::NotPlanned(fault).into())
            }
        }
    }

    /// What a dry run has found, added to what came of it.
    pub(super) async fn planned(&self, ran: Ran, dry_run: Arc<DryRun>) -> Ran {
        let Ran { identity, on_result, in_messages, result } = ran;
        let result = match result {
            Ok(outcome) => self.told(dry_run::call_hash(&identity), identity.id, outcome, dry_run).await,
            failed => failed,
        };
        Ran { identity, on_result, in_messages, result }
    }

    async fn told(
        &self,
        call: Hash,
        id: CallId,
        outcome: Outcome,
        dry_run: Arc<DryRun>,
    ) -> Result<Outcome, Failure> {
        let failed = |error: &dyn Error| {
            tracing::warn!(call = %id, %error, "what a dry run would change cannot be told");
            Internal { call: id }
        };
        let workspace = self.files.path().to_owned();
        let found = spawn_blocking(move || Ok(Found::new(call, dry_run.changes(&workspace)?))).await;
        let found: Found = found.map_err(io::Error::other).flatten().map_err(|error| failed(&error))?;
        self.plans.keep(&found).await.map_err(|error| failed(&error))?;
        Ok(found.told(outcome))
    }
}
