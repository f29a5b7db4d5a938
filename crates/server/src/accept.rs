//! Taking in connections, each with a task of its own, and letting them end.

use std::io;
use std::time::Duration;

use tokio::task::JoinSet;

/// How long connections may still take to finish once their transport closes.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// How long nobody is taken in after the system could not: those that end free descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes in whoever connects, `max` at once at most, until it is dropped. More wait in the system's queue.
pub(crate) async fn each<C, A, T>(
    connections: &mut JoinSet<()>,
    max: usize,
    accept: impl Fn() -> A,
    serve: impl Fn(C) -> T,
) where
    A: Future<Output = io::Result<C>>,
    T: Future<Output = ()> + Send + 'static,
{
    loop {
        let accepted = tokio::select! {
            biased;
            accepted = accept(), if connections.len() < max => accepted,
            // After those that come: one that has ended holds nobody up.
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        match accepted {
            Ok(connection) => {
                connections.spawn(serve(connection));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Waits for a moment until they are done by themselves. What is not done by then is to be given up, and its record closed
/// by that.
pub(crate) async fn drain(connections: &mut JoinSet<()>) {
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN_MAX, drained).await;
}
