//! Watching the program: it ends by itself, by its lifeline or by a limit, and everything inside ends with it.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, setsid, wait};

use super::children::Children;
use super::exhausted::{Exhaustible, Scratch};
use super::given::{Empty, Init};
use super::memory::{self, has_killed};
use super::nowhere::nowhere;
use super::root::scratch_files;
use crate::confine::layer::Layer;
use crate::confine::limits::{Limit, Limits};
use crate::confine::packet::{BEGUN, OVER, send_files};
use crate::confine::report::{Ending, MemoryKeeper, Nowhere, Report};

/// How often the watchdog looks. A look at a hundred processes takes a millisecond.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The same at programs that use less than a quarter of what they may: a server that waits for its next call wakes nobody
/// ten times a second.
const LOOK_SELDOM_EVERY: Duration = Duration::from_secs(1);
const LITTLE: u64 = 4;

/// A shell's code for a program that signal n ended is 128 + n.
const SIGNAL_CODE_BASE: i32 = 128;

/// A program that runs, and what it takes to watch it.
pub(super) struct Started {
    program: Pid,
    deadline: Option<Instant>,
    /// What init sees to itself.
    memory_bytes_max: Option<u64>,
    scratch: Option<Scratch>,
    /// What is looked at when it has failed.
    exhaustible: Exhaustible,
    /// Whether there is a way out of a network of its own, in which it is counted what goes nowhere.
    has_way_out: bool,
    lifeline: OwnedFd,
    report: OwnedFd,
    socket: OwnedFd,
    /// What tells whether the kernel has ended somebody inside for the memory of all.
    events: Option<OwnedFd>,
    /// Whether the end of the pipe is to be waited for, whatever is left inside.
    is_tidied: bool,
}

impl Started {
    /// Lets go of the program's streams, so that their end is seen, and says that it runs.
    pub(super) fn new(init: Init, program: Pid, began: Instant) -> Started {
        init.started().write(&init.report);
        if init.is_in_template {
            // Or there is no spawner any more, and our end is near.
            let _ = send_files(&init.socket, BEGUN, []);
        }
        let has_way_out = init.order.ports.is_some() && !init.without.contains(&Layer::NetworkNamespace);
        let Init { order, lifeline, report, memory, plan, socket, events, .. } = init;
        let Limits { time, memory_bytes, .. } = order.limits;
        let memory_bytes_max = (memory == MemoryKeeper::Watchdog).then_some(memory_bytes);
        // The file systems that `bwrap` makes take any number of files, and if it is setuid any number of bytes.
        let most = || Scratch {
            bytes: order.limits.scratch_bytes,
            files: scratch_files(order.limits.scratch_bytes),
        };
        // After bwrap, something stands where it must go, too.
        let is_tidied = plan.is_some() || order.has_absent();
        let scratch = plan.map(|_| most());
        let (deadline, exhaustible) = (began.checked_add(time), Exhaustible::of(&order));
        Started {
            program,
            deadline,
            memory_bytes_max,
            scratch,
            exhaustible,
            has_way_out,
            lifeline,
            report,
            socket,
            events,
            is_tidied,
        }
    }
}

impl Started {
    /// What is used of each limit that init keeps itself.
    fn watched(&self) -> Vec<(u64, u64, Limit)> {
        let memory = self.memory_bytes_max.map(|most| (memory::used(), most, Limit::MemoryBytes));
        let scratch = self.scratch.iter().flat_map(|most| {
            let used = self.exhaustible.used();
            [(used.bytes, most.bytes), (used.files, most.files)]
        });
        memory.into_iter().chain(scratch.map(|(used, most)| (used, most, Limit::ScratchBytes))).collect()
    }
}

