//! The trait of what must survive, its records and their limits.

use crate::StoreError;

/// The largest list of definitions kept for one upstream. Larger ones are fetched anew at each start.
pub const DEFINITIONS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Configurations remembered per upstream. Projects that share a name for differing servers each keep
/// their own; a configuration that differs at every start must not fill the disk.
pub const FINGERPRINTS_PER_UPSTREAM_MAX: usize = 8;

/// An anchor is a fact of a line, not a document.
pub const ANCHOR_BYTES_MAX: usize = 4 * 1024;

/// The largest sealed record, in bytes: a registration and its tokens take a few thousand.
pub const SECRET_BYTES_MAX: usize = 256 * 1024;

/// The longest name of a record, and of a claim's key or holder, in bytes.
pub const SECRET_NAME_BYTES_MAX: usize = 1024;

/// The largest record, in bytes: an approval with all that a person must see of it.
pub const RECORD_BYTES_MAX: usize = 256 * 1024;

/// Most records of one kind. Whoever keeps them removes what is over before that.
pub const RECORDS_PER_KIND_MAX: usize = 100_000;

/// The longest time a claim is held, in milliseconds. Who dies with a claim holds the others up no longer, nor does
/// a clock that was wrong.
pub const CLAIM_MS_MAX: i64 = 10 * 60 * 1000;

/// The tools an upstream had when it was last asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions {
    /// The upstream's name in the configuration.
    pub upstream: String,
    /// Identifies the configuration the upstream was started with; another one has other definitions.
    pub fingerprint: String,
    /// The definitions as they came, a JSON text.
    pub tools_json: String,
    /// When they came, in milliseconds since 1970.
    pub fetched_at_ms: i64,
}

/// A sealed record as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// Another one after each change, and never one that any record had before.
    pub version: u64,
    /// The record, of which the store understands nothing.
    pub sealed: Vec<u8>,
}

/// Shows no record.
impl std::fmt::Debug for StoredSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredSecret").field("version", &self.version).finish_non_exhaustive()
    }
}

/// A record as it is kept: a JSON text that its owner understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its name among those of its kind.
    pub key: String,
    /// Another one after each change, and never one that any record had before.
    pub version: u64,
    /// The record.
    pub value: String,
}

/// A place that remembers. Shared by threads, and by processes that serve the same user.
pub trait Store: Send + Sync {
    /// What is known of this upstream under this configuration.
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Result<Option<Definitions>, StoreError>;

    /// Remembers definitions in place of older ones. Those of the [`FINGERPRINTS_PER_UPSTREAM_MAX`] latest
    /// configurations stay. Refuses more than [`DEFINITIONS_BYTES_MAX`].
    fn keep_definitions(&self, definitions: &Definitions) -> Result<(), StoreError>;

    /// Forgets an upstream under all its configurations. It is no error if nothing was known.
    fn forget_definitions(&self, upstream: &str) -> Result<(), StoreError>;

    /// The value last kept under this key.
    fn anchor(&self, key: &str) -> Result<Option<String>, StoreError>;

    /// Remembers a value in place of an older one; once this returns it survives a crash of the process.
    /// Refuses more than [`ANCHOR_BYTES_MAX`].
    fn keep_anchor(&self, key: &str, value: &str) -> Result<(), StoreError>;

    /// The sealed record of this name.
    fn secret(&self, name: &str) -> Result<Option<StoredSecret>, StoreError>;

    /// Puts a sealed record in place of the one with version `expected` (`None`: where there is none); no record
    /// removes it. Returns the new version (0 after a removal), or nothing, and changes nothing, if there is
    /// another version by now. Once this returns it survives a crash of the machine. Refuses more than
    /// [`SECRET_BYTES_MAX`] and [`SECRET_NAME_BYTES_MAX`].
    fn replace_secret(
        &self,
        name: &str,
        expected: Option<u64>,
        sealed: Option<&[u8]>,
    ) -> Result<Option<u64>, StoreError>;

    /// The names of the records that begin with `prefix`, in order.
    fn secret_names(&self, prefix: &str) -> Result<Vec<String>, StoreError>;

    /// The record of this kind and key. A kind is a noun such as `key` or `approval`.
    fn record(&self, kind: &str, key: &str) -> Result<Option<StoredRecord>, StoreError>;

    /// All records of a kind, in the order of their last change.
    fn records(&self, kind: &str) -> Result<Vec<StoredRecord>, StoreError>;

    /// How often records of this kind were changed, which never gets less. Cheap: by it a process sees what another one
    /// has done, and whether there has ever been a record.
    fn record_changes(&self, kind: &str) -> Result<u64, StoreError>;

    /// Whether there has ever been a record of this kind. Of the kind `key` that is known even where the store has been
    /// lost since, if something beside it can tell: what a key has closed is not opened by that.
    fn was_any(&self, kind: &str) -> Result<bool, StoreError> {
        Ok(self.record_changes(kind)? > 0)
    }

    /// Puts a record in place of the one with version `expected` (`None`: where there is none); no value removes it.
    /// Returns the new version (0 after a removal), or nothing, and changes nothing, if there is another version by
    /// now. Once this returns it survives a crash of the machine. Refuses more than [`RECORD_BYTES_MAX`],
    /// [`SECRET_NAME_BYTES_MAX`] and [`RECORDS_PER_KIND_MAX`].
    fn replace_record(
        &self,
        kind: &str,
        key: &str,
        expected: Option<u64>,
        value: Option<&str>,
    ) -> Result<Option<u64>, StoreError>;

    /// Takes the claim to `key` until `until_ms`, but for no longer than [`CLAIM_MS_MAX`], for whoever calls itself
    /// `holder`, who may have it already. False if somebody else has it at `now_ms`. Both times are milliseconds
    /// since 1970.
    fn claim(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Result<bool, StoreError>;

    /// Gives back a claim; no error if somebody else has it.
    fn release(&self, key: &str, holder: &str) -> Result<(), StoreError>;
}
