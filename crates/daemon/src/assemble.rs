//! Puts the crates together: settings in, a gate with all its tools out. Nothing here touches the disk but
//! the workspace's folder, which is opened, and nothing waits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use config::{Confinement, Settings};
use gate::{Catalog, Gate, Parts, ProgramSettings, Ruleset};
use rules::Rules;
use sandbox::{Access, ProtectedPaths, Root, ServerFiles};
use server::Instructions;
use server::identity::Identity;
use terminal::Trouble;
use terminal::times::now_ms;
use tools::Set;

use crate::declared_tools::DeclaredTools;
use crate::shared::Shared;
use crate::upstreams::{Start, Upstreams};

/// One workspace that is served, put together.
pub struct Crib {
    /// The way to its tools.
    pub gate: Arc<Gate>,
    /// What models are told of us.
    pub instructions: Instructions,
    /// The servers that it has tools of.
    pub upstreams: Arc<Upstreams>,
    /// The tools that files of the user's describe.
    pub declared: DeclaredTools,
    /// Its folder, and what tools leave alone there.
    pub guarded: Guarded,
    /// How long a command waits for a person's answer to its call.
    pub patience: Duration,
    /// What it has in common with others.
    pub shared: Shared,
}

/// Puts everything together for a process that serves nothing else. Must be called on the runtime, since each upstream
/// gets a task there; `start` says when they connect.
///
/// # Errors
/// If something is missing without which nothing can be served.
pub fn assemble(settings: Settings, start: Start) -> Result<Crib, Trouble> {
    assemble_in(&Shared::new(&settings)?, settings, start)
}

/// The same in a process that may serve others besides.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_in(shared: &Shared, settings: Settings, start: Start) -> Result<Crib, Trouble> {
    let files = open_workspace(&settings.workspace)?.with_trash(&settings.state.join(TRASH));
    let guarded = Guarded::new(files, shared.launcher.guard.clone());
    guarded.guard(&settings, ServerFiles::default());
    shared.workspace(None, settings, guarded, start)
}

impl Shared {
    /// Puts a workspace together whose folder is `guarded`; with a name it is one of `[workspaces]`. Must be called on the runtime.
    ///
    /// # Errors
    /// If the system gives no randomness.
    pub fn workspace(
        &self,
        name: Option<&str>,
        mut settings: Settings,
        guarded: Guarded,
        start: Start,
    ) -> Result<Crib, Trouble> {
        let Shared {
            sealed,
            servers,
            confiner,
            client,
            redactor,
            approvals,
            audit_log,
            artifacts,
            observing,
            jobs,
            ..
        } = self.clone();
        let is_of_artifacts = |set: &Set| *set == Set::Artifacts;
        let has_skills = settings.tools.contains(&Set::Skills);
        let is_searched = settings.tools.contains(&Set::Catalogue);
        // The tool of skills comes with them.
        let sets = settings.tools.iter().copied().filter(|set| *set != Set::Skills);
        let (artifact_tools, own): (Vec<_>, Vec<_>) = sets.partition(is_of_artifacts);
        let catalog = Catalog::new(tools::all(&own, settings.budgets, &settings.search));
        if !artifact_tools.is_empty() {
            let tools = tools::all(&artifact_tools, settings.budgets, &settings.search);
            catalog.replace(gate::ARTIFACTS, tools, tools::artifact_features());
        }
        if own.contains(&Set::Agent) {
            catalog.replace(gate::TASKS, Vec::new(), tools::task_features());
            catalog.replace(gate::CALLBACKS, Vec::new(), tools::callback_features());
        }
        let shown = std::mem::take(&mut settings.shown);
        catalog.show_only(move |name| shown.admits(name));
        let upstreams = std::mem::take(&mut settings.upstreams);
        let upstreams = Arc::new(Upstreams::start(upstreams, &servers, &catalog, &redactor, start));
        // Behind all servers: what they offer is never hidden by it.
        let declared = DeclaredTools::offered(std::mem::take(&mut settings.manifests), &catalog, has_skills);
        observing.read_with(&upstreams, &audit_log, &jobs);
        let patience = settings.approvals.wait;
        let place = settings.workspace.to_string_lossy().into_owned();
        // Another workspace of the same folder offers other tools.
        let place = name.map_or(place.clone(), |name| format!("{place}#{name}"));
        let (ruleset, files) = (ruleset(settings), guarded.files().clone());
        let gate = Gate::new(Parts { catalog, ruleset, redactor, approvals, audit_log, files });
        let gate = gate.map_err(|why| Trouble::Failed(format!("the system gives no randomness: {why}")))?;
        let gate = gate.with_telemetry(observing.telemetry().clone()).with_secrets(&sealed);
        let gate = gate.with_artifacts(artifacts);
        let gate = gate.with_sandbox(confiner, client).with_jobs(jobs, &place);
        let gate = if is_searched { gate.searched() } else { gate };
        let (gate, instructions) = (Arc::new(gate), Instructions::default());
        Ok(Crib { gate, instructions, upstreams, declared, guarded, patience, shared: self.clone() })
    }
}

