//! `Programs`: starts the programs of one call, each confined by the call's profile, and says why one was not started.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sandbox::confine::{
    self, Aside, ConfineError, Confined, Confiner, Layer, Limits, MemoryKeeper, Profile, Running, Sockets,
    Unavailable, WorkspaceAccess,
};
use sandbox::egress::{HostRules, Judge, Reason};
use sandbox::{Root, is_hidden};
use serde_json::json;
use telemetry::Telemetry;
use tokio::task::spawn_blocking;
use tool_api::{Command, DryRun, Ended, Given, Process, Processes, ToolError, Worker};

use super::notes::Notes;
use super::settings::ProgramSettings;
use super::wishes::Wishes;
use crate::approvals::Wish;

/// The hand of one call.
pub(super) struct Programs {
    pub(super) confiner: Arc<Confiner>,
    pub(super) profile: Profile,
    /// What they reach, if their profile has a network.
    pub(super) hosts: HostRules,
    /// Who decides about others, if somebody can be asked.
    pub(super) judge: Option<Arc<dyn Judge>>,
    /// Where it is told what a program wants beyond that, if somebody can be asked.
    pub(super) wishes: Option<Wishes>,
    /// What they read beside what all programs do.
    pub(super) reads: Vec<PathBuf>,
    pub(super) settings: Arc<ProgramSettings>,
    /// The workspace, with what is protected in it.
    pub(super) files: Root,
    /// Takes what they would change, if nothing is to.
    pub(super) dry_run: Option<Arc<DryRun>>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) notes: Arc<Notes>,
}

/// Most files and folders that one program is shown beyond what the call sees: a person is asked about each.
const BEYOND_MAX: usize = 4;

/// The code of a program that was not started since it wants to see too much.
const FOLDER_REFUSED: &str = "folder_refused";

/// What a program sees and writes beside the system and the workspace.
struct Beyond {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

fn refused(path: &Path, why: &str) -> ToolError {
    // It is the tool's own text, and may come from its caller.
    let shown: String = path.to_string_lossy().chars().filter(|c| !is_hidden(*c)).collect();
    let message = format!(
        "{shown} may not be shown to this program: {why}; go on without it, or ask a person to name it in `sandbox.read` or \
         `sandbox.write`"
    );
    ToolError::new(FOLDER_REFUSED, message).with_details(json!({ "path": shown, "why": why }))
}

impl Processes for Programs {
    fn start(&self, command: Command) -> BoxFuture<'_, Result<Process<'_>, ToolError>> {
        Box::pin(async move {
            let (program, given) = match command.worker {
                Some(worker) => self.worker(worker, command),
                None => {
                    let beyond = self.beyond(&command).await?;
                    self.confined(command, beyond)
                }
            };
            let program = Confined { aside: self.aside(&program).await?, ..program };
            let running =
                self.confiner.start(&program).await.map_err(|error| not_run(&self.telemetry, error))?;
            let degraded = degraded(&running);
            self.notes.ran(program.profile.name, running.started_by().name(), &degraded);
            self.notes.reaches(running.journal().clone());
            self.telemetry.metrics.confined(program.profile.name);
            let process = Process::new(running, given, degraded, self);
            Ok(process.expect("it has just been started, and nobody has taken its streams"))
        })
    }

    fn ended(&self, ended: &Ended) {
        note(ended, &self.telemetry, &self.notes);
    }

    fn left(&self, running: Running, degraded: Vec<&'static str>) {
        let (telemetry, notes, journal) =
            (self.telemetry.clone(), self.notes.clone(), running.journal().clone());
        let end = running.end();
        self.notes.ends(async move { note(&Ended::of(end.await, degraded, &journal), &telemetry, &notes) });
    }
}

fn note(ended: &Ended, telemetry: &Telemetry, notes: &Notes) {
    if let Some(limit) = ended.limit.filter(|limit| limit.ends_programs()) {
        telemetry.metrics.confined_killed(limit.name());
    }
    notes.ended(ended);
}

impl Programs {
    /// Where the program writes if nothing is to change.
    async fn aside(&self, program: &Confined) -> Result<Option<Arc<Aside>>, ToolError> {
        let is_written = program.profile.workspace == WorkspaceAccess::Writable;
        let Some(dry_run) = self.dry_run.clone().filter(|_| is_written) else { return Ok(None) };
        let within = self.settings.asides.clone();
        let made =
            spawn_blocking(move || dry_run.aside(&within)).await.map_err(|_| ToolError::cancelled())?;
        let why = |error: io::Error| {
            ToolError::new("program_not_run", format!("a dry run needs a folder beside the state: {error}"))
        };
        made.map(Some).map_err(why)
    }

