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
    /// Of a section that has been checked. Nothing is fetched yet; what it has in common with those in force `before` goes
    /// on. Every token is checked anew by them.
    pub(super) fn new(
        config: &Config,
        open_on_loopback: Option<bool>,
        client: &Client,
        before: Option<&AuthSettings>,
    ) -> AuthSettings {
        let issuer = |issuer: &config::Issuer| {
            let same = before.and_then(|before| before.taken_over(issuer, config));
            same.unwrap_or_else(|| {
                Arc::new(Issuer::new(issuer, Arc::new(KeySource::of(issuer, client.clone()))))
            })
        };
        AuthSettings {
            open_on_loopback,
            issuers: config.issuers.iter().map(issuer).collect(),
            resource: config.resource.clone().map(Resource::Configured),
            notice: notice(config),
            checked: Checked::default(),
            config: config.clone(),
        }
    }

    /// Whether these follow from that section and that `server.open_on_loopback`.
    pub(super) fn are_of(&self, config: &Config, open_on_loopback: Option<bool>) -> bool {
        self.config == *config && self.open_on_loopback == open_on_loopback
    }

    /// The issuer that is the same by `next`; or one that takes over the keys, if those come from the same place.
    fn taken_over(&self, issuer: &config::Issuer, next: &Config) -> Option<Arc<Issuer>> {
        let one = self.issuers.iter().find(|one| one.config.issuer == issuer.issuer)?;
        // A token that names no audience of the issuer's own is for the resource.
        if one.config == *issuer && (issuer.audience.is_some() || self.config.resource == next.resource) {
            return Some(one.clone());
        }
        let has_its_keys = one.config.jwks_uri == issuer.jwks_uri;
        has_its_keys.then(|| Arc::new(Issuer::new(issuer, one.keys.clone())))
    }

    /// Whether the keys are still those, as they were fetched, by which a token was checked.
    pub(super) fn is_current(&self, verified: &Verified) -> bool {
        let held = self.issuers.get(verified.issuer).and_then(|issuer| issuer.keys.held());
        held.is_some_and(|held| Arc::ptr_eq(&held, &verified.keys) && held.is_fresh())
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
