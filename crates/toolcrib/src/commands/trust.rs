//! `trust`: what a folder's files declare, what a person has agreed to of it, and agreeing to it or taking that back.

mod agree;
mod show;

use std::path::Path;

use admin::folders::{AgreedFolder, FolderReport, FoldersPart, List, Revoke};
use admin::receipts::Receipt;
use admin::{By, Operation as _};
use config::Unfollowed;
use daemon::control::Neighbours;
use daemon::{administration, person};
use terminal::{Ending, Trouble, print, times};

use super::load::{load_resting, surroundings};
use super::mcp::{ask, running};
use crate::cli::{Cli, TrustFolder};

pub(super) use agree::{agree_here, agree_to_written};
pub(super) use show::{declarations, line, name as name_of};

pub(super) fn run(cli: &Cli, asked: &TrustFolder) -> Result<Ending, Trouble> {
    let mut surroundings = surroundings(cli)?;
    let folder = surroundings.absolute(asked.dir.as_deref().unwrap_or(Path::new("")));
    surroundings.current_dir.clone_from(&folder);
    let loaded = match asked.list {
        true => load_resting(cli)?,
        false => config::load(None, &surroundings, Unfollowed::IsPassedOver)?,
    };
    super::start::begin_resting(&loaded)?;
    let state = &loaded.settings.state;
    let part = administration::folders(&loaded, Neighbours::on(state));
    if asked.list {
        return list(cli, &part);
    }
    if asked.revoke {
        return revoke(cli, &part, &folder);
    }
    let found = (part.look)(&folder)?;
    let report = found.report()?;
    print::notes("note", &report.notes);
    if found.held.is_empty() {
        return print::found(cli.json, &report, &nothing_waits(&report));
    }
    if cli.json {
        print::json(&report)?;
        return Ok(Ending::Refused);
    }
    print::foreign(&declarations(&found.held))?;
    if !ask::is_possible() {
        print::remark("nothing was agreed to: nobody can be asked here; run this in a terminal of your own");
        return Ok(Ending::Refused);
    }
    let person = person::present(state, &[])?;
    let agreed = agree::ask_about(&part, &found.folder, &found.held, person)?;
    let count = agreed.as_ref().map_or(0, |agreed| agreed.agreed.len());
    agreed.iter().for_each(|agreed| running::tell_reloaded(&agreed.running));
    Ok(if count == found.held.len() { Ending::Good } else { Ending::Refused })
}

fn nothing_waits(report: &FolderReport) -> String {
    let FolderReport { folder, agreed, .. } = report;
    let keys: Vec<&str> = agreed.keys().map(String::as_str).collect();
    match keys[..] {
        [] => format!("nothing that {folder} declares waits for your agreement"),
        _ => format!("nothing waits; you have agreed to {} of {folder}", keys.join(", ")),
    }
}

fn list(cli: &Cli, part: &FoldersPart) -> Result<Ending, Trouble> {
    let found = List {}.perform(part, &By::owner())?;
    let row = |folder: &str, key: &str, receipt: &Receipt| {
        let what = receipt.lines.first().cloned().unwrap_or_default();
        vec![folder.to_owned(), key.to_owned(), times::shown(receipt.agreed_at_ms), what]
    };
    let rows = |AgreedFolder { folder, agreed }: &AgreedFolder| {
        agreed.iter().map(|(key, receipt)| row(folder, key, receipt)).collect::<Vec<_>>()
    };
    let titles = ["FOLDER", "DECLARATION", "AGREED", "WHAT IT DOES"];
    let table = print::Table::titled(titles, found.folders.iter().flat_map(rows));
    print::list(cli.json, &found, &table, "you have agreed to nothing that a folder declares")
}

fn revoke(cli: &Cli, part: &FoldersPart, folder: &Path) -> Result<Ending, Trouble> {
    let done = Revoke { folder: folder.to_owned() }.perform(part, &By::owner())?;
    let said = match done.revoked {
        true => "what you had agreed to is taken back; its servers and tools end in every running Toolcrib",
        false => "you had agreed to nothing there",
    };
    print::found(cli.json, &done, &format!("{}: {said}", done.folder))?;
    running::tell_reloaded(&done.running);
    Ok(Ending::Good)
}
