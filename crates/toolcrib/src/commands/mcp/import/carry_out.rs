//! Carrying out a move: the secrets and our configuration first, and the clients' files once that is known to serve. If
//! anything fails, all that was done is taken back.

use std::path::PathBuf;

use admin::import::{MovedFile, Plan, SealedKey};
use admin::secrets::{self, SecretPart};
use admin::{By, Operation as _};
use config::{Draft, Saved};
use terminal::{Trouble, print};

use crate::commands::mcp::client_file::{self, Written};

/// What has been done so far.
#[derive(Default)]
struct Done {
    secrets: Vec<String>,
    saved: Option<Saved>,
    files: Vec<Written>,
}

/// Moves, and gives where what was in each file is kept, in their order.
///
/// # Errors
/// Why nothing was moved.
pub(super) fn carry_out(
    plan: &Plan,
    keys: &[SealedKey],
    files: &[MovedFile],
    kept: &SecretPart,
    draft: &Draft,
) -> Result<Vec<Option<PathBuf>>, Trouble> {
    let mut done = Done::default();
    match done.everything(plan, keys, files, kept, draft) {
        Ok(()) => Ok(done.files.into_iter().map(|file| file.backup).collect()),
        Err(trouble) => {
            let left = done.undo(kept);
            let left = if left.is_empty() { vec!["everything is as it was".to_owned()] } else { left };
            Err(Trouble::Failed(format!("{trouble}\n{}", left.join("\n"))))
        }
    }
}

impl Done {
    fn everything(
        &mut self,
        plan: &Plan,
        keys: &[SealedKey],
        files: &[MovedFile],
        kept: &SecretPart,
        draft: &Draft,
    ) -> Result<(), Trouble> {
        for key in keys.iter().filter(|key| key.is_new) {
            let set = key.set().perform(kept, &By::owner())?;
            self.secrets.push(set.name.clone());
            let warning = set.warning.map(|why| format!("warning: {} is a poor secret: {why}", set.name));
            warning.iter().chain(&set.untold).for_each(|line| print::remark(line));
        }
        let new: Vec<_> = plan.add.iter().map(|new| (new.name.as_str(), &new.server)).collect();
        if !new.is_empty() {
            self.saved = Some(draft.save(&new)?);
        }
        draft.verify(&new)?;
        for file in files {
            self.files.push(client_file::write(&file.place.path, Some(&file.before), &file.after)?);
        }
        Ok(())
    }

    /// Takes everything back; a sentence for each that cannot be.
    fn undo(&self, kept: &SecretPart) -> Vec<String> {
        let files = self.files.iter().rev().map(Written::undo);
        let saved = self.saved.iter().map(Saved::undo);
        let secrets = self.secrets.iter().map(|name| {
            let removed = secrets::Remove { name: name.clone() }.perform(kept, &By::owner());
            removed.map(drop).map_err(|fault| fault.to_string())
        });
        files.chain(saved).chain(secrets).filter_map(Result::err).collect()
    }
}
