//! What is known of what is kept for undoing: a note beside each entry of a folder of ours, under the entry's name.
#![expect(clippy::disallowed_methods, reason = "the folders lie in our own state")]

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::Dir;
use data_encoding::HEXLOWER;
use rustix::fs::Mode;
use serde::{Deserialize, Serialize};

use super::file_ops::FileOps;

/// How long it is kept.
pub const TRASH_LASTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Beside what is kept, what is known of it.
pub(super) const NOTE: &str = ".json";

/// For the owner alone, as the folder is.
const NOTE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Longest note, in bytes: a path and some numbers.
const NOTE_BYTES_MAX: u64 = 64 * 1024;

/// Something that was deleted or replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trashed {
    /// What it is known by; of two, the later one is greater.
    #[serde(skip)]
    pub id: String,
    /// Where it was.
    pub path: String,
    /// When it was deleted, in milliseconds since 1970.
    pub deleted_ms: u64,
    /// How many files, folders and links it is.
    pub entries: usize,
    /// The size of its files.
    pub bytes: u64,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Of a file that was replaced and not deleted: the SHA-256 of what took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// Whether an undoing has replaced it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_undone: bool,
}

/// Opens such a folder, which is made first if it is to be there.
pub(super) fn folder(path: &Path, makes: bool) -> io::Result<Dir> {
    if makes {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    }
    // Open for reading, so that its names can be synced.
    File::open(path).map(Dir::from_std_file)
}

/// Writes a note, whole or not at all; it is not on disk yet.
pub(super) fn written_note(ops: &dyn FileOps, trash: &Dir, id: &str, note: &Trashed) -> io::Result<File> {
    let (folder, name) = (trash.try_clone()?.into_std_file(), format!("{id}{NOTE}"));
    let file = ops.create(&folder, &name, NOTE_MODE)?;
    // A full disk leaves a part.
    ops.write(&file, &serde_json::to_vec(note)?).inspect_err(|_| drop(trash.remove_file(&name)))?;
    Ok(file)
}

/// A name that nothing else has, which begins with the time, and that time.
pub(super) fn id_and_time() -> io::Result<(String, u64)> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let now = now_ms();
    Ok((format!("{now:012x}{}", HEXLOWER.encode(&random)), now))
}

/// All that is in the folder there, which need not be there.
pub(super) fn listed_at(path: &Path) -> io::Result<Vec<Trashed>> {
    match folder(path, false) {
        Ok(folder) => listed(&folder),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// All that is in a folder, the newest first.
pub(super) fn listed(trash: &Dir) -> io::Result<Vec<Trashed>> {
    let mut all = Vec::new();
    for entry in trash.entries()? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(NOTE)) else { continue };
        // A note whose entry never came, or is gone, is none.
        let is_there = trash.symlink_metadata(id).is_ok();
        let is_small = trash.metadata(&name).is_ok_and(|meta| meta.len() <= NOTE_BYTES_MAX);
        if !is_there || !is_small {
            continue;
        }
        let note = trash.read(&name).ok().and_then(|note| serde_json::from_slice::<Trashed>(&note).ok());
        all.extend(note.map(|note| Trashed { id: id.to_owned(), ..note }));
    }
    all.sort_unstable_by(|one, other| other.id.cmp(&one.id));
    Ok(all)
}

pub(super) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
