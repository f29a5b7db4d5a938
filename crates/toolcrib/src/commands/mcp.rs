//! `mcp`: configuring, testing and watching other MCP servers. One file for each word; here is what they share.

mod add;
pub(super) mod ask;
mod auth;
mod debug;
mod export;
mod import;
mod list;
mod logout;
mod reload;
mod remove;
pub(super) mod running;
mod status;
mod test;
mod trust;

use upstream::{Settings, World};

use crate::assemble;
use crate::cli::{Cli, Mcp};
use crate::config::Loaded;
use crate::ending::{Ending, Trouble};
use crate::nearest::nearest;

/// What is said where there is nothing to tell of.
const NO_SERVERS: &str = "no servers are configured; `toolcrib mcp add` adds one, `toolcrib mcp import` takes over those \
                          of other clients";

/// What programs are told of a name that no server has.
const UNKNOWN_SERVER: &str = "unknown_server";

pub(super) fn run(cli: &Cli, command: Mcp) -> Result<Ending, Trouble> {
    match command {
        Mcp::List => list::run(cli),
        Mcp::Add(add) => add::run(cli, *add),
        Mcp::Remove { name, purge } => remove::run(cli, &name, purge),
        Mcp::Test { names } => test::run(cli, &names),
        Mcp::Status { names, watch } => status::run(cli, &names, watch),
        Mcp::Reload => reload::run(cli),
        Mcp::Trust(asked) => trust::run(cli, &asked),
        Mcp::Auth(auth) => auth::run(cli, &auth),
        Mcp::Logout { name } => logout::run(cli, &name),
        Mcp::Debug { name } => debug::run(cli, &name),
        Mcp::Import(import) => import::run(cli, &import),
        Mcp::Export(export) => export::run(cli, &export),
    }
}

/// What it takes to reach servers, with the sign-ins that are kept.
fn world(loaded: &Loaded) -> Result<World, Trouble> {
    Ok(assemble::world(loaded.settings.kept.sealed())?)
}

/// The server of this name.
fn named<'l>(loaded: &'l Loaded, name: &str) -> Result<&'l Settings, Trouble> {
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
fn picked<'l>(loaded: &'l Loaded, names: &[String]) -> Result<Vec<&'l Settings>, Trouble> {
    for name in names {
        named(loaded, name)?;
    }
    let is_picked =
        |settings: &&Settings| names.is_empty() || names.iter().any(|name| name == settings.name());
    Ok(loaded.settings.upstreams.iter().filter(is_picked).collect())
}

fn unknown(all: &[Settings], name: &str) -> Trouble {
    let said = match nearest(name, all.iter().map(Settings::name)) {
        _ if all.is_empty() => format!("there is no server `{name}`: {NO_SERVERS}"),
        Some(near) => format!("there is no server `{name}`; did you mean `{near}`?"),
        None => format!("there is no server `{name}`; `toolcrib mcp list` names them all"),
    };
    Trouble::Unknown { code: UNKNOWN_SERVER, said }
}
