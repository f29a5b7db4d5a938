//! Programs that are none of our business once they run: what opens a browser, and the process of our own that serves all
//! clients of a user.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lookup;
use super::program::Program;

/// A variable of our own environment.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The program's executable in `path`, a value of PATH; in the usual places if there is none.
pub(crate) fn find_in(path: Option<OsString>, command: &str) -> Option<PathBuf> {
    let environment = path.map(|path| (OsString::from("PATH"), path)).into_iter().collect();
    lookup::find(&Program { command: command.to_owned(), ..Program::default() }, &environment).ok()
}

/// Starts `executable` with our own environment, away from our streams, our terminal's signals and our end, and
/// sees to it that nothing is left of it in the process table. Does not wait for it.
pub(crate) fn start_detached(executable: &Path, arguments: &[&OsStr]) -> io::Result<()> {
    let mut command = Command::new(executable);
    command.args(arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // A browser that is started anew may run for days; the thread sleeps meanwhile, and ends with us.
    std::thread::Builder::new().name("detached".to_owned()).spawn(move || child.wait())?;
    Ok(())
}

/// A program that outlives this one, and what it is given.
pub struct Lasting<'a> {
    /// The executable.
    pub executable: &'a Path,
    /// Its arguments, which everybody on the machine can read.
    pub args: &'a [&'a OsStr],
    /// All of its environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Its standard input, output and error.
    pub streams: [OwnedFd; 3],
}

/// Starts a program that outlives this one, in the root folder. It is to leave our session by itself, first of all. Does not
/// wait for it: if it ends before us, it stays in the process table until we do.
///
/// # Errors
/// What the system says.
pub fn start_lasting(program: Lasting<'_>) -> io::Result<()> {
    let Lasting { executable, args, environment, streams: [stdin, stdout, stderr] } = program;
    let mut command = Command::new(executable);
    command.args(args).env_clear().envs(environment).current_dir("/");
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    command.spawn().map(drop)
}
