//! `Family`: the guard's children, its own and those it adopted, and the two things that tell it to
//! end them: the lifeline and a signal to the guard itself. Waits without a timer while nothing happens.
//!
//! A byte on the lifeline asks for the end in an orderly way. If it closes without one, the program died.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::pipe;

/// The guard's exit code when it started nothing: it was called wrongly, could not set itself up, or
/// the end came first. `env` and `timeout` use the same.
pub(super) const EXIT_GUARD_FAILED: i32 = 125;

/// Why everything is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// The program or a signal asked for it.
    Asked,
    /// The program died without a word.
    Abandoned,
}

pub(super) struct Family {
    lifeline: OwnedFd,
    /// Readable after SIGCHLD.
    child_signals: UnixStream,
    /// Readable after a signal that asks the guard to end.
    end_signals: UnixStream,
    /// Why everything is to end; nothing while the command may go on.
    pub(super) demand: Option<Demand>,
    /// The one whose exit code counts.
    pub(super) child: Option<Pid>,
    pub(super) child_status: Option<WaitStatus>,
    /// Whether no child is left. Since orphans come to us, then no descendant is left either.
    pub(super) is_gone: bool,
}

impl Family {
    pub(super) fn new(lifeline: OwnedFd) -> io::Result<Family> {
        Ok(Family {
            lifeline,
            child_signals: pipe_of_signals(&[SIGCHLD])?,
            end_signals: pipe_of_signals(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])?,
            demand: None,
            child: None,
            child_status: None,
            is_gone: false,
        })
    }

    /// Whether the lifeline has closed or a signal asked for the end; does not wait.
    pub(super) fn is_to_end(&mut self) -> io::Result<bool> {
        self.sleep(Some(Duration::ZERO))?;
        Ok(self.demand.is_some())
    }

    /// The direct child's exit code as a shell would give it.
    pub(super) fn exit_code(&self) -> i32 {
        let Some(status) = self.child_status else { return 128 + rustix::process::Signal::KILL.as_raw() };
        let signalled = status.terminating_signal().map(|signal| 128 + signal);
        status.exit_status().or(signalled).unwrap_or(EXIT_GUARD_FAILED)
    }

    /// Buries the dead and waits until `until` holds or `patience` is over.
    pub(super) fn wait(
        &mut self,
        until: impl Fn(&Family) -> bool,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            self.reap()?;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if until(self) || left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            self.sleep(left)?;
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.child => self.child_status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(()),
                Err(Errno::CHILD) => {
                    self.is_gone = true;
                    return Ok(());
                }
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Sleeps until a child's state changes, the end is demanded, or `left` is over.
    fn sleep(&mut self, left: Option<Duration>) -> io::Result<()> {
        let mut waited_for = [
            PollFd::new(&self.child_signals, PollFlags::IN),
            PollFd::new(&self.lifeline, PollFlags::IN),
            PollFd::new(&self.end_signals, PollFlags::IN),
        ];
        // A closed lifeline stays readable: once seen, it would keep us awake.
        let polled = if self.demand.is_some() { &mut waited_for[..1] } else { &mut waited_for[..] };
        let left = left.map(|left| Timespec::try_from(left).expect("our limits are seconds"));
        match poll(polled, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |nth: usize| polled.get(nth).is_some_and(|fd| !fd.revents().is_empty());
        let (is_lifeline, is_signal) = (is_ready(1), is_ready(2));
        if is_signal {
            self.demand = Some(Demand::Asked);
        } else if is_lifeline {
            self.demand = Some(last_word(&self.lifeline));
        }
        drain(&mut self.child_signals)
    }
}

/// What a lifeline that is readable says.
fn last_word(lifeline: &OwnedFd) -> Demand {
    match rustix::io::read(lifeline, &mut [0; 1]) {
        Ok(1..) => Demand::Asked,
        Ok(0) | Err(_) => Demand::Abandoned,
    }
}

fn pipe_of_signals(signals: &[i32]) -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    for signal in signals {
        pipe::register(*signal, writer.try_clone()?)?;
    }
    Ok(reader)
}

fn drain(signals: &mut UnixStream) -> io::Result<()> {
    match signals.read(&mut [0; 64]) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        // More than a buffer full wakes us again.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_to_end_once_the_lifeline_says_so_or_closes() {
        for (says, closes, expected) in [
            (&b""[..], false, None),
            (b"x", false, Some(Demand::Asked)),
            (b"x", true, Some(Demand::Asked)),
            (b"", true, Some(Demand::Abandoned)),
        ] {
            let (lifeline, program) = rustix::pipe::pipe().expect("a pipe");
            let mut family = Family::new(lifeline).expect("a family");
            rustix::io::write(&program, says).expect("written");
            let open = (!closes).then_some(program);
            assert_eq!(family.is_to_end().expect("a look"), expected.is_some(), "{says:?} {closes}");
            assert_eq!(family.demand, expected, "{says:?} {closes}");
            drop(open);
        }
    }

    #[test]
    fn a_signal_asks_for_the_end() {
        let (lifeline, _program) = rustix::pipe::pipe().expect("a pipe");
        let mut family = Family::new(lifeline).expect("a family");
        signal_hook::low_level::raise(SIGTERM).expect("raised");
        assert!(family.is_to_end().expect("a look") && family.demand == Some(Demand::Asked));
    }

    #[test]
    fn a_child_that_could_not_be_ended_counts_as_killed() {
        let (lifeline, _program) = rustix::pipe::pipe().expect("a pipe");
        assert_eq!(Family::new(lifeline).expect("a family").exit_code(), 128 + 9);
    }
}
