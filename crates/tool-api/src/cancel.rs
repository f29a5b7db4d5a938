//! Giving a call up.

use std::iter;
use std::sync::Arc;

use futures_util::future::select_all;
use tokio_util::sync::CancellationToken;

/// Heard by every wait of a call; a clone hears the same.
///
/// The library's token takes locks to be cloned and to have a child, for a family tree of which most calls need one step.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Node>);

#[derive(Debug, Default)]
struct Node {
    token: CancellationToken,
    above: Option<Cancel>,
}

impl Cancel {
    /// Not cancelled.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// One that hears of this one, and can be told more than it: its own cancelling is not this one's.
    #[must_use]
    pub fn child(&self) -> Cancel {
        Cancel(Arc::new(Node { token: CancellationToken::new(), above: Some(self.clone()) }))
    }

    /// Gives the call up, for good.
    pub fn cancel(&self) {
        self.0.token.cancel();
    }

    /// Whether the call was given up.
    pub fn is_cancelled(&self) -> bool {
        self.line().any(CancellationToken::is_cancelled)
    }

    /// Resolves once the call is given up.
    pub async fn cancelled(&self) {
        if self.0.above.is_none() {
            return self.0.token.cancelled().await;
        }
        select_all(self.line().map(|token| Box::pin(token.cancelled()))).await;
    }

    /// Its own token and all above it.
    fn line(&self) -> impl Iterator<Item = &CancellationToken> {
        iter::successors(Some(self), |one| one.0.above.as_ref()).map(|one| &one.0.token)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn who_hears_of_whom() {
        type Cancelled = fn(&[Cancel; 4]) -> &Cancel;
        let cases: [(&str, Cancelled, [bool; 4]); 4] = [
            ("the first", |family| &family[0], [true, true, true, true]),
            ("its child", |family| &family[1], [false, true, true, false]),
            ("the child's", |family| &family[2], [false, false, true, false]),
            ("its other child", |family| &family[3], [false, false, false, true]),
        ];
        for (name, cancelled, expected) in cases {
            let first = Cancel::new();
            let child = first.child();
            let family = [first.clone(), child.clone(), child.child(), first.child()];
            let mut waiting: Vec<_> = family.iter().map(|one| Box::pin(one.cancelled())).collect();
            assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()), "{name}");
            cancelled(&family).cancel();
            assert_eq!(family.each_ref().map(Cancel::is_cancelled), expected, "{name}");
            let heard: Vec<_> = waiting.iter_mut().map(|one| one.now_or_never().is_some()).collect();
            assert_eq!(heard, expected, "who waited: {name}");
        }
    }
}
