//! Giving a call up.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

/// Heard by every wait of a call; a clone hears the same.
///
/// The library's token takes a lock to be cloned, for a family tree that most calls do not have.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<CancellationToken>);

impl Cancel {
    /// Not cancelled.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// One that hears of this one, and can be told more than it: its own cancelling is not this one's.
    #[must_use]
    pub fn child(&self) -> Cancel {
        Cancel(Arc::new(self.0.child_token()))
    }

    /// Gives the call up, for good.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether the call was given up.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves once the call is given up.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}
