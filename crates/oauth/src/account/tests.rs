//! Accounts against a small authorisation server on loopback, at a time that the test sets.

mod authority;
mod machines;
mod people;
mod refusals;
mod renewals;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use authority::Authority;

use super::{Account, Bearer, Clock, Status};
use crate::error::AuthError;
use crate::keeper::{InMemory, Keeper};
use crate::settings::Settings;

/// Some moment of 2033.
const START: u64 = 2_000_000_000;

/// A server, and accounts there that share a keeper and a clock, as those of several processes do.
struct World {
    authority: Authority,
    keeper: Arc<InMemory>,
    now: Arc<AtomicU64>,
}

impl World {
    async fn new() -> World {
        World {
            authority: Authority::start().await,
            keeper: Arc::default(),
            now: Arc::new(AtomicU64::new(START)),
        }
    }

    /// An account of another process.
    fn account(&self, settings: Settings) -> Arc<Account> {
        self.account_at(Arc::clone(&self.keeper) as Arc<dyn Keeper>, settings)
    }

    fn account_at(&self, keeper: Arc<dyn Keeper>, settings: Settings) -> Arc<Account> {
        let (clock, resource) = (Clock::Set(Arc::clone(&self.now)), self.authority.resource());
        Account::by(clock, "the server", &resource, settings, sandbox::Client::new(), keeper)
    }

    fn pass(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Signs in as a person would.
    async fn sign_in(&self, account: &Arc<Account>) {
        let sign_in = account.begin().await.unwrap();
        let callback = self.authority.consent(sign_in.url());
        sign_in.finish(&callback).await.unwrap();
    }

    async fn refuse(
        &self,
        account: &Account,
        used: Option<&Bearer>,
        more: &str,
    ) -> Result<Bearer, AuthError> {
        account.refused(401, &[&self.authority.challenge(more)], used).await
    }

    async fn refuse_scope(&self, account: &Account, used: &Bearer, scope: &str) -> Result<Bearer, AuthError> {
        let more = format!(", error=\"insufficient_scope\", scope=\"{scope}\"");
        account.refused(403, &[&self.authority.challenge(&more)], Some(used)).await
    }

    /// `error` with the address of the server as `HOST`.
    fn shown<T>(&self, outcome: Result<T, AuthError>) -> String {
        let Err(error) = outcome else {
            return "no error".to_owned();
        };
        let kind = match &error {
            AuthError::NeedsSignIn { .. } => "sign in".to_owned(),
            AuthError::NeedsRegistration(_) => "register".to_owned(),
            AuthError::Failed(failure) => format!("{:?}", failure.reason),
            AuthError::Keep(_) => "keep".to_owned(),
        };
        format!("{kind}: {error}").replace(&self.authority.origin, "HOST")
    }
}

/// The token that an account would send now.
async fn token(account: &Account) -> String {
    match account.bearer().await {
        Ok(Some(bearer)) => {
            assert_eq!(bearer.header(), &format!("Bearer {}", bearer.secret()));
            assert!(bearer.header().is_sensitive());
            bearer.secret().to_owned()
        }
        Ok(None) => "none".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn another_address_is_another_account() {
    let key = |uri: &str| Account::key("name", &uri.parse().unwrap());
    assert_eq!(key("https://a.example/mcp"), "oauth/name/42c16f3bfd38746a");
    assert_ne!(key("https://a.example/mcp"), key("https://a.example/mcp2"));
}
