//! The client against small servers on loopback.
#![expect(clippy::disallowed_methods, reason = "small servers on loopback")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::reach::Reach;
use super::{Client, CompanyProxy, NetError, connect};

/// Long enough for any loopback connection, and for a resolver to find nothing, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Short enough to be waited for in a test.
const IMPATIENCE: Duration = Duration::from_millis(300);

/// `/redirect` leads away; everything else is echoed with its path.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.expect("a whole body").to_bytes();
    let mut response = Response::new(Full::new(Bytes::from([path.as_bytes(), b" ", &body].concat())));
    if path == "/redirect" {
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        response.headers_mut().insert("location", "/elsewhere".parse().expect("a header"));
    }
    Ok(response)
}

async fn serve_connection(stream: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(answer);
    // A client that hangs up is no concern of the test.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// An echo server, and how many connections it has had.
async fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve_connection(stream));
        }
    });
    (address, count)
}

/// As `server`, over TLS with a fresh certificate for `localhost`, and the roots that trust it.
async fn tls_server() -> (SocketAddr, rustls::RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a sound certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("default versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .expect("key and certificate belong together");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(serve_connection(stream));
            }
        }
    });
    (address, roots)
}

fn post(address: &str) -> Request<Full<Bytes>> {
    Request::post(address).body(Full::new(Bytes::from_static(b"hello"))).expect("a request")
}

/// Status and body, or the sentence of the error.
async fn outcome(client: &Client, address: &str) -> String {
    match client.send(post(address)).await {
        Ok(response) => {
            let status = response.status();
            let body = response.into_body().collect().await.expect("a whole body").to_bytes();
            format!("{} {}", status.as_u16(), String::from_utf8_lossy(&body))
        }
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn echoes_and_keeps_the_connection() {
    let (address, count) = server().await;
    let client = Client::new();
    for _ in 0..5 {
        assert_eq!(outcome(&client.clone(), &format!("http://{address}/a?q=1")).await, "200 /a hello");
    }
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert!(!client.secure.initialized(), "http must not pay for https");
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let (address, count) = server().await;
    let response = Client::new().send(post(&format!("http://{address}/redirect"))).await.expect("an answer");
    assert_eq!(response.status(), 307);
    assert_eq!(response.headers()["location"], "/elsewhere");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn speaks_tls_to_a_trusted_server() {
    let (address, roots) = tls_server().await;
    let client = Client::new();
    client.tls.set(connect::tls_config(roots)).expect("not used yet");
    let address = format!("https://localhost:{}/a", address.port());
    assert_eq!(outcome(&client, &address).await, "200 /a hello");
}

#[tokio::test]
async fn refuses_a_server_it_does_not_trust() {
    let (address, roots) = tls_server().await;
    let address = format!("https://me:secret@localhost:{}/a?token=secret", address.port());
    let sentence = outcome(&Client::new(), &address).await;
    assert!(sentence.contains("invalid peer certificate"), "{sentence}");
    assert!(sentence.ends_with("or name its file in SSL_CERT_FILE"), "{sentence}");
    assert!(!sentence.contains("secret"), "{sentence}");
    let client = Client::new();
    client.tls.set(connect::tls_config(roots)).expect("not used yet");
    let sentence = outcome(&client, &address.replace("localhost", "127.0.0.1")).await;
    assert!(sentence.contains("not valid for name"), "{sentence}");
    assert!(sentence.ends_with("; use a host name that is in its certificate"), "{sentence}");
}

#[tokio::test]
async fn a_public_client_goes_to_no_private_address() {
    let (address, count) = server().await;
    let (open, port) = (Client::new(), address.port());
    let public = open.public();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "127.1"] {
        // What is neither an address nor a name has no certificate and gets no further.
        for scheme in ["http", "https"].iter().filter(|scheme| **scheme == "http" || host != "127.1") {
            let sentence = outcome(&public, &format!("{scheme}://{host}:{port}/?key=secret")).await;
            let expected = format!("{host} is a private address, which a public server must not send us to");
            assert_eq!(sentence, expected);
        }
    }
    // An open connection of the other client is not used either.
    let local = format!("http://localhost:{port}/a");
    assert_eq!(outcome(&open, &local).await, "200 /a hello");
    assert!(outcome(&public, &local).await.contains("is a private address"));
    assert!(outcome(&open.public().public(), &local).await.contains("is a private address"));
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_private_server_may_name_its_neighbours() {
    let client = Client::new();
    for (uri, expected) in [
        ("http://127.0.0.1:1/", Reach::Any),
        ("http://localhost/mcp", Reach::Any),
        ("https://[fd00::1]/", Reach::Any),
        ("https://1.1.1.1/", Reach::Public),
        ("https://no-such-name.invalid/", Reach::Public),
    ] {
        assert_eq!(client.guarded_like(&uri.parse().expect("an address")).await.reach, expected, "{uri}");
    }
}

#[tokio::test]
async fn says_what_is_wrong_and_no_secret() {
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("bound");
    let client = Client::with(PATIENCE, Reach::Any, None);
    for (address, expected) in [
        (
            format!("http://u:secret@{closed}/p?key=secret"),
            format!("{closed} refuses connections; check that the server is running and the port is right"),
        ),
        (
            "http://no-such-name.invalid/?key=secret".to_owned(),
            "the name no-such-name.invalid could not be resolved".to_owned(),
        ),
        ("/just/a/path".to_owned(), "only full http and https addresses can be reached".to_owned()),
        ("ftp://host/x".to_owned(), "only full http and https addresses can be reached".to_owned()),
    ] {
        assert_eq!(outcome(&client, &address).await, expected);
    }
}

/// What a server does that is none: it reads `reads` bytes at least, writes `says`, and hangs up.
async fn check_bad_server(reads: usize, says: &'static [u8], address: &str, expected: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.read_exact(&mut vec![0; reads]).await.expect("a request");
        stream.write_all(says).await.expect("someone listens");
        stream.shutdown().await.expect("still connected");
        // The client hangs up; closing with unread input would reset the connection.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let address = address.replace("PORT", &port.to_string());
    let sentence = outcome(&Client::new(), &address).await;
    assert_eq!(sentence, expected.replace("PORT", &port.to_string()));
}

#[tokio::test]
async fn a_bad_server_is_named() {
    let closed = "127.0.0.1:PORT closed the connection without an answer";
    check_bad_server(4, b"", "http://127.0.0.1:PORT/?secret", closed).await;
    check_bad_server(4, b"HTTP/1.1 20", "http://127.0.0.1:PORT/", closed).await;
    check_bad_server(4, b"220 mail\r\n", "http://127.0.0.1:PORT/", "the request to 127.0.0.1:PORT failed")
        .await;
    check_bad_server(4, b"", "https://127.0.0.1:PORT/", closed).await;
    check_bad_server(
        4,
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        "https://127.0.0.1:PORT/",
        "no secure connection to 127.0.0.1:PORT: received corrupt message of type InvalidContentType; \
         check that the server speaks https at this port",
    )
    .await;
}

#[tokio::test]
async fn a_silent_server_does_not_hold_us() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let client = Client::with(IMPATIENCE, Reach::Any, None);
    let sent = client.send(post(&format!("https://{address}/")));
    let result = tokio::time::timeout(PATIENCE, sent).await.expect("not held");
    assert!(matches!(result, Err(NetError::Timeout { .. })), "{result:?}");
}

/// A proxy that leads every tunnel to `server`, and says what it was asked for.
async fn company(server: SocketAddr) -> (Client, tokio::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("bound");
    let (asked, targets) = tokio::sync::mpsc::channel(8);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a request"));
            }
            let head = String::from_utf8(head).expect("text");
            let target = head.split(' ').nth(1).expect("a target").to_owned();
            let refused = target.starts_with("refused");
            asked.send(target).await.expect("somebody listens");
            let answer: &[u8] =
                if refused { b"HTTP/1.1 403 No\r\n\r\n" } else { b"HTTP/1.1 200 Fine\r\n\r\n" };
            stream.write_all(answer).await.expect("someone listens");
            if !refused {
                let mut server = tokio::net::TcpStream::connect(server).await.expect("a server");
                tokio::spawn(async move { tokio::io::copy_bidirectional(&mut stream, &mut server).await });
            }
        }
    });
    let proxy = CompanyProxy::parse(&format!("http://me:secret@{at}")).expect("a proxy");
    (Client::through(proxy), targets)
}

