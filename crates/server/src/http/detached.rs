//! A call that goes on if nobody waits for it any more: in the legacy revisions a client that hangs up has not
//! cancelled it, nor has one whose call bears a request id. It is bounded by its own deadline, and by the endpoint's end; and there are only so many.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;

use super::endpoint::Endpoint;

/// A call that outlives its connection.
pub(super) struct Detached<T: Send + 'static> {
    later: Option<BoxFuture<'static, T>>,
    endpoint: Arc<Endpoint>,
}

impl<T: Send> Detached<T> {
    pub(super) fn new(endpoint: &Arc<Endpoint>, later: BoxFuture<'static, T>) -> Detached<T> {
        Detached { later: Some(later), endpoint: endpoint.clone() }
    }
}

impl<T: Send> Future for Detached<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let later = self.later.as_mut().expect("a finished call is not asked again");
        let answer = std::task::ready!(later.as_mut().poll(cx));
        self.later = None;
        Poll::Ready(answer)
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let Some(rest) = self.later.take().filter(|_| !self.endpoint.closing.is_cancelled()) else { return };
        // A call that is dropped, here or at the end, has its record closed by that.
        let Ok(place) = self.endpoint.detached.clone().try_acquire_owned() else { return };
        let closing = self.endpoint.closing.clone();
        self.endpoint.tasks.spawn(async move {
            closing.run_until_cancelled(rest).await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use testkit::SampleGate;
    use tokio::sync::Notify;

    use super::super::endpoint::DETACHED_MAX;
    use super::*;
    use crate::Server;

    #[tokio::test]
    async fn calls_that_nobody_waits_for_are_bounded() {
        let gate = SampleGate::new();
        let endpoint = Endpoint::sample(Server::new(gate.gate.clone(), crate::Instructions::default()));
        let done = Arc::new(Notify::new());
        let hang_up = |calls: usize| {
            for _ in 0..calls {
                let done = done.clone();
                drop(Detached::new(&endpoint, Box::pin(async move { done.notified().await })));
            }
        };
        for (calls, expected) in [(1, 1), (DETACHED_MAX, DETACHED_MAX), (1, DETACHED_MAX)] {
            hang_up(calls);
            assert_eq!(endpoint.tasks.len(), expected);
            // Those that were given up hold nothing.
            assert_eq!(Arc::strong_count(&done), 1 + expected);
        }
        endpoint.closing.cancel();
        endpoint.tasks.close();
        endpoint.tasks.wait().await;
        assert_eq!(endpoint.detached.available_permits(), DETACHED_MAX, "and their places are free again");
    }
}
