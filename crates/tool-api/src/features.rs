//! What a source offers beside its tools: prompts, resources, templates, and the actions on them.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::tool::AnyTool;

/// Something done with what a source offers. Each goes through the gate like a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Reads a resource.
    ReadResource,
    /// Begins to hear of a resource's changes. The source counts: as many ends as beginnings stop it.
    Subscribe,
    /// Ends hearing of them.
    Unsubscribe,
    /// Fills in a prompt.
    GetPrompt,
    /// Completes an argument of a prompt or template.
    Complete,
    /// Asks how a task is doing.
    GetTask,
    /// Gives a task what it waits for.
    UpdateTask,
    /// Asks a task to stop.
    CancelTask,
}

impl Action {
    /// All actions.
    pub const ALL: [Action; 8] = [
        Action::ReadResource,
        Action::Subscribe,
        Action::Unsubscribe,
        Action::GetPrompt,
        Action::Complete,
        Action::GetTask,
        Action::UpdateTask,
        Action::CancelTask,
    ];

    /// The protocol's method, for spans.
    pub fn method(self) -> &'static str {
        match self {
            Action::ReadResource => "resources/read",
            Action::Subscribe => "resources/subscribe",
            Action::Unsubscribe => "resources/unsubscribe",
            Action::GetPrompt => "prompts/get",
            Action::Complete => "completion/complete",
            Action::GetTask => "tasks/get",
            Action::UpdateTask => "tasks/update",
            Action::CancelTask => "tasks/cancel",
        }
    }

    /// The name in records, rules and logs, where a tool's name may stand as well.
    pub fn name(self) -> &'static str {
        match self {
            Action::ReadResource => "resources_read",
            Action::Subscribe => "resources_subscribe",
            Action::Unsubscribe => "resources_unsubscribe",
            Action::GetPrompt => "prompts_get",
            Action::Complete => "completion_complete",
            Action::GetTask => "tasks_get",
            Action::UpdateTask => "tasks_update",
            Action::CancelTask => "tasks_cancel",
        }
    }
}

/// One prompt, resource or template on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is asked for by: a prompt's name, a resource's URI, a template's URI template, as offered here.
    pub key: Arc<str>,
    /// Its whole object as JSON text, under the key offered here and otherwise byte for byte as it came.
    pub listing: Bytes,
}

/// What a source can do, beyond having lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It sends log messages.
    pub logging: bool,
    /// It completes arguments.
    pub completions: bool,
    /// It has prompts at all, even if there is none just now.
    pub prompts: bool,
    /// It has resources at all.
    pub resources: bool,
    /// It tells of changes of single resources.
    pub subscribe: bool,
    /// Extensions it declares: identifier, and settings as JSON text.
    pub extensions: Vec<(Arc<str>, Bytes)>,
    /// Experimental capabilities it declares: their keys, and values as JSON text.
    pub experimental: Vec<(Arc<str>, Bytes)>,
}

/// Whether a URI is one that the source would read.
pub type Claims = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What runs for a method of an extension that the source declares; nothing for any other method.
pub type ExtensionMethods = Arc<dyn Fn(&str) -> Option<Arc<dyn AnyTool>> + Send + Sync>;

/// What loads the skill of this name in the place of `InvokeSkill`; nothing for a name that is none of the source's.
pub type SkillLoader = Arc<dyn Fn(&str) -> Option<Arc<dyn AnyTool>> + Send + Sync>;

/// All that a source offers beside its tools. Lists are in the source's own order.
#[derive(Clone, Default)]
pub struct Features {
    /// Prompts, by name.
    pub prompts: Vec<Item>,
    /// Resources, by URI.
    pub resources: Vec<Item>,
    /// Resource templates, by URI template.
    pub templates: Vec<Item>,
    /// Says of a URI whether it belongs to this source for sure; nothing if it has no resources.
    pub claims: Option<Claims>,
    /// What can be done with them.
    pub actions: Vec<(Action, Arc<dyn AnyTool>)>,
    /// The methods of its extensions, if it declares any.
    pub extension_methods: Option<ExtensionMethods>,
    /// What loads its skills, if it has any beside ours.
    pub skills: Option<SkillLoader>,
    /// What the source can do.
    pub abilities: Abilities,
    /// What it tells models about its use.
    pub instructions: Option<Arc<str>>,
    /// Its tools that are not offered before a person accepts them.
    pub held: Vec<Held>,
    /// Knows how long its lists stay good, if it says that.
    pub freshness: Option<Weak<dyn Freshness>>,
}

/// How long the lists of a source stay good.
pub trait Freshness: Send + Sync {
    /// How long from now on; nothing if the source does not say it.
    fn good_for(&self) -> Option<Duration>;

    /// Has them read again. Resolves when what they say now is reported, or that takes too long for whoever lists.
    fn renewed(&self) -> BoxFuture<'_, ()>;
}

/// A tool that is neither listed nor called, and what a caller is told who wants to call it.
#[derive(Clone)]
pub struct Held {
    /// The tool. It never runs; its definition says who may know of it.
    pub tool: Arc<dyn AnyTool>,
    /// Why it is not offered, and what a person can do about it: a sentence.
    pub why: Arc<str>,
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = |entries: &[Item]| entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>();
        f.debug_struct("Features")
            .field("prompts", &keys(&self.prompts))
            .field("resources", &keys(&self.resources))
            .field("templates", &keys(&self.templates))
            .field("actions", &self.actions.iter().map(|(action, _)| action).collect::<Vec<_>>())
            .field("abilities", &self.abilities)
            .finish_non_exhaustive()
    }
}

/// Something a source tells without being asked, about nobody's call in particular. Changes of lists are not
/// events: the source reports its new lists.
#[derive(Debug, Clone)]
pub enum Event {
    /// A resource has changed.
    ResourceUpdated {
        /// Its URI as offered here.
        uri: Arc<str>,
        /// Whose it is; nothing if all callers read the same. No other caller hears of it.
        caller: Option<Arc<str>>,
    },
    /// A task has changed.
    Task {
        /// Who runs it.
        source: Arc<str>,
        /// Its id as the source knows it.
        id: Arc<str>,
        /// The task object as JSON text, under the source's own id.
        task: Bytes,
    },
    /// A client has finished what a URL asked it to do (legacy elicitation in URL mode).
    ElicitationComplete {
        /// The conversation that was asked.
        conversation: u64,
        /// The id it was asked under.
        id: Arc<str>,
    },
    /// Something under a method that the protocol does not have.
    Foreign {
        /// Who tells it.
        source: Arc<str>,
        /// The method.
        method: Arc<str>,
        /// The parameters as JSON text.
        params: Option<Bytes>,
    },
}
