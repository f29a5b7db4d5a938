//! Plain HTTP requests of a program: each is judged for itself, however many come over one connection, and passed on over
//! a connection of its own. What is encrypted goes by `relay`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, Uri, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};

use super::access::{Access, NoWay};
use super::counted::Counted;
use super::host::Destination;
use super::journal::Attempt;
use super::reason::Reason;
use super::task::Task;
use super::upgrade::{self, Slot};

/// The head of a request or an answer. Programs that sign in with tickets have some dozen KiB.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// For the head of a request, and between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The port of an address that names none.
pub(super) const HTTP_PORT: u16 = 80;

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, hyper::Error>>;

/// What talks to programs.
pub(super) fn server() -> hyper::server::conn::http1::Builder {
    let mut server = hyper::server::conn::http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        // Some send their request and then their end.
        .half_close(true)
        .preserve_header_case(true);
    server
}

/// Why a request is not passed on.
pub(super) enum Refusal {
    /// It is not one that a proxy takes.
    Malformed(&'static str),
    /// There is no way to its host.
    NoWay(Destination, NoWay),
}

/// Passes a request on to the host that its `Host` header names, which must be `expected`. If the two agree on a WebSocket, it
/// is in `slot` afterwards.
pub(super) async fn pass_on(
    mut request: Request<Incoming>,
    expected: Destination,
    access: &Arc<Access>,
    slot: &Slot,
) -> Result<Answer, Refusal> {
    let named = access.meant(host(request.headers())?);
    if !named.is_ok_and(|named| named == expected) {
        let no_way = access.block(&expected, Reason::OtherHost);
        return Err(Refusal::NoWay(expected, no_way));
    }
    let opened = match access.open(&expected).await {
        Ok(opened) => opened,
        Err(no_way) => return Err(Refusal::NoWay(expected, no_way)),
    };
    let mut client = hyper::client::conn::http1::Builder::new();
    client.max_header_size(HEAD_BYTES_MAX).max_buf_size(HEAD_BYTES_MAX).preserve_header_case(true);
    let failed = |to: Destination| move |_| Refusal::NoWay(to, NoWay::NoAnswer);
    let io = TokioIo::new(Counted::new(opened));
    let (mut sender, connection) = client.handshake(io).await.map_err(failed(expected.clone()))?;
    let task = Task::spawn(async move {
        // Whoever waits for the answer gets the error as well.
        let _ = connection.with_upgrades().await;
    });
    let asked = upgrade::asked(&mut request);
    let mut request = onwards(request);
    if asked.is_some() {
        upgrade::say(request.headers_mut());
    }
    let mut answer = sender.send_request(request).await.map_err(failed(expected.clone()))?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(back(answer, Some(task)));
    }
    let Some(client) = asked.filter(|_| upgrade::is_agreed(&answer)) else {
        // Nobody has asked for what would follow.
        return Err(Refusal::NoWay(expected, NoWay::NoAnswer));
    };
    slot.put(client, &mut answer, task);
    let mut answer = back(answer, None);
    upgrade::say(answer.headers_mut());
    Ok(answer)
}

/// The one host of a request.
fn host(headers: &HeaderMap) -> Result<Destination, Refusal> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Refusal::Malformed("a request needs one Host header"));
    };
    let host = host.to_str().ok().and_then(|host| Destination::parse(host, Some(HTTP_PORT)).ok());
    host.ok_or(Refusal::Malformed("the Host header names no host"))
}

/// A request as the host itself is asked, without what was said to us.
fn onwards(request: Request<Incoming>) -> Request<Incoming> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().cloned();
    parts.uri = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    parts.version = Version::HTTP_11;
    drop_hop_by_hop(&mut parts.headers);
    Request::from_parts(parts, body)
}

/// An answer as the program gets it. The connection, if it serves for nothing else, ends with its body.
fn back(answer: Response<Incoming>, task: Option<Task>) -> Answer {
    let (mut parts, body) = answer.into_parts();
    drop_hop_by_hop(&mut parts.headers);
    parts.version = Version::HTTP_11;
    let body = body.map_frame(move |frame| {
        let _held = &task;
        frame
    });
    Response::from_parts(parts, body.boxed_unsync())
}

/// Headers that are meant for the next in line only (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP).chain([&PROXY_CONNECTION]) {
        // A request must not lose what says whom it is for.
        if name != header::HOST {
            headers.remove(name);
        }
    }
}

impl Refusal {
    /// The answer that a program gets, in a sentence for people and models.
    pub(super) fn answer(self) -> Answer {
        match self {
            Refusal::Malformed(why) => answer(StatusCode::BAD_REQUEST, &why),
            Refusal::NoWay(to, no_way) => no_way.answer(&to),
        }
    }

    /// A destination that nobody can read, noted.
    pub(super) fn unreadable(text: &str, access: &Access) -> Refusal {
        access.journal().block(Attempt::unreadable(text), Reason::NotAHost);
        Refusal::Malformed("the address names no host that can be connected to")
    }
}

impl NoWay {
    fn answer(&self, to: &Destination) -> Answer {
        match self {
            NoWay::Blocked(reason) => answer(
                StatusCode::FORBIDDEN,
                &format_args!(
                    "connect {to} is not allowed for this program: {reason}; trying again does not help, whoever \
                     set this program up can allow {to} in the settings of Toolcrib"
                ),
            ),
            NoWay::TooSlow => answer(StatusCode::GATEWAY_TIMEOUT, &format_args!("connect {to}: {self}")),
            NoWay::UnknownName | NoWay::Unreachable(_) | NoWay::Proxy(_) | NoWay::NoAnswer => {
                answer(StatusCode::BAD_GATEWAY, &format_args!("connect {to}: {self}"))
            }
        }
    }
}

fn answer(status: StatusCode, sentence: &dyn std::fmt::Display) -> Answer {
    let body = Full::new(Bytes::from(format!("toolcrib: {sentence}\n"))).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, text);
    answer
}
