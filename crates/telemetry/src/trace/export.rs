//! Sends spans to a collector, in batches, off the path of every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use http::{HeaderMap, Uri};
use sandbox::Client;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::finished::Finished;
use super::otlp;
use crate::collector::{Collector, SendError, Signal};

/// Most calls in one request.
const BATCH_CALLS_MAX: usize = 256;

/// How long the first call of a batch waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(2);

/// How long all that is left at the end may take.
const LAST_MAX: Duration = Duration::from_secs(2);

/// The end of the queue at which spans are sent.
pub struct Exporter {
    pub(super) endpoint: Uri,
    pub(super) queue: Receiver<Finished>,
    pub(super) dropped: Arc<AtomicU64>,
}

impl Exporter {
    /// What waits to be sent.
    #[cfg(test)]
    pub(crate) fn into_queue(self) -> Receiver<Finished> {
        self.queue
    }

    /// Sends until `ending` resolves, and then what is left, within two seconds. `version` is the program's.
    pub async fn run(mut self, client: Client, version: &str, ending: impl Future<Output = ()>) {
        let collector = Collector::new(client, Signal::Traces, self.endpoint.clone(), HeaderMap::new());
        let ending = async {
            ending.await;
            Instant::now() + LAST_MAX
        };
        let ending = ending.shared();
        // It outlives each wait, so that nothing that was taken off the queue is lost with one.
        let mut taken = Vec::new();
        loop {
            tokio::select! {
                biased;
                _ = ending.clone() => self.take_the_rest(&mut taken),
                () = fill(&mut self.queue, &mut taken) => {}
            }
            if taken.is_empty() {
                return;
            }
            // What is on its way when the end comes goes on, or the collector would get it twice.
            tokio::select! {
                biased;
                () = self.send(&collector, version, &taken) => {}
                () = async { sleep_until(ending.clone().await).await } => {
                    self.dropped.fetch_add(taken.len() as u64, Ordering::Relaxed);
                }
            }
            taken.clear();
        }
    }

    /// Takes what is left in the queue, as far as one request holds it.
    fn take_the_rest(&mut self, taken: &mut Vec<Finished>) {
        self.queue.close();
        while taken.len() < BATCH_CALLS_MAX
            && let Ok(finished) = self.queue.try_recv()
        {
            taken.push(finished);
        }
    }

    /// Sends a batch; what is not taken is let go.
    async fn send(&self, collector: &Collector, version: &str, batch: &[Finished]) {
        let Err(error) = collector.send(otlp::request(version, batch)).await else { return };
        let calls = match error {
            // It counts spans, of which each call has at least one.
            SendError::Partly(spans, _) => spans.min(batch.len() as u64),
            SendError::Refused(..) | SendError::Unreachable(_) => batch.len() as u64,
        };
        self.dropped.fetch_add(calls, Ordering::Relaxed);
        tracing::warn!(why = %error, calls, "spans could not be sent");
    }
}

/// Adds those that come within a while of the first. None is added once nobody can send any more.
async fn fill(queue: &mut Receiver<Finished>, taken: &mut Vec<Finished>) {
    let Some(first) = queue.recv().await else { return };
    taken.push(first);
    let until = Instant::now() + BATCH_WAIT;
    while taken.len() < BATCH_CALLS_MAX {
        match timeout_at(until, queue.recv()).await {
            Ok(Some(next)) => taken.push(next),
            Ok(None) | Err(_) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::oneshot;

    use super::*;
    use crate::config::TracesConfig;
    use crate::trace::Tracer;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

    /// The name of the tool in what one request brings.
    async fn answer(mut stream: TcpStream) -> String {
        let (mut read, mut block) = (Vec::new(), [0; 4096]);
        while !is_whole(&read) {
            let count = stream.read(&mut block).await.expect("a request");
            assert!(count > 0, "{}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&block[..count]);
        }
        stream.write_all(ANSWER).await.expect("it waits for the answer");
        String::from_utf8(read).expect("text")
    }

    fn is_whole(request: &[u8]) -> bool {
        let text = String::from_utf8_lossy(request).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let bytes = head.split_once("content-length: ").and_then(|(_, rest)| rest.lines().next());
        bytes.is_some_and(|bytes| bytes.parse() == Ok(body.len()))
    }

    /// A process ends after `calls` calls, of which the exporter took the first off its queue; all of them arrive.
    async fn check(calls: usize) {
        #[expect(clippy::disallowed_methods, reason = "a collector on loopback")]
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().expect("it is bound"));
        let config = TracesConfig { endpoint: Some(endpoint), sample: 1.0 };
        let dropped = Arc::default();
        let (tracer, exporter) = Tracer::new(&config, &dropped).expect("it has an endpoint");
        let (end, ended) = oneshot::channel::<()>();
        let finish = |nth: usize| {
            let trace = tracer.begin(None).expect("all are traced");
            tracer.finish(trace.finish("tools/call", format!("tool-{nth}").into(), None, "result", None));
        };
        let running = exporter.run(Client::new(), "1", async { drop(ended.await) });
        let ending = async {
            for nth in 0..calls {
                finish(nth);
                // The exporter takes it before it hears of the end.
                tokio::task::yield_now().await;
            }
            drop(end);
        };
        let collecting = async {
            let mut told = String::new();
            while !told.contains(&format!("tool-{}\"", calls - 1)) {
                told += &answer(listener.accept().await.expect("a connection").0).await;
            }
            told
        };
        let ((), (), told) = tokio::join!(running, ending, collecting);
        for nth in 0..calls {
            assert_eq!(told.matches(&format!("\"tool-{nth}\"")).count(), 1, "{nth} of {calls}");
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn what_was_taken_off_the_queue_is_sent_at_the_end() {
        check(1).await;
        check(3).await;
    }
}
