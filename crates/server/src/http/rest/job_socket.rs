//! A WebSocket (RFC 6455) of a job's events: each is one text message, and a close follows the last. Its client has nothing to
//! say, and is sent away if it says something, answers no ping, or takes nothing.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::SinkExt;
use futures_util::stream::{Stream, StreamExt};
use gate::Caller;
use gate::jobs::Numbered;
use hyper::StatusCode;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;
use wire::param_headers::HeaderText;

use super::super::answer::{self, Answered};
use super::super::endpoint::Endpoint;
use super::super::head;
use super::super::problem::Problem;

/// The version of the protocol, the only one there is.
const VERSION: &str = "13";

/// What an accepted key is hashed with (RFC 6455, section 1.3).
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes of a key.
const KEY_BYTES: usize = 16;

/// What a client may send at once, in bytes; control frames have no more than 125.
const HEARD_BYTES_MAX: usize = 4 * 1024;

/// How often a client is asked whether it is there; it has as long to answer.
const PING_EVERY: Duration = Duration::from_secs(30);

/// How long a client may take nothing.
const SEND_MAX: Duration = Duration::from_secs(30);

/// How long a client has to answer a close.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Why a socket ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// No more events will come.
    Over,
    /// We end.
    Closing,
    /// The client has said something.
    Spoken,
    /// It has said too much.
    SpokenLong,
    /// What it sends is none of the protocol's.
    Garbled,
    /// Nobody knows the caller any more.
    Unknown,
    /// It has closed.
    Closed,
    /// It has hung up, or does not read.
    Gone,
}

impl End {
    fn frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            End::Over => (CloseCode::Normal, "no more events will come"),
            End::Closing => (CloseCode::Away, "the server is ending"),
            End::Spoken => (CloseCode::Unsupported, "nothing is heard here"),
            End::SpokenLong => (CloseCode::Size, "nothing is heard here"),
            End::Garbled => (CloseCode::Protocol, ""),
            End::Unknown => (CloseCode::Policy, "the key or token counts no more"),
            End::Closed | End::Gone => return None,
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

/// Whether a request asks for a WebSocket.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    has_word(headers, &CONNECTION, "upgrade") && has_word(headers, &UPGRADE, "websocket")
}

fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let mut lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.any(|line| line.split(',').any(|found| found.trim().eq_ignore_ascii_case(word)))
}

/// What proves to the client that we have understood it.
fn accepted(headers: &HeaderMap) -> Result<HeaderValue, Problem> {
    let HeaderText::Once(key) = head::said(headers, SEC_WEBSOCKET_KEY) else {
        return Err(Problem::bad("one `Sec-WebSocket-Key` belongs to a WebSocket"));
    };
    if BASE64_STANDARD.decode(key).map_or(0, |key| key.len()) != KEY_BYTES {
        return Err(Problem::bad("`Sec-WebSocket-Key` must be sixteen bytes in Base64"));
    }
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{KEY_SUFFIX}").as_bytes());
    let text = BASE64_STANDARD.encode(hash);
    Ok(HeaderValue::try_from(text).expect("Base64 is legal in a header"))
}

/// Takes a request of a caller for a WebSocket, on which these pages are told then.
pub(super) fn answer(
    endpoint: &Endpoint,
    caller: &Caller,
    headers: &HeaderMap,
    upgrade: OnUpgrade,
    pages: impl Stream<Item = Vec<Numbered>> + Send + 'static,
    until_unknown: impl Future<Output = ()> + Send + 'static,
) -> Answered {
    if !endpoint.visitors.may_read(headers) {
        let why = "a page may open a WebSocket if its origin is one of `server.origins`";
        return Err(Problem::new(StatusCode::FORBIDDEN, why).into());
    }
    if head::said(headers, SEC_WEBSOCKET_VERSION) != HeaderText::Once(VERSION) {
        let why = format!("the only version of WebSocket that is spoken is {VERSION}");
        let mut answer = Problem::new(StatusCode::UPGRADE_REQUIRED, why).answer();
        answer.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
        return Ok(answer);
    }
    let accepted = accepted(headers)?;
    let place = endpoint.sockets.take(caller.id());
    let place = place.map_err(|why| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why))?;
    let closing = endpoint.closing.clone();
    endpoint.tasks.spawn(async move {
        match upgrade.await {
            Ok(socket) => {
                let end = tell(TokioIo::new(socket), pages, until_unknown, &closing).await;
                tracing::debug!(?end, "a WebSocket has ended");
            }
            Err(error) => tracing::debug!(%error, "a client has hung up before its WebSocket was open"),
        }
        drop(place);
    });
    let mut answer = answer::empty(StatusCode::SWITCHING_PROTOCOLS);
    let told = [
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accepted),
    ];
    answer.headers_mut().extend(told);
    Ok(answer)
}

