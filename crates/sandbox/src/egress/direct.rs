//! Connections of programs that know no proxy: they come in under the made-up address that the name server gave out, which
//! tells the name that was meant.

use std::convert::Infallible;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::access::Access;
use super::host::{Destination, Host};
use super::http::{self as plain, Answer, HTTP_PORT, Refusal};
use super::reason::Reason;
use super::relay;
use super::upgrade::Slot;

/// Serves one connection of a program. One that is not allowed is closed without a word: nobody knows its protocol.
pub(super) async fn serve(stream: TcpStream, access: Arc<Access>) {
    // A connection whose own end is unknown is gone already.
    let Ok(local) = stream.local_addr() else { return };
    let unnamed = Destination { host: Host::of(local.ip()), port: local.port() };
    let Ok(to) = access.meant(unnamed) else { return };
    if to.port == HTTP_PORT {
        return serve_http(stream, &to, &access).await;
    }
    if let Ok(opened) = access.open(&to).await {
        relay::run(stream, Vec::new(), opened, &to, &access).await;
    }
}

pub(super) async fn serve_http(stream: TcpStream, to: &Destination, access: &Arc<Access>) {
    let slot = Slot::default();
    let service = service_fn(|request| answer(request, to, access, &slot));
    // A program that breaks off has had its answer.
    let _ = plain::server().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    slot.relay().await;
}

async fn answer(
    request: Request<Incoming>,
    to: &Destination,
    access: &Arc<Access>,
    slot: &Slot,
) -> Result<Answer, Infallible> {
    let named =
        request.uri().authority().map(|authority| Destination::parse(authority.as_str(), Some(HTTP_PORT)));
    let answer = match named {
        Some(named) if named.as_ref() != Ok(to) => {
            Err(Refusal::NoWay(to.clone(), access.block(to, Reason::OtherHost)))
        }
        _ => plain::pass_on(request, to.clone(), access, slot).await,
    };
    Ok(answer.unwrap_or_else(Refusal::answer))
}
