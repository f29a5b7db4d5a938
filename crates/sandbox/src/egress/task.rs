//! `Task`: something that runs as long as somebody holds it.

use std::future::Future;

use tokio::task::JoinHandle;

/// Ends what it runs when it is dropped.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<()>);

impl Task {
    pub(super) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(tokio::spawn(future))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
