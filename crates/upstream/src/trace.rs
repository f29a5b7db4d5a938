//! `Trace`: hears what is said between us and a server, for the commands that test and debug one. Nobody listens
//! in ordinary use, and then it costs one look at an empty option for each message.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, Request, Response};
use sandbox::NetError;

use crate::config::shown_url;
use crate::settings::Settings;

/// Headers of requests and answers whose values say something about the protocol and are no secret. Of any other
/// header only the name is told.
const PLAIN_HEADERS: [&str; 15] = [
    "accept",
    "allow",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "retry-after",
    "server",
    "transfer-encoding",
    "via",
    "www-authenticate",
];

/// Something that happened between us and a server. The values of its environment variables and headers, what is
/// secret in its address and the token we are signed in with are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traced {
    /// The program was started, the socket connected or the address made ready to be dialled.
    Opened(
        /// What: the command line, the path or the address.
        String,
    ),
    /// A message of ours, as JSON text.
    Sent(String),
    /// A message of the server; a line on its standard output or a body that is none as well.
    Received(String),
    /// An HTTP request of ours, without its body.
    Request {
        /// Its method.
        method: String,
        /// Its address without a query.
        address: String,
        /// Its headers, by name.
        headers: Vec<(String, String)>,
    },
    /// The head of an HTTP answer.
    Response {
        /// Its status.
        status: u16,
        /// Its headers, by name.
        headers: Vec<(String, String)>,
    },
    /// A request got no HTTP answer.
    Unanswered {
        /// What was in the way.
        obstacle: Obstacle,
        /// The same as a sentence.
        said: String,
    },
}

/// Why a request got no HTTP answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Nobody listens there.
    Refused,
    /// The host's name has no address.
    Name,
    /// No secure connection could be agreed on.
    Tls,
    /// No connection in time.
    Time,
    /// It closed the connection.
    Closed,
    /// It is a private address, to which a public one must not lead.
    Private,
    /// Anything else, such as an answer that is not HTTP.
    Other,
}

/// Who hears what happens.
#[derive(Clone)]
pub struct Trace(Arc<dyn Fn(Traced) + Send + Sync>);

impl Trace {
    /// Hands everything to `sink`, in the order in which it happens on each connection. It is called in the middle
    /// of the work and must not wait.
    pub fn new(sink: impl Fn(Traced) + Send + Sync + 'static) -> Trace {
        Trace(Arc::new(sink))
    }

    /// Tells what happened, for a trace that stands before another one.
    pub fn tell(&self, traced: Traced) {
        (self.0)(traced);
    }
}

/// A trace of one server's connections, which knows what to mask.
pub(crate) struct Tap {
    trace: Trace,
    settings: Settings,
}

impl Tap {
    pub(crate) fn new(trace: &Trace, settings: &Settings) -> Arc<Tap> {
        Arc::new(Tap { trace: trace.clone(), settings: settings.clone() })
    }

    pub(crate) fn opened(&self) {
        self.tell(Traced::Opened(self.settings.place()));
    }

    pub(crate) fn sent(&self, message: &[u8]) {
        self.tell(Traced::Sent(self.text(message)));
    }

    pub(crate) fn received(&self, message: &[u8]) {
        self.tell(Traced::Received(self.text(message)));
    }

    /// An HTTP request and its body, which is a message if there is any.
    pub(crate) fn request<T>(&self, request: &Request<T>, message: &[u8]) {
        self.tell(Traced::Request {
            method: request.method().to_string(),
            address: self.settings.masked(&shown_url(&request.uri().to_string())),
            headers: self.headers(request.headers()),
        });
        if !message.is_empty() {
            self.sent(message);
        }
    }

    /// What came back to an HTTP request: the head of an answer, or nothing.
    pub(crate) fn response<T>(&self, response: &Result<Response<T>, NetError>) {
        self.tell(match response {
            Ok(response) => Traced::Response {
                status: response.status().as_u16(),
                headers: self.headers(response.headers()),
            },
            Err(error) => Traced::Unanswered {
                obstacle: Obstacle::of(error),
                said: self.settings.masked(&error.to_string()),
            },
        });
    }

