//! A body of server-sent events that never looks idle: while there is nothing to say, comments go out.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use tokio::time::{Instant, Interval, MissedTickBehavior};
use wire::sse;

/// How long a stream of a legacy session may say nothing before a comment goes out.
pub(super) const QUIET_MAX: Duration = Duration::from_secs(30);

/// Pieces of an event stream, each of whole events.
pub(super) struct Events {
    pieces: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    tick: Interval,
    spoke: Instant,
}

impl Events {
    /// These pieces, and a comment after each `quiet` without one.
    pub(super) fn new(pieces: impl Stream<Item = Bytes> + Send + 'static, quiet: Duration) -> Events {
        let spoke = Instant::now();
        let mut tick = tokio::time::interval_at(spoke + quiet, quiet);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Events { pieces: Box::pin(pieces), tick, spoke }
    }

    /// A stream without a single event.
    pub(super) fn none() -> Events {
        Events::new(stream::empty(), Duration::from_secs(1))
    }

    /// The next piece.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(piece) = self.pieces.as_mut().poll_next(cx) {
            self.spoke = Instant::now();
            return Poll::Ready(piece);
        }
        while self.tick.poll_tick(cx).is_ready() {
            let due = self.spoke + self.tick.period();
            if Instant::now() >= due {
                self.spoke = Instant::now();
                let mut comment = Vec::new();
                sse::write_comment(&mut comment, "");
                return Poll::Ready(Some(comment.into()));
            }
            // Something was said since: the silence began later.
            self.tick.reset_at(due);
        }
        Poll::Pending
    }
}

/// A message as an event without an id.
pub(super) fn event(message: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 32);
    sse::write_event(&mut event, None, message);
    event.into()
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::StreamExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_is_filled_with_comments_and_speech_is_not() {
        const QUIET: Duration = Duration::from_secs(15);
        let said = [10, 10, 40].map(|seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Bytes::from_static(b"said")
        });
        let mut events = Events::new(stream::iter(said).then(|said| said), QUIET);
        let start = Instant::now();
        let mut heard = Vec::new();
        while let Some(piece) = poll_fn(|cx| events.poll(cx)).await {
            let what = if piece.starts_with(b":") { "comment" } else { "said" };
            heard.push(format!("{what} at {}", start.elapsed().as_secs()));
        }
        assert_eq!(heard, ["said at 10", "said at 20", "comment at 35", "comment at 50", "said at 60"]);
    }
}