/// The spawner's end is ours. It also holds if that came first: the lifeline then ends, too. Nothing else is shared: a signal
/// to a process group finds its members in whatever namespace they are.
pub(super) fn follow_spawner(_: &Empty) -> io::Result<()> {
    setsid()?;
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Waits for the end and says what it was; returns init's exit code.
pub(super) fn watch(started: Started) -> i32 {
    let (ending, limit) = match until_end(&started) {
        Ok(end) => end,
        // Who cannot watch must not let run.
        Err(_) => (Ending::Signal(Signal::KILL.as_raw()), None),
    };
    // Otherwise nothing is over before the kernel has ended the others with us.
    let is_alone = is_alone();
    let killed = started.events.as_ref().map_or(Ok(false), has_killed);
    let limit = limit.or(matches!(killed, Ok(true)).then_some(Limit::MemoryBytes));
    let is_over = is_alone && killed.is_ok() && !started.is_tidied;
    let nowhere = if started.has_way_out { nowhere() } else { Nowhere::default() };
    // First the spawner: whoever hears that all is over ends the lifeline, and with that us.
    if is_alone {
        let _ = send_files(&started.socket, OVER, []);
    }
    Report::Ended { ending, limit, nowhere, is_over }.write(&started.report);
    // Who waits for that has been woken on this processor. With our end the kernel takes the namespaces down, half a millisecond
    // in which it would not run.
    std::thread::yield_now();
    0
}

/// Whether init is all that is left inside: whatever ran there would be its child, or one's that is.
fn is_alone() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(errno) => return errno == Errno::CHILD,
        }
    }
}

fn until_end(started: &Started) -> io::Result<(Ending, Option<Limit>)> {
    let children = Children::watch()?;
    let killed = Ending::Signal(Signal::KILL.as_raw());
    loop {
        if let Some(status) = reap(started.program)? {
            let (ending, limit) = ended(status);
            let has_failed = ending != Ending::Code(0) && limit.is_none();
            let reached = if has_failed { started.exhaustible.exhausted() } else { None };
            return Ok((ending, limit.or(reached)));
        }
        let left = started.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok((killed, Some(Limit::Time)));
        }
        let watched = started.watched();
        if let Some((_, _, limit)) = watched.iter().find(|(used, most, _)| used > most) {
            return Ok((killed, Some(*limit)));
        }
        let next_look = watched
            .iter()
            .map(|(used, most, _)| if *used < most / LITTLE { LOOK_SELDOM_EVERY } else { LOOK_EVERY });
        let left = left.into_iter().chain(next_look).min();
        match sleep(&children, &started.lifeline, left)? {
            Heard::Nothing => {}
            Heard::End => return Ok((killed, None)),
            Heard::Leave => leave(&started.lifeline)?,
        }
        children.read()?;
    }
}

/// What the lifeline says.
enum Heard {
    Nothing,
    /// Everything is to leave by itself: a byte.
    Leave,
    /// Everything is to end.
    End,
}

/// Waits for a child's end, for the lifeline, or until `left` is over.
fn sleep(children: &Children, lifeline: &OwnedFd, left: Option<Duration>) -> io::Result<Heard> {
    let mut waited_for = [PollFd::new(children, PollFlags::IN), PollFd::new(lifeline, PollFlags::IN)];
    // A limit that no clock can hold is none.
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut waited_for, left.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Heard::Nothing),
        Err(errno) => return Err(errno.into()),
    }
    let said = waited_for.last().map_or(PollFlags::empty(), PollFd::revents);
    Ok(match (said.contains(PollFlags::HUP), said.contains(PollFlags::IN)) {
        (true, _) => Heard::End,
        (false, true) => Heard::Leave,
        (false, false) if said.is_empty() => Heard::Nothing,
        (false, false) => Heard::End,
    })
}

/// Asks all that runs inside to leave.
fn leave(lifeline: &OwnedFd) -> io::Result<()> {
    rustix::io::read(lifeline, &mut [0; 1])?;
    #[expect(unsafe_code, reason = "neither std nor rustix signals all processes at once")]
    // SAFETY: it touches no memory. As the first process of its namespace init reaches those inside, and not itself.
    let result = unsafe { libc::kill(-1, libc::SIGTERM) };
    match (result, io::Error::last_os_error()) {
        (0, _) => Ok(()),
        // The last has just ended.
        (_, error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        (_, error) => Err(error),
    }
}

/// Waits for those that have ended, the program's orphans among them. How the program ended, if it has.
fn reap(program: Pid) -> io::Result<Option<WaitStatus>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == program => return Ok(Some(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn ended(status: WaitStatus) -> (Ending, Option<Limit>) {
    let ending = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, signal) => Ending::Signal(signal.unwrap_or(Signal::KILL.as_raw())),
    };
    // A shell says in its code what ended the program that it ran.
    let signal = match ending {
        Ending::Code(code) => code - SIGNAL_CODE_BASE,
        Ending::Signal(signal) => signal,
    };
    let limit = match signal {
        libc::SIGXCPU => Some(Limit::Cpu),
        libc::SIGXFSZ => Some(Limit::FileBytes),
        _ => None,
    };
    (ending, limit)
}
