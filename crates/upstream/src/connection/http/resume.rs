//! Reading the answer to a request over several connections. A server may hang up before it has answered and
//! expects us back for the rest (MCP 2025-11-25); and a connection that breaks is read on in the same way.

use std::sync::Arc;

use http::{HeaderValue, StatusCode};
use tokio::time::sleep;
use wire::http::EVENT_STREAM;

use super::super::pending::Via;
use super::body;
use super::peer::Peer;
use super::stream::{Place, Stream, read_events};
use crate::fault::Fault;

/// How often a server is asked for the rest of a stream without anything new coming. How often it may be
/// asked at all is bounded by the time of the call.
const IN_VAIN_MAX: u32 = 8;

/// How often nobody may listen at its address. A server that was started anew does not know the stream.
const UNREACHED_MAX: u32 = 2;

/// Why there is no rest of a stream.
enum Refused {
    /// Not now: the server has more to do, or has not noticed yet that the old stream is cut.
    Now,
    /// It cannot be reached.
    Unreached,
    /// Not any more.
    Ever(Fault),
}

/// Takes in a stream up to the answer of the request it belongs to, and the rest of it as often as it is cut.
/// `stream` is what is being read.
///
/// # Errors
/// When there is no more of it and the answer has not come.
pub(super) async fn read_on(stream: &mut Stream, peer: &Arc<Peer>, via: Via) -> Result<(), Fault> {
    let mut place = Place::default();
    let mut read = read_events(stream, peer, via, &mut place).await;
    let (mut in_vain, mut unreached) = (0, 0);
    loop {
        // What is broken in another way than cut does not get better.
        let Err(Fault::Gone(_)) = read else { return read };
        if place.take_moved() {
            in_vain = 0;
        }
        let Some(last_id) = place.last_id().filter(|_| in_vain < IN_VAIN_MAX).cloned() else { return read };
        sleep(place.wait(in_vain)).await;
        in_vain += 1;
        match rest(peer, &last_id).await {
            Ok(rest) => {
                unreached = 0;
                *stream = rest;
                read = read_events(stream, peer, via, &mut place).await;
            }
            Err(Refused::Now) => {}
            Err(Refused::Unreached) if unreached < UNREACHED_MAX => unreached += 1,
            Err(Refused::Unreached) => return read,
            Err(Refused::Ever(fault)) => return Err(fault),
        }
    }
}

/// The stream behind the event `last_id`.
async fn rest(peer: &Arc<Peer>, last_id: &HeaderValue) -> Result<Stream, Refused> {
    let response = match peer.open_stream(Some(last_id)).await {
        Ok(response) => response,
        Err(fault @ (Fault::SignIn(_) | Fault::Scope(_))) => return Err(Refused::Ever(fault)),
        Err(_) => return Err(Refused::Unreached),
    };
    let gone = |how: &str| Err(Refused::Ever(Fault::Gone(how.to_owned())));
    match response.status() {
        StatusCode::OK if body::is_a(&response, EVENT_STREAM) => Ok(Stream::new(response.into_body())),
        // It may not have noticed yet that the old stream is cut.
        StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => Err(Refused::Now),
        status if status.is_server_error() => Err(Refused::Now),
        status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
            Err(Refused::Ever(Fault::Access(status.as_u16())))
        }
        StatusCode::NOT_FOUND => gone("forgot the session before it answered"),
        _ => gone("ended its answer too early and does not give the rest"),
    }
}
