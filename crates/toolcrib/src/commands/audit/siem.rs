//! Sends logs to a collector: OTLP over HTTP, as JSON, tried again while it is busy.
#![expect(clippy::disallowed_methods, reason = "the file with its headers is named on the command line")]

use std::fmt;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use sandbox::Client;
use serde_json::Value;

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

/// Where collectors take logs.
const LOGS_PATH: &str = "/v1/logs";

/// One collector.
pub(super) struct Collector {
    client: Client,
    uri: Uri,
    headers: HeaderMap,
}

/// Why a request was not taken.
#[derive(Debug)]
pub(super) enum SendError {
    /// It says no, in words of its own.
    Refused(StatusCode, String),
    /// It took a part of the request only.
    Partly(String),
    /// No answer that means anything, however often it was asked.
    Unreachable(String),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(status, words) if words.is_empty() => write!(f, "it answers {status}"),
            Self::Refused(status, words) => write!(f, "it answers {status}: {words}"),
            Self::Partly(words) => write!(f, "it rejected some of them: {words}"),
            Self::Unreachable(why) => write!(f, "{why}, after {ATTEMPTS_MAX} attempts"),
        }
    }
}

/// What came of one attempt.
enum Attempt {
    Done(Result<(), SendError>),
    Again(String, Option<Duration>),
}

impl Collector {
    /// The collector at this address, with the headers of a file.
    ///
    /// # Errors
    /// What is wrong with either, as a sentence.
    pub(super) fn at(url: &str, headers: Option<&Path>) -> Result<Collector, String> {
        let uri: Uri = url.parse().map_err(|_| "--to: this is no address of a collector".to_owned())?;
        let uri = match uri.path() {
            "" | "/" => {
                let mut parts = uri.into_parts();
                parts.path_and_query = Some(PathAndQuery::from_static(LOGS_PATH));
                Uri::from_parts(parts).map_err(|_| "--to: this is no address of a collector".to_owned())?
            }
            _ => uri,
        };
        let mut map = headers.map(read_headers).transpose()?.unwrap_or_default();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Collector { client: Client::new(), uri, headers: map })
    }

    /// Sends one request, several times if need be.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), SendError> {
        let mut pause = PAUSE;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let attempt = tokio::time::timeout(ATTEMPT_MAX, self.attempt(body.clone())).await;
            let (why, asked) = match attempt {
                Ok(Attempt::Done(done)) => return done,
                Ok(Attempt::Again(why, asked)) => (why, asked),
                Err(_) => (format!("no answer within {ATTEMPT_MAX:?}"), None),
            };
            if attempts == ATTEMPTS_MAX {
                return Err(SendError::Unreachable(why));
            }
            tokio::time::sleep(asked.unwrap_or(pause).min(PAUSE_MAX)).await;
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
            200..=299 => Attempt::Done(accepted(&text)),
            429 | 502 | 503 | 504 => Attempt::Again(format!("it answers {status}"), asked),
            _ => Attempt::Done(Err(SendError::Refused(status, shown(&text)))),
        }
    }
}

/// An answer may say that some records were rejected; they would be again.
fn accepted(text: &str) -> Result<(), SendError> {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    let rejected = match &partial["rejectedLogRecords"] {
        Value::String(number) => number.parse().unwrap_or(0),
        number => number.as_u64().unwrap_or(0),
    };
    if rejected == 0 {
        return Ok(());
    }
    Err(SendError::Partly(shown(partial["errorMessage"].as_str().unwrap_or("it does not say why"))))
}

fn shown(text: &str) -> String {
    crate::print::harmless(&text.trim().chars().take(WORDS_CHARS_MAX).collect::<String>()).replace('\n', " ")
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// Reads `Name: value` lines. A value is a secret as a rule, so no error shows one.
fn read_headers(path: &Path) -> Result<HeaderMap, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--headers: {} cannot be read: {error}", path.display()))?;
    let mut headers = HeaderMap::new();
    for (nth, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = || format!("--headers: line {} of {} is not `Name: value`", nth + 1, path.display());
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
