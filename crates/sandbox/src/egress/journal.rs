//! `Journal`: which hosts one program reached and which it was refused. Counts only, never what was sent.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use super::host::{Destination, HOST_BYTES_MAX};
use super::reason::Reason;

/// Hosts that are told apart, of those reached and of those blocked each. A program that tries more is told in sum.
pub const ENTRIES_MAX: usize = 256;

/// What a program did. It is written while the program runs, and read at any time.
#[derive(Debug)]
pub struct Journal {
    rows: Mutex<Rows>,
    blocked: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Rows {
    allowed: Vec<Arc<Row>>,
    blocked: Vec<Arc<Row>>,
    /// Made when more are tried than are told apart.
    others: [Option<Arc<Row>>; 2],
}

/// What was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// A connection.
    Connect(Destination),
    /// A look at the name server.
    LookUp(String),
    /// Something that is no host, as it was written, shortened.
    Unreadable(String),
    /// A connection that was not listened to.
    Unheard,
    /// UDP datagrams.
    Datagrams,
    /// Connections and datagrams to addresses that no name server gave.
    Addresses,
    /// All beyond [`ENTRIES_MAX`].
    Others,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was reached.
    Allowed,
    /// It was refused.
    Blocked(Reason),
}

/// What is known of one host at one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What was tried.
    pub attempt: Attempt,
    /// How it went. The reason of what is told in sum is the newest host's that began it.
    pub outcome: Outcome,
    /// How often.
    pub connections: u64,
    /// Bytes from the program to the host, without the handshake of our own proxy.
    pub sent_bytes: u64,
    /// Bytes from the host to the program.
    pub received_bytes: u64,
    /// When it was tried or something came or went for the last time.
    pub last: SystemTime,
}

impl Entry {
    /// Of what was allowed, and to which no connection came about.
    pub fn untried(attempt: Attempt) -> Entry {
        Entry {
            attempt,
            outcome: Outcome::Allowed,
            connections: 0,
            sent_bytes: 0,
            received_bytes: 0,
            last: SystemTime::now(),
        }
    }
}

#[derive(Debug)]
struct Row {
    attempt: Attempt,
    outcome: Outcome,
    connections: AtomicU64,
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
    last_ms: AtomicU64,
    /// What of the counts [`Journal::news`] has told.
    told: [AtomicU64; 3],
}

impl Journal {
    /// An empty one.
    #[expect(clippy::new_without_default, reason = "a journal belongs to a program and is made on purpose")]
    pub fn new() -> Journal {
        Journal { rows: Mutex::default(), blocked: watch::Sender::new(0) }
    }

    /// All that is known, each host in the order in which it was first tried, those reached first.
    pub fn entries(&self) -> Vec<Entry> {
        let rows = self.rows();
        let [allowed, blocked] = &rows.others;
        let allowed = rows.allowed.iter().chain(allowed);
        allowed.chain(rows.blocked.iter().chain(blocked)).map(|row| row.entry()).collect()
    }

    /// What has come since this was asked last, of those hosts with which something has. Who asks is one alone.
    pub fn news(&self) -> Vec<Entry> {
        let rows = self.rows();
        let all = rows.allowed.iter().chain(&rows.blocked).chain(rows.others.iter().flatten());
        all.filter_map(|row| row.news()).collect()
    }

    /// Adds all that the other has; the other is empty then. Connections that are open count on, and so a host that both have
    /// is here twice.
    pub fn take(&self, other: &Journal) {
        let Rows { mut allowed, mut blocked, others: [others_allowed, others_blocked] } =
            std::mem::take(&mut *other.rows());
        other.blocked.send_replace(0);
        let mut rows = self.rows();
        rows.allowed.append(&mut allowed);
        rows.allowed.extend(others_allowed);
        rows.blocked.append(&mut blocked);
        rows.blocked.extend(others_blocked);
        let count = rows.blocked.len() + usize::from(rows.others[1].is_some());
        drop(rows);
        self.blocked.send_replace(count);
    }

    /// What was blocked, in the order in which it was first tried.
    pub fn blocked(&self) -> Vec<Entry> {
        let rows = self.rows();
        rows.blocked.iter().chain(&rows.others[1]).map(|row| row.entry()).collect()
    }

    /// How many of [`Journal::blocked`] there are; changes when something is blocked for the first time.
    pub fn watch_blocked(&self) -> watch::Receiver<usize> {
        self.blocked.subscribe()
    }

    /// Notes a connection that was made; what goes over it is added to the tally.
    pub(super) fn allow(&self, to: &Destination) -> Tally {
        let mut rows = self.rows();
        let Rows { allowed, others: [others, _], .. } = &mut *rows;
        let (row, _) = find(allowed, others, Attempt::Connect(to.clone()), Outcome::Allowed);
        row.count(1);
        Tally(row)
    }

    pub(super) fn block(&self, attempt: Attempt, reason: Reason) {
        self.block_times(attempt, reason, 1);
    }

