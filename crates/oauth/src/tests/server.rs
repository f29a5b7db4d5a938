//! A small HTTP server on loopback that answers what a test tells it, for the tests of this crate.
#![expect(clippy::disallowed_methods, reason = "a small server on loopback")]

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Answers 404 to everything that it was not told to answer.
pub(crate) struct TestServer {
    /// As `http://127.0.0.1:PORT`.
    pub(crate) origin: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    answers: Mutex<HashMap<String, (u16, String)>>,
    requests: Mutex<Vec<String>>,
}

impl TestServer {
    pub(crate) async fn start() -> TestServer {
        let (listener, origin) = bind().await;
        let state = Arc::new(State::default());
        let served = Arc::clone(&state);
        serve(listener, move |request| answer(Arc::clone(&served), request));
        TestServer { origin, state }
    }

    /// The address of `path` here.
    pub(crate) fn at(&self, path: &str) -> Uri {
        format!("{}{path}", self.origin).parse().expect("a path")
    }

    /// Answers `path` so from now on; `ORIGIN` in `body` stands for this server's. A body that begins with `<` is
    /// sent as HTML, any other as JSON; with a status of redirection it is where the redirect leads.
    pub(crate) fn put(&self, path: &str, status: u16, body: &str) {
        let answer = (status, body.replace("ORIGIN", &self.origin));
        self.state.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// What was asked for, as `GET /path` or `POST /path BODY`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().unwrap().clone()
    }

    /// `text` with this server's origin as `ORIGIN`, which is the same in every run.
    pub(crate) fn without_port(&self, text: &str) -> String {
        text.replace(&self.origin, "ORIGIN").replace(self.origin.trim_start_matches("http://"), "HOST")
    }
}

/// A port of this machine, and its address as `http://127.0.0.1:PORT`.
pub(crate) async fn bind() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("bound"));
    (listener, origin)
}

/// Answers every request there as `answer` does, until the test ends.
pub(crate) fn serve<A, F>(listener: TcpListener, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send + 'static,
{
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(answer.clone());
            // A client that hangs up is no concern of the test.
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
}

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let line = format!("{} {} {}", head.method, head.uri, String::from_utf8_lossy(&body));
    state.requests.lock().unwrap().push(line.trim_end().to_owned());
    let told = state.answers.lock().unwrap().get(head.uri.path()).cloned();
    let (status, body) = told.unwrap_or((404, "<p>Not found</p>".to_owned()));
    let status = StatusCode::from_u16(status).expect("a status");
    let mut response = Response::builder().status(status);
    response = match (status.is_redirection(), body.starts_with('<')) {
        (true, _) => response.header("location", &body),
        (false, true) => response.header("content-type", "text/html"),
        (false, false) => response.header("content-type", "application/json"),
    };
    Ok(response.body(Full::new(Bytes::from(body))).expect("sound headers"))
}