/// Who may call over HTTP.
pub fn identity(settings: &Settings) -> Arc<Identity> {
    Arc::new(Identity::new(
        &settings.identity,
        settings.server.open_on_loopback,
        settings.kept.store().clone(),
        sandbox::Client::new(),
        now_ms,
    ))
}

/// What decides about calls by these settings.
pub fn ruleset(settings: Settings) -> Ruleset {
    let programs = Arc::new(programs(&settings));
    Ruleset {
        approvals: settings.approvals,
        programs,
        rules: Arc::new(Rules::new(settings.rules)),
        result: settings.result,
        ..Ruleset::new(settings.policy, settings.rates)
    }
}

/// What the programs of calls may use by these settings.
fn programs(settings: &Settings) -> ProgramSettings {
    let Confinement { waived, read, write, env, hosts, browser, asks, proxy, limits } =
        settings.sandbox.clone();
    let (surroundings, asides) = (settings.locale.clone(), settings.state.clone());
    ProgramSettings { limits, waived, read, write, env, hosts, asides, browser, asks, proxy, surroundings }
}

/// The folder of the state where what tools delete is kept for a while.
pub const TRASH: &str = "trash";

/// The folder that the tools of our own work in.
///
/// # Errors
/// If it cannot be opened.
pub fn open_workspace(path: &Path) -> Result<Root, Trouble> {
    Root::open(path, Access::ReadWrite).map_err(|why| {
        Trouble::Failed(format!(
            "the workspace {} cannot be opened: {why}; set workspace.root",
            path.display()
        ))
    })
}

/// What tools leave alone. What decides about them, or runs with our rights, they do not write: the files of rules for
/// AI, and the programs that we start, ourselves included, with what those load. What others obey they write only with a
/// person's agreement. What holds our secrets they do not read either: the state,
/// the configuration, and the files that its references name.
#[derive(Clone)]
pub struct Guarded {
    /// Shares what is guarded with every handle that tools get.
    files: Root,
    /// The program of this run.
    ours: PathBuf,
    /// What has not been read since the start: it may hold secrets still when the configuration names it no longer.
    secrets: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// What is guarded, in every workspace of the process: what is written in one may decide about another.
    paths: Arc<Mutex<ProtectedPaths>>,
}

impl Guarded {
    fn new(files: Root, ours: PathBuf) -> Guarded {
        Guarded { files, ours, secrets: Arc::default(), paths: Arc::default() }
    }

    /// The folder of another workspace, guarded as this one is.
    pub fn beside(&self, files: Root) -> Guarded {
        let guarded = Guarded { files, ..self.clone() };
        guarded.renew();
        guarded
    }

    /// Guards what another workspace of the process has been told to guard.
    pub fn renew(&self) {
        self.files.protect(&self.paths.lock().expect("nothing panics while it holds the lock"));
    }

    /// The workspace, as it is guarded.
    pub fn files(&self) -> &Root {
        &self.files
    }

    /// Guards what these settings name, and the files of what is `running` besides.
    pub fn guard(&self, settings: &Settings, running: ServerFiles) {
        let mut secrets = self.secrets.lock().expect("nothing panics while it holds the lock");
        *self.paths.lock().expect("nothing panics while it holds the lock") =
            protected_paths(settings, running, &self.ours, &mut secrets);
        self.renew();
    }
}

/// What confined programs leave alone by these settings: what tools do.
///
/// # Errors
/// Our own program cannot be found.
pub fn protected_from_programs(settings: &Settings) -> Result<ProtectedPaths, Trouble> {
    let ours = crate::own_program::confinement(crate::own_program::SPAWNER)?.guard;
    Ok(protected_paths(settings, ServerFiles::default(), &ours, &mut BTreeSet::new()))
}

/// Adds to `secrets`, and leaves nothing out that has been one.
fn protected_paths(
    settings: &Settings,
    running: ServerFiles,
    ours: &Path,
    secrets: &mut BTreeSet<PathBuf>,
) -> ProtectedPaths {
    let mut protected = settings.protected(running);
    protected.unwritten.push(ours.to_owned());
    secrets.extend(protected.unread);
    ProtectedPaths { unread: secrets.iter().cloned().collect(), ..protected }
}

impl Crib {
    /// Ends the upstreams, then closes the audit log. The doors must be closed by now, and nothing else be served.
    pub async fn close(&self) {
        // They end before the servers that they use.
        self.shared.jobs.end().await;
        self.end().await;
        self.shared.close().await;
    }

    /// Ends what it has alone: its servers, and the calls that nobody waits for any more.
    pub async fn end(&self) {
        self.upstreams.end().await;
        self.gate.all_recorded().await;
    }
}

#[cfg(test)]
mod tests;
