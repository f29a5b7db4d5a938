//! The one GET over which a server says what no request asked for, such as that its tools changed.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use wire::http::EVENT_STREAM;

use super::super::pending::Via;
use super::body;
use super::peer::Peer;
use super::stream::{Place, Stream, read_events};
use crate::backoff::{chance, shortened};
use crate::fault::Fault;

/// A stream that lived this long was a good one; servers and proxies cut idle ones.
const GOOD_STREAM: Duration = Duration::from_secs(10);

/// Shortest pause between two streams, whatever a server says: it is asked for ever.
const PAUSE_MIN: Duration = Duration::from_millis(250);

/// How a listening went.
enum Listened {
    /// The stream was there, and ended.
    Stream,
    /// There was none this time.
    Nothing,
    /// There will be none.
    NoStream,
    /// There is nothing at this address: the session is over, or no stream was ever meant to be.
    NotFound,
}

/// Listens until the connection is closed or the server says that it offers no stream. Sets `tried` once the
/// server has answered the first time.
pub(super) async fn listen(peer: Arc<Peer>, tried: CancellationToken) {
    peer.exchange.pending.closed.run_until_cancelled(listen_on(&peer, &tried)).await;
}

async fn listen_on(peer: &Arc<Peer>, tried: &CancellationToken) {
    let mut place = Place::default();
    let mut has_heard = false;
    let mut in_vain = 0u32;
    loop {
        let begun = Instant::now();
        match listen_once(peer, &mut place, tried).await {
            Listened::Stream => {
                has_heard = true;
                let was_good = place.take_moved() || begun.elapsed() >= GOOD_STREAM;
                in_vain = if was_good { 0 } else { in_vain.saturating_add(1) };
            }
            Listened::Nothing => in_vain = in_vain.saturating_add(1),
            Listened::NoStream => return,
            Listened::NotFound if !has_heard => return,
            Listened::NotFound if !peer.has_session() => in_vain = in_vain.saturating_add(1),
            Listened::NotFound => {
                // The next call opens a new session. Those under way find out for themselves whether they were
                // taken in.
                return peer.exchange.pending.refuse(&Fault::Gone("forgot the session".to_owned()));
            }
        }
        let wait = place.wait(in_vain.saturating_sub(1)).max(PAUSE_MIN);
        // Many who lost one server do not come back at the same moment.
        sleep(wait + (wait - shortened(wait, chance())) / 2).await;
    }
}

/// Opens the stream where it was left, and reads it to its end.
async fn listen_once(peer: &Arc<Peer>, place: &mut Place, tried: &CancellationToken) -> Listened {
    let opened = peer.open_stream(place.last_id()).await;
    tried.cancel();
    let response = match opened {
        Ok(response) => response,
        // A person has to do something first, and whoever does connects us again.
        Err(Fault::SignIn(error)) if error.needs_a_person() => return Listened::NoStream,
        Err(Fault::Scope(_)) => return Listened::NoStream,
        Err(_) => return Listened::Nothing,
    };
    match response.status() {
        StatusCode::OK if body::is_a(&response, EVENT_STREAM) => {
            let mut stream = Stream::new(response.into_body());
            // However the stream ended, it may be opened again.
            let _ = read_events(&mut stream, peer, Via::Shared, place).await;
            Listened::Stream
        }
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => Listened::NoStream,
        StatusCode::NOT_FOUND => Listened::NotFound,
        status if status.is_success() => Listened::NoStream,
        status => {
            if status.is_client_error() {
                // It may be the last event that the server does not know any more.
                place.forget();
            }
            Listened::Nothing
        }
    }
}
