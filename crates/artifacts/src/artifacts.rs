//! `Artifacts`: keeps them, finds them for their owners, and removes what is over.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use store::{CellStore, Change, Kind, Query, every, remove, replace, wait};

use crate::bucket::Bucket;
use crate::config::Limits;
use crate::draft::{Draft, Whole};
use crate::entry::{Entry, Owner};
use crate::error::ArtifactError;
use crate::folder::Folder;
use crate::marks::Sending;
use crate::reader::{Object, Reader, Source};
use crate::remote::Remote;

/// Artifacts of one caller: more than a busy agent makes in a day.
pub const COUNT_OF_CALLER_MAX: usize = 1_024;

/// Artifacts in all: the index is read whole when one is added.
pub const COUNT_MAX: usize = 4_096;

/// Objects of a bucket that are removed at once: whoever keeps one waits meanwhile. The rest goes with the next sweeps.
const REMOVED_AT_ONCE: usize = 64;

/// Whoever has an id needs to be its owner as well; nobody guesses one of so many random bytes.
const ID_BYTES: usize = 16;

/// The longest name, in bytes: a title, and no place to keep things.
const NAME_BYTES_MAX: usize = 128;

/// What is said of an artifact when it is kept.
#[derive(Debug, Clone)]
pub struct About {
    /// What it is, for people. Cut if it is long.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// The tool that has made it.
    pub tool: String,
}

/// The artifacts of one state folder. Nothing touches the disk until one is made or asked for.
pub struct Artifacts {
    folder: Folder,
    /// Where contents are kept instead of the folder.
    remote: Option<Arc<Remote>>,
    store: Arc<dyn CellStore>,
    limits: Limits,
    now_ms: fn() -> i64,
}

impl Artifacts {
    /// Those below the state folder `state`, with their index in `store`.
    pub fn new(state: &Path, store: Arc<dyn CellStore>, limits: Limits, now_ms: fn() -> i64) -> Artifacts {
        Artifacts { folder: Folder::below(state), remote: None, store, limits, now_ms }
    }

    /// The same, keeping contents in this bucket from now on. Those in the folder stay there to their end.
    #[must_use]
    pub fn in_bucket(self, bucket: Option<Bucket>) -> Artifacts {
        Artifacts { remote: bucket.map(|bucket| Arc::new(Remote::new(bucket))), ..self }
    }

    /// Begins one. Nobody finds it before it is kept.
    ///
    /// # Errors
    /// The disk is full, or the folder cannot be used.
    pub fn draft(&self) -> Result<Draft, ArtifactError> {
        self.folder.draft(self.limits.caller_bytes)
    }

