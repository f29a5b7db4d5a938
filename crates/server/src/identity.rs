//! Who calls over HTTP. A request brings an API key or a token, or comes from this machine to a server that is open
//! to it; what it brings becomes a [`Caller`], or an [`Unknown`] that says what to do.
//!
//! What a caller brings is for us alone: it is read here and handed to nobody, so it cannot reach an upstream.
//! Stdio and the Unix socket have no part in this: there the system says that it is the local user.

mod algorithm;
mod attempts;
mod auth_settings;
mod config;
mod credential;
mod issuer;
mod jwks;
mod jwt;
mod key_source;
mod keys;
mod resource;
mod unknown;
mod verified;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwap;
use gate::keys::key;
use gate::{Caller, CallerKind, Proof, Via};
use http::header::HeaderMap;
use sandbox::Client;
use store::Store;
use tokio::sync::watch;

pub use algorithm::Algorithm;
use attempts::Attempts;
use auth_settings::AuthSettings;
pub use config::{Config, Issuer as IssuerConfig, Problem};
use credential::Credential;
use jwt::Token;
use keys::Keys;
pub use resource::METADATA_PATH;
use resource::Resource;
pub(crate) use resource::is_loopback;
pub use unknown::Unknown;
use verified::Verified;

/// Knows callers.
pub struct Identity {
    keys: Keys,
    /// What is in force.
    settings: ArcSwap<AuthSettings>,
    /// Told whenever other settings are.
    changes: watch::Sender<()>,
    attempts: Attempts,
    /// Who somebody on this machine is that says nothing.
    local_user: Caller,
    /// Where we listen, and what we are to issuers if that was not configured.
    local: OnceLock<(SocketAddr, Resource)>,
    client: Client,
    /// The time in milliseconds since 1970.
    now_ms: fn() -> i64,
}

impl Identity {
    /// Knows callers by a section that has been checked, `server.open_on_loopback`, and the keys in `store`; `client`
    /// fetches those of issuers. Nothing is read or fetched yet.
    pub fn new(
        config: &Config,
        open_on_loopback: Option<bool>,
        store: Arc<dyn Store>,
        client: Client,
        now_ms: fn() -> i64,
    ) -> Identity {
        Identity {
            keys: Keys::new(store),
            settings: ArcSwap::from_pointee(AuthSettings::new(config, open_on_loopback, &client, None)),
            changes: watch::Sender::new(()),
            attempts: Attempts::default(),
            local_user: Caller::local_user(Via::Http),
            local: OnceLock::new(),
            client,
            now_ms,
        }
    }

    /// Tells where the server listens, and whether by `http` or `https`: the address that tokens are for if none was
    /// configured.
    pub fn served_at(&self, scheme: &'static str, address: SocketAddr) {
        self.local.get_or_init(|| (address, Resource::Local { scheme, address }));
    }

    /// Checks a section that is to be put in force where the server listens, whatever `server.bind` says by now.
    ///
    /// # Errors
    /// All that cannot be used.
    pub fn check(&self, config: &Config) -> Result<(), Vec<Problem>> {
        self.local.get().map_or(Ok(()), |(address, _)| config.check(*address))
    }

    /// Puts another section and another `server.open_on_loopback` in force, which have been checked: whoever comes from
    /// now on is known by them or not at all. Keys that were fetched are kept.
    pub fn govern(&self, config: &Config, open_on_loopback: Option<bool>) {
        let settings = self.settings.load();
        if !settings.are_of(config, open_on_loopback) {
            let next = AuthSettings::new(config, open_on_loopback, &self.client, Some(&settings));
            self.settings.store(Arc::new(next));
            self.changes.send_replace(());
        }
    }

    /// Hears of other settings, from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Whether there is anybody who could show who they are: a key, or an issuer.
    ///
    /// # Errors
    /// The keys cannot be read.
    pub async fn knows_anybody(&self) -> Result<bool, Unknown> {
        Ok(!self.settings.load().issuers.is_empty() || self.keys.is_any().await?)
    }

    /// Whether whoever is on this machine may call without a key or token: if the configuration says so; or, if it
    /// says nothing, as long as there has been neither a key nor an issuer. Once there was a key, its end opens nothing:
    /// whoever it was taken from would only have to leave it out.
    ///
    /// # Errors
    /// The keys cannot be read.
    pub async fn is_open(&self) -> Result<bool, Unknown> {
        let by_terms = {
            let settings = self.settings.load();
            settings.open_on_loopback.or((!settings.issuers.is_empty()).then_some(false))
        };
        match by_terms {
            Some(open) => Ok(open),
            None => Ok(!self.keys.was_any().await?),
        }
    }

