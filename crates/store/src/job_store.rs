//! What must survive of work that outlives its request: jobs, the calls that they are of, their results and their events.
//!
//! The store knows who holds a job, in which order jobs came, and when one is over; what a state means and what is in the
//! bodies is their owner's affair, who seals them. A process holds what it runs for as long as it lives: that it has ended
//! is for the store to find out ([`JobStore::release_ended`]), so no clock decides about it.

use crate::reply::Reply;

/// Most jobs of one page.
pub const JOB_PAGE_MAX: usize = 200;

/// Most events of one page.
pub const EVENT_PAGE_MAX: usize = 1_000;

/// Most jobs that are forgotten at once: nothing else is written meanwhile.
pub const EXPIRE_MAX: usize = 2_000;

/// The longest description of a job, in bytes.
pub const JOB_ABOUT_BYTES_MAX: usize = 16 * 1024;

/// The longest body: a call or a result, sealed, in bytes.
pub const JOB_BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The longest body of an event, sealed, in bytes.
pub const EVENT_BYTES_MAX: usize = 64 * 1024;

/// A job that is to be kept.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// By which it is found; nobody has it twice.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Where it runs: the workspace.
    pub place: String,
    /// The tool.
    pub tool: String,
    /// How it stands, in a word of its owner's.
    pub state: String,
    /// What lists show of it. Not sealed: no argument and no result is in it.
    pub about: Vec<u8>,
    /// The call, sealed.
    pub call: Vec<u8>,
    /// Whether this process holds it from the beginning; else whoever serves its place takes it.
    pub is_held: bool,
    /// What happened to it so far.
    pub events: Vec<EventRow>,
    /// What [`JobStore::losses`] was when the key was had that seals it: it is not kept beside another one.
    pub losses: u64,
}

/// How many jobs may be under way.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Of one owner.
    pub of_owner: usize,
    /// In all.
    pub in_all: usize,
}

/// What came of keeping a new job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is kept, under this number.
    Kept(u64),
    /// Its owner has as many under way as there may be.
    OwnerFull,
    /// All together have.
    Full,
}

/// A job as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// By which it is found.
    pub id: String,
    /// In which order it came; pages go by it.
    pub number: u64,
    /// Which change of it this is.
    pub version: u64,
    /// Whose it is.
    pub owner: String,
    /// Where it runs.
    pub place: String,
    /// The tool.
    pub tool: String,
    /// How it stands.
    pub state: String,
    /// The process that holds it; nothing if none does.
    pub holder: Option<Holder>,
    /// What somebody wants of whoever holds it.
    pub wish: Option<String>,
    /// When it is forgotten, in milliseconds since 1970; nothing while it is under way.
    pub ends_at_ms: Option<i64>,
    /// What lists show of it.
    pub about: Vec<u8>,
}

/// Who holds a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// This process.
    Ours,
    /// Another one.
    Other,
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Which of the job's events it is, from 1.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What, sealed.
    pub body: Vec<u8>,
}

/// A change of a job. What is nothing stays as it is.
#[derive(Debug, Clone, Default)]
pub struct JobChange {
    /// The job.
    pub id: String,
    /// The version that it must have.
    pub expected: u64,
    /// How it stands from now on.
    pub state: String,
    /// What lists show of it from now on.
    pub about: Vec<u8>,
    /// Another call in place of its own, sealed.
    pub call: Option<Vec<u8>>,
    /// Its result, sealed.
    pub result: Option<Vec<u8>>,
    /// When it is forgotten: it is over then, and nobody holds it.
    pub ends_at_ms: Option<i64>,
    /// Whether this process holds it from now on.
    pub hold: Hold,
    /// What happened besides.
    pub events: Vec<EventRow>,
    /// Whether a crash of the machine may take the change back: nobody waits for the disk then.
    pub may_be_lost: bool,
}

/// What becomes of who holds a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hold {
    /// It stays as it is.
    #[default]
    AsItIs,
    /// This process.
    Take,
    /// Nobody: whoever serves its place takes it.
    Release,
}

/// Which jobs are meant.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Of this owner.
    pub owner: Option<String>,
    /// In this place.
    pub place: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// In one of these states; all if there is none.
    pub states: Vec<String>,
    /// Only those that nobody holds and that are under way.
    pub unheld: bool,
    /// Those with a smaller number: the newest come first.
    pub before: Option<u64>,
    /// Most of them, no more than [`JOB_PAGE_MAX`].
    pub limit: usize,
}

/// One of the two bodies of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// The call.
    Call,
    /// The result.
    Result,
}

/// Jobs. Until the first one is kept, nothing is opened and no thread is started, and reading finds nothing.
pub trait JobStore: Send + Sync {
    /// Whether a job was ever kept here and has not been forgotten. Asks the system one question at most.
    fn may_have_jobs(&self) -> bool;

    /// How often what this process has kept was found to be gone since it began. Touches nothing.
    fn losses(&self) -> u64;

    /// Keeps a job. Once this returns it survives a crash of the machine. If there was a loss since [`NewJob::losses`] it
    /// is not kept, with the error [`crate::StoreError::Gone`].
    fn enqueue(&self, job: NewJob, room: Room) -> Reply<'_, Enqueued>;

    /// Makes a change, if the job has the expected version, and says which it has then; nothing if it has another by now.
    /// Once this returns it survives a crash of the machine.
    fn change(&self, change: JobChange) -> Reply<'_, Option<u64>>;

    /// Adds events to a job that this process holds, and renews what lists show of it if something is given. Once this
    /// returns it survives a crash of the process.
    fn append(&self, id: &str, events: Vec<EventRow>, about: Option<Vec<u8>>) -> Reply<'_, ()>;

    /// Wants something of whoever holds a job that is under way; false if there is none. Nothing takes a wish back.
    fn wish(&self, id: &str, wish: Option<&str>) -> Reply<'_, bool>;

    /// What is wanted of this process.
    fn wishes(&self) -> Reply<'_, Vec<(String, String)>>;

    /// The job of this id.
    fn job(&self, id: &str) -> Reply<'_, Option<JobRow>>;

    /// The jobs that are meant, the newest first.
    fn jobs(&self, query: &JobQuery) -> Reply<'_, Vec<JobRow>>;

    /// How many jobs there are in each state.
    fn tally(&self) -> Reply<'_, Vec<(String, u64)>>;

    /// A body of a job.
    fn body(&self, id: &str, body: Body) -> Reply<'_, Option<Vec<u8>>>;

    /// The events of a job after this number, in order, no more than [`EVENT_PAGE_MAX`].
    fn events(&self, id: &str, after: u64, limit: usize) -> Reply<'_, Vec<EventRow>>;

    /// Lets go of what processes hold that have ended. How many jobs that were.
    fn release_ended(&self) -> Reply<'_, u64>;

    /// Acquires, for this process, the jobs of a place in one of these states that are under way and nobody holds, in the order
    /// in which they came; no more than `limit`.
    fn lease(&self, place: &str, states: &[&str], limit: usize) -> Reply<'_, Vec<JobRow>>;

    /// Forgets jobs that have ended by then, and of each owner the oldest of those that are over, so that no more than so
    /// many stay, with no more than so many bytes of results. How many it forgot, no more than [`EXPIRE_MAX`].
    fn expire(&self, by_ms: i64, kept: Kept) -> Reply<'_, u64>;

    /// Forgets a job that is over; false if there is none.
    fn forget(&self, id: &str) -> Reply<'_, bool>;
}

/// How much is kept of each owner's jobs that are over.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// So many jobs.
    pub jobs: usize,
    /// So many bytes of results and events.
    pub bytes: u64,
}
