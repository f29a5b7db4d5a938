//! Taking in the body of a request, within bounds: of each body, and of all that arrive at the same time.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::poll;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wire::HTTP_BODY_BYTES_MAX;

use super::answer::{self, Answer};
use crate::outgoing::invalid_request;

/// How long a body may take to arrive.
const BODY_WAIT_MAX: Duration = Duration::from_secs(60);

/// What every body may have in any case, in bytes: nearly all messages are smaller, and must get through while
/// large ones fill the room.
const FREE_BYTES: usize = 16 * 1024;

/// What all bodies may have beyond that at the same time, in KiB.
const ROOM_KIB: usize = 256 * 1024;

/// How long a body waits for room.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(1);

/// Room for bodies that arrive, in KiB.
pub(super) fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(ROOM_KIB))
}

/// Reads a whole body.
///
/// # Errors
/// The answer to one that is too large, too slow, or not whole, or for which there is no room.
pub(super) async fn read<B>(room: &Arc<Semaphore>, body: B) -> Result<Bytes, Box<Answer>>
where
    B: Body<Data = Bytes> + Unpin,
{
    read_within(HTTP_BODY_BYTES_MAX, too_large, room, body).await
}

/// The same of what is no message of JSON-RPC, and has at most so many bytes.
///
/// # Errors
/// As [`read`], as problem details.
pub(super) async fn read_up_to<B>(
    bytes_max: usize,
    room: &Arc<Semaphore>,
    body: B,
) -> Result<Bytes, Box<Answer>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let too_large = || {
        let why = format!("a body may have at most {bytes_max} bytes here");
        answer::refusal(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    read_within(bytes_max, too_large, room, body).await
}

async fn read_within<B>(
    bytes_max: usize,
    too_large: impl Fn() -> Box<Answer>,
    room: &Arc<Semaphore>,
    body: B,
) -> Result<Bytes, Box<Answer>>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let mut collected = pin!(collect(bytes_max, too_large, room, body));
    // Most bodies come with their heads, and need no timer.
    if let Poll::Ready(read) = poll!(&mut collected) {
        return read;
    }
    match timeout(BODY_WAIT_MAX, collected).await {
        Ok(read) => read,
        Err(_) => Err(answer::refusal(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive")),
    }
}

/// Takes room as the body grows: what is only declared takes none, or a few declarations would fill it.
async fn collect<B>(
    bytes_max: usize,
    too_large: impl Fn() -> Box<Answer>,
    room: &Arc<Semaphore>,
    mut body: B,
) -> Result<Bytes, Box<Answer>>
where
    B: Body<Data = Bytes> + Unpin,
{
    // Most bodies arrive in one piece, which is not copied.
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    let mut taken: Option<OwnedSemaphorePermit> = None;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(answer::refusal(StatusCode::BAD_REQUEST, "the body ended too early"));
        };
        // What is no data is a trailer, and says nothing to us.
        let Ok(data) = frame.into_data() else { continue };
        let bytes = first.len().max(all.len()) + data.len();
        if bytes > bytes_max {
            return Err(too_large());
        }
        let needed = bytes.saturating_sub(FREE_BYTES).div_ceil(1024);
        let missing = needed.saturating_sub(taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        if missing > 0 {
            let missing = u32::try_from(missing).expect("a body is no larger than its limit");
            let Ok(Ok(more)) = timeout(ROOM_WAIT_MAX, room.clone().acquire_many_owned(missing)).await else {
                let why = "too many large bodies arrive at once; try again later";
                return Err(answer::refusal(StatusCode::SERVICE_UNAVAILABLE, why));
            };
            match &mut taken {
                Some(taken) => taken.merge(more),
                None => taken = Some(more),
            }
        }
        if first.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

fn too_large() -> Box<Answer> {
    let error = invalid_request(format_args!("a body may have at most {HTTP_BODY_BYTES_MAX} bytes"));
    answer::error(StatusCode::PAYLOAD_TOO_LARGE, None, &error).into()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{FutureExt, StreamExt, stream};
    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;
    use tokio::time::Instant;

    use super::*;

    fn pieces(pieces: &[&'static [u8]]) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let frames: Vec<_> = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece)))).collect();
        StreamBody::new(stream::iter(frames))
    }

    #[tokio::test]
    async fn a_body_is_whole_however_it_arrives() {
        let cases: [&[&'static [u8]]; 6] =
            [&[], &[b""], &[b"abc"], &[b"", b"abc"], &[b"a", b"", b"bc"], &[b"a", b"b", b"c", b""]];
        for case in cases {
            let read = read(&room(), pieces(case)).await.ok();
            assert_eq!(read, Some(case.concat().into()), "{case:?}");
        }
    }

    /// The status of the answer to a body of so many bytes while there is so much room, and after how many seconds
    /// it comes.
    async fn check(room_kib: usize, bytes: usize, expected: (u16, u64)) {
        let room = Arc::new(Semaphore::new(room_kib));
        let start = Instant::now();
        let read = read(&room, Full::new(Bytes::from(vec![b' '; bytes]))).await;
        let status = read.map_or_else(|answer| answer.status().as_u16(), |_| 200);
        assert_eq!((status, start.elapsed().as_secs()), expected, "{bytes} bytes, {room_kib} KiB of room");
        assert_eq!(room.available_permits(), room_kib, "it is given back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_finds_room_or_is_refused() {
        check(0, FREE_BYTES, (200, 0)).await;
        check(0, FREE_BYTES + 1, (503, 1)).await;
        check(1, FREE_BYTES + 1024, (200, 0)).await;
        check(1, FREE_BYTES + 1025, (503, 1)).await;
        check(ROOM_KIB, HTTP_BODY_BYTES_MAX, (200, 0)).await;
        check(ROOM_KIB, HTTP_BODY_BYTES_MAX + 1, (413, 0)).await;
    }

    /// One that does not say how long it is, and goes on.
    #[tokio::test]
    async fn a_body_in_pieces_has_the_same_limit() {
        static PIECE: [u8; 1024 * 1024] = [b' '; 1024 * 1024];
        let most = vec![&PIECE[..]; HTTP_BODY_BYTES_MAX / PIECE.len()];
        let status = async |all: &[&'static [u8]]| {
            let read = read(&room(), pieces(all)).await;
            read.map_or_else(
                |answer| answer.status().as_u16(),
                |whole| if whole.len() == HTTP_BODY_BYTES_MAX { 200 } else { 0 },
            )
        };
        assert_eq!(status(&most).await, 200);
        assert_eq!(status(&[&most[..], &[b" "]].concat()).await, 413);
    }

    #[tokio::test(start_paused = true)]
    async fn room_is_taken_for_what_has_arrived_only() {
        let room = Arc::new(Semaphore::new(ROOM_KIB));
        let begun = [Bytes::from(vec![b' '; FREE_BYTES]), Bytes::from(vec![b' '; 4 * 1024])];
        let begun = stream::iter(begun.map(|piece| Ok::<_, Infallible>(Frame::data(piece))));
        let start = Instant::now();
        let mut reading = Box::pin(read(&room, StreamBody::new(begun.chain(stream::pending()))));
        assert!((&mut reading).now_or_never().is_none());
        assert_eq!(room.available_permits(), ROOM_KIB - 4);
        let status = reading.await.err().map(|answer| answer.status().as_u16());
        assert_eq!((status, start.elapsed().as_secs()), (Some(408), 60));
        assert_eq!(room.available_permits(), ROOM_KIB);
    }
}
