//! `Exchange`: what is said about one request that must wait, and what decides whether its answer is JSON or a stream.

use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::poll;
use futures_util::stream::{self, Stream};
use hyper::StatusCode;
use tokio::sync::mpsc;

use super::answer::{self, Answer};
use super::events::{event, events};
use super::head::TakesEvents;
use crate::outgoing::{Outbox, Reply};

/// Frames that may wait for the one who writes the stream.
const FRAMES_WAITING_MAX: usize = 64;

/// How long an answer may take before it becomes a stream, for a client that takes streams: a connection that looks
/// idle is cut by what stands between.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(15);

/// The same for a client that can fetch the rest of a stream whose connection broke (MCP 2025-11-25): an answer in
/// JSON is lost with its connection.
pub(super) const SILENCE_RESUMABLE_MAX: Duration = Duration::from_millis(100);

/// The way of a request's messages to its client; opened when the first one is to be sent.
#[derive(Default)]
pub(super) struct Outgoing {
    channel: Option<(Outbox, mpsc::Receiver<Vec<u8>>)>,
}

impl Outgoing {
    /// The end for the one who says something.
    pub(super) fn outbox(&mut self) -> Outbox {
        self.channel.get_or_insert_with(|| mpsc::channel(FRAMES_WAITING_MAX)).0.clone()
    }

    /// The next message; waits for ever if there is no way to say anything. Cancel-safe.
    async fn next(&mut self) -> Vec<u8> {
        if let Some((_, receiver)) = &mut self.channel
            && let Some(frame) = receiver.recv().await
        {
            return frame;
        }
        std::future::pending().await
    }

    /// One that is there already.
    fn ready(&mut self) -> Option<Vec<u8>> {
        self.channel.as_mut()?.1.try_recv().ok()
    }
}

/// What is said about one request: messages as they come, and at the end the answer, which a cancelled request has not.
pub(super) struct Exchange<L> {
    later: Option<L>,
    outgoing: Outgoing,
    /// A message that was taken already.
    first: Option<Vec<u8>>,
    answer: Option<Vec<u8>>,
}

impl<L: Future<Output = Option<Reply>> + Unpin> Exchange<L> {
    pub(super) fn new(later: L, outgoing: Outgoing) -> Exchange<L> {
        Exchange { later: Some(later), outgoing, first: None, answer: None }
    }

    /// The answer, if nothing comes before it: no message, and no longer silence than the client may hear. Nothing if it
    /// becomes a stream, which `silence` is not there for if the client takes none.
    pub(super) async fn only_answer(&mut self, silence: Option<Duration>) -> Option<Option<Reply>> {
        let later = self.later.as_mut()?;
        // Most answers are there at once, and need no timer.
        let reply = match poll!(&mut *later) {
            Poll::Ready(reply) => reply,
            Poll::Pending => tokio::select! {
                biased;
                reply = later => reply,
                message = self.outgoing.next() => {
                    self.first = Some(message);
                    return None;
                }
                () = tokio::time::sleep(silence.unwrap_or(Duration::MAX)) => return None,
            },
        };
        self.later = None;
        // What was said in the same turn as the answer comes before it.
        self.first = self.outgoing.ready();
        if self.first.is_none() {
            return Some(reply);
        }
        self.answer = reply.map(|reply| reply.frame);
        None
    }

    /// The next message, once there is `room` for it. The request goes on meanwhile. Cancel-safe.
    pub(super) async fn next(&mut self, room: impl Future<Output = ()>) -> Option<Vec<u8>> {
        if self.first.is_some() {
            return self.first.take();
        }
        if let Some(later) = &mut self.later {
            let frame = async {
                room.await;
                self.outgoing.next().await
            };
            tokio::select! {
                biased;
                frame = frame => return Some(frame),
                reply = later => {
                    self.later = None;
                    self.answer = reply.map(|reply| reply.frame);
                }
            }
        }
        self.outgoing.ready().or_else(|| self.answer.take())
    }

    /// All messages as events, for the body of an answer, which keeps `held` for as long.
    pub(super) fn pieces<H: Send>(self, held: H) -> impl Stream<Item = Bytes> + Send
    where
        L: Send,
    {
        stream::unfold((self, held), |(mut exchange, held)| async move {
            let frame = exchange.next(std::future::ready(())).await?;
            Some((event(&frame), (exchange, held)))
        })
    }
}

/// An answer without anything before it. A cancelled request has none: the stream ends empty, or there is no
/// content.
pub(super) fn only(frame: Option<Vec<u8>>, status: StatusCode, takes_events: TakesEvents) -> Answer {
    match frame {
        Some(frame) => answer::json(status, frame),
        None if takes_events => answer::events(events(stream::empty(), SILENCE_MAX)),
        None => answer::empty(StatusCode::ACCEPTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes first, and after how many seconds.
    async fn first(
        answer_after_s: u64,
        message_after_s: Option<u64>,
        takes_events: bool,
    ) -> (&'static str, u64) {
        let seconds = |s| tokio::time::sleep(Duration::from_secs(s));
        let mut outgoing = Outgoing::default();
        let outbox = outgoing.outbox();
        let later = Box::pin(async move {
            if let Some(message_after_s) = message_after_s {
                seconds(message_after_s).await;
                outbox.send(Vec::new()).await.expect("it is heard");
            }
            seconds(answer_after_s).await;
            Some(Reply { frame: Vec::new(), code: None })
        });
        let start = tokio::time::Instant::now();
        let silence = takes_events.then_some(SILENCE_MAX);
        let mut exchange = Exchange::new(later, outgoing);
        let what = match exchange.only_answer(silence).await {
            Some(_) => "answer",
            None => match (exchange.first, exchange.answer) {
                (Some(_), None) => "message",
                (Some(_), Some(_)) => "message and answer",
                (None, _) => "silence",
            },
        };
        (what, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_becomes_a_stream_when_there_is_something_before_it_or_it_takes_long() {
        assert_eq!(first(0, None, true).await, ("answer", 0));
        assert_eq!(first(14, None, true).await, ("answer", 14));
        assert_eq!(first(16, None, true).await, ("silence", 15));
        assert_eq!(first(16, None, false).await, ("answer", 16));
        assert_eq!(first(5, Some(5), true).await, ("message", 5));
        assert_eq!(first(0, Some(20), true).await, ("silence", 15));
        assert_eq!(first(0, Some(0), true).await, ("message and answer", 0));
    }
}
