//! The one way to a tool.
//!
//! A call's life is [`Gate::call`]: the record is opened, the tool found, every stage asked, the tool run
//! with a permit, its result cleaned, the record closed. Whoever wants to know what happens to a call reads
//! that function; whoever wants to know in which order the checks are made reads `stages.rs`.

mod catalog;
mod entry;
mod failure;
mod offer;
mod pending;
mod result;
mod rounds;
mod run;
pub mod schema;
mod seal;
mod stages;
mod target;
mod tokens;

use std::sync::Arc;

use audit::Book;
use bytes::Bytes;
use policy::Policy;
use sandbox::Root;
use tool_api::{Arguments, CallId};

pub use catalog::{BUILT_IN, Catalog};
use entry::Entry;
pub use failure::{Failure, Internal, Refusal};
pub use offer::{Collision, Offer, Offered, Shown, Source, Versions};
use pending::Pending;
pub use policy::{Caller, Scopes, Via};
// What a door says of calls and reads of outcomes; doors depend on the gate alone.
pub use result::RESULT_BYTES_MAX;
pub use seal::{Binding, STATE_AGE_MAX, STATE_BYTES_MAX, Sealer, StateFault};
pub use stages::RateConfig;
use stages::Stage;
pub use target::Target;
pub use tokens::Tokens;
pub use tool_api::{
    Abilities, Action, Block, Cancel, Client, Definition, Effect, Event, Hold, Input, Item, Listener,
    Listing, Outcome, Payload, Progress, Protocol, Shelf, ToolError,
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
    sealer: Sealer,
    tokens: Tokens,
}

/// A call as a door hands it in.
pub struct Call<'a> {
    /// What it is for.
    pub target: Target<'a>,
    /// The arguments object as JSON text. For anything but a tool: the parameters of the request without
    /// those that belong to the protocol.
    pub arguments: Option<Bytes>,
    /// What the caller said beside the arguments, as JSON text; only an upstream gets to see it.
    pub meta: Option<Bytes>,
    /// Set by the door when the caller gives up.
    pub cancel: Cancel,
    /// Who hears of progress and log messages, if the caller asked for them.
    pub listener: Option<Arc<dyn Listener>>,
    /// The client at the far end.
    pub client: Client,
    /// What the client sends in a further round, its state as [`Gate::call`] gave it out.
    pub input: Option<Input>,
}

impl<'a> Call<'a> {
    /// A plain call of a tool by somebody who only waits for its result.
    pub fn tool(name: &'a str, arguments: Option<Bytes>) -> Call<'a> {
        Call {
            target: Target::Tool(name),
            arguments,
            meta: None,
            cancel: Cancel::new(),
            listener: None,
            client: Client::default(),
            input: None,
        }
    }
}

impl Gate {
    /// A gate from its parts.
    ///
    /// # Errors
    /// The system gives no randomness, without which nothing can be sealed.
    pub fn new(parts: Parts) -> Result<Gate, getrandom::Error> {
        let [mut seal_key, mut token_key] = [[0; 32]; 2];
        getrandom::fill(&mut seal_key)?;
        getrandom::fill(&mut token_key)?;
        Ok(Gate {
            catalog: parts.catalog,
            stages: stages::in_order(parts.policy.clone(), &parts.rate),
            policy: parts.policy,
            book: parts.book,
            files: parts.files,
            sealer: Sealer::new(&seal_key),
            tokens: Tokens::new(&token_key),
        })
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
        let found = tokio::select! {
            biased;
            found = self.find_target(caller, call.target) => found?,
            () = call.cancel.cancelled() => return Err(ToolError::cancelled().into()),
        };
        entry.found(found.offered.definition());
        let name = call.target.name();
        let arguments =
            Arguments::parse(call.arguments).map_err(|fault| Refusal::unreadable(name, &fault))?;
        let round = self.open_round(caller, &call.target, &arguments, call.input)?;

        let action = call.target.action();
        let goes_on = round.input.as_ref().is_some_and(|input| input.state.is_some());
        let pending = Pending { id, caller, offered: found.offered, arguments, goes_on, action };
        for stage in &self.stages {
            entry.verdict(stage.name(), stage.check(&pending))?;
        }

        if call.cancel.is_cancelled() {
            return Err(ToolError::cancelled().into());
        }
        entry.before_run()?;
        let waiting = run::Waiting {
            meta: call.meta,
            cancel: call.cancel,
            listener: call.listener,
            client: Client { caller: caller.id().clone(), ..call.client },
            input: round.input,
            key: found.key,
        };
        let (outcome, offered) = run::run(&self.files, pending, waiting).await?;
        let outcome = result::clean(&offered, outcome)?;
        self.close_round(caller, offered.definition(), &call.target, round.arguments, outcome, id)
    }

    /// The tool of this name, if the caller may see it. Waits for sources that have not reported.
    ///
    /// # Errors
    /// There is no such tool, or none for this caller.
    pub async fn find(&self, caller: &Caller, name: &str) -> Result<Arc<Offered>, Refusal> {
        self.find_target(caller, Target::Tool(name)).await.map(|found| found.offered)
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
