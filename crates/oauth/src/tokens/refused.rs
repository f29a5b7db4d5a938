//! `Refused`: why no token was issued.

use crate::error::{Failure, Reason};

/// Why no token was issued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The code, refresh token or assertion is not, or no longer, good (`invalid_grant`).
    #[error("{0}")]
    Grant(String),
    /// The server does not know the client, or not with this proof (`invalid_client`, `unauthorized_client`).
    #[error("{0}")]
    Client(String),
    /// Anything else; another attempt may do better.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        match refused {
            Refused::Grant(said) => Failure::new(Reason::Other, said),
            Refused::Client(said) => Failure::new(Reason::ClientRefused, said),
            Refused::Failed(failure) => failure,
        }
    }
}
