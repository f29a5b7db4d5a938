//! Accounts against a small authorisation server on loopback, at a time that the test sets.

mod authority;
mod machines;
mod people;
mod refusals;
mod renewals;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use authority::Authority;

use super::{AccessToken, Clock, Session, Status};
use crate::error::AuthError;
use crate::fixtures::InMemory;
use crate::settings::Settings;
use crate::token_store::TokenStore;

/// Some moment of 2033.
const START: u64 = 2_000_000_000;

/// A server, and sessions there that share a token store and a clock, as those of several processes do.
struct World {
    authority: Authority,
    token_store: Arc<InMemory>,
    now: Arc<AtomicU64>,
}

impl World {
    async fn new() -> World {
        World {
            authority: Authority::start().await,
            token_store: Arc::default(),
            now: Arc::new(AtomicU64::new(START)),
        }
    }

    /// A session of another process.
    fn session(&self, settings: Settings) -> Arc<Session> {
        self.account_at(Arc::clone(&self.token_store) as Arc<dyn TokenStore>, settings)
    }

    fn account_at(&self, token_store: Arc<dyn TokenStore>, settings: Settings) -> Arc<Session> {
        let (clock, resource) = (Clock::Set(Arc::clone(&self.now)), self.authority.resource());
        Session::by(clock, "the server", &resource, settings, sandbox::Client::new(), token_store)
    }

    fn pass(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Signs in as a person would.
    async fn sign_in(&self, session: &Arc<Session>) {
        let sign_in = session.begin().await.unwrap();
        let callback = self.authority.consent(sign_in.url());
        sign_in.finish(&callback).await.unwrap();
    }

    async fn refuse(
        &self,
        session: &Session,
        used: Option<&AccessToken>,
        more: &str,
    ) -> Result<AccessToken, AuthError> {
        session.refused(401, &[&self.authority.challenge(more)], used).await
    }

    async fn refuse_scope(
        &self,
        session: &Session,
        used: &AccessToken,
        scope: &str,
    ) -> Result<AccessToken, AuthError> {
        let more = format!(", error=\"insufficient_scope\", scope=\"{scope}\"");
        session.refused(403, &[&self.authority.challenge(&more)], Some(used)).await
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

/// The token that a session would send now.
async fn token(session: &Session) -> String {
    match session.access_token().await {
        Ok(Some(access_token)) => {
            assert_eq!(access_token.header(), &format!("Bearer {}", access_token.secret()));
            assert!(access_token.header().is_sensitive());
            access_token.secret().to_owned()
        }
        Ok(None) => "none".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn another_address_is_another_account() {
    let key = |uri: &str| Session::key("name", &uri.parse().unwrap());
    assert_eq!(key("https://a.example/mcp"), "oauth/name/42c16f3bfd38746a");
    assert_ne!(key("https://a.example/mcp"), key("https://a.example/mcp2"));
}
