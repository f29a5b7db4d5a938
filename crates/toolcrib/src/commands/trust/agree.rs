//! Asking a person about what a folder declares, and keeping what they say. What they agree to is what was shown.

use std::io;
use std::sync::Arc;

use admin::receipts::{self, Receipt};
use config::{Agreement, Declaration, HeldBack, Loaded};
use daemon::person;
use gate::Approvals;
use redact::Redactor;
use store::{SqliteStore, Store};
use terminal::times::now_ms;
use terminal::{Trouble, print};

use super::show;
use crate::cli::Cli;
use crate::commands::load::load_resting;
use crate::commands::mcp::ask;

/// Asks about each that waits, one by one; gives how many were agreed to. They have been shown, and a person is present.
///
/// # Errors
/// The code for approvals was not given, or what is agreed to cannot be kept.
pub(super) fn ask_about(loaded: &Loaded) -> Result<usize, Trouble> {
    let (mut agreed, keeper) = (0, ReceiptStore::of(loaded));
    let mut has_passed = false;
    for held in &loaded.held {
        if let Agreement::Unreadable(why) = &held.why {
            return Err(Trouble::Failed(why.clone()));
        }
        if !ask::confirm(&format!("agree to {}?", show::name(held)))? {
            continue;
        }
        let secrets = secrets(held)?;
        if !std::mem::replace(&mut has_passed, true) {
            person::pass_code(&Approvals::new(keeper.store()))?;
        }
        keeper.keep(&held.declaration, secrets).map_err(Trouble::Failed)?;
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

/// Where agreements are kept.
#[derive(Clone)]
pub(crate) struct ReceiptStore {
    store: Arc<SqliteStore>,
    redactor: Redactor,
}

impl ReceiptStore {
    pub(crate) fn of(loaded: &Loaded) -> ReceiptStore {
        ReceiptStore {
            store: loaded.settings.kept.store().clone(),
            redactor: loaded.settings.redactor.clone(),
        }
    }

    /// What else is kept there.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// Keeps an agreement to this declaration, and to the use of these kept secrets. Blocks on the disk.
    ///
    /// # Errors
    /// A sentence, if it cannot be kept.
    pub(crate) fn keep(&self, declaration: &Declaration, secrets: Vec<String>) -> Result<(), String> {
        let receipt = Receipt {
            sha256: declaration.sha256.clone(),
            lines: declaration.lines.iter().map(|line| self.redactor.text(&line.kept).into_owned()).collect(),
            secrets,
            agreed_at_ms: now_ms(),
        };
        receipts::agree(&*self.store, &declaration.folder, &[(declaration.key.clone(), receipt)])
    }
}

/// Asks the person who has typed a command about what waits, if they can be asked; gives true if they have agreed to
/// anything, so that the configuration is another one. Otherwise one line says that it waits.
pub(crate) fn agree_here(loaded: &Loaded, is_json: bool) -> Result<bool, Trouble> {
    let Some(line) = show::line(&loaded.held) else { return Ok(false) };
    let is_person = ask::is_possible() && person::present(&loaded.settings.state, &[]).is_ok();
    if is_json || !is_person {
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
pub(crate) fn agree_to_written(cli: &Cli, names: &[&str]) -> Result<(), Trouble> {
    let loaded = load_resting(cli)?;
    let keeper = ReceiptStore::of(&loaded);
    for held in &loaded.held {
        if held.declaration.server().is_some_and(|server| names.contains(&server)) {
            keeper.keep(&held.declaration, held.declaration.secrets.clone()).map_err(Trouble::Failed)?;
        }
    }
    Ok(())
}
