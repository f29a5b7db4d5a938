//! `Reader`: reads one artifact, from the folder or from the bucket.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use crate::entry::Entry;
use crate::remote::Remote;

/// So much is fetched at once for whoever reads on and on.
const AHEAD_BYTES: u64 = 4 * 1024 * 1024;

/// Reads one artifact.
pub struct Reader {
    /// What it is.
    pub entry: Entry,
    pub(crate) source: Source,
}

pub(crate) enum Source {
    File(File),
    Object(Object),
}

/// The content of an artifact in a bucket, and what was fetched of it last.
pub(crate) struct Object {
    remote: Arc<Remote>,
    fetched: Mutex<Fetched>,
}

#[derive(Default)]
struct Fetched {
    from: u64,
    bytes: bytes::Bytes,
}

impl Object {
    pub(crate) fn of(remote: &Arc<Remote>) -> Object {
        Object { remote: remote.clone(), fetched: Mutex::default() }
    }

    fn read_at(&self, entry: &Entry, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() || offset >= entry.bytes {
            return Ok(0);
        }
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let end = fetched.from + fetched.bytes.len() as u64;
        if !(fetched.from..end).contains(&offset) {
            let goes_on = end > 0 && offset == end;
            let wanted = (into.len() as u64).max(if goes_on { AHEAD_BYTES } else { 0 });
            let to = offset + wanted.min(AHEAD_BYTES).min(entry.bytes - offset);
            let answer = self.remote.read(&entry.sha256, offset, to).map_err(io::Error::other)?;
            *fetched = Fetched { from: offset, bytes: answer.body };
        }
        let there = &fetched.bytes[(offset - fetched.from) as usize..];
        let count = there.len().min(into.len());
        into[..count].copy_from_slice(&there[..count]);
        Ok(count)
    }
}

impl Reader {
    /// Reads at this byte as much as is there and fits; 0 bytes at the end and behind it. From a bucket it may be less.
    ///
    /// # Errors
    /// The disk cannot be read, or the store does not answer.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match &self.source {
            Source::File(file) => file.read_at(into, offset),
            Source::Object(object) => object.read_at(&self.entry, offset, into),
        }
    }
}
