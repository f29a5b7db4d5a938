//! The hands of a running tool. There is no other way from a tool to the world.

use std::sync::Arc;

use bytes::Bytes;
use sandbox::Root;

use crate::artifact::{Artifact, Artifacts};
use crate::browser::Browser;
use crate::cancel::Cancel;
use crate::client::{Client, Input};
use crate::definition::Definition;
use crate::dry_run::DryRun;
use crate::failure::ToolError;
use crate::job::Jobs;
use crate::net::Net;
use crate::path_rules::PathRules;
use crate::permit::Permit;
use crate::person::Person;
use crate::process::Processes;
use crate::secrets::Secrets;
use crate::state::State;
use crate::tasks::Tasks;

/// How far a call has come.
#[derive(Debug, Clone)]
pub enum Progress {
    /// Said by a tool of ours.
    Step {
        /// How much is done; grows with every report.
        done: f64,
        /// How much there is, if known.
        total: Option<f64>,
        /// What is happening.
        message: Option<String>,
    },
    /// Said by an upstream: the JSON text of its progress parameters, to be passed on under our token.
    Relayed(Bytes),
}

/// How the logger of a message ends that says what a program prints on stderr; its level is `debug`.
pub const STDERR_LOGGER: &str = ".stderr";

/// Who hears what a running call has to tell. Must return at once.
pub trait Listener: Send + Sync {
    /// Passes progress on, or drops it if its reader is slow.
    fn progress(&self, progress: Progress);

    /// Passes a log message on: the parameters of `notifications/message` as JSON text.
    fn log(&self, params: Bytes);

    /// Hears that the call has written something down that its result is too small for.
    fn artifact(&self, _artifact: &Artifact) {}
}

/// What one admitted call may touch.
pub struct Context {
    /// The proof of admission; names the call.
    pub permit: Permit,
    /// The workspace, as far as this tool may use it: narrowed to the tool's effect.
    pub files: Root,
    /// Set when nobody waits for the result any more.
    pub cancel: Cancel,
    /// Who hears what this call has to tell.
    pub listener: Option<Arc<dyn Listener>>,
    /// The caller's `_meta` as JSON text: for passing on, not for acting on.
    pub meta: Option<Bytes>,
    /// The client at the far end.
    pub client: Client,
    /// What the client answers to what this tool asked for in an earlier round; nothing in the first one.
    pub input: Option<Input>,
    /// What the thing acted on is known by at its source, if that is another name than the caller's: the id
    /// of a task.
    pub key: Option<Arc<str>>,
    /// What is kept from the caller; nothing if the caller is shown everything.
    pub secrets: Option<Arc<dyn Secrets>>,
    /// The plan that a person has seen and allowed the caller to leave plan mode with; nothing if nobody was asked.
    pub plan: Option<Bytes>,
    /// What a project's rules say of paths; nothing where there are no rules. For what the caller has named they have been
    /// asked.
    pub path_rules: Option<Arc<dyn PathRules>>,
    /// Set if the call is to change nothing: the tool tells here what it would change.
    pub dry_run: Option<Arc<DryRun>>,
    /// The caller's jobs; for the tools that wait for them alone.
    pub jobs: Option<Arc<dyn Jobs>>,
    /// The caller's background tasks; for tools that say that they need them alone.
    pub tasks: Option<Arc<dyn Tasks>>,
    /// What starts programs; for tools that say that they need it alone.
    pub processes: Option<Box<dyn Processes>>,
    /// What asks servers over HTTP; for tools that say that they need it, of callers who may reach the network.
    pub net: Option<Box<dyn Net>>,
    /// What reads pages; for tools that say that they need a browser, of callers who may reach the network.
    pub browser: Option<Box<dyn Browser>>,
    /// What keeps results that are too large to be said; for tools that say that they need it alone.
    pub artifacts: Option<Box<dyn Artifacts>>,
    /// The tools that the caller may use; for tools that say that they need to know alone.
    pub catalogue: Option<Arc<[Definition]>>,
    /// What the tool has kept for its caller in this workspace; for tools that say that they need it alone.
    pub state: Option<Box<dyn State>>,
    /// The person at a terminal; for tools that say that they need one alone.
    pub person: Option<Box<dyn Person>>,
}

