//! The servers that a command is about, by their names, and what it takes to reach them.

use upstream::{Settings, World};

use admin::servers;
use config::Loaded;
use daemon::shared;
use terminal::Trouble;

/// What it takes to reach servers, with the sign-ins that are kept.
pub(super) fn world(loaded: &Loaded) -> Result<World, Trouble> {
    shared::world(loaded.settings.kept.sealed())
}

/// The same for a test whose lists are remembered: what was not accepted is held back.
pub(super) fn pinned_world(loaded: &Loaded) -> Result<World, Trouble> {
    shared::pinned_world(loaded.settings.kept.sealed(), &loaded.settings)
}

/// The server of this name.
pub(super) fn named<'l>(loaded: &'l Loaded, name: &str) -> Result<&'l Settings, Trouble> {
    Ok(servers::named(&loaded.settings.upstreams, &loaded.held, name)?)
}

/// The servers of these names, or all if there is none, each once.
pub(super) fn picked<'l>(loaded: &'l Loaded, names: &[String]) -> Result<Vec<&'l Settings>, Trouble> {
    for name in names {
        named(loaded, name)?;
    }
    let is_picked =
        |settings: &&Settings| names.is_empty() || names.iter().any(|name| name == settings.name());
    Ok(loaded.settings.upstreams.iter().filter(is_picked).collect())
}
