//! Whether what is typed here is typed by a person, and not by an agent that has a shell: at a terminal, outside of every
//! client, and with the code for approvals if there is one. Whatever decides for a person asks here first.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use admin::Person;
use gate::Approvals;
use gate::approvals::{self, Asker, CODE_BYTES_MAX, Code};
use rustix::fs::{Mode, OFlags};
use sandbox::{Machine, Processes, command_line};
use terminal::{Trouble, unseen};

use crate::control;
use crate::own_program::RESIDENT;

/// The terminal of whoever controls this process, wherever its streams lead.
const TERMINAL: &str = "/dev/tty";

/// The words of a command line by which a process serves one client on its standard input and output.
const STDIO_WORDS: [&str; 2] = ["stdio", "--mcp"];

/// The person at this command line: it has a terminal, and neither stems from one of the `askers`, or from the client
/// of any Toolcrib that is running on this state folder, nor shares a terminal or session with it.
///
/// # Errors
/// Why there is none, and what to do.
pub fn present(state: &Path, askers: &[Asker]) -> Result<Person, Trouble> {
    Ok(Person::at_terminal(clients(state).collect(), askers)?)
}

/// Whether the client at these processes can be a person's: no client of another Toolcrib on this state folder has started
/// it, as an agent's shell would, to fill in the form by itself.
pub fn is_at_client(state: &Path, askers: &[Asker]) -> bool {
    !approvals::is_below(&Machine, askers, &clients(state).collect::<Vec<_>>())
}

/// The clients that have started a Toolcrib which is running now; and the processes that serve all of a user's clients, since
/// what stems from one of those is a server's.
fn clients(state: &Path) -> impl Iterator<Item = Asker> {
    control::serving(state).into_iter().filter_map(|pid| {
        let words = command_line(pid)?;
        if words.iter().any(|word| word == RESIDENT) {
            return Machine.process(pid).map(Asker::from);
        }
        // Our own client is who is being asked about.
        (pid != std::process::id()).then_some(())?;
        words.iter().any(|word| STDIO_WORDS.contains(&word.as_str())).then_some(())?;
        let parent = Machine.process(pid)?.parent;
        // Whoever lost its parent has lost its client; everything stems from the process that takes over orphans.
        Machine.process(parent).filter(|parent| parent.pid != 1).map(Asker::from)
    })
}

/// The code for approvals as somebody types it at the terminal; nothing if there is none to be given.
///
/// # Errors
/// Nobody types one, or the store cannot be read.
pub fn code(kept: &Approvals) -> Result<Option<Code>, Trouble> {
    match kept.has_code().map_err(Trouble::because)? {
        true => typed_code("Code for approvals (it is not shown):").map(Some),
        false => Ok(None),
    }
}

/// A code that is typed at the terminal.
pub fn typed_code(question: &str) -> Result<Code, Trouble> {
    let no_terminal = |error| Trouble::Failed(format!("there is no terminal to type a code at: {error}"));
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal: OwnedFd = rustix::fs::open(TERMINAL, flags, Mode::empty()).map_err(no_terminal)?;
    let mut terminal = File::from(terminal);
    let shown = terminal.try_clone()?;
    let typed = unseen::ask(shown.as_fd(), &mut terminal, question, CODE_BYTES_MAX)?;
    typed.map(Code::new).ok_or_else(|| Trouble::Misused("no code was given, so nothing was done".to_owned()))
}
