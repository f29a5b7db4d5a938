//! Asking a person about what a folder declares, and keeping what they say. What they agree to is what was shown.

use std::io;

use store::SqliteStore;

use super::show;
use crate::assemble::now_ms;
use crate::cli::Cli;
use crate::commands::load_resting;
use crate::commands::mcp::ask;
use crate::config::{Agreement, Declaration, HeldBack, Loaded};
use crate::ending::Trouble;
use crate::print;
use crate::trust::{self, Receipt};

/// Asks about each that waits, one by one; gives how many were agreed to. They have been shown.
pub(super) fn ask_about(loaded: &Loaded) -> Result<usize, Trouble> {
    let mut agreed = 0;
    for held in &loaded.held {
        if let Agreement::Unreadable(why) = &held.why {
            return Err(Trouble::Failed(why.clone()));
        }
        if !ask::confirm(&format!("agree to {}?", show::name(held)))? {
            continue;
        }
        let secrets = secrets(held)?;
        keep(loaded, &held.declaration, secrets)?;
        agreed += 1;
    }
    Ok(agreed)
}

/// The kept secrets that it may use, each asked about by itself.
fn secrets(held: &HeldBack) -> io::Result<Vec<String>> {
    let mut agreed = Vec::new();
    for secret in &held.declaration.secrets {
        if ask::confirm(&format!("may {} use your kept secret {secret}?", show::name(held)))? {
            agreed.push(secret.clone());
        }
    }
    Ok(agreed)
}

fn keep(loaded: &Loaded, declaration: &Declaration, secrets: Vec<String>) -> Result<(), Trouble> {
    let redactor = &loaded.settings.redactor;
    let receipt = Receipt {
        sha256: declaration.sha256.clone(),
        lines: declaration.lines.iter().map(|line| redactor.text(&line.kept).into_owned()).collect(),
        secrets,
        agreed_at_ms: now_ms(),
    };
    let store = SqliteStore::at(&loaded.settings.state);
    trust::agree(&store, &declaration.folder, &[(declaration.key.clone(), receipt)]).map_err(Trouble::Failed)
}

/// Asks the person who has typed a command about what waits, if they can be asked; gives true if they have agreed to
/// anything, so that the configuration is another one. Otherwise one line says that it waits.
pub(in crate::commands) fn agree_here(loaded: &Loaded, is_json: bool) -> Result<bool, Trouble> {
    let Some(line) = super::line(&loaded.held) else { return Ok(false) };
    if is_json || !ask::is_possible() {
        print::remark(&line);
        return Ok(false);
    }
    print::remark(&show::declarations(&loaded.held));
    print::remark(
        "It is somebody else's word until you agree. What you leave out waits; `toolcrib trust` asks again.",
    );
    Ok(ask_about(loaded)? > 0)
}

/// Agrees to the servers of these names, since a command of the person's has just written them.
pub(in crate::commands) fn agree_to_written(cli: &Cli, names: &[&str]) -> Result<(), Trouble> {
    let loaded = load_resting(cli)?;
    for held in &loaded.held {
        if held.declaration.server().is_some_and(|server| names.contains(&server)) {
            keep(&loaded, &held.declaration, held.declaration.secrets.clone())?;
        }
    }
    Ok(())
}
