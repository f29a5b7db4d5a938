//! The one GET over which a server says what no request asked for, such as that its tools changed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderValue, Method, StatusCode};
use tokio::time::{Instant, sleep};
use wire::http::EVENT_STREAM;

use super::{Peer, body};

/// A stream that ends at once is opened again after this long, then after twice as long, and so on.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// A stream that lived this long was a good one; servers and proxies cut idle ones.
const GOOD_STREAM: Duration = Duration::from_secs(10);

/// Listens until the connection is closed or the server says that it offers no stream.
pub(super) async fn listen(peer: Arc<Peer>) {
    let closed = peer.exchange.closed().clone();
    let mut again = AGAIN_FIRST;
    let forever = async {
        loop {
            let begun = Instant::now();
            if !listen_once(&peer).await {
                return;
            }
            again = if begun.elapsed() >= GOOD_STREAM { AGAIN_FIRST } else { (again * 2).min(AGAIN_MAX) };
            sleep(again).await;
        }
    };
    tokio::select! {
        () = forever => {}
        () = closed.cancelled() => {}
    }
}

/// Opens the stream and reads it to its end. False if there is no point in trying again.
async fn listen_once(peer: &Peer) -> bool {
    let mut request = peer.head(Method::GET, Bytes::new());
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
    let Ok(response) = peer.client.send(request).await else { return true };
    if response.status().is_server_error() {
        return true;
    }
    // 405 says that there is none; 404, that the session is over, which the next call finds out as well.
    if response.status() != StatusCode::OK || !body::is_a(&response, EVENT_STREAM) {
        return false;
    }
    // However the stream ended, it may be opened again.
    let _ = body::read_events(&mut response.into_body(), peer).await;
    true
}
