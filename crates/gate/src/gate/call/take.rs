//! Taking a call as a job: it is judged like one that runs, but for what a person would be asked, and recorded as accepted.

use std::sync::Arc;

use ::jobs::{Job, JobId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use policy::Caller;
use tool_api::Outcome;

use super::Gate;
use crate::approvals::Brought;
use crate::checks::RATE;
use crate::failure::{Failure, Internal, Refusal};
use crate::jobs::{Keep, Serving};
use crate::offer::Offered;
use crate::request::Call;

impl Serving for Gate {
    fn workspace(&self) -> Option<&Arc<str>> {
        Gate::workspace(self)
    }

    fn find<'a>(&'a self, caller: &'a Caller, tool: &'a str) -> BoxFuture<'a, Result<Arc<Offered>, Refusal>> {
        Gate::find(self, caller, tool).boxed()
    }

    fn take<'a, 'c: 'a>(
        &'a self,
        caller: &'a Caller,
        call: &'a mut Call<'c>,
        job: &'a JobId,
        keep: Keep<'a>,
    ) -> BoxFuture<'a, Result<Job, Failure>> {
        self.take_as_job(caller, call, job, keep).boxed()
    }

    fn call<'a>(&'a self, caller: &'a Caller, call: Call<'a>) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Gate::call(self, caller, call).boxed()
    }
}

impl Gate {
    /// Judges a call by what is in force now, and has it kept as the job of this id. It is judged again when it starts, where
    /// people are asked.
    ///
    /// # Errors
    /// It is refused, or cannot be kept.
    async fn take_as_job(
        &self,
        caller: &Caller,
        call: &mut Call<'_>,
        job: &JobId,
        keep: Keep<'_>,
    ) -> Result<Job, Failure> {
        let (id, mut record) = self.open_record(caller, call)?;
        record.of_job(job.shared());
        let ruleset = self.ruleset.load_full();
        let taken = async {
            let arguments = self.read_arguments(id, call, &mut record).await?;
            let found = self.find_target(caller, call, arguments.as_ref().ok(), &ruleset).await?;
            record.found(&found.offered);
            let arguments = arguments.map_err(|fault| Refusal::unreadable(call.target.name(), &fault))?;
            self.check_headers(id, call, &found, &arguments.bytes()).await?;
            // What is kept is what was called; what is judged is what will run.
            let called = found.offered.clone();
            self.check_job(&called)?;
            let found = (found, arguments);
            let runs = self.what_runs(id, caller, call.target, found, &ruleset, &mut record);
            let (found, arguments) = Box::pin(runs).await?;
            self.check_job(&found.offered)?;
            let brought = Brought::default();
            let sent = (&found, arguments);
            let candidate = self.judge(id, (caller, call), sent, &brought, &ruleset, &mut record).await?;
            let verdict = self.rate.check(&candidate, &ruleset.rates).await;
            record.verdict(RATE, verdict.as_ref().copied());
            verdict?;
            keep(called).await.map_err(Failure::from)
        };
        let taken: Result<Job, Failure> = taken.await;
        match taken {
            Ok(taken) => {
                record.accepted();
                Ok(taken)
            }
            Err(failure) => {
                let failed = self.redact(Err(failure), &mut record);
                record.close(&failed);
                if let Err(Failure::Refused(_)) = &failed {
                    self.refusals.note(caller, &ruleset.rates);
                }
                Err(failed.err().unwrap_or(Failure::Internal(Internal { call: id })))
            }
        }
    }

    /// Some tools are about jobs, or go on by themselves.
    fn check_job(&self, offered: &Offered) -> Result<(), Refusal> {
        let may = self.may_be_job(offered.definition());
        if may { Ok(()) } else { Err(Refusal::NotAJob) }
    }
}