/// Tells events until there are no more, or the client is gone, and closes.
async fn tell<S: AsyncRead + AsyncWrite + Unpin>(
    socket: S,
    pages: impl Stream<Item = Vec<Numbered>>,
    until_unknown: impl Future<Output = ()>,
    closing: &CancellationToken,
) -> End {
    let config = WebSocketConfig::default()
        .read_buffer_size(HEARD_BYTES_MAX)
        .max_message_size(Some(HEARD_BYTES_MAX))
        .max_frame_size(Some(HEARD_BYTES_MAX));
    let mut socket = WebSocketStream::from_raw_socket(socket, Role::Server, Some(config)).await;
    let end = tokio::select! {
        biased;
        () = closing.cancelled() => End::Closing,
        () = until_unknown => End::Unknown,
        end = carry(&mut socket, pages) => end,
    };
    if end == End::Gone {
        return end;
    }
    let rest = async {
        if let Some(frame) = end.frame() {
            socket.close(Some(frame)).await?;
        }
        // The answer to a close, or ours to theirs, which is sent as the next frame is read.
        while let Some(frame) = socket.next().await {
            frame?;
        }
        Ok::<_, Error>(())
    };
    // Whether the client hears why it ends is its own affair.
    let _ = timeout(CLOSE_MAX, rest).await;
    end
}

async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    pages: impl Stream<Item = Vec<Numbered>>,
) -> End {
    let mut pages = std::pin::pin!(pages);
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_there = true;
    loop {
        tokio::select! {
            biased;
            heard = socket.next() => match heard {
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => is_there = true,
                Some(Ok(Message::Text(_) | Message::Binary(_))) => return End::Spoken,
                Some(Ok(Message::Close(_))) => return End::Closed,
                None => return End::Gone,
                Some(Err(error)) => return ended_by(&error),
            },
            page = pages.next() => match page {
                Some(page) if send_all(socket, &page).await => {}
                Some(_) => return End::Gone,
                None => return End::Over,
            },
            _ = pings.tick() => {
                if !std::mem::take(&mut is_there) || !send(socket, Message::Ping(Vec::new().into())).await {
                    return End::Gone;
                }
            }
        }
    }
}

fn ended_by(error: &Error) -> End {
    match error {
        Error::Capacity(_) => End::SpokenLong,
        Error::Protocol(_) | Error::Utf8(_) => End::Garbled,
        _ => End::Gone,
    }
}

/// Whether the client has taken them all, each in time.
async fn send_all<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    page: &[Numbered],
) -> bool {
    for event in page {
        if !send(socket, Message::text(json!(event).to_string())).await {
            return false;
        }
    }
    true
}

async fn send<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocketStream<S>, message: Message) -> bool {
    matches!(timeout(SEND_MAX, socket.send(message)).await, Ok(Ok(())))
}

#[cfg(test)]
mod tests {
    use futures_util::stream::pending;
    use gate::jobs::JobEvent as Event;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    fn headers(lines: &[(&HeaderName, &str)]) -> HeaderMap {
        let line = |&(name, value): &(&HeaderName, &str)| (name.clone(), value.parse().expect("a sample"));
        lines.iter().map(line).collect()
    }

