//! `trust`: what a folder's files declare, what a person has agreed to of it, and agreeing to it or taking that back.

mod agree;
mod show;

use std::path::{Path, PathBuf};

use admin::receipts::{self, Receipt};
use config::{self, Loaded, Unfollowed};
use daemon::person;
use serde_json::json;
use terminal::{Ending, Trouble, print, runtime, times};

use super::load::surroundings;
use super::mcp::{ask, running};
use crate::cli::{Cli, TrustFolder};

pub(super) use agree::{ReceiptStore, agree_here, agree_to_written};
pub(super) use show::{declarations, line, name as name_of, to_json};

pub(super) fn run(cli: &Cli, asked: &TrustFolder) -> Result<Ending, Trouble> {
    if asked.list {
        return list(cli);
    }
    let folder = folder(cli, asked.dir.as_deref())?;
    let mut surroundings = surroundings(cli)?;
    surroundings.current_dir.clone_from(&folder);
    let loaded = config::load(None, &surroundings, Unfollowed::IsPassedOver)?;
    super::start::begin_resting(&loaded)?;
    if asked.revoke {
        return revoke(cli, &loaded, &folder);
    }
    loaded.passed_over.iter().for_each(|line| print::remark(&format!("note: {line}")));
    if loaded.held.is_empty() {
        return nothing_waits(cli, &loaded, &folder);
    }
    if cli.json {
        print::json(&json!({ "folder": folder.display().to_string(), "waiting": to_json(&loaded.held) }))?;
        return Ok(Ending::Refused);
    }
    print::foreign(&declarations(&loaded.held))?;
    if !ask::is_possible() {
        print::remark("nothing was agreed to: nobody can be asked here; run this in a terminal of your own");
        return Ok(Ending::Refused);
    }
    person::present(&loaded.settings.state, &[])?;
    let agreed = agree::ask_about(&loaded)?;
    if agreed > 0 {
        reload(&loaded)?;
    }
    Ok(if agreed == loaded.held.len() { Ending::Good } else { Ending::Refused })
}

fn nothing_waits(cli: &Cli, loaded: &Loaded, folder: &Path) -> Result<Ending, Trouble> {
    let agreed = receipts::receipts(&**loaded.settings.kept.store(), folder).map_err(Trouble::Failed)?;
    let keys: Vec<&str> = agreed.keys().map(String::as_str).collect();
    let words = match keys[..] {
        [] => format!("nothing that {} declares waits for your agreement", folder.display()),
        _ => format!("nothing waits; you have agreed to {} of {}", keys.join(", "), folder.display()),
    };
    let facts = json!({ "folder": folder.display().to_string(), "waiting": [], "agreed": agreed });
    print::found(cli.json, &facts, &words)
}

/// The folder that is meant, without links.
#[expect(clippy::disallowed_methods, reason = "the folder is named on the command line")]
fn folder(cli: &Cli, dir: Option<&Path>) -> Result<PathBuf, Trouble> {
    let folder = surroundings(cli)?.absolute(dir.unwrap_or(Path::new(".")));
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(file) => {
            Err(Trouble::Misused(format!("{} is no folder; name the one it lies in", file.display())))
        }
        Err(error) => Err(Trouble::Misused(format!("{} cannot be found: {error}", folder.display()))),
    }
}

fn list(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = super::start::start_nobody(cli)?;
    let folders = receipts::all(&**loaded.settings.kept.store()).map_err(Trouble::Failed)?;
    let facts = folders.iter().map(|(folder, agreed)| json!({ "folder": folder, "agreed": agreed }));
    let facts = json!({ "folders": facts.collect::<Vec<_>>() });
    let row = |folder: &Path, key: &str, receipt: &Receipt| {
        let what = receipt.lines.first().cloned().unwrap_or_default();
        vec![folder.display().to_string(), key.to_owned(), times::shown(receipt.agreed_at_ms), what]
    };
    let rows: Vec<Vec<String>> = (folders.iter())
        .flat_map(|(folder, agreed)| agreed.iter().map(|(key, receipt)| row(folder, key, receipt)))
        .collect();
    let titles = ["FOLDER", "DECLARATION", "AGREED", "WHAT IT DOES"];
    print::list(
        cli.json,
        &facts,
        &print::Table::titled(titles, rows),
        "you have agreed to nothing that a folder declares",
    )
}

fn revoke(cli: &Cli, loaded: &Loaded, folder: &Path) -> Result<Ending, Trouble> {
    let store = &**loaded.settings.kept.store();
    // Files that have gone since may have been agreed to, too.
    let mut was_any = receipts::revoke(store, folder).map_err(Trouble::Failed)?;
    for declaring in &loaded.folders {
        was_any |= receipts::revoke(store, declaring).map_err(Trouble::Failed)?;
    }
    let said = match was_any {
        true => "what you had agreed to is taken back; its servers end in every running Toolcrib",
        false => "you had agreed to nothing there",
    };
    let facts = json!({ "folder": folder.display().to_string(), "revoked": was_any });
    print::found(cli.json, &facts, &format!("{}: {said}", folder.display()))?;
    if was_any {
        reload(loaded)?;
    }
    Ok(Ending::Good)
}

/// Has every running Toolcrib read its configuration again.
fn reload(loaded: &Loaded) -> Result<(), Trouble> {
    let told = runtime::run(running::reload(&loaded.settings.state))?;
    told.lines.iter().for_each(|line| print::remark(line));
    Ok(())
}
