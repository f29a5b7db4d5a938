//! `ConfinedServer`: the confined program that a server which is started here comes to: what it consists
//! of, what its command line names, and a home of its own, so that what works without a sandbox goes on working in one.

mod hosts;
mod may;
mod named;
mod places;
mod seen;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hosts::NamedHosts;
pub use may::ServerMay;
pub use seen::LeftOut;
use seen::{Seen, outermost};

use super::confiner::Confined;
use super::profile::Profile;
use super::tool_chains::ToolChains;
use crate::egress::Destination;
use crate::process::{Program, StartError, Variables, lookup, variable};

/// What a program of the person's finds its files by. Inside they are elsewhere, or not there.
const OF_THE_PERSON: [&str; 4] = ["HOME", "USER", "LOGNAME", "TMPDIR"];
const OF_THE_PERSON_PREFIX: &str = "XDG_";

/// A server's program as it is run, and what it does not see of what it names.
#[derive(Debug)]
pub struct ConfinedServer {
    /// The program.
    pub program: Confined,
    /// What it reads of what it and its settings name.
    pub named: Vec<PathBuf>,
    /// What is left out.
    pub left_out: Vec<LeftOut>,
    /// Hosts that it names and does not reach.
    pub unreached: Vec<Destination>,
}

impl ConfinedServer {
    /// Looks at the machine's files, and so may block.
    ///
    /// # Errors
    /// There is no such program, or its own folder cannot be made.
    pub fn new(program: &Program, may: &ServerMay) -> Result<ConfinedServer, StartError> {
        program.make_own_folder()?;
        let outside = program.environment();
        let executable = lookup::find(program, &outside)?;
        let home = variable("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
        let mut seen = Seen::new(home, may);
        // What lies in somebody's own folders may be closed to others.
        let chains = ToolChains::of(seen.home.as_deref());
        let mut own = chains.person;
        let path = outside.get(&OsString::from("PATH")).cloned().unwrap_or_default();
        own.extend(places::of(&executable, &path, seen.home.as_deref()));
        // A Python environment may name a base that is gone.
        own.retain(|place| place.exists());
        named::look(program, &mut seen);
        let NamedHosts { mut ports, unreached } = hosts::look(program, &may.hosts);
        ports.extend(hosts::USUAL_PORTS);
        let profile = Profile::upstream().with_network(!may.hosts.is_none());
        let Seen { read: mut named, mut write, left_out, .. } = seen;
        write.extend(may.write.iter().cloned());
        named.extend(may.read.iter().cloned());
        let named = outermost(named);
        let program = Confined {
            args: program.args.iter().map(Into::into).collect(),
            env: environment(program, outside),
            cwd: program.cwd.clone(),
            protected: may.protected.clone(),
            read: chains.machine,
            read_as_owner: own.into_iter().chain(named.iter().cloned()).collect(),
            write: outermost(write),
            sockets: may.sockets.clone(),
            home: program.own_folder.clone(),
            hosts: may.hosts.clone(),
            ports,
            company: may.company.clone(),
            waived: may.waived.clone(),
            ..Confined::new(Profile { limits: may.limits, ..profile }, executable, "/")
        };
        Ok(ConfinedServer { program, named, left_out, unreached })
    }
}

/// Whether a program's command line names something that lies in `folder`.
pub fn names_something_in(program: &Program, folder: &Path) -> bool {
    let may = ServerMay { workspaces: vec![folder.to_owned()], ..ServerMay::nothing() };
    let mut seen = Seen::new(None, &may);
    named::look(program, &mut seen);
    !seen.write.is_empty()
}

/// Its variables, without those by which it would look for the person's files.
fn environment(program: &Program, all: Variables) -> Vec<(OsString, OsString)> {
    let is_own = |name: &OsString| program.env.iter().any(|(own, _)| name == own.as_str());
    let is_persons = |name: &OsString| {
        let name = name.to_string_lossy();
        OF_THE_PERSON.contains(&&*name) || name.starts_with(OF_THE_PERSON_PREFIX)
    };
    let mut kept: Vec<_> = all.into_iter().filter(|(name, _)| is_own(name) || !is_persons(name)).collect();
    let is_set = |name: &str| kept.iter().any(|(set, _)| set == name);
    let found = ToolChains::of(variable("HOME").map(PathBuf::from).as_deref()).variables;
    let found: Vec<_> = found.into_iter().filter(|(name, _)| !is_set(name)).collect();
    kept.extend(found.into_iter().map(|(name, path)| (name.into(), path.into_os_string())));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_does_not_look_for_the_persons_files() {
        let env = vec![("XDG_CONFIG_HOME".to_owned(), "/c".to_owned()), ("KEY".to_owned(), "k".to_owned())];
        let inherited = ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "PATH", "LANG", "TMPDIR"];
        let inherited = inherited.map(|name| (name.into(), "x".into())).into();
        let program = Program { env, inherited, ..Program::default() };
        let kept = environment(&program, program.environment());
        let kept: Vec<_> =
            kept.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        for (wanted, is_kept) in [
            ("KEY=k", true),
            ("XDG_CONFIG_HOME=/c", true),
            ("PATH=x", true),
            ("LANG=x", true),
            ("HOME=x", false),
            ("TMPDIR=x", false),
            ("XDG_RUNTIME_DIR=x", false),
        ] {
            assert_eq!(kept.iter().any(|kept| kept == wanted), is_kept, "{wanted} in {kept:?}");
        }
    }
}
