//! What operations of the administration work on, made of the configuration: for a command its own part, for the control
//! channel everything.

mod beside_policy;
mod configured;
mod remembered;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::artifacts::ArtifactPart;
use admin::audit_log::AuditPart;
use admin::folders::{DeclaringFolder, FoldersPart};
use admin::import::{Environment, ImportPart, ImportSource, Ourselves};
use admin::jobs::JobsPart;
use admin::keys::Keys;
use admin::policy::PolicyPart;
use admin::rules::RulesPart;
use admin::secrets::SecretPart;
use admin::servers::ServersPart;
use admin::trust::TrustPart;
use admin::{Admin, Fault, Running};
use artifacts::Artifacts;
use config::{self, Draft, Kept, Loaded, Problems, Settings, Surroundings, Unfollowed, Uses};
use gate::Approvals;
use gate::jobs::Jobs;
use pins::PinStore;
use redact::Redactor;
use store::SqliteJobs;
use terminal::times::now_ms;

use crate::shared::own_tools;
use beside_policy::BesidePolicy;
pub use beside_policy::cases_of;
use configured::Configured;
use remembered::Remembered;

/// Everything, by the configuration as it is now: the file that the command line `named`, or those that are found. What
/// enters the audit log passes `redactor`; `running` gives those that run on a state folder. Blocks on the disk.
///
/// # Errors
/// What is wrong with the configuration.
pub fn all(
    named: Option<&Path>,
    surroundings: &Surroundings,
    redactor: &Redactor,
    running: impl FnOnce(&Path) -> Arc<dyn Running>,
) -> Result<Admin, Problems> {
    let loaded = config::load(named, surroundings, Unfollowed::IsPassedOver)?;
    let settings = &loaded.settings;
    let (kept, uses) = config::kept(named, surroundings)?;
    let (keys, running) = (keys(settings), running(kept.state()));
    let noted_in = |settings| AuditPart { redactor: redactor.clone(), ..audit_log(settings) };
    Ok(Admin {
        approvals: keys.approvals.clone(),
        artifacts: artifacts(settings),
        keys,
        jobs: JobsPart { audit_log: noted_in(settings), ..jobs(settings) },
        secrets: secrets(&kept, &uses, running.clone()),
        audit_log: noted_in(settings),
        servers: servers(&loaded, running.clone()),
        folders: folders(&loaded, running.clone()),
        import: import_later(named, surroundings, settings),
        policy: policy(&loaded),
        rules: rules(settings),
        trust: trust(&loaded, running),
    })
}

/// What operations on artifacts work on.
pub fn artifacts(settings: &Settings) -> ArtifactPart {
    let store = settings.kept.store().clone();
    let artifacts = Artifacts::new(&settings.state, store, settings.artifacts, now_ms);
    ArtifactPart { artifacts: Arc::new(artifacts.in_bucket(settings.bucket.clone())) }
}

/// What operations on API keys work on.
pub fn keys(settings: &Settings) -> Keys {
    let store = settings.kept.store().clone();
    Keys { approvals: Approvals::new(store.clone()), store }
}

/// What operations on jobs work on.
pub fn jobs(settings: &Settings) -> JobsPart {
    let approvals = Approvals::new(settings.kept.store().clone());
    let (store, sealed) = (SqliteJobs::beside(settings.kept.store()), Arc::new(settings.kept.sealed()));
    let jobs = Jobs::kept_in(Arc::new(store), approvals, sealed);
    jobs.govern(settings.jobs.clone());
    JobsPart { jobs, audit_log: audit_log(settings) }
}

/// What operations on secrets work on.
pub fn secrets(kept: &Kept, uses: &Uses, running: Arc<dyn Running>) -> SecretPart {
    let used = |name: &str| uses.of_secret(name).into_iter().map(str::to_owned).collect();
    SecretPart {
        sealed: kept.sealed(),
        source: kept.source().clone(),
        uses: uses.names().map(|name| (name.to_owned(), used(name))).collect(),
        running,
        now_ms,
    }
}

/// What operations on the audit log work on.
pub fn audit_log(settings: &Settings) -> AuditPart {
    AuditPart {
        state: settings.state.clone(),
        config: settings.audit.clone(),
        redactor: settings.redactor.clone(),
    }
}