    /// Notes what went nowhere within the network of the program, by how often.
    pub(crate) fn went_nowhere(&self, datagrams: u64, addresses: u64) {
        let all = [
            (Attempt::Datagrams, Reason::NoDatagrams, datagrams),
            (Attempt::Addresses, Reason::NoWay, addresses),
        ];
        for (attempt, reason, times) in all.into_iter().filter(|(_, _, times)| *times > 0) {
            self.block_times(attempt, reason, times);
        }
    }

    fn block_times(&self, attempt: Attempt, reason: Reason, times: u64) {
        let mut rows = self.rows();
        let Rows { blocked, others: [_, others], .. } = &mut *rows;
        let (row, is_new) = find(blocked, others, attempt, Outcome::Blocked(reason));
        row.count(times);
        let count = blocked.len() + usize::from(others.is_some());
        drop(rows);
        if is_new {
            self.blocked.send_replace(count);
        }
    }

    /// The counts stay true whatever happened to whoever held them.
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The row of an attempt, made if there is none; all beyond the limit share one. Looked for from one end to the other: it
/// happens once for each connection, which costs far more.
fn find(
    rows: &mut Vec<Arc<Row>>,
    others: &mut Option<Arc<Row>>,
    attempt: Attempt,
    outcome: Outcome,
) -> (Arc<Row>, bool) {
    if let Some(row) = rows.iter().find(|row| row.outcome == outcome && row.attempt == attempt) {
        return (Arc::clone(row), false);
    }
    if rows.len() < ENTRIES_MAX {
        let row = Arc::new(Row::new(attempt, outcome));
        rows.push(Arc::clone(&row));
        return (row, true);
    }
    let is_new = others.is_none();
    let row = others.get_or_insert_with(|| Arc::new(Row::new(Attempt::Others, outcome)));
    (Arc::clone(row), is_new)
}

impl Row {
    fn new(attempt: Attempt, outcome: Outcome) -> Row {
        Row {
            attempt,
            outcome,
            connections: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            last_ms: AtomicU64::new(0),
            told: Default::default(),
        }
    }

    fn count(&self, times: u64) {
        self.connections.fetch_add(times, Ordering::Relaxed);
        self.touch();
    }

    fn touch(&self) {
        // A clock before 1970 is wrong by more than this.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last_ms.store(now.as_millis().try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn news(&self) -> Option<Entry> {
        let mut entry = self.entry();
        let counts = [&mut entry.connections, &mut entry.sent_bytes, &mut entry.received_bytes];
        for (count, told) in counts.into_iter().zip(&self.told) {
            *count -= told.swap(*count, Ordering::Relaxed);
        }
        (entry.connections > 0 || entry.sent_bytes > 0 || entry.received_bytes > 0).then_some(entry)
    }

    fn entry(&self) -> Entry {
        Entry {
            attempt: self.attempt.clone(),
            outcome: self.outcome,
            connections: self.connections.load(Ordering::Relaxed),
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
            received_bytes: self.received_bytes.load(Ordering::Relaxed),
            last: UNIX_EPOCH + Duration::from_millis(self.last_ms.load(Ordering::Relaxed)),
        }
    }
}

/// Where the bytes of one connection are counted.
#[derive(Debug, Clone)]
pub(super) struct Tally(Arc<Row>);

impl Tally {
    pub(super) fn sent(&self, bytes: usize) {
        self.0.sent_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.0.touch();
    }

    pub(super) fn received(&self, bytes: usize) {
        self.0.received_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.0.touch();
    }
}

impl Attempt {
    /// Whether nothing is known of it but how often.
    fn is_counted_alone(&self) -> bool {
        matches!(self, Attempt::Datagrams | Attempt::Addresses)
    }

    /// What a program wrote and nobody can read as a host: without what cannot be seen, and no longer than a name.
    pub(super) fn unreadable(text: &str) -> Attempt {
        let visible = text.chars().map(|character| if crate::is_hidden(character) { '?' } else { character });
        Attempt::Unreadable(visible.take(HOST_BYTES_MAX).collect())
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attempt::Connect(to) => write!(f, "connect {to}"),
            Attempt::LookUp(name) => write!(f, "look up {name}"),
            Attempt::Unreadable(text) => write!(f, "connect {text}"),
            Attempt::Unheard => f.write_str("connect"),
            Attempt::Datagrams => f.write_str("send UDP"),
            Attempt::Addresses => f.write_str("reach an address"),
            Attempt::Others => f.write_str("other hosts"),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome {
            Outcome::Allowed => write!(f, "{}", self.attempt),
            Outcome::Blocked(reason) if self.attempt.is_counted_alone() && self.connections > 1 => {
                write!(f, "{}, {} times ({reason})", self.attempt, self.connections)
            }
            Outcome::Blocked(reason) => write!(f, "{} ({reason})", self.attempt),
        }
    }
}

#[cfg(test)]
mod tests;
