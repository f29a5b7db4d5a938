//! The gate itself: what it is made of, and what others may ask it. A call's way through it is in `gate/call.rs`.

mod admitting;
mod artifact;
mod call;
mod dry_run;
mod in_place;
mod in_run;
mod jobs_of;
mod planning;
mod repeat;

use std::sync::Arc;

use arc_swap::ArcSwap;
use artifacts::Artifacts;
use audit::AuditLog;
use bytes::Bytes;
use policy::Caller;
use redact::Redactor;
use sandbox::confine::Confiner;
use sandbox::{Client, Root};
use store::Secrets;
use telemetry::Telemetry;
use tokio_util::task::TaskTracker;
use tool_api::{Action, Arguments, CallId, Definition, is_of_catalogue, near_names};

use crate::approvals::Approvals;
use crate::catalog::Catalog;
use crate::checks::{self, Quotas, Rate};
use crate::condition::Condition;
use crate::dry_run::Plans;
use crate::failure::{Failure, Refusal};
use crate::find;
use crate::hands::Sandbox;
use crate::jobs::Jobs;
use crate::large::Large;
use crate::offer::{Offered, Source};
use crate::questions::Questions;
use crate::refusal_limit::RefusalLimit;
use crate::repeats::Repeats;
use crate::round_trip::RoundTrips;
use crate::ruleset::Ruleset;
use crate::states::States;
use crate::target::Target;
use crate::tokens::Task;

/// What a gate is made of.
pub struct Parts {
    /// The tools on offer.
    pub catalog: Arc<Catalog>,
    /// What decides about calls.
    pub ruleset: Ruleset,
    /// What is struck out of all that leaves.
    pub redactor: Redactor,
    /// Where people are asked and answer.
    pub approvals: Arc<Approvals>,
    /// Where every call is noted.
    pub audit_log: Arc<AuditLog>,
    /// The workspace, with all the access any tool may have.
    pub files: Root,
}

/// Admits, runs, cleans and records calls.
pub struct Gate {
    catalog: Arc<Catalog>,
    ruleset: ArcSwap<Ruleset>,
    redactor: Redactor,
    approvals: Arc<Approvals>,
    rate: Rate,
    audit_log: Arc<AuditLog>,
    /// Records that are closed once the programs of their calls are gone.
    late: TaskTracker,
    telemetry: Arc<Telemetry>,
    files: Root,
    round_trips: RoundTrips,
    repeats: Repeats,
    refusals: Arc<RefusalLimit>,
    large: Large,
    artifacts: Option<Arc<Artifacts>>,
    plans: Plans,
    states: Arc<States>,
    questions: Arc<Questions>,
    sandbox: Option<Sandbox>,
    /// Whether callers are listed no tools but those that find others.
    is_searched: bool,
    /// With the name of the workspace there.
    jobs: Option<(Arc<Jobs>, Arc<str>)>,
}

impl Gate {
    /// A gate from its parts.
    ///
    /// # Errors
    /// The system gives no randomness, without which nothing can be sealed.
    pub fn new(parts: Parts) -> Result<Gate, getrandom::Error> {
        let (store, clock) = parts.approvals.store();
        Ok(Gate {
            catalog: parts.catalog.clone(),
            rate: Rate::counting(Quotas::kept_in(store.clone(), clock)),
            ruleset: ArcSwap::from_pointee(parts.ruleset),
            redactor: parts.redactor,
            approvals: parts.approvals,
            audit_log: parts.audit_log,
            late: TaskTracker::new(),
            telemetry: Arc::new(Telemetry::untraced(env!("CARGO_PKG_VERSION"))),
            files: parts.files,
            round_trips: RoundTrips::new(store.clone(), clock),
            repeats: Repeats::new(store.clone(), clock),
            refusals: Arc::default(),
            large: Large::default(),
            artifacts: None,
            plans: Plans::new(store.clone(), clock),
            questions: Arc::new(Questions::new(store.clone(), clock)),
            states: Arc::new(States::new(store, clock, parts.catalog.clone())),
            sandbox: None,
            is_searched: false,
            jobs: None,
        })
    }

    /// Waits, for a bounded time, until the records are closed of all calls whose callers have gone away. No call may run any more.
    pub async fn all_recorded(&self) {
        self.late.close();
        self.late.wait().await;
    }

