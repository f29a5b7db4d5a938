//! `mcp`: configuring, testing and watching other MCP servers. One file for each word; what they share is in
//! `servers.rs` and `running.rs`.

mod add;
pub(super) mod ask;
mod auth;
mod client_file;
mod debug;
mod export;
mod get;
mod import;
mod list;
mod logout;
mod logs;
mod reload;
mod remove;
mod reported;
mod restart;
pub(super) mod running;
mod servers;
mod set;
mod status;
mod switch;
mod test;
mod trust;

pub(super) use import::run_scorpiox as import_scorpiox;
use terminal::{Ending, Trouble};

use crate::cli::{Cli, Mcp};

pub(super) fn run(cli: &Cli, command: Mcp) -> Result<Ending, Trouble> {
    match command {
        Mcp::List => list::run(cli),
        Mcp::Add(add) => add::run(cli, *add),
        Mcp::Remove { name, purge } => remove::run(cli, &name, purge),
        Mcp::Set { name, values } => set::run(cli, &name, &values),
        Mcp::Get { name } => get::run(cli, &name),
        Mcp::Enable { name } => switch::run(cli, &name, true),
        Mcp::Disable { name } => switch::run(cli, &name, false),
        Mcp::Restart { name } => restart::run(cli, &name),
        Mcp::Logs { name } => logs::run(cli, &name),
        Mcp::Test { names } => test::run(cli, &names),
        Mcp::Status { names, watch } => status::run(cli, &names, watch),
        Mcp::Reload => reload::run(cli),
        Mcp::Trust(args) => trust::run(cli, &args),
        Mcp::Auth(auth) => auth::run(cli, &auth),
        Mcp::Logout { name } => logout::run(cli, &name),
        Mcp::Debug { name } => debug::run(cli, &name),
        Mcp::Import(import) => import::run(cli, &import),
        Mcp::Export(export) => export::run(cli, &export),
    }
}
