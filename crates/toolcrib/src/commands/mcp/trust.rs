//! `mcp trust`: what is held back of servers' definitions, what has changed about it and what to think of that, and what
//! a person decides. Nothing is connected to: what is shown is what the servers showed last.

mod shown;

use admin::servers::NO_SERVERS;
use admin::trust::{Decide, Decided, Examination, List, Reset, ServerTrust, Show, TrustPart};
use admin::{By, Operation as _};
use daemon::control::Neighbours;
use daemon::{administration, person};
use pins::Why;
use terminal::paint::Painted;
use terminal::{Ending, Trouble, print};

use super::running;
use crate::cli::{Cli, Trust as TrustArgs};
use crate::commands::start::start_nobody;

/// Most definitions whose difference is shown at once; a page of a terminal has room for few.
const DIFFERENCES_MAX: usize = 10;

pub(super) fn run(cli: &Cli, args: &TrustArgs) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let part = administration::trust(&loaded, Neighbours::on(&loaded.settings.state));
    let Some(name) = args.name.clone() else { return list(cli, &part, None) };
    let settings = part.named(&name)?;
    // To reject only tightens; the others are for a person to say.
    let by = match args.reset || args.accept_all || !args.accept.is_empty() {
        true => By::person(person::present(&loaded.settings.state, &[])?),
        false => By::owner(),
    };
    if let Some(item) = args.show.clone() {
        let found = Show { server: name, item }.perform(&part, &by)?;
        let words = settings.masked(&shown::item(settings.name(), &found));
        return print::found(cli.json, &found, &Painted::changes(&words));
    }
    let TrustArgs { accept, accept_all, reject, .. } = args.clone();
    let mut lines = Vec::new();
    let decided = if args.reset {
        lines.push(format!("{name}: what was accepted and rejected is forgotten"));
        Reset { server: name }.perform(&part, &by)?
    } else if accept_all || !accept.is_empty() || !reject.is_empty() {
        Decide { server: name, accept, accept_all, reject }.perform(&part, &by)?
    } else {
        return list(cli, &part, Some(name));
    };
    lines.extend(if args.reset { Vec::new() } else { lines_of(&decided) });
    lines.extend(decided.running.iter().map(|told| running::line(told, running::has_taken_up)));
    print::found(cli.json, &decided, &lines.join("\n"))
}

/// What there is of this server, or of all.
fn list(cli: &Cli, part: &TrustPart, server: Option<String>) -> Result<Ending, Trouble> {
    let is_named = server.is_some();
    let found = List { server }.perform(part, &By::owner())?;
    let words = |server: &ServerTrust| {
        let settings = part.servers.iter().find(|settings| settings.name() == server.name);
        let differences = if is_named { differences(part, server) } else { Vec::new() };
        let words = [vec![shown::server(server)], differences].concat().join("\n\n");
        settings.map_or(words.clone(), |settings| settings.masked(&words))
    };
    let words = match found.servers.is_empty() {
        true => NO_SERVERS.to_owned(),
        false => found.servers.iter().map(words).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &found, &words)
}

/// What has changed about that of a server which waits for a person.
fn differences(part: &TrustPart, server: &ServerTrust) -> Vec<String> {
    let waiting = server.held_back.iter().filter(|held| held.why.as_deref() != Some(Why::Rejected.word()));
    let show = |held: &Examination| {
        let item = format!("{}:{}", held.kind, held.name);
        // One whose name does not read as such is in the list above.
        let found = Show { server: server.name.clone(), item }.perform(part, &By::owner()).ok()?;
        Some(shown::item(&server.name, &found))
    };
    waiting.take(DIFFERENCES_MAX).filter_map(show).collect()
}

/// What was decided. Whoever accepts without a look is told what there was to see.
fn lines_of(decided: &Decided) -> Vec<String> {
    let name = &decided.name;
    let mut lines = Vec::new();
    for item in &decided.accepted {
        lines.push(format!("{name}: {} {} is accepted", item.kind, item.name));
        lines.extend(shown::risks(&item.risks));
    }
    let rejected = decided.rejected.iter();
    lines.extend(rejected.map(|item| format!("{name}: {} {} is rejected", item.kind, item.name)));
    if lines.is_empty() {
        lines.push(format!("{name}: nothing is held back"));
    }
    lines
}