#[tokio::test]
async fn a_company_s_proxy_leads_to_the_internet_alone() {
    let (server, _) = server().await;
    let (client, mut targets) = company(server).await;
    for (client, address, target, expected) in [
        (&client, "http://name.invalid/a", Some("name.invalid:80"), "200 /a hello"),
        (&client, "http://1.1.1.1:81/a", Some("1.1.1.1:81"), "200 /a hello"),
        (&client.public(), "http://1.1.1.1:82/a", Some("1.1.1.1:82"), "200 /a hello"),
        (&client.public(), "http://name.invalid/a", None, "the name name.invalid could not be resolved"),
        (&client, &format!("http://{server}/a"), None, "200 /a hello"),
        (&client, &format!("http://localhost:{}/a", server.port()), None, "200 /a hello"),
        (
            &client,
            "http://refused.invalid/?key=secret",
            Some("refused.invalid:80"),
            "refused.invalid:80 cannot be reached: the proxy of the company refuses it with status 403; check the \
             address of the proxy and what it allows",
        ),
    ] {
        assert_eq!(outcome(client, address).await, expected, "{address}");
        assert_eq!(targets.try_recv().ok().as_deref(), target, "{address}");
    }
    assert!(!format!("{client:?}").contains("secret"));
}

#[tokio::test]
async fn tls_goes_through_a_company_s_proxy() {
    let (address, roots) = tls_server().await;
    let (client, mut targets) = company(address).await;
    client.tls.set(connect::tls_config(roots)).expect("not used yet");
    let sentence = outcome(&client, "https://name.invalid/a").await;
    assert!(sentence.contains("not valid for name"), "{sentence}");
    assert_eq!(targets.try_recv().ok().as_deref(), Some("name.invalid:443"));
}
