//! `Signer`: the account at one server as its connections use it, and what must not be shown because of it.

use std::sync::Arc;

use arc_swap::ArcSwap;
use oauth::{AccessToken, AuthError, Session};

/// Tokens that are still masked after newer ones have taken their place: a server may speak of one that it was sent
/// a while ago, and calls that were sent at the same time carried the same one.
const TOKENS_MASKED_MAX: usize = 4;

/// The account at one server. One for all connections to it.
pub(crate) struct Signer {
    upstream: Arc<str>,
    account: Arc<Session>,
    /// What was sent, the latest first.
    sent: ArcSwap<Vec<AccessToken>>,
}

impl Signer {
    /// For the upstream `name`, which uses `account`.
    pub(crate) fn new(name: Arc<str>, account: Arc<Session>) -> Arc<Signer> {
        Arc::new(Signer { upstream: name, account, sent: ArcSwap::default() })
    }

    pub(crate) fn account(&self) -> &Arc<Session> {
        &self.account
    }

    /// The token to send, if there is one.
    pub(crate) async fn bearer(&self) -> Result<Option<AccessToken>, AuthError> {
        match self.account.access_token().await {
            Ok(bearer) => Ok(bearer.inspect(|bearer| self.note(bearer))),
            // Most servers want no token, and are not to suffer from a disk that is full. One that does says so.
            Err(AuthError::Keep(error)) => {
                tracing::debug!(target: "upstream", upstream = %self.upstream, %error, "no token is sent");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A better token than `used`, which the server has refused with `status` and these `WWW-Authenticate` values.
    pub(crate) async fn refused(
        &self,
        status: u16,
        challenges: &[&str],
        used: Option<&AccessToken>,
    ) -> Result<AccessToken, AuthError> {
        let bearer = self.account.refused(status, challenges, used).await?;
        self.note(&bearer);
        Ok(bearer)
    }

    /// The tokens that are or were in use.
    pub(crate) fn sent(&self) -> Arc<Vec<AccessToken>> {
        self.sent.load_full()
    }

    fn note(&self, bearer: &AccessToken) {
        let is = |known: &AccessToken| known.secret() == bearer.secret();
        if self.sent.load().first().is_some_and(is) {
            return;
        }
        self.sent.rcu(|sent| {
            let others = sent.iter().filter(|known| !is(known)).cloned();
            std::iter::once(bearer.clone()).chain(others).take(TOKENS_MASKED_MAX).collect::<Vec<_>>()
        });
    }
}
