//! Reading the bodies of answers as they arrive, within limits.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::Response;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::fault::Fault;

/// Largest answer in one piece, in bytes; the same as on stdio.
pub(super) const ANSWER_BYTES_MAX: usize = wire::STDIO_MESSAGE_BYTES_MAX;

/// What is read behind an answer so that its connection can be used again. Beyond this, a new connection
/// is cheaper.
const DRAIN_BYTES_MAX: usize = 64 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// True if the answer's media type is `media_type`, whatever its parameters.
pub(crate) fn is_a(response: &Response<Incoming>, media_type: &str) -> bool {
    let declared =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    declared.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type)
}

/// The next piece of a body.
pub(super) async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Fault> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(_)) => {
                return Err(Fault::Gone("closed the connection in the middle of its answer".to_owned()));
            }
            Some(Ok(frame)) => {
                // Trailers are of no interest.
                if let Ok(piece) = frame.into_data() {
                    return Ok(Some(piece));
                }
            }
        }
    }
}

/// The whole body, or a fault if it is larger than `bytes_max`.
pub(super) async fn read_up_to(body: &mut Incoming, bytes_max: usize) -> Result<Bytes, Fault> {
    let Some(first) = next(body).await? else { return Ok(Bytes::new()) };
    let Some(second) = next(body).await? else { return Ok(first) };
    let mut whole = BytesMut::from(first);
    let mut piece = Some(second);
    while let Some(more) = piece {
        if whole.len() + more.len() > bytes_max {
            return Err(Fault::Broken(format!("its answer is longer than {bytes_max} bytes")));
        }
        whole.extend_from_slice(&more);
        piece = next(body).await?;
    }
    Ok(whole.freeze())
}

/// Reads and forgets what little is left of a body.
pub(super) async fn drain(mut body: Incoming) {
    // Whether it worked is seen when the connection is used next.
    let _ = timeout(DRAIN_TIMEOUT, read_up_to(&mut body, DRAIN_BYTES_MAX)).await;
}
