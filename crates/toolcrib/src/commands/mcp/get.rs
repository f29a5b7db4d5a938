//! `mcp get`: one server as `mcp list` knows it. Nothing is started.

use admin::servers::{List, no_server};
use admin::{By, Operation as _};
use daemon::administration;
use daemon::control::Neighbours;
use terminal::{Ending, Trouble, print};

use super::list::{sandbox, status};
use crate::cli::Cli;
use crate::commands::start::start_nobody;

pub(super) fn run(cli: &Cli, name: &str) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let part = administration::servers(&loaded, Neighbours::on(&loaded.settings.state));
    part.named(name)?;
    let found = List {}.perform(&part, &By::owner())?;
    let server = found.servers.into_iter().find(|server| server.name == name);
    let server = server.ok_or_else(|| no_server(&loaded.settings.upstreams, name))?;
    let rows = [
        ("name", server.name.clone()),
        ("status", status(&server)),
        ("transport", server.transport.clone()),
        ("sandbox", sandbox(&server)),
        ("where", server.place.clone()),
        ("file", server.file.clone().unwrap_or_default()),
    ];
    let rows = rows.map(|(title, value)| vec![title.to_owned(), value]);
    print::found(cli.json, &server, &print::Table::plain(rows))
}
