//! Whether a process can be a person's hand: it has a terminal, and it neither stems from the client that asked nor
//! shares a terminal or session with it. An agent's shell is a child of the agent.
//!
//! A program that forks twice and opens a terminal of its own is told from a person by nothing here.

use sandbox::{Process, Processes, lineage};
use serde::{Deserialize, Serialize};

/// A process that calls came from, as it is kept with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Its number.
    pub pid: u32,
    /// When it started, which tells it from a later one of its number.
    pub started: u64,
    /// Its session.
    pub session: u32,
    /// Its controlling terminal.
    pub terminal: Option<i32>,
}

impl From<Process> for Asker {
    fn from(Process { pid, started, session, terminal, .. }: Process) -> Asker {
        Asker { pid, started, session, terminal }
    }
}

/// Why a process does not answer for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAPerson {
    /// The system does not say what it stems from.
    #[error("the system does not tell what this process stems from (/proc)")]
    Unknown,
    /// It has no controlling terminal.
    #[error("this process has no terminal")]
    NoTerminal,
    /// It stems from a client.
    #[error("this process was started by the client that asks, process {0}, or by something below it")]
    Descends(u32),
    /// It has a client's terminal.
    #[error("this is the terminal of the client that asks, process {0}")]
    SameTerminal(u32),
    /// It is in a client's session.
    #[error("this process is in the session of the client that asks, process {0}")]
    SameSession(u32),
}

/// Whether the process `own` can be the hand of a person who is none of the `askers`.
///
/// # Errors
/// Why it is not.
pub fn present(processes: &dyn Processes, own: u32, askers: &[Asker]) -> Result<(), NotAPerson> {
    let line = lineage(processes, own).ok_or(NotAPerson::Unknown)?;
    let me = line[0];
    let stems_from = |asker: &&Asker| line.iter().any(|process| is(asker, process));
    if let Some(asker) = askers.iter().find(stems_from) {
        return Err(NotAPerson::Descends(asker.pid));
    }
    let terminal = me.terminal.ok_or(NotAPerson::NoTerminal)?;
    if let Some(asker) = askers.iter().find(|asker| asker.terminal == Some(terminal)) {
        return Err(NotAPerson::SameTerminal(asker.pid));
    }
    // A session outlives the process that began it; its number is not given away before that.
    match askers.iter().find(|asker| asker.session == me.session) {
        Some(asker) => Err(NotAPerson::SameSession(asker.pid)),
        None => Ok(()),
    }
}

/// Whether one of the `askers` stems from one of these other `clients`: then it is no person's client but a tool of that
/// one, which would answer its own form.
pub fn is_below(processes: &dyn Processes, askers: &[Asker], clients: &[Asker]) -> bool {
    let is_other = |client: &&Asker| !askers.contains(client);
    let above = |asker: &Asker| lineage(processes, asker.pid).unwrap_or_default();
    askers
        .iter()
        .flat_map(above)
        .any(|process| clients.iter().filter(is_other).any(|client| is(client, &process)))
}

/// Whether the client that asked is still there, by the first of these processes; true for one that no process is known of.
pub fn is_there(processes: &dyn Processes, askers: &[Asker]) -> bool {
    let Some(client) = askers.first() else { return true };
    processes.process(client.pid).is_some_and(|process| is(client, &process))
}