    /// What the program sees and writes beyond what the call has, as far as a person grants it.
    async fn beyond(&self, command: &Command) -> Result<Beyond, ToolError> {
        if command.read.len() + command.write.len() > BEYOND_MAX {
            let why =
                format!("a program is shown at most {BEYOND_MAX} files and folders beyond its workspace");
            return Err(ToolError::new(FOLDER_REFUSED, why));
        }
        let read = self.settings.read.iter().chain(&self.reads).cloned().collect();
        let mut beyond = Beyond { read, write: Vec::new() };
        let access = self.profile.workspace;
        if access == WorkspaceAccess::Writable {
            beyond.write.clone_from(&self.settings.write);
        }
        let read = command.read.iter().map(|path| (path, false));
        for (path, writes) in read.chain(command.write.iter().map(|path| (path, true))) {
            let is_possible = match access {
                WorkspaceAccess::None => false,
                WorkspaceAccess::ReadOnly => !writes,
                WorkspaceAccess::Writable => true,
            };
            if !is_possible {
                return Err(refused(path, "this tool or its caller may not do that in the workspace either"));
            }
            let (asked, protected) = (path.clone(), self.files.protected());
            let judged = spawn_blocking(move || confine::beyond(&asked, writes, &protected)).await;
            let judged = judged.map_err(|_| ToolError::cancelled())?;
            let real = judged.map_err(|why| refused(path, &why.to_string()))?;
            if !self.sees(&beyond, &real, writes) {
                let wish = Wish::Folder { path: real.clone(), writes };
                let is_granted = match &self.wishes {
                    Some(wishes) => wishes.grants(wish).await,
                    None => Err(Reason::NoRule),
                };
                is_granted.map_err(|reason| match reason {
                    Reason::Denied => refused(path, "a person was asked and said no"),
                    _ => refused(path, "nobody has allowed it"),
                })?;
                if writes { beyond.write.push(real) } else { beyond.read.push(real) }
            }
        }
        Ok(beyond)
    }

    /// Whether the program sees a path, or writes it, anyway.
    fn sees(&self, beyond: &Beyond, real: &Path, writes: bool) -> bool {
        let read = beyond.read.iter().filter(|_| !writes);
        let all = beyond.write.iter().chain(read);
        real.starts_with(self.files.path()) || all.into_iter().any(|path| real.starts_with(path))
    }

    /// Our own program, which gets nothing of what other programs do.
    fn worker(&self, worker: Worker, mut command: Command) -> (Confined, Given) {
        let given = command.given();
        let words = std::iter::once(worker.word().into()).chain(command.args);
        let worker = self.confiner.worker(words, self.limits(command.time_max));
        (Confined { waived: self.settings.waived.clone(), ..worker }, given)
    }

    /// What a program may use, if its tool lets it take so long.
    fn limits(&self, time_max: Option<Duration>) -> Limits {
        let limits = self.profile.limits;
        Limits { time: time_max.map_or(limits.time, |most| limits.time.min(most)), ..limits }
    }

    fn confined(&self, mut command: Command, beyond: Beyond) -> (Confined, Given) {
        let given = command.given();
        let Command { program, args, env, time_max, tells, streams, looks_only, .. } = command;
        let env = self.settings.env.iter().cloned().chain(env).collect();
        let Beyond { mut read, mut write } = beyond;
        let mut profile = Profile { limits: self.limits(time_max), ..self.profile };
        if looks_only && profile.workspace == WorkspaceAccess::Writable {
            let reads = if profile.sockets == Sockets::None { Profile::shell() } else { Profile::net() };
            profile = Profile { limits: profile.limits, ..reads };
            read.append(&mut write);
        }
        let confined = Confined {
            args,
            env,
            surroundings: self.settings.surroundings.iter().cloned().collect(),
            tool_chains: Some(self.settings.write.clone()),
            protected: (*self.files.protected()).clone(),
            read,
            write,
            hosts: self.hosts.clone(),
            company: self.settings.proxy.clone(),
            judge: self.judge.clone(),
            waived: self.settings.waived.clone(),
            tells,
            streams,
            ..Confined::new(profile, program, self.files.path())
        };
        (confined, given)
    }
}

/// Never without confinement: whatever is missing is said with what to do.
pub(super) fn not_run(telemetry: &Telemetry, error: ConfineError) -> ToolError {
    let message = error.to_string();
    match error {
        ConfineError::Unavailable(Unavailable { layer, why }) => {
            telemetry.metrics.confinement_missing(layer.name());
            let details = json!({ "layer": layer.name(), "why": why, "fix": layer.fix() });
            ToolError::new(Unavailable::CODE, message).with_details(details)
        }
        ConfineError::Workspace(_) => ToolError::new("workspace_refused", message),
        ConfineError::NotRun { code, .. } => {
            ToolError::new("program_not_run", message).with_details(json!({ "exit_code": code }))
        }
        ConfineError::NotShown { .. } | ConfineError::Io(_) => ToolError::new("program_not_run", message),
    }
}

/// The layers that a program runs without, and that of memory where init only looks at it now and then.
pub(super) fn degraded(running: &Running) -> Vec<&'static str> {
    let is_watched = running.memory_keeper() == MemoryKeeper::Watchdog;
    let memory = is_watched.then_some(Layer::Memory);
    running.without().iter().copied().chain(memory).map(Layer::name).collect()
}
