//! Whether a person has agreed to what a folder declares: asked of the receipts in the user's own state.

use std::path::{Path, PathBuf};

use admin::folders::{Agreement, Declaration};
use admin::receipts::{self, Receipts};
use store::SqliteStore;

/// Where agreements are looked up.
#[derive(Clone)]
pub(crate) enum Consent {
    /// Everything counts as agreed to, for one run.
    ForThisRun,
    /// In the user's state, if they have one.
    KeptIn(Option<PathBuf>),
}

impl Consent {
    /// What a person has agreed to of a folder's declarations.
    pub(crate) fn of_folder(&self, folder: &Path) -> FolderConsent {
        match self {
            Consent::ForThisRun => FolderConsent::Whole,
            Consent::KeptIn(Some(state)) => {
                FolderConsent::Receipts(receipts::receipts(&SqliteStore::at(state), folder))
            }
            // Nothing is made where nothing is kept.
            Consent::KeptIn(None) => FolderConsent::Receipts(Ok(Receipts::default())),
        }
    }
}

/// What a person has agreed to of one folder.
pub(crate) enum FolderConsent {
    Whole,
    Receipts(Result<Receipts, String>),
}

impl FolderConsent {
    /// Whether they have agreed to this.
    pub(crate) fn to(&self, declaration: &Declaration) -> Agreement {
        let receipts = match self {
            FolderConsent::Whole => return Agreement::Given { secrets: declaration.secrets.clone() },
            FolderConsent::Receipts(receipts) => receipts,
        };
        match receipts.as_ref().map(|receipts| receipts.get(&declaration.key)) {
            Err(why) => Agreement::Unreadable(why.clone()),
            Ok(None) => Agreement::Unknown,
            Ok(Some(receipt)) if receipt.sha256 == declaration.sha256 => {
                Agreement::Given { secrets: receipt.secrets.clone() }
            }
            Ok(Some(receipt)) => Agreement::Changed { before: receipt.lines.clone() },
        }
    }

    /// Whether they have ever agreed to anything of it: then its mistakes are theirs to mend.
    pub(crate) fn is_any(&self) -> bool {
        match self {
            FolderConsent::Whole => true,
            FolderConsent::Receipts(receipts) => receipts.as_ref().is_ok_and(|kept| !kept.is_empty()),
        }
    }
}
