//! `Key`: whose browser it is.

use std::path::PathBuf;
use std::sync::Arc;

use sandbox::confine::{Layer, Profile};
use sandbox::egress::HostRules;
use sandbox::{CompanyProxy, Variables};

/// For whom a browser is, and how it was started: it works for no other, since a page may have taken it over, and for nobody
/// once the settings say something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The caller.
    pub caller: Arc<str>,
    /// What it may touch.
    pub profile: Profile,
    /// What it may reach.
    pub hosts: HostRules,
    /// The program that a person has named.
    pub program: Option<PathBuf>,
    /// Layers of the sandbox that it does without where they are missing.
    pub waived: Vec<Layer>,
    /// The proxy that leads out, if any.
    pub company: Option<CompanyProxy>,
    /// The variables by which it knows language and time zone.
    pub surroundings: Variables,
}
