//! Starting a program whose whole process tree ends when it should: when it is told to, when its
//! handle is dropped, and, with less patience, when this program itself is killed.
//!
//! The program runs under a `guard`, which holds the read end of a pipe, the lifeline. What the
//! program may touch while it runs is left to confinement, and what is said over its pipes to callers.

#![expect(clippy::disallowed_methods, reason = "the one place where the guard is started")]

mod ask_program;
mod detached;
mod environment;
pub(crate) mod lookup;
mod program;

use std::ffi::OsString;
use std::io::{self, PipeWriter, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::guard;
pub use ask_program::{ProgramOutput, ask_program, may_be_asked};
pub use detached::{Lasting, start_lasting};
pub(crate) use detached::{find_in, start_detached, variable};
pub use environment::{InheritedNames, Variables};
pub use lookup::StartError;
pub use program::Program;

/// The longest `Tree::end` waits: all that the guard's steps may take, and something for the machine.
pub const END_TIMEOUT: Duration = guard::VOLUNTARY_EXIT
    .saturating_add(guard::TERMINATION)
    .saturating_add(guard::KILLING)
    .saturating_add(Duration::from_secs(2));

/// Exit codes above this one say "ended by a signal", up to the highest signal's.
const SIGNAL_CODE_BASE: i32 = 128;
const SIGNAL_MAX: i32 = 64;

/// Knows how to start the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// An executable that calls `guard::main`; an absolute path.
    pub guard: PathBuf,
    /// What comes before the guard's own arguments, such as a hidden subcommand.
    pub guard_args: Vec<String>,
}

/// A running program with everything it started. Dropping it ends the tree without waiting.
#[derive(Debug)]
pub struct Tree {
    io: Option<TreeIo>,
    lifeline: Lifeline,
    guard: Child,
    pid: u32,
}

/// Our end of the lifeline. What lets go of it while the program lives does so in good order, and the guard hears
/// that; who is killed says nothing.
#[derive(Debug)]
struct Lifeline(PipeWriter);

impl Drop for Lifeline {
    fn drop(&mut self) {
        // Never waits, since the pipe is empty. If the guard has gone, nobody needs to hear it.
        let _ = self.0.write(b".");
    }
}

/// Our ends of the program's standard streams.
#[derive(Debug)]
pub struct TreeIo {
    /// Dropping it closes the program's input.
    pub stdin: Sender,
    /// Ends when every process that holds the output has closed it.
    pub stdout: Receiver,
    /// As `stdout`; the guard holds it too, to the end of the tree.
    pub stderr: Receiver,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code. 125 also says that it was ended before it began, 126 and 127 that it
    /// could not be run, with a line on stderr.
    Code(i32),
    /// This signal ended it. A shell's code for the same, 128 + n, is counted here too.
    Signal(i32),
    /// The guard was ended from outside or did not answer in time; nothing is known.
    Lost,
}

impl Launcher {
    /// Starts `program` under a guard. Must be called within a tokio runtime that has I/O enabled;
    /// a single-threaded one will do.
    ///
    /// The program sees the variables that it is handed, and nothing of this process's own. A missing program is found
    /// before anything is started; what only the kernel can tell arrives as exit code 126 or 127.
    pub fn start(&self, program: &Program) -> Result<Tree, StartError> {
        if program.cwd.is_none() {
            program.make_own_folder()?;
        }
        let environment = program.environment();
        let executable = lookup::find(program, &environment)?;
        self.spawn(program, &executable.into(), environment).map_err(StartError::Io)
    }

    fn spawn(&self, program: &Program, executable: &OsString, environment: Variables) -> io::Result<Tree> {
        let (stdin_theirs, stdin) = io::pipe()?;
        let (stdout, stdout_theirs) = io::pipe()?;
        let (stderr, stderr_theirs) = io::pipe()?;
        let (lifeline_theirs, lifeline) = io::pipe()?;
        // Inheritable for the moment of the spawn. Another child born in that moment would get a
        // *read* end, which keeps nothing alive; the write end is never inherited.
        let inherited = fcntl_dupfd_cloexec(&lifeline_theirs, 3)?;
        fcntl_setfd(&inherited, FdFlags::empty())?;
        let mut command = Command::new(&self.guard);
        command.args(&self.guard_args).arg(inherited.as_raw_fd().to_string());
        command.arg(executable).args(&program.args);
        command.env_clear().envs(environment);
        command.stdin(Stdio::from(stdin_theirs));
        command.stdout(Stdio::from(stdout_theirs)).stderr(Stdio::from(stderr_theirs));
        if let Some(folder) = program.folder() {
            command.current_dir(folder);
        }
        let lifeline = Lifeline(lifeline);
        let guard = command.spawn()?;
        let pid = guard.id().ok_or(io::Error::other("the guard ended at once"))?;
        let io = TreeIo {
            stdin: Sender::from_owned_fd(OwnedFd::from(stdin))?,
            stdout: Receiver::from_owned_fd(OwnedFd::from(stdout))?,
            stderr: Receiver::from_owned_fd(OwnedFd::from(stderr))?,
        };
        Ok(Tree { io: Some(io), lifeline, guard, pid })
    }
}

impl Tree {
    /// Hands out the streams, once. Whoever holds `stdin` should drop it before `end`, so that the
    /// program may leave by itself.
    pub fn take_io(&mut self) -> Option<TreeIo> {
        self.io.take()
    }

    /// The guard's process number; everything the program started is below it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the program has ended and nothing of its tree is left. May be cancelled and
    /// called again.
    pub async fn wait(&mut self) -> Exit {
        self.guard.wait().await.map_or(Exit::Lost, Exit::of)
    }

    /// Ends the tree: closes input and lifeline, which asks politely, then insists. Returns when
    /// nothing is left, at the latest after `END_TIMEOUT`.
    pub async fn end(self) -> Exit {
        let Tree { io, lifeline, mut guard, .. } = self;
        drop(io);
        drop(lifeline);
        match timeout(END_TIMEOUT, guard.wait()).await {
            Ok(ended) => ended.map_or(Exit::Lost, Exit::of),
            Err(_) => {
                // An error says that it has just ended by itself.
                let _ = guard.start_kill();
                Exit::Lost
            }
        }
    }
}

impl Exit {
    fn of(guard: ExitStatus) -> Exit {
        match guard.code().map(|code| (code, code - SIGNAL_CODE_BASE)) {
            Some((_, signal @ 1..=SIGNAL_MAX)) => Exit::Signal(signal),
            Some((code, _)) => Exit::Code(code),
            None => Exit::Lost,
        }
    }
}
