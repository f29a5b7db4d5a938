//! Sending a request, and bringing its answer to the exchange.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use hyper::body::{Body, Incoming};
use tokio::time::timeout;
use wire::http::{EVENT_STREAM, SESSION_ID};

use super::super::pending::Via;
use super::peer::Peer;
use super::status::{self, Asked, Rules};
use super::stream::{Place, Stream, read_events, read_one};
use super::{body, resume};
use crate::fault::Fault;

/// Longest name of a session, in bytes: it goes out with every request.
const SESSION_BYTES_MAX: usize = 4 * 1024;

/// How long a server with one stream for all answers may take to accept a request. It should do so at once; some
/// answer first.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(60);

impl Peer {
    /// Hands in a request whose answer comes over the one stream.
    pub(super) async fn hand_in_request(
        self: Arc<Peer>,
        message: Vec<u8>,
        headers: HeaderMap,
    ) -> Result<(), Fault> {
        let runtime = self.runtime.clone();
        // In a task of its own: the answer may be there before the server has accepted the request, and
        // hanging up on it then could look like giving up.
        let handing_in =
            runtime.spawn(async move { timeout(ACCEPT_TIMEOUT, self.hand_in(message, headers)).await });
        match handing_in.await {
            // Past the limit the answer may still come.
            Ok(Ok(Ok(())) | Err(_)) => Ok(()),
            Ok(Ok(Err(fault))) => Err(fault),
            Err(_) => Err(Fault::Gone("got lost".to_owned())),
        }
    }

    /// Sends request `id` and hands what comes back to the exchange. Returns when the answer is there, or with
    /// the reason why there is none.
    pub(super) async fn request(
        self: &Arc<Peer>,
        id: u64,
        message: Vec<u8>,
        headers: HeaderMap,
        rules: Rules,
    ) -> Result<(), Fault> {
        let response = self.post(message, headers).await?;
        if response.status() != StatusCode::OK {
            let asked = Asked { id, rules, has_session: self.has_session() };
            let reply = status::answer(response, asked, &self.exchange.mask).await?;
            self.exchange.answer(id, Ok(reply));
            return Ok(());
        }
        if rules == Rules::Legacy {
            self.note_session(&response)?;
        }
        let is_stream = body::is_a(&response, EVENT_STREAM);
        let is_page = body::is_a(&response, "text/html");
        let mut stream = Stream::new(response.into_body());
        let via = Via::Request(id);
        let read = match (is_stream, rules) {
            (false, _) => match read_one(stream.body(), self, via).await {
                Err(Fault::Broken(_)) if is_page => Err(a_page()),
                read => read,
            },
            (true, Rules::Legacy) => resume::read_on(&mut stream, self, via).await,
            // A modern stream that breaks is lost with its request.
            (true, Rules::Modern | Rules::Probe) => {
                read_events(&mut stream, self, via, &mut Place::default()).await
            }
        };
        // The answer may have come another way, or be what was wrong with the body.
        if self.exchange.pending.is_open(id) {
            return read;
        }
        self.finish(stream.into_body());
        Ok(())
    }

    /// Keeps the session that the answer to the handshake opened; no later one can.
    fn note_session(&self, response: &Response<Incoming>) -> Result<(), Fault> {
        let (None, Some(session)) = (self.revision.get(), response.headers().get(SESSION_ID)) else {
            return Ok(());
        };
        if session.len() > SESSION_BYTES_MAX {
            return Err(Fault::Broken(format!(
                "the name of its session is longer than {SESSION_BYTES_MAX} bytes"
            )));
        }
        // Already set only if a server answers the handshake twice.
        let _ = self.session.set(session.clone());
        Ok(())
    }

    /// Reads the little that follows an answer, so that the connection can be used again.
    fn finish(&self, body: Incoming) {
        if !body.is_end_stream() {
            // Bounded by time and bytes.
            self.runtime.spawn(body::drain(body));
        }
    }
}

/// What is said of an answer for people.
fn a_page() -> Fault {
    Fault::Broken(
        "it answered with a web page (text/html); check that `url` is the address of its MCP endpoint"
            .to_owned(),
    )
}
