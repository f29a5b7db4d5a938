//! What a call is for: a tool, or something done with a prompt, a resource or a task.

use std::sync::Arc;

use policy::Caller;
use tool_api::Action;

use crate::Gate;
use crate::failure::Refusal;
use crate::offer::{Offer, Offered, Source};
use crate::tokens::{Origin, Task};

/// Longest name that an error repeats, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// What a call is for, in the caller's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The tool of this name.
    Tool(&'a str),
    /// Something done with the resource, or completing the template, of this URI.
    Resource {
        /// What.
        action: Action,
        /// Which one.
        uri: &'a str,
    },
    /// Something done with the prompt of this name.
    Prompt {
        /// What.
        action: Action,
        /// Which one.
        name: &'a str,
    },
    /// Something done with the task of this token.
    Task {
        /// What.
        action: Action,
        /// Which one.
        token: &'a str,
    },
}

/// What was found for a target.
pub(crate) struct Found {
    pub(crate) offered: Arc<Offered>,
    /// What the source knows the target by, if that is not what the caller said.
    pub(crate) key: Option<Arc<str>>,
    /// The call that goes on in the task that it is about.
    pub(crate) origin: Option<Origin>,
}

impl<'a> Target<'a> {
    /// What the caller calls it.
    pub fn name(self) -> &'a str {
        match self {
            Target::Tool(name) | Target::Prompt { name, .. } => name,
            Target::Resource { uri, .. } => uri,
            Target::Task { token, .. } => token,
        }
    }

    /// What is done, unless a tool is called.
    pub(crate) fn action(self) -> Option<Action> {
        match self {
            Target::Tool(_) => None,
            Target::Resource { action, .. } | Target::Prompt { action, .. } | Target::Task { action, .. } => {
                Some(action)
            }
        }
    }

    /// The protocol's name for it, for spans.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Target::Tool(_) => "tools/call",
            Target::Resource { action, .. } | Target::Prompt { action, .. } | Target::Task { action, .. } => {
                action.name()
            }
        }
    }

    /// What records say before it is found: the tool's name, or the action's, since URIs and arguments may
    /// tell more than an audit log should hold.
    pub(crate) fn recorded(self) -> &'a str {
        match self {
            Target::Tool(name) => name,
            Target::Resource { action, .. } | Target::Prompt { action, .. } | Target::Task { action, .. } => {
                action.name()
            }
        }
    }

    fn unknown(self) -> Refusal {
        let shown = self.name().chars().take(SHOWN_CHARS_MAX).collect();
        match self {
            Target::Tool(_) => Refusal::UnknownTool(shown),
            Target::Resource { .. } => Refusal::UnknownResource(shown),
            Target::Prompt { .. } => Refusal::UnknownPrompt(shown),
            Target::Task { .. } => Refusal::UnknownTask,
        }
    }
}

impl Gate {
    /// What runs for a target, if the caller may use it. Waits for sources that have not reported.
    ///
    /// # Errors
    /// There is no such thing, or none for this caller; or its source cannot do that with it.
    pub(crate) async fn find_target(&self, caller: &Caller, target: Target<'_>) -> Result<Found, Refusal> {
        let task = match target {
            Target::Task { token, .. } => self.tokens.open(caller.id(), token).await,
            Target::Tool(_) | Target::Resource { .. } | Target::Prompt { .. } => None,
        };
        match self.look_up(caller, &self.catalog.offer(), target, task.clone()) {
            Err(Refusal::UnknownTask) => Err(Refusal::UnknownTask),
            Err(_) if !self.catalog.offer().is_settled() => {
                self.look_up(caller, &*self.catalog.settled().await, target, task)
            }
            found => found,
        }
    }

    fn look_up(
        &self,
        caller: &Caller,
        offer: &Offer,
        target: Target<'_>,
        task: Option<Task>,
    ) -> Result<Found, Refusal> {
        let unknown = || target.unknown();
        let (source, action, task) = match target {
            Target::Tool(name) => {
                let offered = offer.get(name).filter(|tool| self.may_see(caller, tool)).cloned();
                let held = || offer.held(name).filter(|(tool, _)| self.may_see(caller, tool));
                let found = offered.map(|offered| Found { offered, key: None, origin: None });
                return found.ok_or_else(|| match held() {
                    Some((_, why)) => Refusal::HeldBack { tool: name.to_owned(), why: why.clone() },
                    None => unknown(),
                });
            }
            Target::Resource { action, uri } => (offer.owner_of_resource(uri), action, None),
            Target::Prompt { action, name } => (offer.owner_of_prompt(name), action, None),
            Target::Task { action, .. } => {
                let task = task.ok_or_else(unknown)?;
                (offer.source(&task.source), action, Some(task))
            }
        };
        let source = source.ok_or_else(unknown)?;
        let Some(offered) = source.action(action) else {
            // Told only to those who may use something of this source: others must not learn whose the thing is.
            let may_use = Action::ALL.into_iter().any(|action| self.may_use(caller, source, action));
            let unsupported =
                Refusal::Unsupported { upstream: source.name.to_string(), action: action.name() };
            return Err(if may_use { unsupported } else { unknown() });
        };
        // The same words as for what does not exist: a caller learns nothing it may not see.
        if self.may_do(caller, offered, Some(action)) {
            let (key, origin) = task.map(|task| (task.id, task.origin)).unzip();
            Ok(Found { offered: offered.clone(), key, origin })
        } else {
            Err(unknown())
        }
    }

    /// Whether a caller may do something with what a source offers. The one function behind listing prompts
    /// and resources and using them.
    pub fn may_use(&self, caller: &Caller, source: &Source, action: Action) -> bool {
        source.action(action).is_some_and(|offered| self.may_do(caller, offered, Some(action)))
    }
}
