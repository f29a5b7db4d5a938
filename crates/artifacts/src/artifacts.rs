//! `Artifacts`: keeps them, finds them for their owners, and removes what is over.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use store::{CellStore, Change, Kind, Query, every, remove, replace, wait};

use crate::config::Limits;
use crate::draft::Draft;
use crate::entry::{Entry, Owner};
use crate::error::ArtifactError;
use crate::folder::Folder;

/// Artifacts of one caller: more than a busy agent makes in a day.
pub const COUNT_OF_CALLER_MAX: usize = 1_024;

/// Artifacts in all: the index is read whole when one is added.
pub const COUNT_MAX: usize = 4_096;

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
    store: Arc<dyn CellStore>,
    limits: Limits,
    now_ms: fn() -> i64,
}

/// Reads one artifact.
pub struct Reader {
    /// What it is.
    pub entry: Entry,
    file: File,
}

impl Artifacts {
    /// Those below the state folder `state`, with their index in `store`.
    pub fn new(state: &Path, store: Arc<dyn CellStore>, limits: Limits, now_ms: fn() -> i64) -> Artifacts {
        Artifacts { folder: Folder::below(state), store, limits, now_ms }
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
    /// Others have all the room, the disk is full, or the index does not answer.
    pub fn keep(
        &self,
        mut draft: Draft,
        id: String,
        owner: Owner,
        about: About,
    ) -> Result<Entry, ArtifactError> {
        let whole = draft.whole()?;
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
        self.folder.adopt(&whole)?;
        // Nobody else has this id.
        wait(replace(&*self.store, Change::put(Kind::Artifact, &entry.id, None, entry.content())))?;
        Ok(entry)
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
        let file = self.folder.open(&entry.sha256)?;
        Ok(file.map(|file| Reader { entry, file }))
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
    /// The folder or the index cannot be written.
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
        Ok(self.folder.remove_all_but(&named)?)
    }
}

impl Reader {
    /// Reads at this byte as much as is there and fits; 0 bytes at the end and behind it.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 2 * ID_BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;
