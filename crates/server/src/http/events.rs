//! A body of server-sent events that never looks idle: while there is nothing to say, comments go out.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::time::timeout;
use wire::sse;

/// How long a stream of a legacy session may say nothing before a comment goes out.
pub(super) const QUIET_MAX: Duration = Duration::from_secs(30);

/// Pieces of an event stream, each of whole events.
pub(super) type Events = UnsyncBoxBody<Bytes, Infallible>;

/// These pieces, and a comment after each `quiet` without one.
pub(super) fn events(pieces: impl Stream<Item = Bytes> + Send + 'static, quiet: Duration) -> Events {
    let pieces = Box::pin(pieces);
    let filled = stream::unfold(pieces, move |mut pieces| async move {
        let piece = timeout(quiet, pieces.next()).await.unwrap_or_else(|_| {
            let mut comment = Vec::new();
            sse::write_comment(&mut comment, "");
            Some(comment.into())
        })?;
        Some((Ok(Frame::data(piece)), pieces))
    });
    StreamBody::new(filled).boxed_unsync()
}

/// A message as an event without an id.
pub(super) fn event(message: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 32);
    sse::write_event(&mut event, None, message);
    event.into()
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_is_filled_with_comments_and_speech_is_not() {
        const QUIET: Duration = Duration::from_secs(15);
        let said = [10, 10, 40].map(|seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Bytes::from_static(b"said")
        });
        let mut events = events(stream::iter(said).then(|said| said), QUIET);
        let start = Instant::now();
        let mut heard = Vec::new();
        while let Some(Ok(piece)) = events.frame().await {
            let piece = piece.into_data().expect("it is data");
            let what = if piece.starts_with(b":") { "comment" } else { "said" };
            heard.push(format!("{what} at {}", start.elapsed().as_secs()));
        }
        assert_eq!(heard, ["said at 10", "said at 20", "comment at 35", "comment at 50", "said at 60"]);
    }
}
