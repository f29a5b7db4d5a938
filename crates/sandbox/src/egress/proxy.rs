//! The proxy that programs are told of by variables: `CONNECT` for everything encrypted, whole addresses for plain HTTP.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http::uri::Scheme;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::access::{Access, Opened};
use super::host::Destination;
use super::http::{self as plain, Answer, HTTP_PORT, Refusal};
use super::{relay, upgrade};

/// A tunnel that was granted and begins when the answer is out.
struct Tunnel {
    client: OnUpgrade,
    to: Destination,
    opened: Opened,
}

/// What a connection goes on as, if anything.
#[derive(Default)]
struct Slot {
    tunnel: Mutex<Option<Tunnel>>,
    websocket: upgrade::Slot,
}

/// Serves one connection of a program.
pub(super) async fn serve(stream: TcpStream, access: Arc<Access>) {
    let slot = Slot::default();
    let service = service_fn(|request| answer(request, &access, &slot));
    // A program that breaks off, or speaks no HTTP, has had its answer.
    let _ = plain::server().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    let Slot { tunnel, websocket } = slot;
    let tunnel = tunnel.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(Tunnel { client, to, opened }) = tunnel
        && let Some((client, early)) = taken_over(client).await
    {
        relay::run(client, early, opened, &to, &access).await;
    }
    websocket.relay().await;
}

async fn answer(request: Request<Incoming>, access: &Arc<Access>, slot: &Slot) -> Result<Answer, Infallible> {
    let answer = match *request.method() {
        Method::CONNECT => connect(request, access, slot).await,
        _ => forward(request, access, &slot.websocket).await,
    };
    Ok(answer.unwrap_or_else(Refusal::answer))
}

/// The bare connection of a program, and what it has sent already.
async fn taken_over(client: OnUpgrade) -> Option<(TcpStream, Vec<u8>)> {
    let parts = client.await.ok()?.downcast::<TokioIo<TcpStream>>().ok()?;
    Some((parts.io.into_inner(), parts.read_buf.to_vec()))
}

async fn connect(request: Request<Incoming>, access: &Arc<Access>, slot: &Slot) -> Result<Answer, Refusal> {
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return Err(Refusal::Malformed("a request needs one Host header"));
    }
    let to = destination(&request, None, access)?;
    match access.open(&to).await {
        Ok(opened) => {
            let tunnel = Tunnel { client: hyper::upgrade::on(request), to, opened };
            *slot.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
            Ok(Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync()))
        }
        Err(no_way) => Err(Refusal::NoWay(to, no_way)),
    }
}

async fn forward(
    request: Request<Incoming>,
    access: &Arc<Access>,
    slot: &upgrade::Slot,
) -> Result<Answer, Refusal> {
    match request.uri().scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => {}
        Some(_) => {
            return Err(Refusal::Malformed("only http addresses are passed on; use CONNECT for others"));
        }
        None => {
            return Err(Refusal::Malformed(
                "this is a proxy; it takes CONNECT, and requests with a whole http address",
            ));
        }
    }
    let to = destination(&request, Some(HTTP_PORT), access)?;
    plain::pass_on(request, to, access, slot).await
}

fn destination(
    request: &Request<Incoming>,
    port: Option<u16>,
    access: &Access,
) -> Result<Destination, Refusal> {
    let authority = request.uri().authority().map_or("", |authority| authority.as_str());
    let to = Destination::parse(authority, port).map_err(|_| Refusal::unreadable(authority, access))?;
    access.meant(to.clone()).map_err(|no_way| Refusal::NoWay(to, no_way))
}