/// What operations on the policy work on.
pub fn policy(loaded: &Loaded) -> PolicyPart {
    let Loaded { settings, surroundings, .. } = loaded;
    let (policy, files) = (settings.policy.clone(), settings.files.clone());
    let beside = BesidePolicy { cases: policy.cases().to_vec(), files, surroundings: surroundings.clone() };
    let tools = Arc::new(Remembered(settings.clone()));
    PolicyPart { policy, beside: Box::new(beside), tools, state: settings.state.clone() }
}

/// What operations on the rules for AI work on.
pub fn rules(settings: &Settings) -> RulesPart {
    RulesPart { settings: settings.rules.clone(), tools: Arc::new(Remembered(settings.clone())) }
}

/// What operations on definitions work on.
pub fn trust(loaded: &Loaded, running: Arc<dyn Running>) -> TrustPart {
    let settings = &loaded.settings;
    TrustPart {
        servers: settings.upstreams.clone(),
        held: loaded.held.clone(),
        store: PinStore::new(settings.kept.store().clone(), &settings.redactor),
        own: own_tools(),
        approvals: Approvals::new(settings.kept.store().clone()),
        running,
        now_ms,
    }
}

/// What operations on servers work on.
pub fn servers(loaded: &Loaded, running: Arc<dyn Running>) -> ServersPart {
    let settings = &loaded.settings;
    let shown = |file: &Path| file.display().to_string();
    let files = settings.upstreams.iter().map(|one| loaded.file_of_server(one.name()).map(shown));
    ServersPart {
        servers: settings.upstreams.clone(),
        held: loaded.held.clone(),
        known: Box::new(Configured { files: files.collect(), remembered: Remembered(settings.clone()) }),
        running,
    }
}

/// What operations on folders work on.
pub fn folders(loaded: &Loaded, running: Arc<dyn Running>) -> FoldersPart {
    let surroundings = loaded.surroundings.clone();
    FoldersPart {
        store: loaded.settings.kept.store().clone(),
        look: Box::new(move |folder| look(folder, &surroundings)),
        redactor: loaded.settings.redactor.clone(),
        running,
        now_ms,
    }
}

/// Looks at what a folder declares, by the user's own file and its own.
fn look(folder: &Path, surroundings: &Surroundings) -> Result<DeclaringFolder, Fault> {
    let folder = existing(&surroundings.absolute(folder))?;
    let surroundings = Surroundings { current_dir: folder.clone(), ..surroundings.clone() };
    let loaded = config::load(None, &surroundings, Unfollowed::IsPassedOver);
    let loaded = loaded.map_err(|problems| Fault::configuration(problems.to_string()))?;
    let store = loaded.settings.kept.store().clone();
    let Loaded { folders: read, held, passed_over: notes, .. } = loaded;
    Ok(DeclaringFolder { folder, read, held, notes, store })
}

/// The folder, without links.
#[expect(clippy::disallowed_methods, reason = "a person names the folder")]
fn existing(folder: &Path) -> Result<PathBuf, Fault> {
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(file) => Err(Fault::misused(format!("{} is no folder; name the one it lies in", file.display()))),
        Err(error) => Err(Fault::misused(format!("{} cannot be found: {error}", folder.display()))),
    }
}

/// What an import from other clients works on, for whoever carries all operations.
fn import_later(named: Option<&Path>, surroundings: &Surroundings, settings: &Settings) -> ImportSource {
    let (named, surroundings) = (named.map(Path::to_owned), surroundings.clone());
    let bind = settings.server.bind;
    ImportSource(Box::new(move |environment: Option<Environment>| {
        let mut surroundings = surroundings.clone();
        if let Some(given) = environment {
            let given = given.into_iter().map(|(name, value)| (name.into(), value.into()));
            surroundings.variables = given.collect();
        }
        import(named.as_deref(), &surroundings, bind)
    }))
}

/// The same for a command. `bind` is the address that is served. Blocks on the disk.
///
/// # Errors
/// What is wrong with the files of the configuration.
pub fn import(
    named: Option<&Path>,
    surroundings: &Surroundings,
    bind: SocketAddr,
) -> Result<ImportPart, Fault> {
    let configured = config::servers(named, surroundings);
    let doors = vec![bind.to_string(), format!("localhost:{}", bind.port())];
    Ok(ImportPart {
        surroundings: surroundings.for_clients(),
        configured: configured.map_err(|problems| Fault::configuration(problems.to_string()))?,
        ourselves: Ourselves { program: std::env::current_exe().ok(), doors },
        target: Box::new(Draft::new(named, surroundings.clone())?),
    })
}