    #[test]
    fn a_key_is_answered_as_the_standard_says() {
        let key = |key| accepted(&headers(&[(&SEC_WEBSOCKET_KEY, key)])).ok();
        assert_eq!(key("dGhlIHNhbXBsZSBub25jZQ==").unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(["", "dGhl", "dGhlIHNhbXBsZSBub25jZQ", "?"].into_iter().all(|wrong| key(wrong).is_none()));
        assert!(accepted(&headers(&[])).is_err());
    }

    #[test]
    fn a_socket_is_asked_for_by_two_headers() {
        for (connection, upgrade, wanted) in [
            ("Upgrade", "websocket", true),
            ("keep-alive, upgrade", "WebSocket", true),
            ("keep-alive", "websocket", false),
            ("upgrade", "h2c", false),
        ] {
            let headers = headers(&[(&CONNECTION, connection), (&UPGRADE, upgrade)]);
            assert_eq!(is_wanted(&headers), wanted, "{connection} {upgrade}");
        }
    }

    fn event(number: u64, bytes: usize) -> Numbered {
        Numbered { number, at_ms: 0, event: Event::output("log", &"x".repeat(bytes)) }
    }

    /// Both ends, with room for so many bytes between them.
    async fn ends(room: usize) -> (DuplexStream, WebSocketStream<DuplexStream>) {
        let (ours, theirs) = duplex(room);
        (ours, WebSocketStream::from_raw_socket(theirs, Role::Client, None).await)
    }

    fn forever() -> std::future::Pending<()> {
        std::future::pending()
    }

    /// How a socket ends of whose events there are no more than a first one, and what its client gets, which first does this.
    async fn ended(says: impl AsyncFnOnce(&mut WebSocketStream<DuplexStream>)) -> (End, Vec<String>) {
        let (ours, mut theirs) = ends(64 * 1024).await;
        let (closing, pages) = (CancellationToken::new(), futures_util::stream::iter([vec![event(1, 1)]]));
        let client = async {
            says(&mut theirs).await;
            let mut got = Vec::new();
            while let Some(Ok(message)) = theirs.next().await {
                got.push(message.to_string());
            }
            got
        };
        tokio::join!(tell(ours, pages.chain(pending()), forever(), &closing), client)
    }

    #[tokio::test(start_paused = true)]
    async fn events_come_in_their_order_and_then_a_close() {
        let (ours, mut theirs) = ends(1024).await;
        let pages = futures_util::stream::iter([vec![event(1, 1), event(2, 5_000)], vec![event(3, 1)]]);
        let closing = CancellationToken::new();
        let client = async {
            let mut numbers = Vec::new();
            while let Some(Ok(message)) = theirs.next().await {
                match message {
                    Message::Close(frame) => return (numbers, frame.map(|frame| frame.code)),
                    message => {
                        let event: Numbered = serde_json::from_str(message.to_text().unwrap()).unwrap();
                        numbers.push(event.number);
                    }
                }
            }
            (numbers, None)
        };
        let (end, told) = tokio::join!(tell(ours, pages, forever(), &closing), client);
        assert_eq!((end, told), (End::Over, (vec![1, 2, 3], Some(CloseCode::Normal))));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_speaks_is_sent_away() {
        let (end, got) = ended(async |client| client.send(Message::text("hello")).await.unwrap()).await;
        assert_eq!((end, got.last().map(String::as_str)), (End::Spoken, Some("nothing is heard here")));
        let long = Message::text("x".repeat(HEARD_BYTES_MAX + 1));
        let (end, _) = ended(async |client| client.send(long).await.unwrap()).await;
        assert_eq!(end, End::SpokenLong);
        // Not masked, and of an opcode that is none.
        let (end, _) = ended(async |client| client.get_mut().write_all(&[0x8f, 0x00]).await.unwrap()).await;
        assert_eq!(end, End::Garbled);
        let (end, got) = ended(async |client| client.close(None).await.unwrap()).await;
        assert_eq!((end, got.len()), (End::Closed, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_reads_nothing_or_answers_no_ping_is_let_go() {
        let closing = CancellationToken::new();
        let (ours, theirs) = ends(1024).await;
        let since = Instant::now();
        let pages = futures_util::stream::iter([vec![event(1, 5_000)]]).chain(pending());
        assert_eq!(tell(ours, pages, forever(), &closing).await, End::Gone);
        assert_eq!(since.elapsed(), SEND_MAX);
        drop(theirs);
        let (ours, mut theirs) = duplex(1024);
        let since = Instant::now();
        let quiet = tell(ours, pending(), forever(), &closing);
        let mut pinged = [0; 2];
        let (end, _) = tokio::join!(quiet, theirs.read_exact(&mut pinged));
        assert_eq!((end, pinged), (End::Gone, [0x89, 0]));
        assert!(since.elapsed() < PING_EVERY * 2 + SEND_MAX, "{:?}", since.elapsed());
        assert!(since.elapsed() >= PING_EVERY * 2, "{:?}", since.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_the_caller_and_with_us() {
        let closing = CancellationToken::new();
        let (ours, _theirs) = ends(1024).await;
        assert_eq!(tell(ours, pending(), async {}, &closing).await, End::Unknown);
        closing.cancel();
        let (ours, _theirs) = ends(1024).await;
        assert_eq!(tell(ours, pending(), forever(), &closing).await, End::Closing);
    }
}
