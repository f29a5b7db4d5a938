//! `Key`: whose browser it is.

use std::sync::Arc;

use sandbox::confine::Profile;
use sandbox::egress::HostRules;

/// For whom a browser is: it works for no other, since a page may have taken it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The caller.
    pub caller: Arc<str>,
    /// What it may touch.
    pub profile: Profile,
    /// What it may reach.
    pub hosts: HostRules,
}
