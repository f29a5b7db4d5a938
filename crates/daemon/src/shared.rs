//! What a process has once, however many workspaces it serves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use artifacts::Artifacts;
use audit::AuditLog;
use config::{Learner, Loaded, Settings};
use gate::Approvals;
use gate::jobs::Jobs;
use pins::{Neighbours, PinStore, Pinning};
use redact::Redactor;
use sandbox::confine::Confiner;
use sandbox::{Client, Launcher};
use store::{Secrets, SqliteJobs, SqliteStore, Store};
use terminal::Trouble;
use terminal::times::now_ms;
use tokio::task::JoinSet;

use crate::artifact_sweep;
use crate::observing::{self, Observing};
use crate::own_program::{SPAWNER, confinement, launcher};
use crate::self_test::SelfTest;
use crate::token_store::StateTokens;
use crate::upstreams::Servers;
use crate::watched_folders::WatchedFolders;
use crate::watching::Watching;

/// Who our own tools belong to, in sentences.
const OURSELVES: &str = "Toolcrib";

/// What a process has once. Copies share it.
#[derive(Clone)]
pub struct Shared {
    /// Since when this process serves.
    pub since: Instant,
    /// The state folder.
    pub state: PathBuf,
    /// What survives the process.
    pub store: Arc<SqliteStore>,
    /// What servers are signed in with, sealed.
    pub sealed: Arc<Secrets>,
    /// What starts programs.
    pub launcher: Launcher,
    /// What starts programs confined.
    pub confiner: Arc<Confiner>,
    /// Has that tried on this machine.
    pub self_test: SelfTest,
    /// What asks servers over HTTP.
    pub client: Client,
    /// Shared by all workspaces that mean the same by one.
    pub servers: Arc<Servers>,
    /// Strikes out the secrets of all workspaces for all of them.
    pub redactor: Redactor,
    learner: Arc<Learner>,
    /// The questions to people.
    pub approvals: Arc<Approvals>,
    /// The calls that outlive their request.
    pub jobs: Arc<Jobs>,
    /// The log of calls.
    pub audit_log: Arc<AuditLog>,
    /// The results that were too large to be said.
    pub artifacts: Arc<Artifacts>,
    /// Removes those whose time is over.
    _sweeping: Arc<JoinSet<()>>,
    /// What an operator is shown.
    pub observing: Arc<Observing>,
    /// The folders whose files describe tools.
    pub folders: Arc<WatchedFolders>,
}

impl Shared {
    /// By the settings of whoever comes first: what they say of this is the user's own, and so the same for all. Must be
    /// called on the runtime, by its own task.
    ///
    /// # Errors
    /// Our own program cannot be found.
    pub fn new(settings: &Settings) -> Result<Shared, Trouble> {
        let (store, redactor) = (settings.kept.store().clone(), settings.redactor.clone());
        let sealed = Arc::new(settings.kept.sealed());
        let audit = settings.audit.clone();
        let audit_log = Arc::new(AuditLog::with(&settings.state, now_ms, audit, redactor.clone()));
        let self_test = SelfTest::new(store.clone(), audit_log.clone(), settings.sandbox.waived.clone())?;
        let confiner = Arc::new(self_test.confiner()?);
        let observing = Arc::new(observing::begin(&settings.telemetry));
        let telemetry = observing.telemetry().clone();
        let watch = Arc::new(Watching { telemetry, audit_log: audit_log.clone() });
        let world =
            upstream::World { confiner, watch: Some(watch), ..pinned_world(sealed.clone(), settings)? };
        let servers_store: Arc<dyn Store> = store.clone();
        let approvals = Approvals::new(store.clone());
        let keys = store.clone();
        approvals.ask_after_callers(Box::new(move |caller| gate::keys::is_held(&*keys, caller)));
        let artifacts = Artifacts::new(&settings.state, store.clone(), settings.artifacts, now_ms);
        let artifacts = Arc::new(artifacts.in_bucket(settings.bucket.clone()));
        let jobs = Jobs::kept_in(Arc::new(SqliteJobs::beside(&store)), approvals.clone(), sealed.clone());
        jobs.govern(settings.jobs.clone());
        Ok(Shared {
            since: Instant::now(),
            jobs,
            _sweeping: Arc::new(artifact_sweep::begin(&artifacts)),
            state: settings.state.clone(),
            store,
            sealed,
            launcher: world.launcher.clone(),
            confiner: world.confiner.clone(),
            self_test,
            client: world.client.clone(),
            servers: Servers::new(world, servers_store),
            approvals,
            audit_log,
            learner: Arc::new(Learner::new(&redactor)),
            redactor,
            artifacts,
            observing,
            folders: Arc::default(),
        })
    }

    /// Has a configuration that was read go by what is there already.
    pub fn take_in(&self, loaded: &mut Loaded) {
        loaded.settings.redactor = self.redactor.clone();
        loaded.settings.kept = loaded.settings.kept.in_store(&self.store);
        loaded.learner = Arc::new(self.learner.another());
    }

    /// Closes what must not be lost. All workspaces have ended by now.
    pub async fn close(&self) {
        self.servers.end().await;
        self.self_test.end().await;
        // Nothing else is left to run, so the disk may be waited for here.
        if let Err(error) = self.audit_log.sign_end() {
            tracing::error!(%error, "the audit log could not be closed");
        }
        self.observing.end().await;
    }
}

/// What upstreams need of the outside world, for whoever offers what they list or remembers it: what was not accepted is
/// held back.
///
/// # Errors
/// As [`world`].
pub fn pinned_world(
    secrets: impl Into<Arc<Secrets>>,
    settings: &Settings,
) -> Result<upstream::World, Trouble> {
    let pins = Some(pinning(settings.kept.store(), &settings.redactor));
    Ok(upstream::World { pins, ..world(secrets)? })
}

/// What it takes to hold definitions back, beside our own tools.
fn pinning(store: &Arc<SqliteStore>, redactor: &Redactor) -> Pinning {
    let neighbours = Neighbours::of(OURSELVES, || own_tools().into_iter().map(|(_, name)| name).collect());
    let store = PinStore::new(store.clone(), redactor);
    let redactor = redactor.clone();
    let conceal = Arc::new(move |name: &str| redactor.strike(name).map(|(struck, _)| struck));
    Pinning { store, neighbours: Arc::new(neighbours), conceal }
}

/// All tools of our own, with whose they are.
pub fn own_tools() -> Vec<(String, String)> {
    let own = tools::all(&tools::Set::ALL, tools::Budgets::default(), &tools::SearchSettings::default());
    own.iter().map(|tool| (OURSELVES.to_owned(), tool.definition().name.to_string())).collect()
}

/// What upstreams need of the outside world. What they are signed in with is kept among `secrets`. Nothing is held
/// back: this is for looking at servers.
///
/// # Errors
/// Our own program cannot be found.
pub fn world(secrets: impl Into<Arc<Secrets>>) -> Result<upstream::World, Trouble> {
    let launcher = launcher()?;
    let confiner = Arc::new(Confiner::new(confinement(SPAWNER)?));
    let keeper = Arc::new(StateTokens::new(secrets.into()));
    let ourselves = server::OURSELVES;
    Ok(upstream::World {
        launcher,
        confiner,
        client: Client::new(),
        ourselves,
        keeper,
        pins: None,
        trace: None,
        watch: None,
    })
}