fn is(asker: &Asker, process: &Process) -> bool {
    (process.pid, process.started) == (asker.pid, asker.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, parent, session, terminal (0 for none), start.
    type Row = (u32, u32, u32, i32, u64);

    struct Table<'a>(&'a [Row]);

    impl Processes for Table<'_> {
        fn process(&self, pid: u32) -> Option<Process> {
            let &(pid, parent, session, terminal, started) = self.0.iter().find(|row| row.0 == pid)?;
            Some(Process { pid, parent, session, terminal: (terminal != 0).then_some(terminal), started })
        }
    }

    /// Init, two terminals with a shell each (10, 20), an agent in the first (11), one without a terminal (30), and what
    /// they have started.
    const MACHINE: &[Row] = &[
        (1, 0, 1, 0, 1),
        (10, 1, 10, 100, 10),
        (20, 1, 20, 200, 20),
        (11, 10, 10, 100, 30),
        (30, 1, 30, 0, 31),
        // The agent's shell and its child, with the agent's terminal.
        (12, 11, 10, 100, 40),
        (13, 12, 10, 100, 41),
        // The same in a session without a terminal, and in one with a terminal of its own, as `script` gives it.
        (14, 11, 14, 0, 42),
        (15, 11, 15, 300, 43),
        // Forked twice: init's child by now.
        (16, 1, 10, 100, 44),
        (17, 1, 30, 0, 45),
        (18, 1, 30, 400, 46),
        // Forked twice, with a session and a terminal of its own: nothing tells it from a person.
        (19, 1, 19, 500, 47),
        // The person's: in the other terminal, in the agent's, and from a job without a terminal.
        (21, 20, 20, 200, 50),
        (22, 10, 10, 100, 51),
        (23, 1, 23, 0, 52),
    ];

    #[track_caller]
    fn check(own: u32, askers: &[u32], expected: Result<(), NotAPerson>) {
        let table = Table(MACHINE);
        let askers: Vec<Asker> =
            askers.iter().map(|pid| table.process(*pid).expect("in the table").into()).collect();
        assert_eq!(present(&table, own, &askers), expected, "{own} of {askers:?}");
    }

    #[test]
    fn a_person_answers_at_a_terminal_of_their_own() {
        use NotAPerson::*;
        for (own, askers, expected) in [
            (21, &[][..], Ok(())),
            (21, &[11, 30], Ok(())),
            (22, &[30], Ok(())),
            (22, &[11], Err(SameTerminal(11))),
            (12, &[11], Err(Descends(11))),
            (13, &[30, 11], Err(Descends(11))),
            (14, &[11], Err(Descends(11))),
            (15, &[11], Err(Descends(11))),
            (16, &[11], Err(SameTerminal(11))),
            (17, &[30], Err(NoTerminal)),
            (18, &[30], Err(SameSession(30))),
            (19, &[11, 30], Ok(())),
            (23, &[], Err(NoTerminal)),
            (77, &[], Err(Unknown)),
        ] {
            check(own, askers, expected);
        }
    }

    #[test]
    fn a_client_that_another_client_has_started_is_its_tool() {
        let table = Table(MACHINE);
        for (asker, clients, expected) in [
            (11, &[][..], false),
            (11, &[11], false),
            (11, &[11, 30], false),
            (13, &[11], true),
            (15, &[30, 11], true),
            (13, &[30], false),
            (19, &[11], false),
        ] {
            let of = |pid: &u32| table.process(*pid).expect("in the table").into();
            let clients: Vec<Asker> = clients.iter().map(of).collect();
            assert_eq!(is_below(&table, &[of(&asker)], &clients), expected, "{asker} of {clients:?}");
        }
    }

    #[test]
    fn a_client_is_there_as_long_as_its_process() {
        let table = Table(MACHINE);
        let of = |pid: u32| Asker::from(table.process(pid).expect("in the table"));
        let later = Asker { started: 5, ..of(20) };
        let gone = Asker { pid: 77, ..of(20) };
        for (askers, expected) in [
            (&[][..], true),
            (&[of(11)], true),
            (&[later], false),
            (&[gone], false),
            (&[gone, of(11)], false),
        ] {
            assert_eq!(is_there(&table, askers), expected, "{askers:?}");
        }
    }

    #[test]
    fn a_number_that_was_given_away_again_names_nobody() {
        let table = Table(MACHINE);
        let before =
            Asker { started: 5, session: 99, terminal: None, ..table.process(20).expect("there").into() };
        assert_eq!(present(&table, 21, &[before]), Ok(()));
    }
}
