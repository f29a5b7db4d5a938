//! What comes first of a request that must wait, which decides whether its answer is JSON or a stream.

use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use hyper::StatusCode;
use tokio::sync::mpsc;

use super::answer::{self, Answer};
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

    /// The end for the one who writes it; nothing if nobody asked for the other.
    pub(super) fn frames(self) -> Frames {
        Frames { receiver: self.channel.map(|(_, receiver)| receiver) }
    }
}

/// The messages about one request, before its answer.
pub(super) struct Frames {
    receiver: Option<mpsc::Receiver<Vec<u8>>>,
}

impl Frames {
    /// The next one; waits for ever if there is no way to say anything. Cancel-safe.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        if let Some(receiver) = &mut self.receiver
            && let Some(frame) = receiver.recv().await
        {
            return frame;
        }
        std::future::pending().await
    }

    /// One that is there already.
    pub(super) fn ready(&mut self) -> Option<Vec<u8>> {
        self.receiver.as_mut()?.try_recv().ok()
    }
}

/// What comes first of a request that must wait.
pub(super) enum First {
    /// Its answer, and nothing before it; none if it was cancelled.
    Answer(Option<Reply>),
    /// Something that makes the answer a stream: a message before it, or too long a silence.
    Stream {
        /// The message, if there was one.
        message: Option<Vec<u8>>,
        /// The answer, if it is there already.
        answer: Option<Option<Reply>>,
    },
}

impl First {
    /// Waits for it. `silence` is how long the client may hear nothing; nothing if it takes no streams.
    pub(super) async fn of(
        later: &mut (impl Future<Output = Option<Reply>> + Unpin),
        frames: &mut Frames,
        silence: Option<Duration>,
    ) -> First {
        // Most answers are there at once, and need no timer.
        if let Poll::Ready(answer) = poll!(&mut *later) {
            return First::answered(answer, frames);
        }
        let silence = silence.unwrap_or(Duration::MAX);
        tokio::select! {
            biased;
            answer = &mut *later => First::answered(answer, frames),
            message = frames.next() => First::Stream { message: Some(message), answer: None },
            () = tokio::time::sleep(silence) => First::Stream { message: None, answer: None },
        }
    }

    /// What was said in the same turn as the answer comes before it.
    fn answered(answer: Option<Reply>, frames: &mut Frames) -> First {
        match frames.ready() {
            Some(message) => First::Stream { message: Some(message), answer: Some(answer) },
            None => First::Answer(answer),
        }
    }
}

/// An answer without anything before it. A cancelled request has none: the stream ends empty, or there is no
/// content.
pub(super) fn only(frame: Option<Vec<u8>>, status: StatusCode, takes_events: TakesEvents) -> Answer {
    match frame {
        Some(frame) => answer::json(status, frame),
        None if takes_events => answer::events(super::events::Events::none()),
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
        let mut later = Box::pin(async move {
            if let Some(message_after_s) = message_after_s {
                seconds(message_after_s).await;
                outbox.send(Vec::new()).await.expect("it is heard");
            }
            seconds(answer_after_s).await;
            Some(Reply { frame: Vec::new(), code: None })
        });
        let start = tokio::time::Instant::now();
        let silence = takes_events.then_some(SILENCE_MAX);
        let what = match First::of(&mut later, &mut outgoing.frames(), silence).await {
            First::Answer(_) => "answer",
            First::Stream { message: Some(_), answer: None } => "message",
            First::Stream { message: Some(_), answer: Some(_) } => "message and answer",
            First::Stream { message: None, .. } => "silence",
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
