//! `WayOut`: what decides where the connections of a program lead.

use std::sync::Arc;

use super::judge::Judge;
use super::rules::HostRules;
use crate::net::CompanyProxy;

/// Where a program may go, and how we get there.
#[derive(Debug, Clone)]
pub struct WayOut {
    /// What it may reach.
    pub rules: HostRules,
    /// The proxy that leads to the internet, if we have to go through one ourselves.
    pub company: Option<CompanyProxy>,
    /// Who decides about what no rule names; without one it is blocked.
    pub judge: Option<Arc<dyn Judge>>,
}
