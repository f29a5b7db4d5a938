//! Gets tokens without a person: renews them, or gets them for a machine. Whoever needs one waits for the one request
//! that is under way, in this process or another.

use std::sync::Arc;

use super::access_token::fresh_until;
use super::work::{LOOK_SECONDS, Missing, Work};
use super::{AccessToken, Session};
use crate::error::{AuthError, Failure, Reason};
use crate::fetch::Fetch;
use crate::location;
use crate::metadata::{Discovered, discover};
use crate::record::{Client, Record, Tokens};
use crate::secret::Secret;
use crate::settings::{Grant, IdentityProvider};
use crate::tokens::{Endpoint, Granted, Proof};

impl Session {
    /// A token that is not at hand at once: another process's, a renewed one, or none.
    pub(super) async fn renewed(&self) -> Result<Option<AccessToken>, AuthError> {
        let mut work = self.work.lock().await;
        let now = self.clock.now();
        if let Some(access_token) = self.at_hand(now) {
            return Ok(Some(access_token));
        }
        let missing = self.missing.load_full();
        if missing.holds(now) {
            return missing.error.clone().map_or(Ok(None), Err);
        }
        let outcome = self.look(&mut work, now).await;
        if !matches!(outcome, Ok(Some(_))) {
            self.held.store(None);
            let until = self.clock.now() + LOOK_SECONDS;
            let missing = Missing { error: outcome.as_ref().err().cloned(), until };
            self.missing.store(Arc::new(missing));
        }
        outcome
    }

    async fn look(&self, work: &mut Work, now: u64) -> Result<Option<AccessToken>, AuthError> {
        let record = self.load().await?;
        let Some(tokens) = self.usable(&record, work) else {
            return Ok(None);
        };
        if now < fresh_until(tokens) {
            return self.hold(tokens).map(Some);
        }
        let outcome = match work.failed_lately(now) {
            Ok(()) => {
                let outcome = self.renew(work, tokens).await;
                work.note(&outcome, self.clock.now());
                outcome
            }
            Err(error) => Err(error),
        };
        match (outcome, tokens.expires_at) {
            (Err(error @ (AuthError::Failed(_) | AuthError::Keep(_))), Some(end)) if now < end => {
                tracing::warn!(server = %self.name, %error, "the token is still good but could not be renewed");
                let again = work.paused_until().unwrap_or(end).clamp(now + 1, end);
                let access_token = AccessToken::of(tokens)?.until(again);
                self.held.store(Some(Arc::clone(&access_token.0)));
                Ok(Some(access_token))
            }
            (outcome, _) => outcome.map(Some),
        }
    }

