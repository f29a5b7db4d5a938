//! The servers that operations are about, by their names.

use upstream::Settings;

use crate::fault::Fault;
use crate::nearest::nearest;

/// What is said where there is nothing to tell of.
pub const NO_SERVERS: &str = "no servers are configured; `toolcrib mcp add` adds one, `toolcrib mcp import` takes over those \
                          of other clients";

/// The server of this name. Those of `waiting` a folder declares, and nobody has agreed to them.
///
/// # Errors
/// There is none.
pub fn named<'s>(all: &'s [Settings], waiting: &[String], name: &str) -> Result<&'s Settings, Fault> {
    let found = all.iter().find(|settings| settings.name() == name);
    found.ok_or_else(|| match waiting.iter().any(|waiting| waiting == name) {
        true => unknown_server(format!(
            "the server `{name}` is declared by a folder and waits for your agreement; `toolcrib trust` shows it and asks"
        )),
        false => no_server(all, name),
    })
}

/// There is no server of this name among these.
pub fn no_server(all: &[Settings], name: &str) -> Fault {
    unknown_server(match nearest(name, all.iter().map(Settings::name)) {
        _ if all.is_empty() => format!("there is no server `{name}`: {NO_SERVERS}"),
        Some(near) => format!("there is no server `{name}`; did you mean `{near}`?"),
        None => format!("there is no server `{name}`; `toolcrib mcp list` names them all"),
    })
}

/// There is no such server, as this sentence says.
pub fn unknown_server(message: String) -> Fault {
    Fault::unknown("unknown_server", message)
}