    fn tell(&self, traced: Traced) {
        self.trace.tell(traced);
    }

    fn text(&self, message: &[u8]) -> String {
        let text = String::from_utf8_lossy(message);
        // Whatever escapes it is written with, if it is JSON; and as a text that may be anything else.
        self.settings.masked(&self.settings.mask().json(text.trim_end_matches('\n')))
    }

    fn headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let shown = |name: &HeaderName, value: &http::HeaderValue| match name.as_str() {
            // Where it leads, without what may be secret in it.
            "location" => self.settings.masked(&shown_url(&String::from_utf8_lossy(value.as_bytes()))),
            plain if PLAIN_HEADERS.contains(&plain) && !value.is_sensitive() => {
                self.settings.masked(&String::from_utf8_lossy(value.as_bytes()))
            }
            _ => "***".to_owned(),
        };
        headers.iter().map(|(name, value)| (name.to_string(), shown(name, value))).collect()
    }
}

impl Obstacle {
    fn of(error: &NetError) -> Obstacle {
        match error {
            NetError::Refused { .. } => Obstacle::Refused,
            NetError::Dns { .. } => Obstacle::Name,
            NetError::Tls { .. } => Obstacle::Tls,
            NetError::Timeout { .. } => Obstacle::Time,
            NetError::Closed { .. } => Obstacle::Closed,
            NetError::Private { .. } => Obstacle::Private,
            NetError::Address | NetError::Company { .. } | NetError::Other { .. } => Obstacle::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use expect_test::expect;

    use super::*;
    use crate::config::{Config, Value};

    /// What a trace hears while `work` uses a tap of a server with a secret header and a secret query.
    fn heard(work: impl FnOnce(&Tap)) -> String {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = heard.clone();
        let trace = Trace::new(move |traced| kept.lock().expect("sound").push(format!("{traced:?}\n")));
        let url = Some("https://mcp.example/mcp?key=q-s3cret-1".to_owned());
        let headers = [("X-Key", "h-s3cret-2"), ("X-Odd", "o\"s3cret\\6")];
        let headers = headers.map(|(name, value)| (name.to_owned(), Value::plain(value))).into();
        let config = Config { url, headers, ..Config::default() };
        let settings = config.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        work(&Tap::new(&trace, &settings.expect("sound")));
        heard.lock().expect("sound").concat()
    }

    #[test]
    fn secrets_are_masked_wherever_they_turn_up() {
        let heard = heard(|tap| {
            tap.opened();
            let request = Request::post("https://mcp.example/mcp?key=q-s3cret-1")
                .header("x-key", "h-s3cret-2")
                .header("authorization", "Bearer t-s3cret-3")
                .header("content-type", "application/json");
            tap.request(&request.body(()).expect("a request"), br#"{"id":0}"#);
            let response = Response::builder()
                .status(302)
                .header("location", "https://me:pw@elsewhere/x?code=c-s3cret-4")
                .header("set-cookie", "s-s3cret-5")
                .header("www-authenticate", "Bearer error=\"h-s3cret-2\"");
            tap.response(&Ok(response.body(()).expect("a response")));
            tap.received(b"what is h-s3cret-2 and q-s3cret-1?\n");
            tap.received(br#"{"a":"o\"s3cret\\6","b":"\u006f\u0022s3cret\u005c6"}"#);
        });
        assert!(!heard.contains("s3cret"), "{heard}");
        expect![[r#"
            Opened("https://mcp.example/mcp")
            Request { method: "POST", address: "https://mcp.example/mcp", headers: [("x-key", "***"), ("authorization", "***"), ("content-type", "application/json")] }
            Sent("{\"id\":0}")
            Response { status: 302, headers: [("location", "https://elsewhere/x"), ("set-cookie", "***"), ("www-authenticate", "Bearer error=\"***\"")] }
            Received("what is *** and ***?")
            Received("{\"a\":\"***\",\"b\":\"***\"}")
        "#]]
        .assert_eq(&heard);
    }
}
