//! What operations of the administration work on, made of the configuration: for a command its own part, for the control
//! channel everything.

use std::path::Path;
use std::sync::Arc;

use admin::audit_log::AuditPart;
use admin::import::{ImportPart, Ourselves};
use admin::keys::Keys;
use admin::secrets::SecretPart;
use admin::{Admin, Running};
use config::{self, Draft, Kept, Settings, Surroundings, Unfollowed, Uses};
use gate::Approvals;
use redact::Redactor;
use terminal::Trouble;
use terminal::times::now_ms;

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
) -> Result<Admin, Trouble> {
    let settings = config::load(named, surroundings, Unfollowed::IsPassedOver)?.settings;
    let (kept, uses) = config::kept(named, surroundings)?;
    let keys = keys(&settings);
    Ok(Admin {
        approvals: keys.approvals.clone(),
        keys,
        secrets: secrets(&kept, &uses, running(kept.state())),
        audit_log: AuditPart { redactor: redactor.clone(), ..audit_log(&settings) },
        import: import(named, surroundings, Some(&settings))?,
    })
}

/// What operations on API keys work on.
pub fn keys(settings: &Settings) -> Keys {
    let store = settings.kept.store().clone();
    Keys { approvals: Approvals::new(store.clone()), store }
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

/// What an import from other clients works on. Without settings, the address is taken to be the one that is served by
/// default. Blocks on the disk.
///
/// # Errors
/// What is wrong with the files of the configuration.
pub fn import(
    named: Option<&Path>,
    surroundings: &Surroundings,
    settings: Option<&Settings>,
) -> Result<ImportPart, Trouble> {
    let bind = settings.map_or(server::Config::default().bind, |settings| settings.server.bind);
    let doors = vec![bind.to_string(), format!("localhost:{}", bind.port())];
    Ok(ImportPart {
        surroundings: surroundings.for_clients(),
        configured: config::servers(named, surroundings)?,
        ourselves: Ourselves { program: std::env::current_exe().ok(), doors },
        target: Box::new(Draft::new(named, surroundings.clone())?),
    })
}
