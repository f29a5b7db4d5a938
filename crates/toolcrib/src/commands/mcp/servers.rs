//! The servers that a command is about, by their names, and what it takes to reach them.

use config::Loaded;
use daemon::shared;
use terminal::Trouble;
use upstream::{Settings, World};

use admin::nearest;

/// What is said where there is nothing to tell of.
pub(super) const NO_SERVERS: &str = "no servers are configured; `toolcrib mcp add` adds one, `toolcrib mcp import` takes over those \
                          of other clients";

/// What programs are told of a name that no server has.
pub(super) const UNKNOWN_SERVER: &str = "unknown_server";

/// What it takes to reach servers, with the sign-ins that are kept.
pub(super) fn world(loaded: &Loaded) -> Result<World, Trouble> {
    shared::world(loaded.settings.kept.sealed())
}

/// The server of this name.
pub(super) fn named<'l>(loaded: &'l Loaded, name: &str) -> Result<&'l Settings, Trouble> {
    let all = &loaded.settings.upstreams;
    let is_held = loaded.held.iter().any(|held| held.declaration.server() == Some(name));
    all.iter().find(|settings| settings.name() == name).ok_or_else(|| match is_held {
        true => Trouble::Unknown {
            code: UNKNOWN_SERVER,
            said: format!(
                "the server `{name}` is declared by a folder and waits for your agreement; `toolcrib trust` shows it and asks"
            ),
        },
        false => unknown(all, name),
    })
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

pub(super) fn unknown(all: &[Settings], name: &str) -> Trouble {
    let said = match nearest(name, all.iter().map(Settings::name)) {
        _ if all.is_empty() => format!("there is no server `{name}`: {NO_SERVERS}"),
        Some(near) => format!("there is no server `{name}`; did you mean `{near}`?"),
        None => format!("there is no server `{name}`; `toolcrib mcp list` names them all"),
    };
    Trouble::Unknown { code: UNKNOWN_SERVER, said }
}
