//! Whether a person has agreed to what a folder declares: asked of the receipts in the user's own state, and for each
//! folder no more than once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::declaration::Declaration;
use crate::state;
use crate::trust::{self, Receipts};

/// What is known of a person's agreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// They have agreed, and to the use of these kept secrets.
    Given { secrets: Vec<String> },
    /// They have not been asked.
    Unknown,
    /// They have agreed to something else, which was kept in these lines.
    Changed { before: Vec<String> },
    /// It cannot be found out, for this reason.
    Unreadable(String),
}

/// Where agreements are looked up.
pub(crate) enum Consent {
    /// Everything counts as agreed to, for one run.
    ForThisRun,
    /// In the user's state, if they have one.
    Kept { state: Option<PathBuf>, folders: RefCell<BTreeMap<PathBuf, Result<Receipts, String>>> },
}

impl Consent {
    /// As it is kept in the folder `state`.
    pub(crate) fn kept_in(state: Option<PathBuf>) -> Consent {
        Consent::Kept { state, folders: RefCell::default() }
    }

    /// Whether a person has agreed to this.
    pub(crate) fn to(&self, declaration: &Declaration) -> Agreement {
        let receipts = match self {
            Consent::ForThisRun => return Agreement::Given { secrets: declaration.secrets.clone() },
            Consent::Kept { state, folders } => receipts(state.as_deref(), folders, &declaration.folder),
        };
        match receipts {
            Err(why) => Agreement::Unreadable(why),
            Ok(receipts) => match receipts.of(&declaration.key) {
                None => Agreement::Unknown,
                Some(receipt) if receipt.sha256 == declaration.sha256 => {
                    Agreement::Given { secrets: receipt.secrets.clone() }
                }
                Some(receipt) => Agreement::Changed { before: receipt.lines.clone() },
            },
        }
    }

    /// Whether a person has ever agreed to anything of this folder: then its mistakes are theirs to mend.
    pub(crate) fn knows(&self, folder: &Path) -> bool {
        match self {
            Consent::ForThisRun => true,
            Consent::Kept { state, folders } => {
                receipts(state.as_deref(), folders, folder).is_ok_and(|receipts| !receipts.is_empty())
            }
        }
    }
}

fn receipts(
    state: Option<&Path>,
    folders: &RefCell<BTreeMap<PathBuf, Result<Receipts, String>>>,
    folder: &Path,
) -> Result<Receipts, String> {
    let mut folders = folders.borrow_mut();
    let read = || match state {
        // Nothing is made where nothing is kept.
        Some(state) => trust::receipts(&*state::open(state), folder),
        None => Ok(Receipts::default()),
    };
    folders.entry(folder.to_owned()).or_insert_with(read).clone()
}