    /// An id for an artifact that is to be kept.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn new_id() -> Result<String, ArtifactError> {
        let mut random = [0; ID_BYTES];
        getrandom::fill(&mut random).map_err(|error| ArtifactError::Folder(io::Error::other(error)))?;
        Ok(HEXLOWER.encode(&random))
    }

    /// Keeps one for its owner, under this id. Once this returns it survives a crash of the machine.
    ///
    /// # Errors
    /// Others have all the room, the disk is full, or the index or the bucket does not answer.
    pub fn keep(
        &self,
        mut draft: Draft,
        id: String,
        owner: Owner,
        about: About,
    ) -> Result<Entry, ArtifactError> {
        let whole = draft.whole()?;
        let sending = self.remote.as_ref().map(|remote| self.send(remote, &owner, &whole)).transpose()?;
        let _lock = self.folder.lock()?;
        let now_ms = (self.now_ms)();
        self.make_room(&owner, whole.bytes, now_ms)?;
        let About { mut name, media_type, tool } = about;
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
        let entry = Entry {
            id,
            owner,
            name,
            media_type,
            tool,
            bytes: whole.bytes,
            lines: whole.lines,
            sha256: whole.sha256.clone(),
            made_at_ms: now_ms,
            ends_at_ms: now_ms.saturating_add(self.limits.keep_ms),
        };
        self.adopt(&whole, sending)?;
        // Nobody else has this id.
        wait(replace(&*self.store, Change::put(Kind::Artifact, &entry.id, None, entry.content())))?;
        Ok(entry)
    }

    /// Puts a content into the bucket. Nobody else waits for that: the lock is free meanwhile.
    fn send(&self, remote: &Remote, owner: &Owner, whole: &Whole) -> Result<Sending, ArtifactError> {
        {
            let _lock = self.folder.lock()?;
            // Told before all of it is sent for nothing.
            self.make_room(owner, whole.bytes, (self.now_ms)())?;
        }
        let marks = self.folder.marks();
        let sending = marks.sending(&whole.sha256)?;
        if !marks.is_remote(&whole.sha256)? {
            remote.put(whole)?;
        }
        Ok(sending)
    }

    /// Gives a content its name. The caller holds the lock.
    fn adopt(&self, whole: &Whole, sending: Option<Sending>) -> Result<(), ArtifactError> {
        let (Some(remote), Some(sending)) = (&self.remote, sending) else {
            return Ok(self.folder.adopt(whole)?);
        };
        // The last that named the same content may have been removed meanwhile, and the content with it.
        if !remote.has(&whole.sha256, whole.bytes)? {
            remote.put(whole)?;
        }
        Ok(self.folder.marks().sent(&sending)?)
    }

    /// Opens the artifact of this id; nothing if it is another's, over, or there is none.
    ///
    /// # Errors
    /// The folder or the index cannot be read.
    pub fn open(&self, owner: &Owner, id: &str) -> Result<Option<Reader>, ArtifactError> {
        self.open_if(id, |entry| entry.owner == *owner)
    }

    /// The same for an operator, whosever it is.
    ///
    /// # Errors
    /// As [`Artifacts::open`].
    pub fn open_any(&self, id: &str) -> Result<Option<Reader>, ArtifactError> {
        self.open_if(id, |_| true)
    }

    fn open_if(&self, id: &str, is_meant: impl Fn(&Entry) -> bool) -> Result<Option<Reader>, ArtifactError> {
        if !is_id(id) || !self.folder.is_there()? {
            return Ok(None);
        }
        let now_ms = (self.now_ms)();
        let cell = wait(self.store.cell(Kind::Artifact, id))?;
        let entry = cell.as_ref().and_then(Entry::of);
        let Some(entry) = entry.filter(|entry| entry.ends_at_ms > now_ms && is_meant(entry)) else {
            return Ok(None);
        };
        Ok(self.source(&entry)?.map(|source| Reader { entry, source }))
    }

    /// Where the content is; nothing if somebody has removed it.
    fn source(&self, entry: &Entry) -> Result<Option<Source>, ArtifactError> {
        if let Some(file) = self.folder.open(&entry.sha256)? {
            return Ok(Some(Source::File(file)));
        }
        let Some(remote) = &self.remote else { return Ok(None) };
        let is_there =
            self.folder.marks().is_remote(&entry.sha256)? && remote.has(&entry.sha256, entry.bytes)?;
        Ok(is_there.then(|| Source::Object(Object::of(remote))))
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, ArtifactError> {
        if !self.folder.is_there()? {
            return Ok(Vec::new());
        }
        let now_ms = (self.now_ms)();
        let is_there = |entry: &Entry| entry.ends_at_ms > now_ms;
        Ok(self.entries()?.into_iter().filter(is_there).collect())
    }

    /// Removes one, whosever it is. False if there is none.
    ///
    /// # Errors
    /// The folder or the index cannot be written. If the bucket does not answer, nobody finds it any more, and its bytes go
    /// with a later sweep.
    pub fn remove(&self, id: &str) -> Result<bool, ArtifactError> {
        if !is_id(id) || !self.folder.is_there()? {
            return Ok(false);
        }
        let _lock = self.folder.lock()?;
        let was_there = wait(remove(&*self.store, Kind::Artifact, id))?;
        self.remove_unnamed()?;
        Ok(was_there)
    }

    /// Removes what is over, and the files that nothing names. Costs one question to the system where nothing was ever kept.
    ///
    /// # Errors
    /// The folder or the index cannot be written.
    pub fn sweep(&self) -> Result<(), ArtifactError> {
        if !self.folder.is_there()? {
            return Ok(());
        }
        let _lock = self.folder.lock()?;
        wait(self.store.remove_ended(Kind::Artifact, (self.now_ms)()))?;
        self.remove_unnamed()
    }

    /// Removes the oldest of an owner's until there is room for so many bytes more. The caller holds the lock.
    fn make_room(&self, owner: &Owner, bytes: u64, now_ms: i64) -> Result<(), ArtifactError> {
        let mut removed = wait(self.store.remove_ended(Kind::Artifact, now_ms))? > 0;
        let mut all = self.entries()?;
        while !self.has_room(&all, owner, bytes) {
            let oldest = all.iter().position(|entry| entry.owner.caller == owner.caller);
            let oldest = all.remove(oldest.ok_or(ArtifactError::Full)?);
            removed |= wait(remove(&*self.store, Kind::Artifact, &oldest.id))?;
        }
        if removed { self.remove_unnamed() } else { Ok(()) }
    }

    fn has_room(&self, all: &[Entry], owner: &Owner, bytes: u64) -> bool {
        let own = all.iter().filter(|entry| entry.owner.caller == owner.caller);
        let own_bytes: u64 = own.clone().map(|entry| entry.bytes).sum();
        let all_bytes: u64 = all.iter().map(|entry| entry.bytes).sum();
        own.count() < COUNT_OF_CALLER_MAX
            && all.len() < COUNT_MAX
            && own_bytes + bytes <= self.limits.caller_bytes
            && all_bytes + bytes <= self.limits.total_bytes
    }

    fn entries(&self) -> Result<Vec<Entry>, ArtifactError> {
        let cells = wait(every(&*self.store, Query::all(Kind::Artifact)))?;
        Ok(cells.iter().filter_map(Entry::of).collect())
    }

    fn remove_unnamed(&self) -> Result<(), ArtifactError> {
        let named: BTreeSet<String> = self.entries()?.into_iter().map(|entry| entry.sha256).collect();
        self.folder.remove_all_but(&named)?;
        let Some(remote) = &self.remote else { return Ok(()) };
        let marks = self.folder.marks();
        for left in marks.unnamed(&named)?.into_iter().take(REMOVED_AT_ONCE) {
            remote.remove(&left.sha256)?;
            marks.remove(&left)?;
        }
        Ok(())
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 2 * ID_BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;
