//! `Programs`: starts the programs of one call, each confined by the call's profile, and says why one was not started.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sandbox::Root;
use sandbox::confine::{
    ConfineError, Confined, Confiner, Layer, MemoryKeeper, Profile, Running, Unavailable, WorkspaceAccess,
};
use sandbox::egress::{HostRules, Judge};
use serde_json::json;
use telemetry::Telemetry;
use tool_api::{Command, Ended, Process, Processes, ToolError};

use super::notes::Notes;
use super::settings::ProgramSettings;

/// The hand of one call.
pub(super) struct Programs {
    pub(super) confiner: Arc<Confiner>,
    pub(super) profile: Profile,
    /// What they reach, if their profile has a network.
    pub(super) hosts: HostRules,
    /// Who decides about others, if somebody can be asked.
    pub(super) judge: Option<Arc<dyn Judge>>,
    pub(super) settings: Arc<ProgramSettings>,
    /// The workspace, with what is protected in it.
    pub(super) files: Root,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) notes: Arc<Notes>,
}

impl Processes for Programs {
    fn start(&self, command: Command) -> BoxFuture<'_, Result<Process<'_>, ToolError>> {
        Box::pin(async move {
            let (program, input) = self.confined(command);
            let running = self.confiner.start(&program).await.map_err(|error| self.not_run(error))?;
            let degraded = degraded(&running);
            self.notes.ran(self.profile.name, &degraded);
            self.notes.reaches(running.journal().clone());
            self.telemetry.metrics.confined(self.profile.name);
            let process = Process::new(running, input, degraded, self);
            Ok(process.expect("it has just been started, and nobody has taken its streams"))
        })
    }

    fn ended(&self, ended: &Ended) {
        if let Some(limit) = ended.limit.filter(|limit| limit.ends_programs()) {
            self.telemetry.metrics.confined_killed(limit.name());
        }
    }
}

impl Programs {
    fn confined(&self, command: Command) -> (Confined, bytes::Bytes) {
        let Command { program, args, env, input, time_max } = command;
        let mut profile = self.profile;
        if let Some(time_max) = time_max {
            profile.limits.time = profile.limits.time.min(time_max);
        }
        let writes = profile.workspace == WorkspaceAccess::Writable;
        let confined = Confined {
            args,
            env,
            surroundings: self.settings.surroundings.iter().cloned().collect(),
            protected: (*self.files.protected()).clone(),
            read: self.settings.read.clone(),
            write: if writes { self.settings.write.clone() } else { Vec::new() },
            hosts: self.hosts.clone(),
            company: self.settings.proxy.clone(),
            judge: self.judge.clone(),
            waived: self.settings.waived.clone(),
            ..Confined::new(profile, program, self.files.path())
        };
        (confined, input)
    }

    /// Never without confinement: whatever is missing is said with what to do.
    fn not_run(&self, error: ConfineError) -> ToolError {
        let message = error.to_string();
        match error {
            ConfineError::Unavailable(Unavailable { layer, why }) => {
                self.telemetry.metrics.confinement_missing(layer.name());
                let details = json!({ "layer": layer.name(), "why": why, "fix": layer.fix() });
                ToolError::new(Unavailable::CODE, message).with_details(details)
            }
            ConfineError::Workspace(_) => ToolError::new("workspace_refused", message),
            ConfineError::NotRun { code, .. } => {
                ToolError::new("program_not_run", message).with_details(json!({ "exit_code": code }))
            }
            ConfineError::Io(_) => ToolError::new("program_not_run", message),
        }
    }
}

/// The layers that a program runs without, and that of memory where init only looks at it now and then.
fn degraded(running: &Running) -> Vec<&'static str> {
    let is_watched = running.memory_keeper() == MemoryKeeper::Watchdog;
    let memory = is_watched.then_some(Layer::Memory);
    running.without().iter().copied().chain(memory).map(Layer::name).collect()
}
