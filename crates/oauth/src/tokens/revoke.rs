//! Gives tokens back (RFC 7009).

use http::Uri;

use super::form::post;
use super::proof::Proof;
use crate::error::{Failure, Reason};
use crate::fetch::Fetch;
use crate::location;

/// Gives back `token`, which is a `kind` ("access_token", "refresh_token"). A server that does not know it any more
/// says the same as one that took it back.
///
/// # Errors
/// A sentence that names the server; the token may still be good.
pub(crate) async fn revoke(
    fetch: &Fetch,
    uri: &Uri,
    client_id: &str,
    proof: &Proof,
    (token, kind): (&str, &str),
) -> Result<(), Failure> {
    let fields = [("token", token), ("token_type_hint", kind)];
    let answer = post(fetch, uri, client_id, proof, &fields).await?;
    if answer.status.is_success() {
        return Ok(());
    }
    let (place, status) = (location::shown(uri), answer.status.as_u16());
    let said = format!("{place} does not take the token back (HTTP status {status})");
    Err(Failure::new(Reason::Other, said))
}
