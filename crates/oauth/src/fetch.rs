//! `Fetch`: the requests of a sign-in that are not a person's: bounded in time and size, without redirects, with
//! errors that name the host and nothing of a query.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use sandbox::Client;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::document::Document;
use crate::error::{Failure, Reason};
use crate::location;

/// More than any metadata document or token needs.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// From the request to the last byte of its answer.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Discovery asks for a handful of documents; what is fetched later is not kept.
const DOCUMENTS_MAX: usize = 32;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// Sends the requests of a sign-in.
#[derive(Debug)]
pub(crate) struct Fetch {
    client: Client,
    documents: Mutex<Vec<Document>>,
}

/// A whole answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its body, at most 64 KiB.
    pub(crate) body: Bytes,
    is_html: bool,
}

impl Answer {
    /// The JSON object that the body is, whatever the status.
    ///
    /// # Errors
    /// What was answered instead, as the end of a sentence: "answered with HTML".
    pub(crate) fn object(&self) -> Result<Map<String, Value>, Failure> {
        let instead = match serde_json::from_slice(&self.body) {
            _ if self.status.is_redirection() => {
                let words =
                    format!("answered {} with a redirect, which is not followed", self.status.as_u16());
                return Err(Failure::new(Reason::Redirects, words));
            }
            Ok(Value::Object(object)) => return Ok(object),
            Ok(_) => "JSON that is not an object",
            Err(_) if self.is_html => "HTML",
            Err(_) if self.body.is_empty() => "nothing",
            Err(_) => "something that is not JSON",
        };
        // A server in trouble shows a page of somebody before it, and may do better later.
        let reason = if self.status.is_server_error() { Reason::Other } else { Reason::NotJson };
        Err(Failure::new(reason, format!("answered {} with {instead}", self.status.as_u16())))
    }
}

impl Fetch {
    /// Sends through `client`.
    pub(crate) fn new(client: Client) -> Fetch {
        Fetch { client, documents: Mutex::default() }
    }

    /// Gets a metadata document, and remembers it for [`Fetch::documents`].
    ///
    /// # Errors
    /// A sentence: no answer, or one that is too large or takes too long.
    pub(crate) async fn get(&self, uri: &Uri) -> Result<Answer, Failure> {
        let request = Request::get(uri).header(ACCEPT, JSON).body(Vec::new()).expect("made of sound parts");
        let outcome = self.answer(request).await;
        let (status, body) = match &outcome {
            Ok(answer) => (Ok(answer.status.as_u16()), String::from_utf8_lossy(&answer.body).into_owned()),
            Err(error) => (Err(error.to_string()), String::new()),
        };
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if documents.len() < DOCUMENTS_MAX {
            documents.push(Document { url: uri.to_string(), status, body });
        }
        outcome
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// As for [`Fetch::get`].
    pub(crate) async fn post_json(&self, uri: &Uri, body: &Value) -> Result<Answer, Failure> {
        self.post(uri, JSON, None, body.to_string().into_bytes()).await
    }

    /// Posts a form, with `authorization` as the header of that name.
    ///
    /// # Errors
    /// As for [`Fetch::get`].
    pub(crate) async fn post_form(
        &self,
        uri: &Uri,
        authorization: Option<HeaderValue>,
        fields: &[(&str, &str)],
    ) -> Result<Answer, Failure> {
        let form = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.post(uri, FORM, authorization, form.into_bytes()).await
    }

    async fn post(
        &self,
        uri: &Uri,
        content_type: HeaderValue,
        authorization: Option<HeaderValue>,
        body: Vec<u8>,
    ) -> Result<Answer, Failure> {
        let mut request = Request::post(uri)
            .header(ACCEPT, JSON)
            .header(CONTENT_TYPE, content_type)
            .body(body)
            .expect("made of sound parts");
        if let Some(value) = authorization {
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        self.answer(request).await
    }

    /// What was asked for with [`Fetch::get`], in this order.
    pub(crate) fn documents(&self) -> Vec<Document> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn answer(&self, request: Request<Vec<u8>>) -> Result<Answer, Failure> {
        let shown = location::shown(request.uri());
        timeout(TIME_MAX, self.whole(request, &shown)).await.unwrap_or_else(|_| {
            let words = format!("{shown} did not answer within {TIME_MAX:?}");
            Err(Failure::new(Reason::Unreachable, words))
        })
    }

    async fn whole(&self, request: Request<Vec<u8>>, shown: &str) -> Result<Answer, Failure> {
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let (head, body) = self.client.send(request).await?.into_parts();
        let body = Limited::new(body, BODY_BYTES_MAX).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                let kib = BODY_BYTES_MAX / 1024;
                Failure::new(Reason::Other, format!("the answer of {shown} is larger than {kib} KiB"))
            } else {
                Failure::new(Reason::Unreachable, format!("the answer of {shown} broke off"))
            }
        })?;
        let body = body.to_bytes();
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_html = content_type.is_some_and(|value| value.to_ascii_lowercase().contains("html"))
            || body.trim_ascii_start().first() == Some(&b'<');
        Ok(Answer { status: head.status, body, is_html })
    }
}

#[cfg(test)]
mod tests;
