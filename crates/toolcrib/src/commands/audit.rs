//! `audit`: the records of the audit log, whether it is as it was written, and how it leaves this machine.

mod export;
mod headers;
mod tail;
mod verify;

use admin::audit_log::{Acknowledge, AuditPart, Key, Prune, Verify};
use admin::{By, Operation as _};
use daemon::administration;
use terminal::{Ending, Trouble, print};

use super::start::start_nobody;
use crate::cli::{Audit, Cli};
pub(super) use tail::tell_calls;

pub(super) fn run(cli: &Cli, command: Audit) -> Result<Ending, Trouble> {
    let part = administration::audit_log(&start_nobody(cli)?.settings);
    match command {
        Audit::Tail { lines, follow, before, filter } => {
            tail::run(cli, &part, (lines, before), follow, &filter)
        }
        Audit::Verify { folder, keys, from } => {
            let folder = folder.map(|folder| folder.display().to_string());
            verify::run(cli, &part, Verify { folder, keys, from })
        }
        Audit::Acknowledge { because } => acknowledge(cli, &part, because),
        Audit::Export(export) => export::run(&part, &export),
        Audit::Prune => prune(cli, &part),
        Audit::Key => {
            let key = Key {}.perform(&part, &By::owner())?;
            print::found(cli.json, &key, &key.key)
        }
    }
}

fn prune(cli: &Cli, part: &AuditPart) -> Result<Ending, Trouble> {
    let pruned = Prune {}.perform(part, &By::owner())?;
    let (keep, max_bytes) = (&part.config.keep, &part.config.max_bytes);
    let line = |one: &audit::Removed| format!("removed {}, up to record {}", one.segment, one.seq);
    let words = match pruned.removed.is_empty() {
        true => format!("nothing to remove: the audit log keeps {keep} and at most {max_bytes}"),
        false => pruned.removed.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &pruned, &words)
}

/// Tells of losses that a person has signed that they know of.
fn acknowledge(cli: &Cli, part: &AuditPart, because: Option<String>) -> Result<Ending, Trouble> {
    let found = Acknowledge { because }.perform(part, &By::owner())?;
    let words = match found.acknowledged.is_empty() {
        true => {
            "nothing to acknowledge: the audit log has lost nothing that somebody does not know of".to_owned()
        }
        false => found.acknowledged.iter().map(verify::loss_line).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &found, &words)
}
