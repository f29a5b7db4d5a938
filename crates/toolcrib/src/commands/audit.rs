//! `audit`: the records of the audit log, whether it is as it was written, and how it leaves this machine.

mod acknowledge;
mod export;
mod filter;
mod headers;
mod tail;
mod unreadable;
mod verify;

use audit::{AuditLog, PublicKey};
use serde_json::json;

use super::start::start_nobody;
use crate::cli::{Audit, Cli};
use crate::config::Settings;
use crate::ending::{Ending, Trouble};
use crate::print;
use crate::times::now_ms;
use unreadable::unreadable;

pub(super) fn run(cli: &Cli, command: Audit) -> Result<Ending, Trouble> {
    let settings = start_nobody(cli)?.settings;
    match command {
        Audit::Tail { lines, follow, filter } => tail::run(cli, &settings.state, lines, follow, &filter),
        Audit::Verify { folder, keys, from } => {
            let asked = verify::Asked { audit_log: folder.as_deref(), keys: &keys, from };
            verify::run(cli, &settings.state, &asked)
        }
        Audit::Acknowledge { because } => acknowledge::run(cli, settings, because.as_deref()),
        Audit::Export(export) => export::run(&settings.state, &export),
        Audit::Prune => prune(cli, settings),
        Audit::Key => key(cli, &settings),
    }
}

fn prune(cli: &Cli, settings: Settings) -> Result<Ending, Trouble> {
    let Settings { state, audit, redactor, .. } = settings;
    let (keep, max_bytes) = (audit.keep, audit.max_bytes);
    let removed = AuditLog::with(&state, now_ms, audit, redactor).prune();
    let removed = removed.map_err(|error| Trouble::Failed(error.to_string()))?;
    if cli.json {
        print::json(&json!({ "removed": removed }))?;
    } else if removed.is_empty() {
        print::line(&format!("nothing to remove: the audit log keeps {keep} and at most {max_bytes}"))?;
    }
    for segment in removed.iter().filter(|_| !cli.json) {
        print::line(&format!("removed {}, up to record {}", segment.segment, segment.seq))?;
    }
    Ok(Ending::Good)
}

fn key(cli: &Cli, settings: &Settings) -> Result<Ending, Trouble> {
    let key = PublicKey::of_folder(&settings.state).map_err(unreadable)?;
    let Some(key) = key else {
        return Err(Trouble::Failed("there is no key yet: it is made with the first call".to_owned()));
    };
    if cli.json {
        print::json(&json!({ "key": key }))?
    } else {
        print::line(&key.to_string())?
    }
    Ok(Ending::Good)
}
