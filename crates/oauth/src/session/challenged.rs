//! What a refusal of the protected server leads to: a better token, or a sentence about what a person must do.

use super::access_token::fresh_until;
use super::refusal::Refusal;
use super::renewal::moved;
use super::work::Work;
use super::{AccessToken, Session};
use crate::challenge::Challenge;
use crate::clean_text;
use crate::error::{AuthError, Reason};
use crate::metadata::Discovered;
use crate::record::{Record, StepUp, Tokens};
use crate::registration;
use crate::scope;

/// A token that is refused so soon after it was issued is not replaced: the next one would fare no better.
const JUST_ISSUED_SECONDS: u64 = 3;

/// So often a server may say that a token got with certain scopes lacks them, before we believe that it never has
/// enough.
const STEP_UPS_MAX: u32 = 3;

/// Refusals further back than this have nothing to do with one of today.
const STEP_UP_SECONDS_MAX: u64 = 3600;

impl Session {
    /// A token worth one more try, or why there is none.
    pub(super) async fn answer(&self, refusal: Refusal) -> Result<AccessToken, AuthError> {
        let is_about_scope = refusal.status == 403 && refusal.wants_scope().is_some();
        if refusal.status != 401 && !is_about_scope {
            let said = format!("it refuses access (HTTP status {})", refusal.status);
            return Err(AuthError::failed(Reason::Other, said));
        }
        let mut work = self.work.lock().await;
        let now = self.clock.now();
        let is_used = |token: &str| refusal.used.as_ref().is_some_and(|used| used.secret() == token);
        if let Some(access_token) = self.at_hand(now).filter(|access_token| !is_used(access_token.secret())) {
            return Ok(access_token);
        }
        let record = self.remember_challenge(&mut work, &refusal, !is_about_scope).await?;
        let other = self.usable(&record, &work).filter(|tokens| !is_used(&tokens.access));
        if let Some(tokens) = other.filter(|tokens| now < fresh_until(tokens)) {
            return self.hold(tokens);
        }
        if is_about_scope {
            return self.step_up(&mut work, &refusal, &record).await;
        }
        self.drop_held();
        work.failed_lately(now)?;
        let outcome = self.unauthorised(&mut work, &refusal, &record).await;
        work.note(&outcome, self.clock.now());
        outcome
    }

    /// Keeps what a sign-in must know, which may be the work of another process. What is not said again still holds.
    async fn remember_challenge(
        &self,
        work: &mut Work,
        refusal: &Refusal,
        is_whole: bool,
    ) -> Result<Record, AuthError> {
        let Some(challenge) = &refusal.challenge else {
            return self.load().await;
        };
        let record = self
            .update(&|record| {
                let mut wanted = record.wanted.take().unwrap_or_default();
                wanted.resource_metadata = challenge.resource_metadata.clone().or(wanted.resource_metadata);
                if is_whole {
                    wanted.scope = challenge.scope.clone().or(wanted.scope);
                }
                record.wanted = Some(wanted).filter(|wanted| *wanted != Challenge::default());
            })
            .await?;
        work.challenge.clone_from(&record.wanted);
        Ok(record)
    }

    async fn unauthorised(
        &self,
        work: &mut Work,
        refusal: &Refusal,
        record: &Record,
    ) -> Result<AccessToken, AuthError> {
        let discovered = self.discovered(work, refusal.used.is_some()).await?;
        let tokens = self.ours(record);
        let is_moved = tokens.is_some_and(|tokens| tokens.issuer != discovered.server.issuer);
        if let Some(tokens) = tokens
            && is_moved
        {
            self.forget_tokens(tokens).await?;
        }
        let is_just_issued = |tokens: &Tokens| {
            let age = self.clock.now().checked_sub(tokens.issued_at);
            refusal.is(tokens) && age.is_some_and(|age| age < JUST_ISSUED_SECONDS)
        };
        if tokens.is_some_and(|tokens| !is_moved && is_just_issued(tokens)) {
            let why = "it refuses a token that was issued a moment ago (HTTP status 401)";
            return Err(AuthError::failed(Reason::Other, why));
        }
        if self.is_machine() {
            let scope = self.wanted(work, &discovered, tokens.and_then(|tokens| tokens.asked.as_deref()));
            return self.obtain(&discovered, tokens, scope).await;
        }
        match tokens {
            _ if is_moved => Err(moved()),
            None => {
                self.may_sign_in(&discovered, record)?;
                Err(AuthError::needs_sign_in("it wants you to sign in"))
            }
            Some(tokens) => match &tokens.refresh {
                Some(_) => self.refresh(&discovered, tokens).await,
                None => self.give_up(work, refusal, tokens).await,
            },
        }
    }