    /// The same gate, sealing with keys that all processes share which have these secrets.
    #[must_use]
    pub fn with_secrets(self, secrets: &Arc<Secrets>) -> Gate {
        let (round_trips, repeats) = (self.round_trips.keyed_by(secrets), self.repeats.keyed_by(secrets));
        Gate { round_trips, repeats, ..self }
    }

    /// The same gate, counting into these figures and tracing with them.
    #[must_use]
    pub fn with_telemetry(self, telemetry: Arc<Telemetry>) -> Gate {
        Gate { telemetry, ..self }
    }

    /// The same gate, keeping here what is too large to be said. Without it nothing is cut.
    #[must_use]
    pub fn with_artifacts(self, artifacts: Arc<Artifacts>) -> Gate {
        Gate { artifacts: Some(artifacts), ..self }
    }

    /// The same gate, whose tools run programs and ask servers by these. Without them none does.
    #[must_use]
    pub fn with_sandbox(self, confiner: Arc<Confiner>, client: Client) -> Gate {
        let browsers = browser::Browsers::new(confiner.clone());
        Gate { sandbox: Some(Sandbox { confiner, client, browsers }), ..self }
    }

    /// The same gate, whose callers are listed no tools but those by which they find the others.
    #[must_use]
    pub fn searched(self) -> Gate {
        Gate { is_searched: true, ..self }
    }

    /// The same gate, whose calls may become jobs, known there as those of this workspace. [`Jobs::serve`] runs them.
    #[must_use]
    pub fn with_jobs(self, jobs: Arc<Jobs>, workspace: &str) -> Gate {
        Gate { jobs: Some((jobs, workspace.into())), ..self }
    }

    /// The calls that outlive their request, if any can.
    pub fn jobs(&self) -> Option<&Arc<Jobs>> {
        self.jobs.as_ref().map(|(jobs, _)| jobs)
    }

    /// The name of the workspace among jobs.
    pub fn workspace(&self) -> Option<&Arc<str>> {
        self.jobs.as_ref().map(|(_, workspace)| workspace)
    }

    /// What the gate counts into.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Why calls would not be served as they should be right now, if so.
    pub fn unready(&self) -> Option<String> {
        // No server counts: one that is broken must not keep all others from being used.
        self.audit_log.takes_changes().err().map(|error| error.to_string())
    }

    /// How it is doing. Touches nothing: of the state database it is what the last write met.
    pub fn condition(&self) -> Condition {
        match (self.unready(), self.approvals.store().0.trouble()) {
            (Some(problem), _) => Condition::NotReady(problem),
            (None, Some(problem)) => Condition::Degraded(problem),
            (None, None) => Condition::Ok,
        }
    }

    /// The tool of this name, if the caller may see it. Waits for sources that have not reported.
    ///
    /// # Errors
    /// There is no such tool, or none for this caller.
    pub async fn find(&self, caller: &Caller, name: &str) -> Result<Arc<Offered>, Refusal> {
        let engine = self.ruleset.load().policy.clone();
        let found = find::find(
            &self.catalog,
            &self.telemetry.metrics,
            &*engine,
            caller,
            Target::Tool(name),
            None,
            None,
        )
        .await;
        found.map(|found| found.offered).map_err(|refusal| self.with_nearest(refusal, caller))
    }

    /// A refusal since there is no such tool for this caller, with those of which one may be meant. No look at sources that have not
    /// reported, which was waited for before.
    fn with_nearest(&self, refusal: Refusal, caller: &Caller) -> Refusal {
        let Refusal::UnknownTool(name) = refusal else { return refusal };
        let offer = self.catalog.offer();
        let seen = offer.tools.iter().filter(|tool| self.may_see(caller, tool));
        let near = near_names(&name, seen.map(|tool| tool.definition().name.as_str()));
        match near.is_empty() {
            true => Refusal::UnknownTool(name),
            false => Refusal::UnknownTool(format!("{name}; the nearest are {}", near.join(", "))),
        }
    }

