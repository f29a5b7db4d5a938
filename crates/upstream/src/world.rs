//! `World`: what upstreams need of the outside world.

use std::sync::Arc;

use pins::Pinning;
use wire::initialize::Ourselves;

use crate::trace::Trace;
use crate::watch::ServerWatch;

/// What an upstream needs of the outside world.
#[derive(Clone)]
pub struct World {
    /// Starts programs.
    pub launcher: sandbox::Launcher,
    /// Starts programs confined. Nothing of it runs before the first one.
    pub confiner: Arc<sandbox::confine::Confiner>,
    /// Reaches addresses.
    pub client: sandbox::Client,
    /// Who we say we are.
    pub ourselves: Ourselves<'static>,
    /// Keeps what we are signed in with.
    pub keeper: Arc<dyn oauth::TokenStore>,
    /// What it takes to hold definitions back. Without it everything is offered: for a look at a server whose tools
    /// nobody is going to call.
    pub pins: Option<Pinning>,
    /// Hears what is said with servers, if somebody wants to know.
    pub trace: Option<Trace>,
    /// Hears what becomes of confined programs, if somebody counts and records it.
    pub watch: Option<Arc<dyn ServerWatch>>,
}
