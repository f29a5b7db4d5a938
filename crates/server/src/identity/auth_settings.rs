//! `AuthSettings`: whose word counts, and what without one, by one reading of the configuration. Another reading makes other
//! settings; what it does not touch goes on, keys that were fetched and all.

use std::sync::Arc;
use std::time::Instant;

use gate::{Caller, Scope, Scopes};
use sandbox::Client;

use super::config::{self, Config};
use super::issuer::Issuer;
use super::key_source::KeySource;
use super::resource::{Notice, Resource};
use super::verified::{Checked, Verified};

/// What decides about callers at one moment.
pub(super) struct AuthSettings {
    config: Config,
    /// `server.open_on_loopback`.
    pub(super) open_on_loopback: Option<bool>,
    pub(super) issuers: Vec<Arc<Issuer>>,
    /// Where we are, if that was configured.
    pub(super) resource: Option<Resource>,
    pub(super) notice: Notice,
    /// Tokens that are good by these settings.
    pub(super) checked: Checked,
}

impl AuthSettings {
    /// Of a section that has been checked. Nothing is fetched yet.
    pub(super) fn new(config: &Config, open_on_loopback: Option<bool>, client: &Client) -> AuthSettings {
        let issuers = config.issuers.iter();
        let issuers = issuers
            .map(|issuer| Arc::new(Issuer::new(issuer, Arc::new(KeySource::of(issuer, client.clone())))));
        AuthSettings::with(config, open_on_loopback, issuers.collect())
    }

    fn with(config: &Config, open_on_loopback: Option<bool>, issuers: Vec<Arc<Issuer>>) -> AuthSettings {
        AuthSettings {
            open_on_loopback,
            issuers,
            resource: config.resource.clone().map(Resource::Configured),
            notice: notice(config),
            checked: Checked::default(),
            config: config.clone(),
        }
    }

    /// The settings that follow on these; nothing if they are the same. Every token is checked anew by them.
    pub(super) fn next(
        &self,
        config: &Config,
        open_on_loopback: Option<bool>,
        client: &Client,
    ) -> Option<AuthSettings> {
        if self.config == *config && self.open_on_loopback == open_on_loopback {
            return None;
        }
        let issuers = config.issuers.iter().map(|issuer| self.successor(issuer, config, client));
        Some(AuthSettings::with(config, open_on_loopback, issuers.collect()))
    }

    /// The issuer that is the same by `next`; or one that takes over the keys, if those come from the same place.
    fn successor(&self, issuer: &config::Issuer, next: &Config, client: &Client) -> Arc<Issuer> {
        let before =
            self.config.issuers.iter().zip(&self.issuers).find(|(one, _)| one.issuer == issuer.issuer);
        // A token that names no audience of the issuer's own is for the resource.
        let is_same = |before: &config::Issuer| {
            before == issuer && (issuer.audience.is_some() || self.config.resource == next.resource)
        };
        match before {
            Some((before, one)) if is_same(before) => one.clone(),
            Some((before, one)) if before.jwks_uri == issuer.jwks_uri => {
                Arc::new(Issuer::new(issuer, one.keys().clone()))
            }
            _ => Arc::new(Issuer::new(issuer, Arc::new(KeySource::of(issuer, client.clone())))),
        }
    }

    /// Whether the keys are still those by which a token was checked.
    pub(super) fn is_current(&self, verified: &Verified) -> bool {
        let held = self.issuers.get(verified.issuer).and_then(|issuer| issuer.held());
        held.is_some_and(|held| held.generation == verified.generation && held.is_fresh())
    }

    /// Whether a token's caller who was known at `known_at` is known by these settings without coming again: what tokens of
    /// its issuer mean has not changed since.
    pub(super) fn still_trusts(&self, caller: &Caller, known_at: Instant) -> bool {
        let issuer = self.issuers.iter().find(|issuer| issuer.speaks_for(caller));
        issuer.is_some_and(|issuer| issuer.since <= known_at)
    }
}

fn notice(config: &Config) -> Notice {
    let parsed =
        |names: &[String]| names.iter().filter_map(|name| Scope::parse(name).ok()).collect::<Vec<_>>();
    let scopes: Scopes = match &config.scopes_supported {
        Some(names) => parsed(names).into_iter().collect(),
        None => config.issuers.iter().flat_map(|issuer| parsed(&issuer.required_scopes)).collect(),
    };
    let scopes = scopes.named().unwrap_or_default().iter().map(|scope| scope.as_str().to_owned()).collect();
    Notice { issuers: config.issuers.iter().map(|issuer| issuer.issuer.clone()).collect(), scopes }
}
