//! Versioned cells: what they hold, how they are found, and how they change.

use std::fmt;

/// The longest key, owner, topic or state of a cell, and the longest key or holder of a lease, in bytes.
pub const KEY_BYTES_MAX: usize = 1024;

/// The largest value of most kinds, in bytes: an approval with all that a person must see of it.
pub const VALUE_BYTES_MAX: usize = 256 * 1024;

/// The largest anchor, in bytes: a fact of a line, not a document.
pub const ANCHOR_BYTES_MAX: usize = 4 * 1024;

/// The largest pin, in bytes: the accepted definitions of a server whose whole list may have 16 MiB, and the ones that wait.
pub const PIN_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most cells of one kind. Whoever keeps them removes what is over before that.
pub const CELLS_PER_KIND_MAX: usize = 100_000;

/// Most request ids of one owner that are remembered: one in four seconds, day and night. Five callers
/// must be as busy before another one is refused.
pub const REQUESTS_OF_OWNER_MAX: usize = CELLS_PER_KIND_MAX / 5;

/// Most cells that one query returns.
pub const PAGE_MAX: usize = 1_000;

/// How the keys of secrets begin that a person has set.
pub(crate) const NAMED_PREFIX: &str = "secret/";

/// What a cell is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A fact that another part checks itself against.
    Anchor,
    /// A question to a person. Owner: the caller. Topic: the hash of the call. Ends when nobody may answer it any more.
    Approval,
    /// The arguments of a question that are too long to be kept with it.
    ApprovalArguments,
    /// The code that answers take.
    ApprovalCode,
    /// A result that was too large to be said. Owner: the caller. Topic: the hash of its bytes. Ends when it is removed.
    Artifact,
    /// A standing permission. Owner: the caller. Topic: the tool. Ends with its session.
    Grant,
    /// An API key. Topic: its id.
    Key,
    /// When an API key was last used.
    KeyUse,
    /// Accepted definitions of one upstream.
    Pin,
    /// A question of an agent to the person who watches. Owner: the caller. Ends when no call waits for its answer.
    Question,
    /// A call that bore a request id, and what came of it. Owner: the caller. Ends when the id may be used anew.
    Request,
    /// What a dry run has found, by its hash. Ends when nobody may follow it any more.
    Plan,
    /// A record that was sealed before the store saw it.
    Sealed,
    /// For which servers a secret may be used.
    SecretUse,
    /// The last test of the sandbox.
    SelfTest,
    /// What a tool keeps for a caller in a workspace. Owner: the caller. Topic: its name. Ends long after its last change.
    State,
    /// What a person has agreed to of one folder.
    Trust,
    /// A sealed state that was used up. Ends when the state does.
    UsedState,
    /// A terminal at which a person watches for questions. Ends soon after they do.
    Watcher,
}

impl Kind {
    /// The word in the database.
    pub const fn as_str(self) -> &'static str {
        self.word_and_bytes_max().0
    }

    /// The largest value, in bytes.
    pub const fn bytes_max(self) -> usize {
        self.word_and_bytes_max().1
    }

    /// Most cells of one owner. Of most kinds one may have all.
    pub const fn of_owner_max(self) -> usize {
        if matches!(self, Kind::Request) { REQUESTS_OF_OWNER_MAX } else { CELLS_PER_KIND_MAX }
    }

    const fn word_and_bytes_max(self) -> (&'static str, usize) {
        match self {
            Kind::Anchor => ("anchor", ANCHOR_BYTES_MAX),
            Kind::Approval => ("approval", VALUE_BYTES_MAX),
            Kind::ApprovalArguments => ("approval_arguments", VALUE_BYTES_MAX),
            Kind::ApprovalCode => ("approval_code", VALUE_BYTES_MAX),
            Kind::Artifact => ("artifact", ANCHOR_BYTES_MAX),
            Kind::Grant => ("grant", VALUE_BYTES_MAX),
            Kind::Key => ("key", VALUE_BYTES_MAX),
            Kind::KeyUse => ("key_use", VALUE_BYTES_MAX),
            Kind::Pin => ("pin", PIN_BYTES_MAX),
            Kind::Question => ("question", VALUE_BYTES_MAX),
            Kind::Request => ("request", VALUE_BYTES_MAX),
            Kind::Plan => ("plan", VALUE_BYTES_MAX),
            Kind::Sealed => ("sealed", VALUE_BYTES_MAX),
            Kind::SecretUse => ("secret-use", VALUE_BYTES_MAX),
            Kind::SelfTest => ("self_test", ANCHOR_BYTES_MAX),
            Kind::State => ("state", VALUE_BYTES_MAX),
            Kind::Trust => ("trust", VALUE_BYTES_MAX),
            Kind::UsedState => ("used_state", VALUE_BYTES_MAX),
            Kind::Watcher => ("watcher", ANCHOR_BYTES_MAX),
        }
    }
}

/// A cell as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its name among those of its kind.
    pub key: String,
    /// Another one after each change, and never one that any cell had before.
    pub version: u64,
    /// What its owner has put there.
    pub value: Vec<u8>,
}

/// Shows no value: some are secrets.
impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("key", &self.key).field("version", &self.version).finish_non_exhaustive()
    }
}

/// What is to be kept in a cell, and what it can be found by.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The value.
    pub value: Vec<u8>,
    /// Whose it is.
    pub owner: String,
    /// What it is about.
    pub topic: String,
    /// How things stand with it.
    pub state: String,
    /// When it ends, in milliseconds since 1970; nothing if it does not.
    pub ends_at_ms: Option<i64>,
}

impl<T: Into<Vec<u8>>> From<T> for Content {
    fn from(value: T) -> Content {
        Content { value: value.into(), ..Content::default() }
    }
}

/// One conditional change of one cell.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// The cell's kind.
    pub kind: Kind,
    /// Its key.
    pub key: String,
    /// The version that must be there; nothing: there must be none.
    pub expected: Option<u64>,
    /// What is there afterwards; nothing removes the cell.
    pub content: Option<Content>,
}

impl Change {
    /// Puts `content` in place of the version `expected`.
    pub fn put(kind: Kind, key: &str, expected: Option<u64>, content: impl Into<Content>) -> Change {
        Change { kind, key: key.to_owned(), expected, content: Some(content.into()) }
    }

    /// Removes the version `expected`.
    pub fn remove(kind: Kind, key: &str, expected: u64) -> Change {
        Change { kind, key: key.to_owned(), expected: Some(expected), content: None }
    }
}

/// Which cells of a kind are meant: those that meet every condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The kind.
    pub kind: Kind,
    /// Whose.
    pub owner: Option<String>,
    /// About what.
    pub topic: Option<String>,
    /// In one of these states; in any if there is none.
    pub states: Vec<&'static str>,
    /// Ending later than this, or never.
    pub ends_after_ms: Option<i64>,
    /// Ending then or before.
    pub ended_by_ms: Option<i64>,
    /// Changed later than the cell of this version, from which the next page follows.
    pub after: u64,
    /// Most cells to return; never more than [`PAGE_MAX`].
    pub limit: usize,
}

impl Query {
    /// All cells of a kind.
    pub fn all(kind: Kind) -> Query {
        Query {
            kind,
            owner: None,
            topic: None,
            states: Vec::new(),
            ends_after_ms: None,
            ended_by_ms: None,
            after: 0,
            limit: PAGE_MAX,
        }
    }
}