    /// Holds arguments against the schema of a tool, and runs nothing.
    ///
    /// # Errors
    /// There is no such tool for this caller, or they do not fit.
    pub async fn check_arguments(
        &self,
        caller: &Caller,
        name: &str,
        arguments: Option<Bytes>,
    ) -> Result<(), Failure> {
        let (offered, bytes) = (self.find(caller, name).await?, arguments.as_ref().map_or(0, Bytes::len));
        let name = name.to_owned();
        let fits = move || {
            let arguments =
                Arguments::parse(arguments).map_err(|fault| Refusal::unreadable(&name, &fault))?;
            checks::fits_schema(&offered, arguments.value())
        };
        Ok(self.large.sized(bytes, CallId::next(), fits).await??)
    }

    /// Whether a caller may see a tool. Listing and calling use the same function.
    pub fn may_see(&self, caller: &Caller, tool: &Offered) -> bool {
        let ruleset = self.ruleset.load();
        let may = |tool: &Offered| find::may_do(&*ruleset.policy, caller, tool, None);
        let real = tool.definition().listing.stands_for();
        may(tool)
            && real
                .is_none_or(|real| self.catalog.offer().get(real.tool.as_str()).is_some_and(|real| may(real)))
    }

    /// Whether a tool stands in the list that a caller is given: any that it may see, or those alone by which it finds the
    /// others.
    pub fn is_listed(&self, caller: &Caller, tool: &Offered) -> bool {
        (!self.is_searched || is_of_catalogue(tool.definition())) && self.may_see(caller, tool)
    }

    /// What a caller may see, once every source has reported.
    async fn seen_by(&self, caller: &Caller) -> Arc<[Definition]> {
        let offer = self.catalog.settled().await;
        let seen = offer.tools.iter().filter(|tool| self.may_see(caller, tool));
        seen.map(|tool| tool.definition().clone()).collect()
    }

    /// Whether a caller may do something with what a source offers. Listing prompts and resources and using them go by the
    /// same function.
    pub fn may_use(&self, caller: &Caller, source: &Source, action: Action) -> bool {
        find::may_use(&*self.ruleset.load().policy, caller, source, action)
    }

    /// Whether a caller is told what a source tells under methods that the protocol does not have: it may use a tool of the
    /// source, and there are no AI rules, which could not say what of it they are about.
    pub fn may_hear(&self, caller: &Caller, source: &str) -> bool {
        let offer = self.catalog.offer();
        let may_use =
            |tool: &Arc<Offered>| tool.definition().upstream() == Some(source) && self.may_see(caller, tool);
        !self.ruleset.load().rules.are_any() && offer.tools.iter().any(may_use)
    }

    /// Puts other rules in force. Calls that are on their way go by the old ones.
    pub fn govern(&self, ruleset: Ruleset) {
        self.ruleset.store(Arc::new(ruleset));
        self.catalog.revise();
    }

    /// Callers of one class are shown the same things.
    pub fn class(&self, caller: &Caller) -> u64 {
        self.ruleset.load().policy.class(caller)
    }

    /// What people are asked about calls, and how they answer.
    pub fn approvals(&self) -> &Arc<Approvals> {
        &self.approvals
    }

    /// What strikes secrets out of all that leaves.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The tools on offer; what a caller may see of them is for [`Gate::may_see`] to say.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// What this caller knows a source's task by.
    pub async fn task_token(&self, caller: &Caller, task: &Task) -> Option<String> {
        self.round_trips.tokens.seal(caller.id(), task).await
    }

    /// The task of a token, if it was given to this caller.
    pub async fn open_task_token(&self, caller: &Caller, token: &str) -> Option<Task> {
        self.round_trips.tokens.open(caller.id(), token).await
    }

    /// What a source tells of a task unasked, as far as the AI rules for its tool leave it, and without secrets; nothing
    /// if they withhold it. `news` is the task as JSON text.
    pub fn task_news(&self, task: &Task, news: &Bytes) -> Option<Bytes> {
        let offer = self.catalog.offer();
        let action = offer.source(&task.source).and_then(|source| source.action(Action::GetTask));
        let action = action.map(|offered| offered.definition().name.shared());
        let rules = &self.ruleset.load().rules;
        let (begun, own) =
            (Some((&*task.origin.tool, Some(&task.origin))), action.as_deref().map(|tool| (tool, None)));
        let left = [begun, own].into_iter().flatten().try_fold(news.clone(), |left, (tool, origin)| {
            checks::judge_news(rules, tool, origin, &task.source, left)
        })?;
        Some(self.redactor.json(&left).map_or(left, |struck| struck.bytes))
    }
}
