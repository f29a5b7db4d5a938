//! The guard: a small process above every command, which ends the command's whole tree when the
//! *lifeline*, a pipe whose other end the program holds, closes, for whatever reason. The program says a byte
//! before it closes it in good order, and the command then has its time to tidy up. Without the byte the program
//! died, nobody waits for the command any more, and all is over within a quarter of a second.
//!
//! The guard adopts orphans (it is a subreaper), so a process cannot leave the tree by forking twice
//! or by a session of its own. What it cannot stop is a command of the same user that kills the guard
//! itself; confinement is for that. The kernel then still ends the direct child.
//!
//! Starting the guard and talking to it is left to `process`.

mod command;
mod descendants;
mod family;
mod inherited;

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::Duration;

use rustix::process::{Signal, getpid, set_child_subreaper, setsid};

use command::Order;
use family::{Demand, EXIT_GUARD_FAILED, Family};

/// In an orderly end, a command that reads its input to the end may leave by itself.
pub const VOLUNTARY_EXIT: Duration = Duration::from_millis(250);

/// Then, after SIGTERM, time to tidy up before SIGKILL.
pub const TERMINATION: Duration = Duration::from_millis(1000);

/// The same two after the program died without a word. A client that starts the program anew at once must not meet
/// the old servers, so all is to be over within 250 ms, of which the kernel needs some.
const ABANDONED_VOLUNTARY_EXIT: Duration = Duration::from_millis(50);
const ABANDONED_TERMINATION: Duration = Duration::from_millis(100);

/// After SIGKILL, the time within which the kernel must have ended everything. What is left then is
/// stuck in the kernel or belongs to another user.
pub const KILLING: Duration = Duration::from_secs(5);

/// How long one round of SIGKILL is given before the next looks for processes born meanwhile.
const KILL_ROUND: Duration = Duration::from_millis(10);

/// The whole life of a guard process. `arguments` are the file descriptor of the lifeline, the
/// program's path and the program's own arguments; the environment and the three standard streams go
/// to the program as they are.
///
/// Returns the exit code for the process: the command's own, 128 + n when signal n ended it, 125 when
/// the guard started nothing, 126 or 127 when the program could not be run. Must be called in a process
/// started for nothing else, before any thread exists.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    match guard(arguments) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("the process guard could not start: {error}"));
            EXIT_GUARD_FAILED
        }
    }
}

fn guard(arguments: impl IntoIterator<Item = OsString>) -> io::Result<i32> {
    let order = Order::parse(arguments)?;
    let lifeline = inherited::keep_only(order.lifeline)?;
    // Fails only for a process group's leader, which then has a session already.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let mut family = Family::new(lifeline)?;
    // The program may have gone before we were ready; then nothing is started at all.
    if family.is_to_end()? {
        return Ok(EXIT_GUARD_FAILED);
    }
    let child = match command::start(&order, getpid()) {
        Ok(child) => child,
        Err(error) => {
            say(&format!("{} could not be run: {error}", order.program.display()));
            return Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 });
        }
    };
    family.child = Some(child);
    inherited::release_input_and_output()?;
    watch(&mut family)?;
    Ok(family.exit_code())
}

/// Waits for the end of the command or of the lifeline, then ends what is left, ever less politely.
fn watch(family: &mut Family) -> io::Result<()> {
    family.wait(|family| family.demand.is_some() || family.child_status.is_some(), None)?;
    let (voluntary_exit, termination) = match family.demand {
        Some(Demand::Abandoned) => (ABANDONED_VOLUNTARY_EXIT, ABANDONED_TERMINATION),
        // Without a demand the command has left by itself; what it leaves behind has the usual time.
        Some(Demand::Asked) | None => (VOLUNTARY_EXIT, TERMINATION),
    };
    family.wait(|family| family.child_status.is_some(), Some(voluntary_exit))?;
    if family.is_gone {
        return Ok(());
    }
    // A look at the processes may fail while they exhaust the machine; the next round looks again.
    let _ = descendants::signal_all(Signal::TERM);
    family.wait(|family| family.is_gone, Some(termination))?;
    let rounds = KILLING.as_millis() / KILL_ROUND.as_millis();
    for _ in 0..rounds {
        if family.is_gone {
            return Ok(());
        }
        // Stopped first, so that nothing new is started between the look and the kill.
        let _ = descendants::signal_all(Signal::STOP);
        let _ = descendants::signal_all(Signal::KILL);
        family.wait(|family| family.is_gone, Some(KILL_ROUND))?;
    }
    say("some processes of the command could not be ended");
    Ok(())
}

/// One line for people; with stderr gone there is nobody to tell.
fn say(sentence: &str) {
    let _ = writeln!(io::stderr(), "toolcrib: {sentence}");
}
