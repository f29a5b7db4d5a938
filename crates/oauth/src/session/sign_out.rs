//! Signs out, and tells whether anybody is signed in.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::clock::time_at;
use super::work::Work;
use super::{Session, Status};
use crate::error::AuthError;
use crate::record::{Record, Tokens};
use crate::token_store::TokenStore;
use crate::tokens::revoke;

/// Discovery and two requests, or more of them if there is more to give back; a person waits for it.
const REVOKE_TIME_MAX: Duration = Duration::from_secs(15);

impl Session {
    /// Gives back the tokens where the server takes them back, and forgets them; false if there were none. The
    /// registration stays, so that the next sign-in needs no new one. What is kept of the same name at other addresses,
    /// or cannot be read, is forgotten altogether.
    ///
    /// # Errors
    /// Only if nothing can be kept or removed: a server that does not take the tokens back is logged.
    pub async fn sign_out(&self) -> Result<bool, AuthError> {
        let mut work = self.work.lock().await;
        // Whoever renews the token just now would otherwise keep one that is worth nothing.
        let lease = self.acquire_alone().await?;
        self.under(lease, self.leave(&mut work)).await
    }

    async fn leave(&self, work: &mut Work) -> Result<bool, AuthError> {
        let until = Instant::now() + REVOKE_TIME_MAX;
        let elsewhere = self.leave_elsewhere(work, until).await?;
        let Ok(record) = self.load().await else {
            tracing::warn!(server = %self.name, "what was kept cannot be read; it is forgotten but was not taken back");
            let was_there = self.token_store.remove(&self.key).await?;
            self.drop_held();
            work.start_over();
            return Ok(was_there || elsewhere);
        };
        self.try_to_give_back(work, &record, until).await;
        self.update(&|record| {
            *record = Record { registration: record.registration.take(), ..Record::default() };
        })
        .await?;
        self.drop_held();
        work.start_over();
        Ok(record.tokens.is_some() || elsewhere)
    }

    /// Forgets what is kept of this name at the addresses that it had before; true if there was anything.
    async fn leave_elsewhere(&self, work: &mut Work, until: Instant) -> Result<bool, AuthError> {
        let mut was_there = false;
        for key in self.token_store.keys(&Session::prefix(&self.name)).await? {
            if *key != *self.key {
                if let Ok(Some(kept)) = self.token_store.load(&key).await {
                    self.try_to_give_back(work, &Record::read(&kept.record), until).await;
                }
                was_there |= self.token_store.remove(&key).await?;
            }
        }
        Ok(was_there)
    }

    async fn try_to_give_back(&self, work: &mut Work, record: &Record, until: Instant) {
        if let Some(tokens) = &record.tokens {
            match timeout_at(until, self.give_back(work, tokens)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(server = %self.name, %error, "the tokens are forgotten but were not taken back");
                }
                Err(_) => {
                    tracing::warn!(server = %self.name, "the tokens are forgotten but were not taken back in time");
                }
            }
        }
    }

    /// The refresh token first: with it most servers take back all that came from it.
    async fn give_back(&self, work: &mut Work, tokens: &Tokens) -> Result<(), AuthError> {
        let discovered = self.discovered(work, false).await?;
        let server = &discovered.server;
        let Some(uri) = server.revocation_endpoint.as_ref().filter(|_| server.issuer == tokens.issuer) else {
            return Ok(());
        };
        let fetch = self.fetch().await;
        let refresh = tokens.refresh.as_deref().map(|token| (token, "refresh_token"));
        for token in refresh.into_iter().chain([(tokens.access.as_str(), "access_token")]) {
            let proof = self.proof(server, &tokens.client)?;
            revoke(&fetch, uri, &tokens.client.id, &proof, token).await?;
        }
        Ok(())
    }

    /// Forgets everything that is kept, the registration too.
    ///
    /// # Errors
    /// Nothing can be removed.
    pub async fn forget(&self) -> Result<(), AuthError> {
        let mut work = self.work.lock().await;
        let lease = self.acquire_alone().await?;
        let outcome = self.under(lease, Session::forget_all(&self.name, &*self.token_store)).await;
        self.drop_held();
        *work = Work::default();
        outcome
    }

    /// Forgets everything that `token_store` keeps of the server that people call `name`, at whatever address. It is not
    /// read.
    ///
    /// # Errors
    /// Nothing can be removed.
    pub async fn forget_all(name: &str, token_store: &dyn TokenStore) -> Result<(), AuthError> {
        for key in token_store.keys(&Session::prefix(name)).await? {
            token_store.remove(&key).await?;
        }
        Ok(())
    }

    /// Whether there is a token, as the token store knows. It is not tried.
    ///
    /// # Errors
    /// What is kept cannot be read.
    pub async fn status(&self) -> Result<Status, AuthError> {
        let record = self.load().await?;
        let Some(tokens) = self.ours(&record) else {
            return Ok(Status::NotSignedIn);
        };
        Ok(Status::SignedIn {
            issuer: tokens.issuer.clone(),
            scope: tokens.scope.clone(),
            expires_at: tokens.expires_at.and_then(time_at),
            renews: tokens.renews(),
        })
    }
}
