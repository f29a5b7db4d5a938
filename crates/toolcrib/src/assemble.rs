//! Puts the crates together: settings in, a gate with all its tools out. Nothing here touches the disk but
//! the workspace's folder, which is opened, and nothing waits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use audit::AuditLog;
use gate::{Approvals, Catalog, Gate, Parts, Ruleset};
use pins::{Neighbours, PinStore, Pinning};
use redact::Redactor;
use rules::Rules;
use sandbox::{Access, Launcher, ProtectedPaths, Root, ServerFiles};
use server::Instructions;
use server::identity::Identity;
use store::{Secrets, Store};

use crate::config::Settings;
use crate::ending::Trouble;
use crate::observing::{self, Observing};
use crate::times::now_ms;
use crate::token_store::StateTokens;
use crate::upstreams::{Servers, Start, Upstreams};

/// Who our own tools belong to, in sentences.
pub(crate) const OURSELVES: &str = "Toolcrib";

/// The first argument of a process that is to guard another; not for people, so not in the help.
pub(crate) const GUARD: &str = "__guard";

/// Everything that serves, put together.
pub(crate) struct Crib {
    pub(crate) gate: Arc<Gate>,
    /// What models are told of us.
    pub(crate) instructions: Instructions,
    pub(crate) upstreams: Arc<Upstreams>,
    /// Those of the process, which `upstreams` shares.
    pub(crate) servers: Arc<Servers>,
    pub(crate) guarded: Guarded,
    /// How long a command waits for a person's answer to its call.
    pub(crate) patience: Duration,
    pub(crate) audit_log: Arc<AuditLog>,
    pub(crate) observing: Arc<Observing>,
    /// What servers are signed in with, sealed.
    pub(crate) sealed: Arc<Secrets>,
    /// The state folder.
    pub(crate) state: PathBuf,
}

/// Puts everything together. Must be called on the runtime, since each upstream gets a task there; `start`
/// says when they connect.
///
/// # Errors
/// If something is missing without which nothing can be served.
pub(crate) fn assemble(mut settings: Settings, start: Start) -> Result<Crib, Trouble> {
    let store: Arc<dyn Store> = settings.kept.store().clone();
    let sealed = Arc::new(settings.kept.sealed());
    let world = world(sealed.clone())?;
    let files = open_workspace(&settings.workspace)?;
    let guarded =
        Guarded { files: files.clone(), ours: world.launcher.guard.clone(), secrets: Arc::default() };
    guarded.guard(&settings, ServerFiles::default());
    let audit_log =
        AuditLog::with(&settings.state, now_ms, settings.audit.clone(), settings.redactor.clone());
    let audit_log = Arc::new(audit_log);
    let catalog = Catalog::new(tools::all(&settings.tools));
    let world = upstream::World { pins: Some(pinning(store.clone(), &settings.redactor, &catalog)), ..world };
    let servers = Servers::new(world, store.clone());
    let upstreams = Arc::new(Upstreams::start(
        std::mem::take(&mut settings.upstreams),
        &servers,
        &catalog,
        &settings.redactor,
        start,
    ));
    let (approvals, patience) = (Approvals::new(store.clone()), settings.approvals.wait);
    let keys = store.clone();
    approvals.ask_after_callers(Box::new(move |caller| server::identity::is_held(&*keys, caller)));
    let observing = Arc::new(observing::begin(&settings.telemetry));
    let redactor = settings.redactor.clone();
    let state = settings.state.clone();
    let ruleset = ruleset(settings);
    let parts = Parts { catalog, ruleset, redactor, approvals, audit_log: audit_log.clone(), files };
    observing::read_with(observing.telemetry(), &upstreams, &audit_log);
    let gate = Gate::new(parts);
    let gate = gate.map_err(|why| Trouble::Failed(format!("the system gives no randomness: {why}")))?;
    let gate = gate.with_telemetry(observing.telemetry().clone()).with_secrets(&sealed);
    let gate = Arc::new(gate);
    Ok(Crib {
        gate,
        instructions: Instructions::default(),
        upstreams,
        servers,
        guarded,
        patience,
        audit_log,
        observing,
        sealed,
        state,
    })
}

