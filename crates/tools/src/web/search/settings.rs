//! `Settings`: the services that are asked, and for how long an answer is awaited.

use std::sync::Arc;
use std::time::Duration;

use tool_api::HostRules;

use super::service::{Endpoint, Service};

/// What a search goes by. Cheap to clone; shows no key.
#[derive(Clone)]
pub struct Settings {
    pub(super) services: Arc<[Configured]>,
    pub(super) hosts: HostRules,
    pub(super) deadline: Duration,
}

/// One of the services.
pub(super) struct Configured {
    pub(super) service: Box<dyn Service>,
    pub(super) at: Endpoint,
    pub(super) timeout: Duration,
}

impl Settings {
    /// True if there is no service to be asked.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }

    /// The hosts of the services, and no others.
    pub fn hosts(&self) -> &HostRules {
        &self.hosts
    }

    /// The keys of services, by the names of these.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let key = |configured: &'_ Configured| configured.at.key.is_some();
        let keyed = self.services.iter().filter(move |configured| key(configured));
        keyed.map(|configured| (configured.service.name(), configured.at.key.as_deref().unwrap_or_default()))
    }
}
