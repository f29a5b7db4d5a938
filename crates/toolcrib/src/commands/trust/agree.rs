//! Asking a person about what a folder declares, and keeping what they say. What they agree to is what was shown.

use std::io;
use std::path::Path;

use admin::folders::{Agree, AgreeTo, AgreedTo, Agreement, FoldersPart, HeldBack};
use admin::{By, Operation as _, Person};
use config::Loaded;
use daemon::control::Neighbours;
use daemon::{administration, person};
use gate::Approvals;
use terminal::{Trouble, print};

use super::show;
use crate::cli::Cli;
use crate::commands::load::load_resting;
use crate::commands::mcp::ask;

/// Asks about each that waits, one by one, and then for the code; gives what was agreed to, if anything was. They have been
/// shown.
///
/// # Errors
/// The code for approvals was not given, or what is agreed to cannot be kept.
pub(super) fn ask_about(
    part: &FoldersPart,
    folder: &Path,
    held: &[HeldBack],
    person: Person,
) -> Result<Option<AgreedTo>, Trouble> {
    let mut to = Vec::new();
    for held in held {
        if let Agreement::Unreadable(why) = &held.why {
            return Err(Trouble::Failed(why.clone()));
        }
        if ask::confirm(&format!("agree to {}?", show::name(held)))? {
            let (declaration, sha256) = (held.declaration.key.clone(), held.declaration.sha256.clone());
            to.push(AgreeTo { declaration, sha256, secrets: secrets(held)? });
        }
    }
    if to.is_empty() {
        return Ok(None);
    }
    let code = person::code(&Approvals::new(part.store.clone()))?;
    let agree = Agree { folder: folder.to_owned(), to };
    Ok(Some(agree.perform(part, &By::person(person.with_code(code)))?))
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

/// Asks the person who has typed a command about what waits, if they can be asked; gives true if they have agreed to
/// anything, so that the configuration is another one. Otherwise one line says that it waits.
pub(crate) fn agree_here(loaded: &Loaded, is_json: bool) -> Result<bool, Trouble> {
    let Some(line) = show::line(&loaded.held) else { return Ok(false) };
    let state = &loaded.settings.state;
    let person = if is_json || !ask::is_possible() { None } else { person::present(state, &[]).ok() };
    let Some(person) = person else {
        print::remark(&line);
        return Ok(false);
    };
    print::remark(&show::declarations(&loaded.held));
    print::remark(
        "It is somebody else's word until you agree. What you leave out waits; `toolcrib trust` asks again.",
    );
    let part = administration::folders(loaded, Neighbours::on(state));
    let agreed = ask_about(&part, &loaded.surroundings.current_dir, &loaded.held, person)?;
    Ok(agreed.is_some())
}

/// Agrees to the servers of these names, since a command of the person's has just written them.
pub(crate) fn agree_to_written(cli: &Cli, names: &[&str]) -> Result<(), Trouble> {
    let loaded = load_resting(cli)?;
    let part = administration::folders(&loaded, Neighbours::on(&loaded.settings.state));
    for held in &loaded.held {
        if held.declaration.server().is_some_and(|server| names.contains(&server)) {
            part.keep(&held.declaration, held.declaration.secrets.clone())?;
        }
    }
    Ok(())
}
