//! Sends spans to a collector, in batches, off the path of every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Uri;
use sandbox::Client;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep, timeout_at};

use super::Finished;
use crate::otlp;

/// Most calls in one request.
const BATCH_CALLS_MAX: usize = 256;

/// How long the first call of a batch waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(2);

/// How often a batch is sent before it is let go, with a pause that doubles.
const TRIES_MAX: u32 = 4;

/// The pause after the first try.
const PAUSE: Duration = Duration::from_millis(500);

/// How long all that is left at the end may take.
const LAST_MAX: Duration = Duration::from_secs(2);

/// The end of the queue at which spans are sent.
pub struct Exporter {
    endpoint: Uri,
    queue: Receiver<Finished>,
    dropped: Arc<AtomicU64>,
}

impl Exporter {
    pub(super) fn new(endpoint: Uri, queue: Receiver<Finished>, dropped: Arc<AtomicU64>) -> Exporter {
        Exporter { endpoint, queue, dropped }
    }

    /// Sends until `ending` resolves, and then what is left, within two seconds. `version` is the program's.
    pub async fn run(mut self, client: Client, version: &str, ending: impl Future<Output = ()>) {
        tokio::pin!(ending);
        loop {
            let batch = tokio::select! {
                biased;
                () = &mut ending => break,
                batch = batch(&mut self.queue) => batch,
            };
            if batch.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                () = &mut ending => {
                    let sending = self.send(&client, version, &batch);
                    let _ = tokio::time::timeout(LAST_MAX, sending).await;
                    break;
                }
                () = self.send(&client, version, &batch) => {}
            }
        }
        self.queue.close();
        let mut last = Vec::new();
        while let Ok(finished) = self.queue.try_recv() {
            last.push(finished);
        }
        for batch in last.chunks(BATCH_CALLS_MAX) {
            let _ = tokio::time::timeout(LAST_MAX, self.send(&client, version, batch)).await;
        }
    }

    /// Sends a batch, a few times if need be.
    async fn send(&self, client: &Client, version: &str, batch: &[Finished]) {
        let body = otlp::request(version, batch);
        let mut pause = PAUSE;
        for nth in 1..=TRIES_MAX {
            match otlp::post(client, &self.endpoint, body.clone()).await {
                Ok(()) => return,
                Err(refused) if nth == TRIES_MAX || !refused.may_pass => {
                    self.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
                    tracing::warn!(why = %refused.why, calls = batch.len(), "spans could not be sent");
                    return;
                }
                Err(_) => {
                    sleep(pause).await;
                    pause *= 2;
                }
            }
        }
    }
}

/// Those that come within a while of the first. Empty once nobody can send any more.
async fn batch(queue: &mut Receiver<Finished>) -> Vec<Finished> {
    let mut batch = Vec::new();
    let Some(first) = queue.recv().await else { return batch };
    batch.push(first);
    let until = Instant::now() + BATCH_WAIT;
    while batch.len() < BATCH_CALLS_MAX {
        match timeout_at(until, queue.recv()).await {
            Ok(Some(next)) => batch.push(next),
            Ok(None) | Err(_) => break,
        }
    }
    batch
}
