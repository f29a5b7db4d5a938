//! The forms that are sent, with the proof of the client in them; and giving tokens back by one (RFC 7009).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::byte_serialize;
use http::{HeaderValue, Uri};

use super::proof::Proof;
use crate::error::{Failure, Reason};
use crate::fetch::{Answer, Fetch};
use crate::location;

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Sends a form as a client that proves to be it.
pub(super) async fn post(
    fetch: &Fetch,
    uri: &Uri,
    client_id: &str,
    proof: &Proof,
    fields: &[(&str, &str)],
) -> Result<Answer, Failure> {
    let mut fields = fields.to_vec();
    let mut authorization = None;
    match proof {
        Proof::Public => fields.push(("client_id", client_id)),
        Proof::Body(secret) => fields.extend([("client_id", client_id), ("client_secret", secret.expose())]),
        // It says which client it is.
        Proof::Assertion(assertion) => fields
            .extend([("client_assertion_type", ASSERTION_TYPE), ("client_assertion", assertion.expose())]),
        // Both are encoded before they are joined, so that a colon in either does no harm (RFC 6749, 2.3.1).
        Proof::Header(secret) => {
            let pair = [client_id, secret.expose()]
                .map(|text| byte_serialize(text.as_bytes()).collect::<String>())
                .join(":");
            let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
                .expect("base64 is fit for a header");
            value.set_sensitive(true);
            authorization = Some(value);
        }
    }
    fetch.post_form(uri, authorization, &fields).await
}

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
