//! What somebody is told whom we do not know: what is missing, and where to sign in.

use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};

use super::answer::{self, Answer};
use super::cors;
use super::problem::Problem;
use crate::identity::{Identity, Unknown};

/// Where clients look for what they must know before they can sign in.
pub(super) const WELL_KNOWN: &str = "/.well-known/";

/// When to try again what could not be found out, in seconds.
const TRY_AGAIN_S: u64 = 5;

/// The answer to somebody unknown, who wants the workspace of the name `named`, or none that has one.
pub(super) fn refuse(
    identity: &Identity,
    unknown: &Unknown,
    named: Option<&str>,
    headers: &HeaderMap,
) -> Answer {
    let (status, why, wait_s) = match unknown {
        Unknown::Nobody(why) | Unknown::Invalid(why) | Unknown::Expired(why) => {
            (StatusCode::UNAUTHORIZED, format!("unauthorized: {why}"), None)
        }
        Unknown::Malformed(why) => (StatusCode::BAD_REQUEST, format!("bad request: {why}"), None),
        Unknown::TooLittle { needed } => {
            let needed = needed.join(", ");
            let why = format!("forbidden: the token lacks scopes; sign in again with {needed}");
            (StatusCode::FORBIDDEN, why, None)
        }
        Unknown::Unavailable(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("unavailable: {why}"), Some(TRY_AGAIN_S))
        }
        Unknown::TooMany { retry_after } => {
            let why = "too many wrong keys or tokens have come from this address; wait a moment".to_owned();
            (StatusCode::TOO_MANY_REQUESTS, why, Some(retry_after.as_secs().max(1)))
        }
    };
    tracing::debug!(status = status.as_u16(), "somebody unknown was refused: {why}");
    let problem = Problem::new(status, why);
    let mut answer = match wait_s {
        Some(wait_s) => problem.after(wait_s.saturating_mul(1_000)).answer(),
        None => problem.answer(),
    };
    let challenge =
        identity.challenge(unknown, named, headers).and_then(|said| HeaderValue::try_from(said).ok());
    if let Some(challenge) = challenge {
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    answer
}

/// The methods of what is only read.
const READS: &str = "GET, HEAD, OPTIONS";

/// Answers a client that looks for where to sign in.
pub(super) fn well_known(
    identity: &Identity,
    path: &str,
    method: &Method,
    headers: &HeaderMap,
    is_page: bool,
) -> Answer {
    let Some(metadata) = identity.metadata(path, headers) else { return answer::nothing_here() };
    match *method {
        Method::OPTIONS => cors::preflight(headers, is_page, READS),
        Method::GET | Method::HEAD => {
            let mut answer = answer::json(StatusCode::OK, metadata);
            answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
            answer
        }
        _ => answer::not_allowed(READS),
    }
}