impl Context {
    /// Hands for the call that `permit` admits, of a client of which nothing is known.
    pub fn new(permit: Permit, files: Root, cancel: Cancel, listener: Option<Arc<dyn Listener>>) -> Context {
        let client = Client::default();
        Context {
            permit,
            files,
            cancel,
            listener,
            meta: None,
            client,
            input: None,
            key: None,
            secrets: None,
            plan: None,
            path_rules: None,
            dry_run: None,
            jobs: None,
            tasks: None,
            processes: None,
            net: None,
            browser: None,
            artifacts: None,
            catalogue: None,
            state: None,
            person: None,
        }
    }

    /// What starts programs confined.
    ///
    /// # Errors
    /// The tool has not said that it needs it.
    pub fn process(&self) -> Result<&dyn Processes, ToolError> {
        let without = || {
            ToolError::new(
                "no_hand",
                "this tool runs no programs: its `ABOUT` does not say that it needs them",
            )
        };
        self.processes.as_deref().ok_or_else(without)
    }

    /// The caller's background tasks.
    ///
    /// # Errors
    /// The tool has not said that it needs them, or nothing goes on in the background here.
    pub fn tasks(&self) -> Result<&dyn Tasks, ToolError> {
        let without = || {
            ToolError::new("no_tasks", "nothing goes on in the background here; use `Bash`, and wait for it")
        };
        self.tasks.as_deref().ok_or_else(without)
    }

    /// What asks servers over HTTP.
    ///
    /// # Errors
    /// The tool has not said that it needs it; or its caller may not reach the network, or no host that is named, and nobody can
    /// be asked about others.
    pub fn net(&self) -> Result<&dyn Net, ToolError> {
        let without = || {
            ToolError::new(
                "no_hand",
                "this call reaches no host: `sandbox.hosts` names none and nobody can be asked here, or its caller lacks \
                 the scope `network`",
            )
        };
        self.net.as_deref().ok_or_else(without)
    }

    /// What reads pages of the web.
    ///
    /// # Errors
    /// The tool has not said that it needs it; or its caller may not reach the network, or no host that is named, and nobody can
    /// be asked about others.
    pub fn browser(&self) -> Result<&dyn Browser, ToolError> {
        let without = || {
            ToolError::new(
                "no_hand",
                "this call reads no pages: `sandbox.hosts` names no host and nobody can be asked here, or its caller lacks \
                 the scope `network`",
            )
        };
        self.browser.as_deref().ok_or_else(without)
    }

    /// What keeps results that are too large to be said.
    ///
    /// # Errors
    /// The tool has not said that it needs it, or nothing is kept here.
    pub fn artifacts(&self) -> Result<&dyn Artifacts, ToolError> {
        let without = || {
            let why = "this tool keeps no artifacts: its `ABOUT` does not say that it needs them, or none are kept here";
            ToolError::new("no_hand", why)
        };
        self.artifacts.as_deref().ok_or_else(without)
    }

    /// The tools that the caller may use, in the order in which they are listed.
    ///
    /// # Errors
    /// The tool has not said that it needs to know.
    pub fn catalogue(&self) -> Result<&Arc<[Definition]>, ToolError> {
        let without = || {
            ToolError::new("no_hand", "this tool finds no others: its `ABOUT` does not say that it needs to")
        };
        self.catalogue.as_ref().ok_or_else(without)
    }

    /// What the tool keeps for its caller in this workspace.
    ///
    /// # Errors
    /// The tool has not said that it needs it.
    pub fn state(&self) -> Result<&dyn State, ToolError> {
        let without = || {
            ToolError::new("no_hand", "this tool keeps nothing: its `ABOUT` does not say that it needs to")
        };
        self.state.as_deref().ok_or_else(without)
    }

    /// The caller's `_meta`, as text.
    pub fn meta(&self) -> Option<&str> {
        self.meta.as_deref().and_then(|text| std::str::from_utf8(text).ok())
    }

    /// Reports progress, if somebody listens.
    pub fn report(&self, progress: Progress) {
        if let Some(listener) = &self.listener {
            listener.progress(progress);
        }
    }

    /// Passes a log message on, if somebody listens: the parameters of `notifications/message` as JSON text.
    pub fn log(&self, params: Bytes) {
        if let Some(listener) = &self.listener {
            listener.log(params);
        }
    }

    /// Runs work that blocks (disk, long loops) where it holds up nobody else. The work should look at the
    /// cancel token now and then; once cancelled its result is dropped.
    pub async fn blocking<T, F>(&self, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, ToolError> + Send + 'static,
    {
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                // The gate's guard turns it into a failure of this call alone.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::cancelled()),
            },
        }
    }
}
