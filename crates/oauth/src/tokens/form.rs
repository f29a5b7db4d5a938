//! The forms that are sent, with the proof of the client in them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::byte_serialize;
use http::{HeaderValue, Uri};

use super::proof::Proof;
use crate::error::Failure;
use crate::fetch::{Answer, Fetch};

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