    /// Tokens of ours that the server has not refused.
    pub(super) fn usable<'a>(&self, record: &'a Record, work: &Work) -> Option<&'a Tokens> {
        let refused = work.refused.as_deref();
        self.ours(record).filter(|tokens| refused.is_none_or(|refused| refused != tokens.fingerprint()))
    }

    /// A new token in place of `old`, or why a person has to sign in.
    pub(super) async fn renew(&self, work: &mut Work, old: &Tokens) -> Result<AccessToken, AuthError> {
        if !self.is_machine() && old.refresh.is_none() {
            return Err(expired());
        }
        let mut discovered = self.discovered(work, false).await?;
        if discovered.server.issuer != old.issuer {
            // Another process may have signed in at another server since.
            discovered = self.discovered(work, true).await?;
        }
        if discovered.server.issuer != old.issuer {
            self.forget_tokens(old).await?;
            if !self.is_machine() {
                return Err(moved());
            }
        }
        if !self.is_machine() {
            return self.refresh(&discovered, old).await;
        }
        let scope = self.wanted(work, &discovered, old.asked.as_deref());
        self.obtain(&discovered, Some(old), scope).await
    }

    /// A token in place of `old`, which has ended or was refused.
    pub(super) async fn refresh(&self, at: &Discovered, old: &Tokens) -> Result<AccessToken, AuthError> {
        match self.acquire(&|record| self.newer(record, Some(old))).await? {
            Ok(tokens) => self.hold(&tokens),
            Err(lease) => self.under(lease, self.refresh_kept(at)).await,
        }
    }

    /// Renews what is kept by the time the lease is ours. What was read before may have been renewed since, and that
    /// have ended, too: to send a refresh token twice is to lose the sign-in.
    async fn refresh_kept(&self, at: &Discovered) -> Result<AccessToken, AuthError> {
        let record = self.load().await?;
        let Some(tokens) = self.ours(&record) else {
            return Err(AuthError::needs_sign_in("somebody has signed out, sign in again"));
        };
        let Some(refresh) = &tokens.refresh else { return Err(expired()) };
        if tokens.issuer != at.server.issuer {
            let why = "somebody has just signed in at another server; try again";
            return Err(AuthError::failed(Reason::Other, why));
        }
        self.trust(&at.server).await?;
        self.ask_refresh(at, tokens, refresh).await
    }

    async fn ask_refresh(
        &self,
        at: &Discovered,
        old: &Tokens,
        refresh: &str,
    ) -> Result<AccessToken, AuthError> {
        let resource = self.resource(at);
        let outcome = match self.endpoint(at, &old.client, &resource).await {
            Ok(endpoint) => endpoint.refresh(&Secret::new(refresh)).await,
            Err(failure) => Err(failure),
        };
        match outcome {
            Ok(granted) => {
                let mut new = self.tokens(at, &old.client, old.asked.clone(), granted);
                // Both stay as they are unless the server says otherwise (RFC 6749, 6).
                new.refresh = new.refresh.or_else(|| old.refresh.clone());
                new.scope = new.scope.or_else(|| old.scope.clone());
                self.settle(Some(old), new).await
            }
            Err(why) if why.reason == Reason::GrantRefused => {
                self.forget_tokens(old).await?;
                Err(AuthError::needs_sign_in(format!("the sign-in has ended, sign in again: {why}")))
            }
            Err(why) if why.reason == Reason::ClientRefused && self.settings.client.is_none() => {
                self.forget_tokens(old).await?;
                self.forget_registration(&old.client.id).await?;
                Err(AuthError::needs_sign_in(format!("sign in again: {why}")))
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Gets a token for a machine; `old` is the one that it stands in place of.
    pub(super) async fn obtain(
        &self,
        at: &Discovered,
        old: Option<&Tokens>,
        scope: Option<String>,
    ) -> Result<AccessToken, AuthError> {
        match self.acquire(&|record| self.newer(record, old)).await? {
            Ok(tokens) => self.hold(&tokens),
            Err(lease) => self.under(lease, self.obtain_new(at, old, scope)).await,
        }
    }

    async fn obtain_new(
        &self,
        at: &Discovered,
        old: Option<&Tokens>,
        scope: Option<String>,
    ) -> Result<AccessToken, AuthError> {
        self.trust(&at.server).await?;
        let (client, granted) = self.ask_machine(at, scope.as_deref()).await?;
        self.settle(old, self.tokens(at, &client, scope, granted)).await
    }

    async fn ask_machine(&self, at: &Discovered, scope: Option<&str>) -> Result<(Client, Granted), Failure> {
        let Some(client) = self.configured(&at.server) else {
            let said = format!("signing in by {} needs a client (\"client_id\")", self.grant());
            return Err(Failure::new(Reason::Settings, said));
        };
        let resource = self.resource(at);
        let endpoint = self.endpoint(at, &client, &resource).await?;
        let granted = match &self.settings.grant {
            Grant::Enterprise(provider) => {
                let assertion = self.introduced(provider, at, &resource, scope).await?;
                endpoint.assertion(&assertion, scope).await
            }
            Grant::ClientCredentials | Grant::AuthorizationCode => endpoint.client_credentials(scope).await,
        }?;
        Ok((client, granted))
    }

    /// The identity provider's word for the person, to the authorisation server.
    async fn introduced(
        &self,
        provider: &IdentityProvider,
        at: &Discovered,
        resource: &str,
        scope: Option<&str>,
    ) -> Result<Secret, Failure> {
        let uri =
            location::endpoint("the identity provider's token endpoint", &provider.token_url.to_string())?;
        // A person has configured this address, so it may be a private one.
        let endpoint = Endpoint {
            fetch: Fetch::new(self.client.clone()),
            uri: &uri,
            client_id: &provider.client.id,
            proof: Proof::to_provider(&provider.client, &uri, self.clock.now())?,
            resource,
        };
        endpoint.exchange(&provider.id_token, &at.server.issuer, scope).await
    }

    pub(super) async fn endpoint<'a>(
        &'a self,
        at: &'a Discovered,
        client: &'a Client,
        resource: &'a str,
    ) -> Result<Endpoint<'a>, Failure> {
        Ok(Endpoint {
            fetch: self.fetch().await,
            uri: &at.server.token_endpoint,
            client_id: &client.id,
            proof: self.proof(&at.server, client)?,
            resource,
        })
    }

    /// Who issues tokens: as remembered, unless it is to be asked for `anew`.
    pub(super) async fn discovered(&self, work: &mut Work, anew: bool) -> Result<Arc<Discovered>, AuthError> {
        let now = self.clock.now();
        if let Some(discovered) = work.discovered(now).filter(|_| !anew) {
            return Ok(discovered);
        }
        if work.challenge.is_none() {
            work.challenge = self.load().await?.wanted;
        }
        let issuer = self.settings.issuer.as_ref();
        let found = discover(&self.fetch().await, &self.resource, work.challenge.as_ref(), issuer).await?;
        let found = Arc::new(found);
        work.discover(&found, now);
        Ok(found)
    }

    /// What another process has got in place of `old`.
    pub(super) fn newer(&self, record: &Record, old: Option<&Tokens>) -> Option<Tokens> {
        let tokens = self.ours(record)?;
        let is_other = old.is_none_or(|old| !tokens.is(old));
        (is_other && self.clock.now() < fresh_until(tokens)).then(|| tokens.clone())
    }

    pub(super) fn tokens(
        &self,
        at: &Discovered,
        client: &Client,
        asked: Option<String>,
        granted: Granted,
    ) -> Tokens {
        let now = self.clock.now();
        Tokens {
            issuer: at.server.issuer.clone(),
            client: client.clone(),
            grant: self.grant().to_owned(),
            access: granted.access.expose().to_owned(),
            refresh: granted.refresh.map(|token| token.expose().to_owned()),
            expires_at: granted.expires_in.map(|seconds| now.saturating_add(seconds)),
            issued_at: now,
            scope: granted.scope.or_else(|| asked.clone()),
            asked,
        }
    }

    /// Keeps a new token, unless somebody has signed in anew meanwhile, and holds what is then kept. If it cannot be
    /// kept it is used all the same: the one that it replaces may be worth nothing any more.
    async fn settle(&self, old: Option<&Tokens>, new: Tokens) -> Result<AccessToken, AuthError> {
        let kept = self
            .update(&|record| {
                let is_replaced = match old {
                    Some(old) => record.tokens.as_ref().is_none_or(|kept| kept.is(old)),
                    None => self.newer(record, None).is_none(),
                };
                if is_replaced {
                    record.tokens = Some(new.clone());
                }
            })
            .await;
        match kept {
            Ok(record) => self.hold(self.ours(&record).unwrap_or(&new)),
            Err(error) => {
                tracing::warn!(server = %self.name, %error, "a token is used but could not be kept");
                self.hold(&new)
            }
        }
    }

    /// Forgets `old`, and nothing that has come in its place.
    pub(super) async fn forget_tokens(&self, old: &Tokens) -> Result<(), AuthError> {
        self.drop_held();
        self.update(&|record| {
            if record.tokens.as_ref().is_some_and(|kept| kept.is(old)) {
                record.tokens = None;
            }
        })
        .await
        .map(|_| ())
    }

    /// Forgets the registration of a client that its server does not know any more.
    pub(super) async fn forget_registration(&self, client_id: &str) -> Result<(), AuthError> {
        self.update(&|record| {
            if record.registration.as_ref().is_some_and(|kept| kept.client.id == client_id) {
                record.registration = None;
            }
        })
        .await
        .map(|_| ())
    }
}

fn expired() -> AuthError {
    AuthError::needs_sign_in("the sign-in has expired, sign in again")
}

pub(super) fn moved() -> AuthError {
    AuthError::needs_sign_in("other servers issue its tokens now, sign in again")
}
