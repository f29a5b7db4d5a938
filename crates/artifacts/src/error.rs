//! Why an artifact is not kept, or not read.

use std::io::{self, ErrorKind};

use store::StoreError;
use units::Size;

/// Why an artifact is not kept, or not read. Names limits, and nothing of what was to be kept.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// It has more bytes than one caller may have.
    #[error("an artifact may have at most {}; set artifacts.caller", Size(*max))]
    TooLarge {
        /// The limit, in bytes.
        max: u64,
    },
    /// Others have what is left.
    #[error(
        "the artifacts of other callers leave no room for this one; remove some with `toolcrib artifacts remove`, or set \
         artifacts.total"
    )]
    Full,
    /// The disk takes no more.
    #[error("the disk is full: no artifact can be kept until there is space below the state folder")]
    DiskFull,
    /// The system says something else of the folder.
    #[error("the folder of the artifacts cannot be used; check its permissions or set state.dir")]
    Folder(#[source] io::Error),
    /// The bucket cannot be used.
    #[error("the store of the artifacts cannot be used: {why}; check `[artifacts]`, or try again later")]
    Store {
        /// What is wrong with it, by what it answers. Names no key.
        why: String,
    },
    /// The index cannot be read or written.
    #[error(transparent)]
    Index(#[from] StoreError),
}

impl ArtifactError {
    /// A stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            ArtifactError::TooLarge { .. } => "artifact_too_large",
            ArtifactError::Full => "artifacts_full",
            ArtifactError::DiskFull | ArtifactError::Index(StoreError::NoSpace) => "disk_full",
            ArtifactError::Store { .. } => "artifact_store_unavailable",
            ArtifactError::Folder(_) | ArtifactError::Index(_) => "artifacts_unavailable",
        }
    }
}

impl From<io::Error> for ArtifactError {
    fn from(error: io::Error) -> ArtifactError {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                ArtifactError::DiskFull
            }
            _ => ArtifactError::Folder(error),
        }
    }
}
