//! Single requests to a bucket: each is signed, sent and answered within its time, or says in a sentence why not.

use std::time::Duration;

use bytes::Bytes;
use http::header::RANGE;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use sandbox::Client;
use tokio::time::timeout;
use url::Url;

use crate::error::ArtifactError;

/// How long the store may take for one answer, its body included: a part of an upload goes through at 1.5 Mbit/s.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// How long it may take to put the parts of an upload together. Amazon's own takes minutes for the largest.
const TOGETHER_MAX: Duration = Duration::from_secs(120);

/// How long a signature holds. Clocks differ, and the request may wait for a connection.
pub(crate) const SIGNED_FOR: Duration = Duration::from_secs(300);

/// The longest answer that is no content of an artifact.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How often a request is made that the store answers with a fault of its own. Stores of that size have such.
const TRIES: usize = 2;

/// The longest code of an error that is repeated.
const CODE_BYTES_MAX: usize = 64;

/// One request, signed in its address.
pub(crate) struct Asked {
    method: Method,
    url: Url,
    range: Option<(u64, u64)>,
    body: Bytes,
    time_max: Duration,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn of(method: Method, url: Url) -> Asked {
        Asked { method, url, range: None, body: Bytes::new(), time_max: ANSWER_MAX }
    }

    pub(crate) fn with(self, body: impl Into<Bytes>) -> Asked {
        Asked { body: body.into(), ..self }
    }

    /// Only the bytes from one to before another.
    pub(crate) fn part(self, from: u64, to: u64) -> Asked {
        Asked { range: Some((from, to)), ..self }
    }

    /// What takes the store longer.
    pub(crate) fn patiently(self) -> Asked {
        Asked { time_max: TOGETHER_MAX, ..self }
    }

    /// Asks, and gives any answer that is no fault of the store's.
    pub(crate) async fn by(self, client: &Client) -> Result<Answer, ArtifactError> {
        let mut tried = 1;
        loop {
            let late = |_| unavailable(format!("it has not answered within {} s", self.time_max.as_secs()));
            let answer = timeout(self.time_max, self.once(client)).await.map_err(late)??;
            if !answer.status.is_server_error() {
                return Ok(answer);
            }
            if tried == TRIES {
                return Err(answer.refused());
            }
            tried += 1;
        }
    }

    async fn once(&self, client: &Client) -> Result<Answer, ArtifactError> {
        let mut request = Request::builder().method(&self.method).uri(self.url.as_str());
        let mut bytes_max = ANSWER_BYTES_MAX;
        if let Some((from, to)) = self.range {
            request = request.header(RANGE, format!("bytes={from}-{}", to - 1));
            bytes_max += usize::try_from(to - from).unwrap_or(usize::MAX - bytes_max);
        }
        let request = request.body(Full::new(self.body.clone()));
        let request = request.map_err(|_| unavailable("its address is none that can be asked".to_owned()))?;
        let answer = client.send(request).await.map_err(|error| unavailable(error.to_string()))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, bytes_max).collect().await;
        let body =
            body.map_err(|_| unavailable("its answer broke off, or was too long".to_owned()))?.to_bytes();
        Ok(Answer { status: head.status, headers: head.headers, body })
    }
}

impl Answer {
    /// The same, if the store has done what it was asked for.
    pub(crate) fn good(self) -> Result<Answer, ArtifactError> {
        if self.status.is_success() { Ok(self) } else { Err(self.refused()) }
    }

    /// What it says, as text.
    pub(crate) fn text(&self) -> Result<&str, ArtifactError> {
        std::str::from_utf8(&self.body).map_err(|_| strange())
    }

    /// Why the store has not done it, by its own code.
    pub(crate) fn refused(&self) -> ArtifactError {
        let text = String::from_utf8_lossy(&self.body);
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        let is_code = |code: &&str| {
            code.len() <= CODE_BYTES_MAX && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let code =
            code.map(|(code, _)| code).filter(is_code).map(|code| format!(" {code}")).unwrap_or_default();
        unavailable(format!("it answers {}{code}", self.status.as_u16()))
    }
}

/// An answer that cannot be read.
pub(crate) fn strange() -> ArtifactError {
    unavailable("it answers what no such store would".to_owned())
}

/// The store cannot be used.
pub(crate) fn unavailable(why: String) -> ArtifactError {
    ArtifactError::Store { why }
}