    /// Who sends a request with these headers from this address. Known callers cost a hash and a look into a table.
    ///
    /// # Errors
    /// What is missing, wrong or out of reach. What is wrong is refused even where nothing is needed: whoever brings
    /// a key wants to be its holder.
    pub async fn identify(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, Unknown> {
        let found = match Credential::of(headers) {
            Ok(Credential::None) => return self.local(headers, peer).await,
            Ok(Credential::Key(text)) => self.keys.holder(text, (self.now_ms)()).await,
            Ok(Credential::Token(text)) => self.bearer(text).await,
            Err(unknown) => Err(unknown),
        };
        // What has expired was good once, and clients come with it until they are told that it no longer is.
        found.map_err(|unknown| match unknown {
            Unknown::Invalid(_) | Unknown::Malformed(_) => {
                let failed = self.attempts.failed(peer);
                failed.map_or_else(|retry_after| Unknown::TooMany { retry_after }, |()| unknown)
            }
            unknown => unknown,
        })
    }

    /// Whether a caller of an earlier request could still be one: a key may have been revoked since, or other settings been
    /// put in force. What cannot be found out changes nothing; the next request will say. `good_until_s` is the end of
    /// the latest token it has come with, in seconds since 1970, and `known_at` when it came first.
    pub(crate) async fn still_knows(&self, caller: &Caller, good_until_s: i64, known_at: Instant) -> bool {
        match caller.kind() {
            CallerKind::Key => self.keys.has(caller, (self.now_ms)()).await.unwrap_or(true),
            CallerKind::LocalUser => self.is_open().await.unwrap_or(true),
            CallerKind::Token => {
                (self.now_ms)().div_euclid(1000) < good_until_s
                    && self.settings.load().still_trusts(caller, known_at)
            }
        }
    }

    /// Somebody who says nothing.
    async fn local(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, Unknown> {
        let why = if !peer.to_canonical().is_loopback() {
            "from other machines this server is used with a key or token"
        } else if credential::is_forwarded(headers) {
            "what a proxy forwards needs a key or token"
        } else if self.is_open().await? {
            return Ok(self.local_user.clone());
        } else {
            "this server is used with a key or token"
        };
        let how = match self.settings.load().issuers.is_empty() {
            true => "send a key as `Authorization: Bearer tc_…`, which a person makes on that machine",
            false => "sign in with a client that can, or send a key as `Authorization: Bearer tc_…`",
        };
        Err(Unknown::Nobody(format!("{why}: {how}").into()))
    }

    async fn bearer(&self, text: &str) -> Result<Caller, Unknown> {
        // The whole way by the same ones.
        let settings = self.settings.load_full();
        if settings.issuers.is_empty() {
            return Err(Unknown::invalid(
                "this is no key of toolcrib, and no issuer of tokens is trusted here",
            ));
        }
        let now_s = (self.now_ms)().div_euclid(1000);
        let hash = key::hash(text);
        if let Some(verified) = settings.checked.get(&hash, now_s)
            && settings.is_current(&verified)
        {
            return Ok(verified.caller);
        }
        let token = Token::parse(text).map_err(Unknown::invalid)?;
        let issuer = settings.issuers.iter().position(|issuer| issuer.config.issuer == token.claims.issuer);
        let issuer =
            issuer.ok_or_else(|| Unknown::invalid("the issuer of the token is not trusted here (iss)"))?;
        let is_ours =
            |audience: &str| self.resource(&settings).is_some_and(|resource| resource.is_audience(audience));
        let (caller, keys) = settings.issuers[issuer].caller(&token, now_s, is_ours).await?;
        let expires_s = token.claims.expires_s();
        let caller = caller.with_proof(Proof::Until(expires_s));
        let verified = Verified { caller: caller.clone(), expires_s, issuer, keys };
        settings.checked.keep(hash, verified, now_s);
        Ok(caller)
    }

    /// What to put into `WWW-Authenticate` for somebody unknown, who wants the workspace of the name `named`, or none that has one; nothing if credentials are not what is missing.
    pub(crate) fn challenge(
        &self,
        unknown: &Unknown,
        named: Option<&str>,
        headers: &HeaderMap,
    ) -> Option<String> {
        let settings = self.settings.load();
        let resource = self.resource(&settings).filter(|_| !settings.issuers.is_empty());
        let resource = resource.map(|resource| (resource, named, &settings.notice));
        resource::challenge(unknown, resource, headers)
    }

    /// What clients are told who look for where to sign in, as JSON text; nothing if that is not what is at this
    /// path, or there is nowhere to sign in.
    pub(crate) fn metadata(&self, path: &str, headers: &HeaderMap) -> Option<Vec<u8>> {
        let settings = self.settings.load();
        let resource = self.resource(&settings).filter(|_| !settings.issuers.is_empty())?;
        let named = resource.described_at(path)?;
        Some(resource.metadata(&settings.notice, named, headers))
    }

    /// What we are to those who issue tokens for us.
    fn resource<'a>(&'a self, settings: &'a AuthSettings) -> Option<&'a Resource> {
        settings.resource.as_ref().or_else(|| Some(&self.local.get()?.1))
    }
}

#[cfg(test)]
mod tests;
