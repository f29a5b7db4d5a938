//! Looks for a metadata document at several addresses.

use http::Uri;
use serde_json::{Map, Value};

use crate::error::{Failure, Reason};
use crate::fetch::Fetch;
use crate::location;

/// What came of a search.
pub(super) enum Found<T> {
    /// It was found.
    It(Box<T>),
    /// There is none.
    Nothing {
        /// What was answered, address by address, as one sentence.
        answers: Failure,
        /// Whether all answers were plain refusals (400 to 499), by which a server says that it has no such thing.
        is_absent: bool,
    },
}

/// A metadata document.
pub(super) struct Lying {
    /// Where it lies.
    pub(super) address: Uri,
    /// What it says.
    pub(super) object: Map<String, Value>,
}

/// Asks the addresses one after the other, until one has a JSON object.
///
/// # Errors
/// A server could not be reached at all.
pub(super) async fn first(fetch: &Fetch, addresses: &[Uri]) -> Result<Found<Lying>, Failure> {
    let mut answers = Vec::new();
    let mut reason = Reason::Other;
    let mut is_absent = true;
    for address in addresses {
        let answer = fetch.get(address).await?;
        let what = if answer.status.is_client_error() {
            format!("answered {}", answer.status.as_u16())
        } else {
            is_absent = false;
            match answer.object() {
                Ok(object) if answer.status.is_success() => {
                    return Ok(Found::It(Box::new(Lying { address: address.clone(), object })));
                }
                Ok(_) => format!("answered {}", answer.status.as_u16()),
                Err(instead) => {
                    reason = reason.min(instead.reason);
                    instead.said
                }
            }
        };
        answers.push(format!("{} {what}", location::shown(address)));
    }
    Ok(Found::Nothing { answers: Failure::new(reason, answers.join(", ")), is_absent })
}
