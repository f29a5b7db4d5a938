//! Which process stems from which, and at which terminal it is, as the kernel tells it in `/proc`. What follows from
//! that is decided elsewhere.

use std::fs;
use std::os::fd::AsFd;

use rustix::net::sockopt::socket_peercred;

/// The longest chain of parents that is followed: a loop cannot be, and a chain of this length is no person's shell.
const ANCESTORS_MAX: usize = 256;

/// What the kernel tells of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number, which another process has later.
    pub pid: u32,
    /// The number of its parent; 0 for one without.
    pub parent: u32,
    /// Its session, by the number of the process that began it.
    pub session: u32,
    /// Its controlling terminal, by the kernel's number of the device.
    pub terminal: Option<i32>,
    /// When it started, in the kernel's ticks since the machine did: with the number it names one process.
    pub started: u64,
}

/// Looks processes up by their numbers.
pub trait Processes {
    /// What is known of a process; nothing if there is none, or it may not be looked at.
    fn process(&self, pid: u32) -> Option<Process>;
}

/// The processes of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Machine;

impl Processes for Machine {
    #[expect(
        clippy::disallowed_methods,
        reason = "no file of a person's: what the kernel tells of a process"
    )]
    fn process(&self, pid: u32) -> Option<Process> {
        parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
    }
}

/// The words that a process was started with; nothing if there is none, or it may not be looked at.
#[expect(clippy::disallowed_methods, reason = "no file of a person's: what the kernel tells of a process")]
pub fn command_line(pid: u32) -> Option<Vec<String>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    Some(words.collect())
}

/// The process at the other end of a socket, as of when it was connected; of a pair of sockets the one that made them.
/// Nothing for what is no socket, and for a process that may not be looked at.
pub fn peer(socket: impl AsFd) -> Option<Process> {
    let credentials = socket_peercred(socket).ok()?;
    Machine.process(u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()?)
}

/// The process that started this one, if it is still there; else the one that has taken it over.
pub fn parent() -> Option<Process> {
    Machine.process(std::os::unix::process::parent_id())
}

/// A process and those that it stems from, itself first, as far as they may be looked at; nothing if not even it may.
pub fn lineage(processes: &dyn Processes, pid: u32) -> Option<Vec<Process>> {
    let mut line = vec![processes.process(pid)?];
    while let Some(last) = line.last()
        && line.len() < ANCESTORS_MAX
        && let Some(parent) = processes.process(last.parent).filter(|_| last.parent != 0)
    {
        // A number that was given away again meanwhile names no parent: parents are older.
        if parent.started > last.started {
            break;
        }
        line.push(parent);
    }
    Some(line)
}

/// Reads a line of `/proc/PID/stat`. The name of the program stands in it in parentheses and may hold any of them.
fn parse(stat: &str) -> Option<Process> {
    let pid = stat.split_once(' ')?.0.parse().ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    // From the third on, by the numbers of proc_pid_stat(5).
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let terminal: i32 = field(7)?.parse().ok()?;
    Some(Process {
        pid,
        parent: field(4)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        terminal: (terminal != 0).then_some(terminal),
        started: field(22)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a line of `stat`, from the session on.
    const REST: &str = "-1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";

    #[test]
    fn a_line_of_stat_is_read_whatever_the_program_is_called() {
        let process = |terminal| Process { pid: 42, parent: 7, session: 40, terminal, started: 777 };
        for (name, terminal, expected) in [
            ("(bash)", "34816", Some(process(Some(34816)))),
            ("(bash)", "0", Some(process(None))),
            ("(a) S 1 2 3 4 (b))", "0", Some(process(None))),
            ("( )\n(", "?", None),
            ("(x) y)", "34817", Some(process(Some(34817)))),
        ] {
            let line = format!("42 {name} S 7 41 40 {terminal} {REST}");
            assert_eq!(parse(&line), expected, "{line}");
        }
        for line in ["", "42", "42 (bash) S 7 41 40", "x (bash) S 7 41 40 0 0"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_ends_where_nothing_more_can_be_seen() {
        struct Table(Vec<(u32, u32, u64)>);
        impl Processes for Table {
            fn process(&self, pid: u32) -> Option<Process> {
                let (pid, parent, started) = *self.0.iter().find(|it| it.0 == pid)?;
                Some(Process { pid, parent, session: 1, terminal: None, started })
            }
        }
        for (table, expected) in [
            (vec![(1, 0, 1), (2, 1, 5), (3, 2, 9)], Some(vec![3, 2, 1])),
            (vec![(3, 2, 9)], Some(vec![3])),
            (vec![(2, 1, 10), (3, 2, 9)], Some(vec![3])),
            (vec![(2, 1, 1)], None),
        ] {
            let found = lineage(&Table(table.clone()), 3);
            let pids = found.map(|line| line.iter().map(|it| it.pid).collect::<Vec<_>>());
            assert_eq!(pids, expected, "{table:?}");
        }
        let looped = Table(vec![(3, 4, 9), (4, 3, 9)]);
        assert_eq!(lineage(&looped, 3).map(|line| line.len()), Some(ANCESTORS_MAX));
    }

    #[test]
    fn this_process_is_found_with_its_parent() {
        let own = lineage(&Machine, std::process::id()).expect("we can be looked at");
        assert_eq!(own[0].pid, std::process::id());
        assert_eq!(own[0].parent, std::os::unix::process::parent_id());
        assert_eq!(parent().as_ref(), own.get(1));
        let (end, _other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        assert_eq!(peer(&end).map(|peer| peer.pid), Some(own[0].pid));
        assert_eq!(peer(std::io::pipe().expect("a pipe").0), None);
        assert!(command_line(own[0].pid).expect("it has one").len() > 1);
    }
}
