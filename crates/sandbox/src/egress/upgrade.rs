//! `Upgrade`: a plain HTTP connection that goes on as a WebSocket. The request is judged like any other; what follows belongs
//! to that one host, so its bytes are passed on as they are. Nothing else is upgraded to: over HTTP/2, requests for other
//! hosts could follow that nobody judges.

use std::sync::{Mutex, PoisonError};

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, Version};
use hyper::body::Incoming;
use hyper::upgrade::{self, OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use super::task::Task;

const WEBSOCKET: &str = "websocket";

/// Both ends of a connection whose answer is on its way.
struct Upgrade {
    client: OnUpgrade,
    server: OnUpgrade,
    /// What hands the server's end over.
    _connection: Task,
}

/// What a program's connection goes on as, if anything.
#[derive(Default)]
pub(super) struct Slot(Mutex<Option<Upgrade>>);

/// The program's end, if the request asks for a WebSocket.
pub(super) fn asked(request: &mut Request<Incoming>) -> Option<OnUpgrade> {
    let is_asked = request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && is_named(request.headers());
    is_asked.then(|| upgrade::on(request))
}

/// Whether an answer agrees to it.
pub(super) fn is_agreed(answer: &Response<Incoming>) -> bool {
    is_named(answer.headers())
}

/// Says so to the next in line: what was said to us is meant for us alone.
pub(super) fn say(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static(WEBSOCKET));
}

fn is_named(headers: &HeaderMap) -> bool {
    let mut protocols = headers.get_all(header::UPGRADE).iter();
    let is_websocket =
        protocols.next().is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(WEBSOCKET.as_bytes()));
    let connection = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    is_websocket
        && protocols.next().is_none()
        && connection
            .flat_map(|names| names.split(','))
            .any(|name| name.trim().eq_ignore_ascii_case("upgrade"))
}

impl Slot {
    /// The answer that agrees is about to be sent.
    pub(super) fn put(&self, client: OnUpgrade, answer: &mut Response<Incoming>, connection: Task) {
        let upgrade = Upgrade { client, server: upgrade::on(answer), _connection: connection };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(upgrade);
    }

    /// Once HTTP is over: passes on until both sides have ended, or one of them is gone.
    pub(super) async fn relay(self) {
        let upgrade = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(Upgrade { client, server, _connection }) = upgrade else { return };
        if let (Ok(client), Ok(server)) = tokio::join!(client, server) {
            // Whoever is gone has heard of it.
            let _ = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(server)).await;
        }
    }
}
