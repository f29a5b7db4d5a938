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

/// Asks the addresses one after the other, until one has a JSON object, which `parse` is given with
/// the words for it ("the metadata at …").
///
/// # Errors
/// A server could not be reached at all, or those of `parse`.
pub(super) async fn first<T>(
    fetch: &Fetch,
    addresses: &[Uri],
    parse: impl Fn(&str, &Map<String, Value>) -> Result<T, Failure>,
) -> Result<Found<T>, Failure> {
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
                    let of = format!("the metadata at {}", location::shown(address));
                    return Ok(Found::It(Box::new(parse(&of, &object)?)));
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