/// Who may call over HTTP.
pub(crate) fn identity(settings: &Settings) -> Arc<Identity> {
    Arc::new(Identity::new(
        &settings.identity,
        settings.server.open_on_loopback,
        settings.kept.store().clone(),
        sandbox::Client::new(),
        now_ms,
    ))
}

/// What decides about calls by these settings.
pub(crate) fn ruleset(settings: Settings) -> Ruleset {
    Ruleset {
        approvals: settings.approvals,
        rules: Arc::new(Rules::new(settings.rules)),
        ..Ruleset::new(settings.policy, settings.rates)
    }
}

/// The folder that the tools of our own work in.
///
/// # Errors
/// If it cannot be opened.
pub(crate) fn open_workspace(path: &Path) -> Result<Root, Trouble> {
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
pub(crate) struct Guarded {
    /// Shares what is guarded with every handle that tools get.
    files: Root,
    /// The program of this run.
    ours: PathBuf,
    /// What has not been read since the start: it may hold secrets still when the configuration names it no longer.
    secrets: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Guarded {
    /// The workspace, as it is guarded.
    pub(crate) fn files(&self) -> &Root {
        &self.files
    }

    /// Guards what these settings name, and the files of what is `running` besides.
    pub(crate) fn guard(&self, settings: &Settings, running: ServerFiles) {
        let mut unwritten = settings.rules.named_files();
        unwritten.push(self.ours.clone());
        let mut servers = running;
        settings.upstreams.iter().for_each(|upstream| servers.extend(upstream.server_files()));
        for paths in [&mut unwritten, &mut servers.named, &mut servers.code, &mut servers.starts] {
            paths.sort_unstable();
            paths.dedup();
        }
        let mut secrets = self.secrets.lock().expect("nothing panics while it holds the lock");
        secrets.insert(settings.state.clone());
        secrets.extend(settings.files.iter().chain(&settings.secret_files).cloned());
        let (unread, writable) = (secrets.iter().cloned().collect(), settings.writable.clone());
        self.files.protect(&ProtectedPaths { unwritten, unread, servers, writable });
    }
}

/// What it takes to hold definitions back, beside the tools that are in the catalogue.
fn pinning(store: Arc<dyn Store>, redactor: &Redactor, catalog: &Catalog) -> Pinning {
    let neighbours = Neighbours::default();
    let offer = catalog.offer();
    neighbours.say(OURSELVES, offer.tools.iter().map(|tool| tool.definition().name.to_string()).collect());
    let store = PinStore::new(store, redactor);
    let redactor = redactor.clone();
    let conceal = Arc::new(move |name: &str| redactor.strike(name).map(|(struck, _)| struck));
    Pinning { store, neighbours: Arc::new(neighbours), conceal }
}

/// What upstreams need of the outside world. What they are signed in with is kept among `secrets`. Nothing is held
/// back: this is for looking at servers.
pub(crate) fn world(secrets: impl Into<Arc<Secrets>>) -> Result<upstream::World, Trouble> {
    let guard = std::env::current_exe().map_err(|why| {
        Trouble::Failed(format!("the program's own file cannot be found, so nothing could be started: {why}"))
    })?;
    let launcher = Launcher { guard, guard_args: vec![GUARD.to_owned()] };
    let keeper = Arc::new(StateTokens::new(secrets.into()));
    let ourselves = server::OURSELVES;
    Ok(upstream::World {
        launcher,
        client: sandbox::Client::new(),
        ourselves,
        keeper,
        pins: None,
        trace: None,
    })
}

impl Crib {
    /// Ends the upstreams, then closes the audit log. The doors must be closed by now.
    pub(crate) async fn close(&self) {
        tokio::join!(self.upstreams.end(), self.servers.end());
        // Nothing else is left to run, so the disk may be waited for here.
        if let Err(error) = self.audit_log.sign_end() {
            tracing::error!(%error, "the audit log could not be closed");
        }
        self.observing.end().await;
    }
}

#[cfg(test)]
mod tests;
