//! `TokenStore`: where sessions keep what they must remember, shared by all processes of a user.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::unfinished::Unfinished;

/// What is kept under a key.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Another one each time the record changes; never one that was used before.
    pub version: u64,
    /// The record, which is secret.
    pub record: Vec<u8>,
}

/// The token store failed. Says nothing of what is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sign-ins cannot be kept: {0}")]
pub struct TokenStoreError(
    /// Why.
    pub String,
);

/// Keeps records, encrypted, for all processes of a user.
pub trait TokenStore: Send + Sync {
    /// What is kept under `key`.
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<StoredRecord>, TokenStoreError>>;

    /// Puts `record` in place of the one with version `expected` (`None`: where nothing is kept); no record
    /// removes it. Returns the new version (0 after a removal), or nothing, and changes nothing, if something else
    /// is kept by now.
    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Option<u64>, TokenStoreError>>;

    /// Takes the lease to `key` for `time`, for whoever calls itself `holder`; false if somebody else has it. A
    /// lease that is over is free again, so that a process that died holds nobody up.
    fn acquire<'a>(
        &'a self,
        key: &'a str,
        holder: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, TokenStoreError>>;

    /// Gives back a lease; no error if it is over already.
    fn release<'a>(&'a self, key: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), TokenStoreError>>;

    /// The keys, among those that begin with `prefix`, under which something is kept.
    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, TokenStoreError>>;

    /// Removes what is kept under `key`, whatever that is: it is not read, so that what cannot be read can be removed,
    /// too. False if there was nothing.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, TokenStoreError>>;

    /// What has to be waited for before the program ends, or what was to be kept is lost.
    fn unfinished(&self) -> &Unfinished;
}

/// Shows no record.
impl std::fmt::Debug for StoredRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredRecord").field("version", &self.version).finish_non_exhaustive()
    }
}