    /// The token is refused and cannot be renewed. It is forgotten only if the server says that it is the token:
    /// servers in trouble refuse good ones too.
    async fn give_up(
        &self,
        work: &mut Work,
        refusal: &Refusal,
        tokens: &Tokens,
    ) -> Result<AccessToken, AuthError> {
        let error = refusal.challenge.as_ref().and_then(|challenge| challenge.error.as_deref());
        if error == Some("invalid_token") {
            self.forget_tokens(tokens).await?;
        } else {
            work.refused = Some(tokens.fingerprint());
        }
        Err(AuthError::needs_sign_in("it does not accept the sign-in any more, sign in again"))
    }

    /// Whether a person could sign in, before one is asked to.
    fn may_sign_in(&self, discovered: &Discovered, record: &Record) -> Result<(), AuthError> {
        let server = &discovered.server;
        server.sign_in_page()?;
        let is_known =
            self.configured(server).is_some() || self.registration(record, &server.issuer).is_some();
        if is_known || server.registration_endpoint.is_some() {
            return Ok(());
        }
        Err(registration::by_hand(&format!("{} does not register clients by itself", server.issuer)))
    }

    /// The token lacks scopes: gets one that has them, or says that a person must.
    async fn step_up(
        &self,
        work: &mut Work,
        refusal: &Refusal,
        record: &Record,
    ) -> Result<AccessToken, AuthError> {
        let Some(tokens) = self.ours(record) else {
            return Err(AuthError::needs_sign_in("it wants you to sign in"));
        };
        let now = self.clock.now();
        work.failed_lately(now)?;
        let discovered = self.discovered(work, false).await;
        work.note(&discovered, self.clock.now());
        let discovered = discovered?;
        let before = tokens.asked.as_deref().or(tokens.scope.as_deref());
        let configured = self.settings.scope.as_deref();
        let scope = scope::wanted(configured, refusal.wants_scope(), &discovered, before, !self.is_machine());
        let Some(scope) = scope else {
            let why = "it wants more scopes and does not say which";
            return Err(AuthError::failed(Reason::ScopesNeverEnough, why));
        };
        let refusals = self.count_refusal(&scope, tokens).await?;
        let shown = clean_text::cleaned(&scope);
        if refusals >= STEP_UPS_MAX {
            let why = format!(
                "it has refused {refusals} tokens that were asked for with the scopes it wants ({shown})"
            );
            return Err(AuthError::failed(Reason::ScopesNeverEnough, why));
        }
        if !self.is_machine() {
            let why = format!("it wants you to sign in again for more scopes ({shown})");
            return Err(AuthError::needs_sign_in(why));
        }
        let outcome = self.obtain(&discovered, Some(tokens), Some(scope)).await;
        work.note(&outcome, self.clock.now());
        outcome
    }

    /// How often tokens with `scope` were refused of late, this one included. Many calls with one token count once.
    async fn count_refusal(&self, scope: &str, tokens: &Tokens) -> Result<u32, AuthError> {
        let token = tokens.fingerprint();
        let now = self.clock.now();
        let record = self
            .update(&|record| {
                let new =
                    || StepUp { scope: scope.to_owned(), refusals: 0, token: String::new(), since: now };
                let same = record.step_up.take().filter(|step_up| {
                    let age = now.checked_sub(step_up.since);
                    step_up.scope == scope && age.is_some_and(|age| age < STEP_UP_SECONDS_MAX)
                });
                let mut step_up = same.unwrap_or_else(new);
                if step_up.token != token {
                    step_up.refusals = step_up.refusals.saturating_add(1);
                    step_up.token.clone_from(&token);
                }
                record.step_up = Some(step_up);
            })
            .await?;
        Ok(record.step_up.map_or(0, |step_up| step_up.refusals))
    }
}
