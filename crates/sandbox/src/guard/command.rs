//! What the guard is asked to run, and how it is started.

#![expect(clippy::disallowed_methods, reason = "the one place where a command is started")]

use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

pub(super) struct Order {
    pub(super) lifeline: RawFd,
    pub(super) program: PathBuf,
    arguments: Vec<OsString>,
}

impl Order {
    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> io::Result<Order> {
        let mut arguments = arguments.into_iter();
        let lifeline = arguments.next().and_then(|text| text.to_str()?.parse().ok());
        // 0, 1 and 2 belong to the command.
        let lifeline = lifeline.filter(|fd| *fd > 2);
        match (lifeline, arguments.next()) {
            (Some(lifeline), Some(program)) => {
                Ok(Order { lifeline, program: program.into(), arguments: arguments.collect() })
            }
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is started by the program itself, with a file descriptor and a command",
            )),
        }
    }
}

/// Starts the command below `guard`, this process, in a process group of its own, so that a signal it sends to its group
/// does not reach the guard.
pub(super) fn start(order: &Order, guard: Pid) -> io::Result<Pid> {
    let fence = move || {
        // Second to the lifeline: it also holds when the guard itself is killed.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The guard may have died before the line above.
        if getppid() == Some(guard) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    let mut command = Command::new(&order.program);
    command.args(&order.arguments).process_group(0);
    #[expect(unsafe_code, reason = "the death signal can only be set between fork and exec")]
    // SAFETY: the closure makes two system calls and neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(fence);
    }
    Ok(Pid::from_child(&command.spawn()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_whose_guard_has_died_meanwhile_is_not_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("trace");
        let arguments =
            ["3".into(), "/bin/sh".into(), "-c".into(), "echo > \"$0\"".into(), trace.clone().into()];
        let order = Order::parse(arguments).expect("an order");
        // Its parent is another than the guard, as it is once that has died.
        let refused = start(&order, Pid::INIT).map_err(|error| Errno::from_io_error(&error));
        assert_eq!(refused, Err(Some(Errno::SRCH)));
        assert!(!trace.exists());
    }

    #[test]
    fn the_streams_of_the_command_are_no_lifeline() {
        for (fd, is_good) in [("2", false), ("0", false), ("-1", false), ("x", false), ("3", true)] {
            assert_eq!(Order::parse([fd.into(), "true".into()]).is_ok(), is_good, "{fd}");
        }
        assert!(Order::parse(["3".into()]).is_err(), "no command");
    }
}
