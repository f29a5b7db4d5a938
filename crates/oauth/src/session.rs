//! `Session`: what we are to one protected server.
//!
//! A call asks for the token with `access_token`, which is an atomic load as long as the token is good. Everything else
//! happens in a task of its own, so that a caller who gives up does not lose the answer to a refresh token that is
//! used up; one task at a time in this process (`work`), one process at a time by the token store's lease.

mod access_token;
mod challenged;
mod client;
mod clock;
mod record_lease;
mod refusal;
mod renewal;
mod sign_in;
mod sign_out;
mod work;

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use data_encoding::HEXLOWER;
use http::Uri;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::challenge::Challenge;
use crate::error::{AuthError, Reason};
use crate::fetch::Fetch;
use crate::metadata::Discovered;
use crate::record::Tokens;
use crate::scope;
use crate::settings::Settings;
use crate::token_store::TokenStore;

pub use access_token::AccessToken;
use access_token::Held;
use clock::Clock;
use refusal::Refusal;
use work::{Missing, Work};

/// For finding out whether the protected server is in a private network. One whose name is not found in time is not.
const LOOK_UP_TIME_MAX: Duration = Duration::from_secs(5);

/// What we are to one protected server: signed in or not, and how a token is got. Shared by all connections to it.
pub struct Session {
    me: Weak<Session>,
    name: Box<str>,
    key: Box<str>,
    resource: Uri,
    settings: Settings,
    client: sandbox::Client,
    token_store: Arc<dyn TokenStore>,
    clock: Clock,
    held: ArcSwapOption<Held>,
    /// How the last look for a token ended that found none.
    missing: ArcSwap<Missing>,
    work: Mutex<Work>,
}

/// Whether there is a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// There is none.
    NotSignedIn,
    /// There is one.
    SignedIn {
        /// Who issued it.
        issuer: String,
        /// What it is good for, if that is known: scopes, separated by blanks.
        scope: Option<String>,
        /// Until when it is good, if the server said so. In the past, and without `renews`: the sign-in has expired.
        expires_at: Option<SystemTime>,
        /// It renews itself.
        renews: bool,
    },
}

impl Session {
    /// A session at the server at `resource`, which people call `name`. Does nothing yet.
    pub fn new(
        name: &str,
        resource: &Uri,
        settings: Settings,
        client: sandbox::Client,
        token_store: Arc<dyn TokenStore>,
    ) -> Arc<Session> {
        Session::by(Clock::System, name, resource, settings, client, token_store)
    }

    fn by(
        clock: Clock,
        name: &str,
        resource: &Uri,
        settings: Settings,
        client: sandbox::Client,
        token_store: Arc<dyn TokenStore>,
    ) -> Arc<Session> {
        Arc::new_cyclic(|me| Session {
            me: Weak::clone(me),
            name: name.into(),
            key: Session::key(name, resource).into(),
            resource: resource.clone(),
            settings,
            client,
            token_store,
            clock,
            held: ArcSwapOption::empty(),
            missing: ArcSwap::default(),
            work: Mutex::default(),
        })
    }

    /// Under what the token store keeps the session of the server that people call `name`, at `resource`: a server whose
    /// address was changed is another one, which must not get the token.
    pub fn key(name: &str, resource: &Uri) -> String {
        let hash = Sha256::digest(resource.to_string().as_bytes());
        format!("{}{}", Session::prefix(name), HEXLOWER.encode(&hash[..8]))
    }

    /// How the keys begin of all sessions at the server that people call `name`.
    fn prefix(name: &str) -> String {
        format!("oauth/{name}/")
    }

    /// The token to send, renewed if it is about to end; nothing if nobody is signed in. Cheap unless something is
    /// due. After a failure it is not tried again at once; the answer is then that failure.
    ///
    /// # Errors
    /// The sign-in has ended, or the token has and could not be renewed.
    pub async fn access_token(&self) -> Result<Option<AccessToken>, AuthError> {
        let now = self.clock.now();
        if let Some(access_token) = self.at_hand(now) {
            return Ok(Some(access_token));
        }
        let missing = self.missing.load();
        if missing.holds(now) {
            return missing.error.clone().map_or(Ok(None), Err);
        }
        drop(missing);
        self.apart(|me| async move { me.renewed().await }).await
    }

    /// The server answered `status` (401 or 403) with these `WWW-Authenticate` values to a request that carried
    /// `used`: a token worth one more try, or why there is none.
    ///
    /// # Errors
    /// What a person must do ([`AuthError::NeedsSignIn`], [`AuthError::NeedsRegistration`]), or why no token can be
    /// got now.
    pub async fn refused(
        &self,
        status: u16,
        challenges: &[&str],
        used: Option<&AccessToken>,
    ) -> Result<AccessToken, AuthError> {
        let refusal = Refusal { status, challenge: Challenge::of(challenges), used: used.cloned() };
        self.apart(|me| async move { me.answer(refusal).await }).await
    }

    /// True while a token is being got, renewed or given back, or another process is waited for that does that.
    pub fn is_busy(&self) -> bool {
        self.work.try_lock().is_err()
    }

    /// Does `work` in a task of its own, which ends even if nobody waits for it any more.
    async fn apart<T, W>(&self, work: impl FnOnce(Arc<Session>) -> W) -> Result<T, AuthError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, AuthError>> + Send + 'static,
    {
        let me = self.me.upgrade().expect("`new` is the only way to get one, and returns the Arc");
        let task = tokio::spawn(work(me));
        task.await
            .unwrap_or_else(|_| Err(AuthError::failed(Reason::Other, "the sign-in could not be renewed")))
    }

    /// The token that may be sent without another thought.
    fn at_hand(&self, now: u64) -> Option<AccessToken> {
        let held = self.held.load();
        held.as_ref().filter(|held| now < held.fresh_until).cloned().map(AccessToken)
    }

    fn hold(&self, tokens: &Tokens) -> Result<AccessToken, AuthError> {
        let access_token = AccessToken::of(tokens)?;
        self.held.store(Some(Arc::clone(&access_token.0)));
        Ok(access_token)
    }

    /// From now on there is no token at hand, and it is looked for at the next call.
    fn drop_held(&self) {
        self.held.store(None);
        self.missing.store(Arc::default());
    }

    fn wanted(&self, work: &Work, discovered: &Discovered, before: Option<&str>) -> Option<String> {
        let (configured, renews) = (self.settings.scope.as_deref(), !self.is_machine());
        scope::wanted(configured, work.challenge.as_ref(), discovered, before, renews)
    }

    /// Sends through the guarded client: addresses that a public server names must not lead into a private network.
    /// Which it is, is found out each time, since a machine may be in another network by now.
    async fn fetch(&self) -> Fetch {
        let client = timeout(LOOK_UP_TIME_MAX, self.client.guarded_like(&self.resource)).await;
        Fetch::new(client.unwrap_or_else(|_| self.client.public()))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
