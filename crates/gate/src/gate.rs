//! The one way to a tool.
//!
//! A call's life is [`Gate::call`]: the record is opened, the tool found, every stage asked, the tool run
//! with a permit, its result cleaned, the record closed. Whoever wants to know what happens to a call reads
//! that function; whoever wants to know in which order the checks are made reads `stages.rs`.

mod catalog;
mod entry;
mod failure;
mod pending;
mod result;
mod run;
pub mod schema;
mod stages;

use std::sync::Arc;

use audit::Book;
use bytes::Bytes;
use policy::Policy;
use sandbox::Root;
use tool_api::{Arguments, CallId};

pub use catalog::{BUILT_IN, Catalog, Collision, Offer, Offered};
use entry::Entry;
pub use failure::{Failure, Internal, Refusal};
use pending::Pending;
pub use policy::{Caller, Scopes, Via};
// What a door says of calls and reads of outcomes; doors depend on the gate alone.
pub use result::RESULT_BYTES_MAX;
pub use stages::RateConfig;
use stages::Stage;
pub use tool_api::{
    Block, Cancel, Definition, Effect, Listing, Outcome, Payload, Progress, ProgressSink, ToolError,
};

/// What a gate is made of.
pub struct Parts {
    /// The tools on offer.
    pub catalog: Arc<Catalog>,
    /// Who may do what.
    pub policy: Policy,
    /// How often.
    pub rate: RateConfig,
    /// Where every call is noted.
    pub book: Arc<Book>,
    /// The workspace, with all the access any tool may have.
    pub files: Root,
}

/// Admits, runs, cleans and records calls.
pub struct Gate {
    catalog: Arc<Catalog>,
    policy: Policy,
    stages: Vec<Box<dyn Stage>>,
    book: Arc<Book>,
    files: Root,
}

/// A call as a door hands it in.
pub struct Call<'a> {
    /// The tool's name, as the caller wrote it.
    pub tool: &'a str,
    /// The arguments object as JSON text.
    pub arguments: Option<Bytes>,
    /// What the caller said beside the arguments, as JSON text; only an upstream gets to see it.
    pub meta: Option<Bytes>,
    /// Set by the door when the caller gives up.
    pub cancel: Cancel,
    /// Where progress goes, if the caller asked for it.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

impl Gate {
    /// A gate from its parts.
    pub fn new(parts: Parts) -> Gate {
        Gate {
            catalog: parts.catalog,
            stages: stages::in_order(parts.policy.clone(), &parts.rate),
            policy: parts.policy,
            book: parts.book,
            files: parts.files,
        }
    }

    /// Carries one call from its arrival to its end. Every way out of here closes the call's record, even
    /// if the future is dropped.
    pub async fn call(&self, caller: &Caller, call: Call<'_>) -> Result<Outcome, Failure> {
        let id = CallId::next();
        let mut entry = Entry::open(&self.book, id, caller, &call)?;
        let result = self.pass(id, caller, call, &mut entry).await;
        entry.close(&result);
        result
    }

    async fn pass(
        &self,
        id: CallId,
        caller: &Caller,
        call: Call<'_>,
        entry: &mut Entry<'_>,
    ) -> Result<Outcome, Failure> {
        let offered = tokio::select! {
            biased;
            found = self.find(caller, call.tool) => found?,
            () = call.cancel.cancelled() => return Err(ToolError::cancelled().into()),
        };
        entry.found(offered.definition());
        let arguments =
            Arguments::parse(call.arguments).map_err(|fault| Refusal::unreadable(call.tool, &fault))?;

        let pending = Pending { id, caller, offered, arguments };
        for stage in &self.stages {
            entry.verdict(stage.name(), stage.check(&pending))?;
        }

        if call.cancel.is_cancelled() {
            return Err(ToolError::cancelled().into());
        }
        entry.before_run()?;
        let waiting = run::Waiting { meta: call.meta, cancel: call.cancel, progress: call.progress };
        let (outcome, offered) = run::run(&self.files, pending, waiting).await?;
        Ok(result::clean(&offered, outcome)?)
    }

    /// The tool of this name, if the caller may see it. Waits for sources that have not reported.
    ///
    /// # Errors
    /// There is no such tool, or none for this caller.
    pub async fn find(&self, caller: &Caller, name: &str) -> Result<Arc<Offered>, Refusal> {
        let found = |offer: &Offer| offer.get(name).filter(|tool| self.may_see(caller, tool)).cloned();
        if let Some(tool) = found(&self.catalog.offer()) {
            return Ok(tool);
        }
        let shown = name.chars().take(100).collect();
        found(&*self.catalog.settled().await).ok_or(Refusal::UnknownTool(shown))
    }

    /// Whether a caller may see a tool. The one function behind listing and calling.
    pub fn may_see(&self, caller: &Caller, tool: &Offered) -> bool {
        let definition = tool.definition();
        stages::has_scopes(caller, definition)
            && !matches!(
                self.policy.decide(&stages::facts(caller, definition)),
                policy::Decision::Deny { .. }
            )
    }

    /// The tools on offer; what a caller may see of them is for [`Gate::may_see`] to say.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
}
