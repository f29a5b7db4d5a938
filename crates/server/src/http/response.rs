//! What every answer is made of.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::events::Events;

/// An answer of this endpoint: whole, or events as they come.
pub(super) type Answer = Response<Either<Full<Bytes>, Events>>;

/// Bytes of this media type.
pub(super) fn whole(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(bytes.into())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
