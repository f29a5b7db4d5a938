//! The forms that we write ourselves, with the proof of the client in them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};

use super::proof::Proof;
use crate::error::Failure;
use crate::fetch::{self, Answer, Fetch};
use crate::secret::Secret;

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
        Proof::Assertion(assertion) => fields.extend(assertion_fields(assertion)),
        // Both are encoded before they are joined, so that a colon in either does no harm (RFC 6749, 2.3.1).
        Proof::Header(secret) => {
            let pair = format!("{}:{}", fetch::escaped(client_id), fetch::escaped(secret.expose()));
            let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
                .expect("base64 is fit for a header");
            value.set_sensitive(true);
            authorization = Some(value);
        }
    }
    fetch.post_form(uri, authorization, &fields).await
}

/// The assertion says which client it is.
pub(super) fn assertion_fields(assertion: &Secret) -> [(&str, &str); 2] {
    [("client_assertion_type", ASSERTION_TYPE), ("client_assertion", assertion.expose())]
}
