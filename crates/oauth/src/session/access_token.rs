//! `AccessToken`: a token, ready to be sent.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;

use crate::error::{Failure, Reason};
use crate::record::Tokens;
use crate::secret::Secret;

/// A token is renewed so long before it ends, that a call does not set out with one that ends on the way.
const RENEW_BEFORE_SECONDS: u64 = 30;

/// A token, ready to be sent. Clones share it; `Debug` shows nothing of it.
#[derive(Clone)]
pub struct AccessToken(pub(super) Arc<Held>);

/// What the session holds of it.
pub(super) struct Held {
    header: HeaderValue,
    token: Secret,
    /// Until when it is sent without another thought, in seconds since 1970.
    pub(super) fresh_until: u64,
}

impl AccessToken {
    pub(super) fn of(tokens: &Tokens) -> Result<AccessToken, Failure> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", tokens.access))
            .map_err(|_| Failure::new(Reason::Other, "the token cannot be sent in a header"))?;
        header.set_sensitive(true);
        let token = Secret::new(tokens.access.as_str());
        Ok(AccessToken(Arc::new(Held { header, token, fresh_until: fresh_until(tokens) })))
    }

    /// The same, but with another look at it at `time`.
    pub(super) fn until(self, time: u64) -> AccessToken {
        let Held { header, token, .. } = &*self.0;
        AccessToken(Arc::new(Held { header: header.clone(), token: token.clone(), fresh_until: time }))
    }

    /// The value of the `Authorization` header, marked as sensitive.
    pub fn header(&self) -> &HeaderValue {
        &self.0.header
    }

    /// The token alone, to mask it where it might be shown.
    pub fn secret(&self) -> &str {
        self.0.token.expose()
    }
}

/// When a token is due to be renewed. One that is good for a short time is used for half of it, and for a second at
/// least, or every call would ask for another one.
pub(super) fn fresh_until(tokens: &Tokens) -> u64 {
    let Some(end) = tokens.expires_at else {
        return u64::MAX;
    };
    if !tokens.renews() {
        return end;
    }
    let lifetime = end.saturating_sub(tokens.issued_at);
    let margin = RENEW_BEFORE_SECONDS.min(lifetime / 2);
    end.saturating_sub(margin).max(tokens.issued_at.saturating_add(1))
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer ***")
    }
}
