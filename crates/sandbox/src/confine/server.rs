//! `ServerMay`: what a server that is started here may touch, and the confined program that comes of it: what it consists
//! of, what its command line names, and a home of its own, so that what works without a sandbox goes on working in one.

mod named;
mod places;
mod tool_chains;

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::confiner::Confined;
use super::layer::Layer;
use super::limits::Limits;
use super::profile::Profile;
use crate::egress::{CompanyProxy, HostRules};
use crate::files::ProtectedPaths;
use crate::process::{OWN_FOLDER_MODE, Program, StartError, Variables, lookup, variable};

/// What a program of the person's finds its files by. Inside they are elsewhere, or not there.
const OF_THE_PERSON: [&str; 4] = ["HOME", "USER", "LOGNAME", "TMPDIR"];
const OF_THE_PERSON_PREFIX: &str = "XDG_";

/// What a server may touch beside what it consists of.
#[derive(Debug, Clone)]
pub struct ServerMay {
    /// Files and folders that it reads.
    pub read: Vec<PathBuf>,
    /// Those that it writes.
    pub write: Vec<PathBuf>,
    /// Folders in which it writes what its command line names.
    pub workspaces: Vec<PathBuf>,
    /// Sockets of the machine that it uses.
    pub sockets: Vec<PathBuf>,
    /// Hosts that it reaches.
    pub hosts: HostRules,
    /// The proxy that we have to go through ourselves, if any.
    pub company: Option<CompanyProxy>,
    /// How much it may use.
    pub limits: Limits,
    /// What no program writes or reads.
    pub protected: ProtectedPaths,
    /// Layers to do without where they are missing.
    pub waived: Vec<Layer>,
}

/// Something that a server's command line or settings name, and that it does not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What.
    pub path: PathBuf,
    /// Why, as the end of a sentence.
    pub why: &'static str,
}

/// A server's program as it is run, and what it does not see of what it names.
#[derive(Debug)]
pub struct ConfinedServer {
    /// The program.
    pub program: Confined,
    /// What is left out.
    pub left_out: Vec<LeftOut>,
}

impl ConfinedServer {
    /// Looks at the machine's files, and so may block.
    ///
    /// # Errors
    /// There is no such program, or its own folder cannot be made.
    pub fn new(program: &Program, may: &ServerMay) -> Result<ConfinedServer, StartError> {
        if let Some(folder) = &program.own_folder {
            let made = DirBuilder::new().recursive(true).mode(OWN_FOLDER_MODE).create(folder);
            made.map_err(|source| StartError::OwnFolder { folder: folder.clone(), source })?;
        }
        let outside = program.environment();
        let executable = lookup::find(program, &outside)?;
        let home = variable("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
        let mut seen = Seen::new(home, may);
        let mut read = tool_chains::all(seen.home.as_deref());
        let path = outside.get(&OsString::from("PATH")).cloned().unwrap_or_default();
        read.extend(places::of(&executable, &path, seen.home.as_deref()));
        named::look(program, &mut seen);
        let profile = Profile::upstream().with_network(!may.hosts.is_none());
        let Seen { read: named, write, left_out, .. } = seen;
        let program = Confined {
            args: program.args.iter().map(Into::into).collect(),
            env: environment(program, outside),
            cwd: program.cwd.clone(),
            protected: may.protected.clone(),
            read,
            read_as_owner: named.into_iter().chain(may.read.iter().cloned()).collect(),
            write: write.into_iter().chain(may.write.iter().cloned()).collect(),
            sockets: may.sockets.clone(),
            home: program.own_folder.clone(),
            hosts: may.hosts.clone(),
            company: may.company.clone(),
            waived: may.waived.clone(),
            ..Confined::new(Profile { limits: may.limits, ..profile }, executable, "/")
        };
        Ok(ConfinedServer { program, left_out })
    }
}

/// Whether a program's command line names something that lies in `folder`.
pub fn names_something_in(program: &Program, folder: &Path) -> bool {
    let may = ServerMay { workspaces: vec![folder.to_owned()], ..ServerMay::nothing() };
    let mut seen = Seen::new(None, &may);
    named::look(program, &mut seen);
    !seen.write.is_empty()
}

impl ServerMay {
    /// Nothing beside what it consists of.
    fn nothing() -> ServerMay {
        ServerMay {
            read: Vec::new(),
            write: Vec::new(),
            workspaces: Vec::new(),
            sockets: Vec::new(),
            hosts: HostRules::none(),
            company: None,
            limits: Limits::default(),
            protected: ProtectedPaths::default(),
            waived: Vec::new(),
        }
    }
}

/// What it sees of what it names.
struct Seen<'a> {
    home: Option<PathBuf>,
    may: &'a ServerMay,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    left_out: Vec<LeftOut>,
}

impl<'a> Seen<'a> {
    fn new(home: Option<PathBuf>, may: &'a ServerMay) -> Seen<'a> {
        Seen { home, may, read: Vec::new(), write: Vec::new(), left_out: Vec::new() }
    }

    /// `path` is absolute, and there.
    fn add(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        if let Some(why) = too_wide(&real, self.home.as_deref()) {
            self.leave_out(path, why);
            return;
        }
        match self.is_written(&real) {
            true => self.write.push(path.to_owned()),
            false => self.read.push(path.to_owned()),
        }
    }

    /// `path` is absolute, and not there, but its folder is: it may be what the server is to write.
    fn add_absent(&mut self, path: &Path) {
        let Some(folder) = path.parent().and_then(|folder| folder.canonicalize().ok()) else { return };
        if self.is_written(&folder) {
            self.write.push(folder);
        } else {
            let why = "it is not there, and is made only in a folder that the server may write";
            self.leave_out(path, why);
        }
    }

    fn is_written(&self, real: &Path) -> bool {
        let lies_in = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
        self.may.workspaces.iter().chain(&self.may.write).any(lies_in)
    }

    fn leave_out(&mut self, path: &Path, why: &'static str) {
        let left_out = LeftOut { path: path.to_owned(), why };
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }
}

/// Why a program does not see all of a folder only because it is named, if so.
fn too_wide(real: &Path, home: Option<&Path>) -> Option<&'static str> {
    const OF_THE_MACHINE: [&str; 6] = ["/boot", "/dev", "/proc", "/run", "/sys", "/var/run"];
    const OF_MANY: [&str; 9] = ["/", "/etc", "/home", "/media", "/mnt", "/srv", "/tmp", "/var", "/root"];
    if home.is_some_and(|home| home.starts_with(real)) {
        return Some("it is the home folder, or holds it");
    }
    if OF_THE_MACHINE.iter().any(|folder| real.starts_with(folder)) {
        return Some("it belongs to the machine");
    }
    OF_MANY
        .iter()
        .any(|folder| real == Path::new(folder))
        .then_some("it holds far more than one server needs")
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
    let found = tool_chains::variables(variable("HOME").map(PathBuf::from).as_deref());
    let found: Vec<_> = found.into_iter().filter(|(name, _)| !is_set(name)).collect();
    kept.extend(found.into_iter().map(|(name, path)| (name.into(), path.into_os_string())));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_is_left_out_and_said() {
        let home = Some(Path::new("/home/me"));
        for (path, is_seen) in [
            ("/home/me/project", true),
            ("/srv/data", true),
            ("/etc/app", true),
            ("/home/me", false),
            ("/home", false),
            ("/", false),
            ("/run/user/1000", false),
            ("/proc/self", false),
            ("/etc", false),
            ("/tmp", false),
        ] {
            assert_eq!(too_wide(Path::new(path), home).is_none(), is_seen, "{path}");
        }
    }

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
