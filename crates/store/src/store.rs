//! The traits of what must survive, one for each way in which it is used. Shared by threads, and by processes that serve
//! the same user.
//!
//! Approvals, grants, keys, pins and sealed records are kinds of versioned cells and not traits of their own: they are
//! found by owner, topic, state and end, and one transaction changes several of them.

use crate::cell::{Cell, Change, Kind, PAGE_MAX, Query};
use crate::definitions::Definitions;
use crate::error::StoreError;
use crate::reply::Reply;

/// The longest time a lease is held, in milliseconds. Who dies with a lease holds the others up no longer, nor does a
/// clock that was wrong.
pub const LEASE_MS_MAX: i64 = 10 * 60 * 1000;

/// Most counters that are kept at once.
pub const COUNTERS_MAX: usize = 100_000;

/// Versioned cells.
pub trait CellStore: Send + Sync {
    /// The cell of this kind and key.
    fn cell(&self, kind: Kind, key: &str) -> Reply<'_, Option<Cell>>;

    /// The cells that are meant, in the order of their last change.
    fn cells(&self, query: &Query) -> Reply<'_, Vec<Cell>>;

    /// How many cells are meant; neither page nor limit matters.
    fn count(&self, query: &Query) -> Reply<'_, u64>;

    /// The keys of a kind that begin with `prefix`, in order.
    fn keys(&self, kind: Kind, prefix: &str) -> Reply<'_, Vec<String>>;

    /// A number that grows with each change of cells of this kind, and with each loss, and never gets less. Cheap: by it a
    /// process sees what another one has done.
    fn changes(&self, kind: Kind) -> Reply<'_, u64>;

    /// How often this process has found that what was kept is gone, or cannot be read any more. Touches nothing.
    fn losses(&self) -> u64;

    /// Why nothing can be kept, in words for callers, if the last write of this process met that: the disk is full, or the
    /// database for reading only. Touches nothing.
    fn trouble(&self) -> Option<String>;

    /// Whether there has ever been a cell of this kind. Of keys that is known even where the store has been lost since,
    /// if something beside it can tell: what a key has closed is not opened by that.
    fn was_any(&self, kind: Kind) -> Reply<'_, bool>;

    /// Makes all of these changes, or none if one of them finds another version than it expects: then there is no
    /// answer. Else the new versions, in the order of the changes (0 for a removal). Once this returns they survive a
    /// crash of the machine. Refuses what is beyond [`Kind::bytes_max`], [`crate::KEY_BYTES_MAX`] and
    /// [`crate::CELLS_PER_KIND_MAX`].
    fn commit(&self, changes: Vec<Change>) -> Reply<'_, Option<Vec<u64>>>;

    /// Puts a value in place of whatever is there; once this returns it survives a crash of the process.
    fn overwrite(&self, kind: Kind, key: &str, value: Vec<u8>) -> Reply<'_, ()>;

    /// Removes the cells of a kind that have ended by then, and says how many that were.
    fn remove_ended(&self, kind: Kind, by_ms: i64) -> Reply<'_, u64>;
}

/// Rights to do something, for a while, that one process has at a time.
pub trait LeaseStore: Send + Sync {
    /// Acquires the lease of `key` until `until_ms`, but for no longer than [`LEASE_MS_MAX`], for whoever calls itself
    /// `holder`, who may have it already. False if somebody else has it at `now_ms`. Both times are milliseconds since
    /// 1970.
    fn acquire(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Reply<'_, bool>;

    /// Releases a lease; no error if somebody else has it.
    fn release(&self, key: &str, holder: &str) -> Reply<'_, ()>;
}

/// What upstreams offered when they were last asked.
pub trait DefinitionStore: Send + Sync {
    /// What is known of this upstream under this configuration.
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Reply<'_, Option<Definitions>>;

    /// Remembers definitions in place of older ones. Those of the [`crate::FINGERPRINTS_PER_UPSTREAM_MAX`] latest
    /// configurations stay. Refuses more than [`crate::DEFINITIONS_BYTES_MAX`].
    fn keep_definitions(&self, definitions: Definitions) -> Reply<'_, ()>;

    /// Forgets an upstream under all its configurations. It is no error if nothing was known.
    fn forget_definitions(&self, upstream: &str) -> Reply<'_, ()>;
}

/// Counts of periods that begin with the first count, such as calls of a day.
pub trait CounterStore: Send + Sync {
    /// Counts up to `wanted` more, but no more than `max` in all, and says what was counted. Once this returns it survives
    /// a crash of the machine. A period that is over, or that a wrong clock has begun, begins anew.
    fn take(&self, key: &str, wanted: u32, max: u32, period: Period) -> Reply<'_, Taken>;
}

/// When something is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// How long a period lasts, in milliseconds.
    pub lasts_ms: i64,
}

impl Period {
    /// Whether a period that began then is over, or was begun by a clock that was wrong.
    pub fn is_over(&self, begun_at_ms: i64) -> bool {
        self.now_ms >= begun_at_ms.saturating_add(self.lasts_ms)
            || self.now_ms.saturating_add(self.lasts_ms) < begun_at_ms
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// When the period began, in milliseconds since 1970.
    pub begun_at_ms: i64,
    /// How many were counted just now.
    pub taken: u32,
    /// How many were counted in the period, these among them.
    pub count: u32,
}

/// All of it: what one backend has to offer.
pub trait Store: CellStore + LeaseStore + DefinitionStore + CounterStore {}

impl<T: CellStore + LeaseStore + DefinitionStore + CounterStore + ?Sized> Store for T {}

/// The one version that a single change has made; nothing if it found another one than it expected.
///
/// # Errors
/// As [`CellStore::commit`].
pub async fn replace(store: &(impl CellStore + ?Sized), change: Change) -> Result<Option<u64>, StoreError> {
    Ok(store.commit(vec![change]).await?.and_then(|versions| versions.first().copied()))
}

/// Removes a cell, whatever is in it by then. False if there is none.
///
/// # Errors
/// As [`CellStore::commit`].
pub async fn remove(store: &(impl CellStore + ?Sized), kind: Kind, key: &str) -> Result<bool, StoreError> {
    while let Some(found) = store.cell(kind, key).await? {
        if replace(store, Change::remove(kind, key, found.version)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All cells that are meant, page after page.
///
/// # Errors
/// As [`CellStore::cells`].
pub async fn every(store: &(impl CellStore + ?Sized), mut query: Query) -> Result<Vec<Cell>, StoreError> {
    let mut all = Vec::new();
    loop {
        let page = store.cells(&query).await?;
        let is_last = page.len() < query.limit.min(PAGE_MAX);
        query.after = page.last().map_or(query.after, |last| last.version);
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
