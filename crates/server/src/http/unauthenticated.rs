//! What somebody is told whom we do not know: what is missing, and where to sign in.

use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};

use super::answer::{self, Answer};
use super::cors;
use crate::identity::{Identity, Unknown};

/// Where clients look for what they must know before they can sign in.
pub(super) const WELL_KNOWN: &str = "/.well-known/";

/// When to try again what could not be found out, in seconds.
const TRY_AGAIN_S: u64 = 5;

/// The answer to somebody unknown.
pub(super) fn refuse(identity: &Identity, unknown: &Unknown, headers: &HeaderMap) -> Answer {
    let (status, why) = match unknown {
        Unknown::Nobody(why) => (StatusCode::UNAUTHORIZED, format!("unauthorized: {why}\n")),
        Unknown::Invalid(why) | Unknown::Expired(why) => {
            (StatusCode::UNAUTHORIZED, format!("unauthorized: {why}\n"))
        }
        Unknown::Malformed(why) => (StatusCode::BAD_REQUEST, format!("bad request: {why}\n")),
        Unknown::TooLittle { needed } => {
            let needed = needed.join(", ");
            (
                StatusCode::FORBIDDEN,
                format!("forbidden: the token lacks scopes; sign in again with {needed}\n"),
            )
        }
        Unknown::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("unavailable: {why}\n")),
        Unknown::TooMany { .. } => {
            let why = "too many wrong keys or tokens have come from this address; wait a moment\n";
            (StatusCode::TOO_MANY_REQUESTS, why.to_owned())
        }
    };
    tracing::debug!(status = status.as_u16(), "somebody unknown was refused: {}", why.trim_end());
    let mut answer = answer::text(status, why);
    let wait_s = match unknown {
        Unknown::TooMany { retry_after } => Some(retry_after.as_secs().max(1)),
        Unknown::Unavailable(_) => Some(TRY_AGAIN_S),
        Unknown::Nobody(_)
        | Unknown::Invalid(_)
        | Unknown::Expired(_)
        | Unknown::Malformed(_)
        | Unknown::TooLittle { .. } => None,
    };
    if let Some(wait_s) = wait_s {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait_s));
    }
    let challenge = identity.challenge(unknown, headers).and_then(|said| HeaderValue::try_from(said).ok());
    if let Some(challenge) = challenge {
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    answer
}

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
        Method::OPTIONS => cors::preflight(headers, is_page),
        Method::GET | Method::HEAD => {
            let mut answer = answer::json(StatusCode::OK, metadata);
            answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
            answer
        }
        _ => answer::not_allowed("GET, OPTIONS"),
    }
}
