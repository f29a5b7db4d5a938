//! `Refusal`: what the protected server answered to a request that it refused.

use super::access_token::AccessToken;
use crate::challenge::Challenge;
use crate::record::Tokens;

/// A refusal, with the token that was refused.
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) challenge: Option<Challenge>,
    pub(super) used: Option<AccessToken>,
}

impl Refusal {
    pub(super) fn is(&self, tokens: &Tokens) -> bool {
        self.used.as_ref().is_some_and(|used| used.secret() == tokens.access)
    }

    /// The challenge, if it says that the token's scopes do not suffice.
    pub(super) fn wants_scope(&self) -> Option<&Challenge> {
        self.challenge.as_ref().filter(|challenge| challenge.error.as_deref() == Some("insufficient_scope"))
    }
}
