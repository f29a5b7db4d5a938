//! `audit`: the records of the audit log, whether it is as it was written, and how it leaves this machine.

mod acknowledge;
mod export;
mod filter;
mod headers;
mod tail;
mod verify;

use audit::{AuditLog, PublicKey};
use serde_json::json;

use super::start_nobody;
use crate::assemble::now_ms;
use crate::cli::{Audit, Cli};
use crate::config::Settings;
use crate::ending::{Ending, Trouble};
use crate::print;

pub(super) fn run(cli: &Cli, command: Audit) -> Result<Ending, Trouble> {
    let settings = start_nobody(cli)?.settings;
    match command {
        Audit::Tail { lines, follow, filter } => tail::run(cli, &settings.state, lines, follow, &filter),
        Audit::Verify { audit_log, keys, from } => {
            let asked = verify::Asked { audit_log: audit_log.as_deref(), keys: &keys, from };
            verify::run(cli, &settings.state, &asked)
        }
        Audit::Acknowledge { because } => acknowledge::run(cli, settings, because.as_deref()),
        Audit::Export(export) => export::run(&settings.state, &export),
        Audit::Prune => prune(cli, settings),
        Audit::Key => key(cli, &settings),
    }
}

fn unreadable(error: impl std::fmt::Display) -> Trouble {
    Trouble::Failed(format!("the audit log cannot be read: {error}"))
}

fn prune(cli: &Cli, settings: Settings) -> Result<Ending, Trouble> {
    let Settings { state, audit, redactor, kept, .. } = settings;
    let (keep, max_bytes) = (audit.keep, audit.max_bytes);
    let removed = AuditLog::with(&state, now_ms, audit, redactor).kept_in(kept.store().clone()).prune();
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
