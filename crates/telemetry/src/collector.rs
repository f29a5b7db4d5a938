//! `Collector`: where spans and logs are sent, as OTLP over HTTP in its JSON form. It is asked again while it is busy,
//! and says what it did not take.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use sandbox::{Client, is_hidden};
use serde_json::Value;
use tokio::time::{sleep, timeout};

/// Attempts for one request.
const ATTEMPTS_MAX: u32 = 6;

/// How long to wait before the second attempt; twice as long before each one after it.
const PAUSE: Duration = Duration::from_millis(500);

/// The longest pause, whatever the collector asks for.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How long one attempt may take.
const ATTEMPT_MAX: Duration = Duration::from_secs(30);

/// What is read of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What is shown of a collector's words.
const WORDS_CHARS_MAX: usize = 200;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// An `ExportTraceServiceRequest`.
    Traces,
    /// An `ExportLogsServiceRequest`.
    Logs,
}

/// One collector, which gets one kind of things.
pub struct Collector {
    client: Client,
    uri: Uri,
    signal: Signal,
    headers: HeaderMap,
}

/// Why a request was not taken. Its text holds neither the address's query nor a header.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It says no, in words of its own.
    #[error("it answers {0}{colon}{1}", colon = if .1.is_empty() { "" } else { ": " })]
    Refused(StatusCode, String),
    /// It took a part of the request only: how many spans or logs it rejected, and why.
    #[error("it rejected {0} of them: {1}")]
    Partly(u64, String),
    /// No answer that means anything, however often it was asked.
    #[error("{0}, after {ATTEMPTS_MAX} attempts")]
    Unreachable(String),
}

/// What came of one attempt.
enum Attempt {
    Done(Result<(), SendError>),
    /// Why it is to be tried again, and after which time, if the collector says so.
    Again(String, Option<Duration>),
}

impl Signal {
    /// The protocol's own path for it, and how an answer calls what it rejected.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Signal::Traces => ("/v1/traces", "rejectedSpans"),
            Signal::Logs => ("/v1/logs", "rejectedLogRecords"),
        }
    }

    /// The address at which a collector takes this. To one without a path the protocol's own is added. Nothing for what
    /// is no http or https address.
    pub fn address(self, text: &str) -> Option<Uri> {
        let uri: Uri = text.parse().ok()?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return None;
        }
        let (path, query) = (uri.path(), uri.query());
        if !matches!(path, "" | "/") || query.is_some() {
            return Some(uri);
        }
        let mut parts = uri.into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static(self.words().0));
        Uri::from_parts(parts).ok()
    }
}

impl Collector {
    /// The collector at this address, which gets these headers with every request.
    pub fn new(client: Client, signal: Signal, uri: Uri, mut headers: HeaderMap) -> Collector {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Collector { client, uri, signal, headers }
    }

    /// Sends one request, several times if need be.
    ///
    /// # Errors
    /// It was not taken, or in part only.
    pub async fn send(&self, body: Bytes) -> Result<(), SendError> {
        let mut pause = PAUSE;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (why, asked) = match timeout(ATTEMPT_MAX, self.attempt(body.clone())).await {
                Ok(Attempt::Done(done)) => return done,
                Ok(Attempt::Again(why, asked)) => (why, asked),
                Err(_) => (format!("no answer within {ATTEMPT_MAX:?}"), None),
            };
            if attempts == ATTEMPTS_MAX {
                return Err(SendError::Unreachable(why));
            }
            sleep(asked.unwrap_or(pause).min(PAUSE_MAX)).await;
            pause *= 2;
        }
    }

    async fn attempt(&self, body: Bytes) -> Attempt {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let answer = match self.client.send(request).await {
            Ok(answer) => answer,
            Err(error) => return Attempt::Again(error.to_string(), None),
        };
        let (status, asked) = (answer.status(), retry_after(answer.headers()));
        let text = match Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await {
            Ok(text) => String::from_utf8_lossy(&text.to_bytes()).into_owned(),
            Err(_) => String::new(),
        };
        match status.as_u16() {
            200..=299 => Attempt::Done(self.accepted(&text)),
            // Those that the protocol calls retryable.
            429 | 502 | 503 | 504 => Attempt::Again(format!("it answers {status}"), asked),
            _ => Attempt::Done(Err(SendError::Refused(status, shown(&text)))),
        }
    }

    /// An answer may say that some were rejected; they would be again.
    fn accepted(&self, text: &str) -> Result<(), SendError> {
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        let partial = &answer["partialSuccess"];
        let rejected = match &partial[self.signal.words().1] {
            // 64-bit numbers are texts in this form.
            Value::String(number) => number.parse().unwrap_or(0),
            number => number.as_u64().unwrap_or(0),
        };
        if rejected == 0 {
            return Ok(());
        }
        let why = partial["errorMessage"].as_str().unwrap_or("it does not say why");
        Err(SendError::Partly(rejected, shown(why)))
    }
}

/// A collector's words, short, on one line, and without what drives a terminal.
fn shown(text: &str) -> String {
    let visible = |c: char| match c {
        '\n' | '\t' => ' ',
        c if is_hidden(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.trim().chars().take(WORDS_CHARS_MAX).map(visible).collect()
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
