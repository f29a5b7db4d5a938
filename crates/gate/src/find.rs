//! Finding what a caller names, if this caller may see it. Listing and using share these functions.

use std::sync::Arc;

use policy::{Caller, Engine};
use serde_json::Value;
use telemetry::Metrics;
use tool_api::{Action, Arguments};

use crate::catalog::Catalog;
use crate::checks::{facts, has_scopes};
use crate::failure::Refusal;
use crate::offer::{Offer, Offered, SKILLS, Source};
use crate::skill_sources::{self, Owner, has_skills};
use crate::target::{SHOWN_CHARS_MAX, Target};
use crate::tokens::{Origin, Task};

/// What was found for a target.
pub(crate) struct Found {
    pub(crate) offered: Arc<Offered>,
    /// What the source knows the target by, if that is not what the caller said.
    pub(crate) key: Option<Arc<str>>,
    /// The call that goes on in the task that it is about.
    pub(crate) origin: Option<Origin>,
}

/// Whether a caller may see a tool, or do this with it, which rules may tell from a call.
pub(crate) fn may_do(
    engine: &dyn Engine,
    caller: &Caller,
    offered: &Offered,
    action: Option<Action>,
) -> bool {
    let definition = offered.definition();
    has_scopes(caller, definition) && engine.may_see(&facts(caller, definition, action))
}

/// Whether a caller may do something with what a source offers.
pub(crate) fn may_use(engine: &dyn Engine, caller: &Caller, source: &Source, action: Action) -> bool {
    source.action(action).is_some_and(|offered| may_do(engine, caller, offered, Some(action)))
}

/// What runs for a target, if the caller may use it. Waits for sources that have not reported. `task` is the task that a
/// target names, if it is this caller's; `arguments` say which source of several is meant.
///
/// # Errors
/// There is no such thing, or none for this caller; or its source cannot do that with it.
pub(crate) async fn find(
    catalog: &Catalog,
    metrics: &Metrics,
    engine: &dyn Engine,
    caller: &Caller,
    target: Target<'_>,
    task: Option<Task>,
    arguments: Option<&Arguments>,
) -> Result<Found, Refusal> {
    let look_up =
        |offer: &Offer| Lookup { offer, metrics, engine, caller, arguments }.find(target, task.clone());
    // Several sources may have skills, and whoever is found first is not all of them.
    if matches!(target, Target::Extension(method) if skill_sources::is_about_skills(method)) {
        catalog.soon().await;
    }
    match look_up(&catalog.offer()) {
        Err(Refusal::UnknownTask) => Err(Refusal::UnknownTask),
        Err(_) if !catalog.offer().is_settled => look_up(&*catalog.settled().await),
        found => found,
    }
}

/// One look at what is offered, for one caller.
struct Lookup<'a> {
    offer: &'a Offer,
    metrics: &'a Metrics,
    engine: &'a dyn Engine,
    caller: &'a Caller,
    arguments: Option<&'a Arguments>,
}

impl Lookup<'_> {
    fn find(&self, target: Target<'_>, task: Option<Task>) -> Result<Found, Refusal> {
        let Lookup { offer, engine, caller, .. } = *self;
        let unknown = || target.unknown();
        let (source, action) = match target {
            Target::Tool(name) => return self.tool(name).ok_or_else(unknown)?,
            Target::Extension(method) => return self.extension(method),
            Target::Resource { action, uri } => (offer.owner_of_resource(uri), action),
            Target::Prompt { action, name } => (offer.owner_of_prompt(name), action),
            Target::Task { action, .. } => {
                (task.as_ref().and_then(|task| offer.source(&task.source)), action)
            }
        };
        let source = source.ok_or_else(unknown)?;
        let Some(offered) = source.action(action) else {
            // Told only to those who may use something of this source: others must not learn whose the thing is.
            let may_use = Action::ALL.into_iter().any(|action| may_use(engine, caller, source, action));
            let unsupported =
                Refusal::Unsupported { upstream: source.name.to_string(), action: action.name() };
            return Err(if may_use { unsupported } else { unknown() });
        };
        // The same words as for what does not exist: a caller learns nothing it may not see.
        if !may_do(engine, caller, offered, Some(action)) {
            return Err(unknown());
        }
        let (key, origin) = task.map(|task| (task.id, task.origin)).unzip();
        Ok(Found { offered: offered.clone(), key, origin })
    }

    /// A tool of this name, or why it is not offered; nothing if there is none that the caller may see.
    fn tool(&self, name: &str) -> Option<Result<Found, Refusal>> {
        let may_see = |tool: &Offered| may_do(self.engine, self.caller, tool, None);
        if let Some(offered) = self.offer.get(name).filter(|tool| may_see(tool)) {
            return Some(Ok(Found { offered: offered.clone(), key: None, origin: None }));
        }
        let (_, why) = self.offer.held(name).filter(|(tool, _)| may_see(tool))?;
        Some(Err(Refusal::HeldBack(why.clone())))
    }

    /// What runs for a method of an extension: that of the one source that declares it, of those the caller may use. Skills may
    /// be several sources'. Where a server declares another extension of the same methods, the server's word goes first.
    fn extension(&self, method: &str) -> Result<Found, Refusal> {
        let found = |tool| Found { offered: Offered::uncounted(tool, self.metrics), key: None, origin: None };
        let owners = self.offer.sources.iter().filter_map(|source| {
            let tool = source.features.extension_methods.as_ref()?(method)?;
            let offered = Offered::uncounted(tool.clone(), self.metrics);
            may_do(self.engine, self.caller, &offered, None).then_some((source, tool))
        });
        let (mut ours, mut servers): (Vec<Owner<'_>>, Vec<Owner<'_>>) =
            owners.partition(|(source, _)| &*source.name == SKILLS);
        let all_skills = servers.iter().all(|(source, _)| has_skills(source));
        if ours.len() + servers.len() > 1 && all_skills {
            ours.append(&mut servers);
            let params = self.arguments.map_or(&Value::Null, Arguments::value);
            let tool = skill_sources::chosen(self.offer, method, params, &ours);
            return tool.map(found).ok_or_else(|| Refusal::UnknownResource("cursor".to_owned()));
        }
        if servers.is_empty() {
            servers = ours;
        }
        let mut owners = servers.into_iter();
        let (source, tool) = owners.next().ok_or_else(|| Target::Extension(method).unknown())?;
        let others: Vec<&str> = owners.map(|(source, _)| &*source.name).collect();
        match others.is_empty() {
            true => Ok(found(tool)),
            false => Err(Refusal::SeveralOwners {
                method: method.chars().take(SHOWN_CHARS_MAX).collect(),
                upstreams: [&[&*source.name][..], &others].concat().join("`, `"),
            }),
        }
    }
}
