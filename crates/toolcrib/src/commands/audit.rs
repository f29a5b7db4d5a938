//! `audit`: the records of the audit log, whether it is as it was written, and how it leaves this machine.

mod export;
mod filter;
mod headers;
mod tail;
mod unreadable;
mod verify;

use audit::{AuditLog, Loss, PublicKey, Removed};
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
        Audit::Acknowledge { because } => acknowledge(cli, settings, because.as_deref()),
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
    let line = |one: &Removed| format!("removed {}, up to record {}", one.segment, one.seq);
    let words = match removed.is_empty() {
        true => format!("nothing to remove: the audit log keeps {keep} and at most {max_bytes}"),
        false => removed.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &json!({ "removed": removed }), &words)
}

fn key(cli: &Cli, settings: &Settings) -> Result<Ending, Trouble> {
    let key = PublicKey::of_folder(&settings.state).map_err(unreadable)?;
    let none = || Trouble::Failed("there is no key yet: it is made with the first call".to_owned());
    let key = key.ok_or_else(none)?;
    print::found(cli.json, &json!({ "key": key }), &key.to_string())
}

/// Tells of losses that a person has signed that they know of.
fn acknowledge(cli: &Cli, settings: Settings, because: Option<&str>) -> Result<Ending, Trouble> {
    let Settings { state, audit, redactor, .. } = settings;
    let because = because.map(|because| redactor.text(because).into_owned());
    let losses = AuditLog::with(&state, now_ms, audit, redactor).acknowledge(because.as_deref());
    let losses = losses.map_err(|error| Trouble::Failed(error.to_string()))?;
    let facts: Vec<_> = losses.iter().map(|loss| json!({ "record": loss.seq, "kept": loss.kept })).collect();
    let line = |loss: &Loss| format!("acknowledged: {loss} (told by record {})", loss.seq);
    let words = match losses.is_empty() {
        true => {
            "nothing to acknowledge: the audit log has lost nothing that somebody does not know of".to_owned()
        }
        false => losses.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &json!({ "acknowledged": facts }), &words)
}
