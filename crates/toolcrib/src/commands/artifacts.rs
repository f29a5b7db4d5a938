//! `artifacts`: results that were too large for an answer.

use admin::artifacts::{ArtifactPart, ArtifactReport, List, PIECE_BYTES_MAX, Read, Remove};
use admin::{By, Operation as _};
use daemon::administration;
use terminal::print;
use terminal::print::Table;
use terminal::times::shown;
use terminal::{Ending, Trouble};

use super::start::start_nobody;
use crate::cli::{Artifacts, Cli};

const TITLES: [&str; 7] = ["ID", "CALLER", "TOOL", "NAME", "BYTES", "MADE", "UNTIL"];

pub(super) fn run(cli: &Cli, command: Artifacts) -> Result<Ending, Trouble> {
    let part = administration::artifacts(&start_nobody(cli)?.settings);
    match command {
        Artifacts::List { caller, limit, cursor } => {
            let found = List { caller, limit, cursor }.perform(&part, &By::owner())?;
            let table = Table::titled(TITLES, found.artifacts.iter().map(row));
            let ending = print::list(cli.json, &found, &table, "there is no artifact")?;
            if let Some(cursor) = found.cursor.filter(|_| !cli.json) {
                print::remark(&format!("there are more: --cursor {cursor}"));
            }
            Ok(ending)
        }
        Artifacts::Read { id, offset, bytes } => read(cli, &part, &id, offset, bytes.unwrap_or(u64::MAX)),
        Artifacts::Remove { ids } => {
            for id in ids {
                let removed = Remove { id }.perform(&part, &By::owner())?;
                print::found(cli.json, &removed, &format!("{} is removed", removed.id))?;
            }
            Ok(Ending::Good)
        }
    }
}

/// Prints piece after piece, so that one of any size takes no memory.
fn read(cli: &Cli, part: &ArtifactPart, id: &str, mut offset: u64, mut left: u64) -> Result<Ending, Trouble> {
    loop {
        let bytes = Some(left.min(PIECE_BYTES_MAX as u64));
        let piece = Read { id: id.to_owned(), offset, bytes }.perform(part, &By::owner())?;
        if cli.json {
            print::json(&piece)?;
            return Ok(Ending::Good);
        }
        let bytes = piece.decoded()?;
        if bytes.is_empty() {
            return Ok(Ending::Good);
        }
        // Secrets were struck out before it was kept.
        print::program(&bytes, false)?;
        offset += bytes.len() as u64;
        left -= bytes.len() as u64;
    }
}

fn row(report: &ArtifactReport) -> Vec<String> {
    let (id, caller, tool) = (report.id.clone(), report.caller.clone(), report.tool.clone());
    let (made, until) = (shown(report.made_at_ms), shown(report.ends_at_ms));
    vec![id, caller, tool, report.name.clone(), report.bytes.to_string(), made, until]
}
