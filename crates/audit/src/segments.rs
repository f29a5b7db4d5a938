//! The files of the audit log, in their order: closed segments by number, then the open one.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use store::found;

use crate::chain::{self, LINE_BYTES_MAX};
use crate::hash::Hash;
use crate::head::Head;
use crate::in_place;
use crate::line::{self, Links};

/// The name of the audit log's open segment within the state folder.
pub const FILE: &str = "audit.jsonl";

/// How much may follow the last whole line. Beyond, the end of the audit log is not ours.
const TAIL_BYTES_MAX: usize = 1024 * 1024;

/// What is looked at first; most questions need no more.
const TAIL_BYTES_FIRST: u64 = 16 * 1024;

/// How far back it is looked for behind zeros. A power cut leaves as many as any batch had bytes that was being written.
const ZEROS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Where a record is looked for first: those that are asked for are among the last as a rule.
const NEAR_END_BYTES: u64 = 256 * 1024;

/// A closed segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClosedSegment {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
}

/// The name of a closed segment. Numbers grow and are never used again.
pub(crate) fn closed_name(number: u64) -> String {
    format!("audit-{number:06}.jsonl")
}

/// The closed segments of a folder, oldest first; none if there is no folder.
pub(crate) fn closed(dir: &Path) -> io::Result<Vec<ClosedSegment>> {
    let Some(entries) = found(fs::read_dir(dir))? else { return Ok(Vec::new()) };
    let mut closed = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(number_of) {
            closed.push(ClosedSegment { number, path: entry.path() });
        }
    }
    closed.sort_unstable_by_key(|segment| segment.number);
    Ok(closed)
}

/// The number in the name of a closed segment.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?;
    let number = digits.parse().ok()?;
    // One name for each number, so that a copy under another spelling is not taken for a segment.
    (closed_name(number) == name).then_some(number)
}

/// A file's name, for people.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Whether two files are one.
pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    in_place::id(one) == in_place::id(other)
}

/// A segment that is read.
pub(crate) struct SegmentSource {
    pub(crate) name: String,
    pub(crate) file: Source,
}

/// Where its lines come from.
pub(crate) enum Source {
    /// Closed: opened when its turn comes.
    Closed(PathBuf),
    /// Open when the reading began, and perhaps closed by now.
    Open(File),
}

impl Source {
    /// Opens it; nothing if it was removed as too old in this moment, and so were those before it.
    pub(crate) fn open(self) -> io::Result<Option<File>> {
        match self {
            Source::Open(file) => Ok(Some(file)),
            Source::Closed(path) => found(open(&path)),
        }
    }
}

/// Opens a segment for reading. What is no file might have us wait for ever.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{} is no file", name_of(path))));
    }
    File::open(path)
}

/// The segments of an audit log, oldest first, as they are at one moment: `path` is its folder, or a single segment.
/// None if there is nothing.
pub(crate) fn parts(path: &Path) -> io::Result<Vec<SegmentSource>> {
    if fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
        let file = Source::Open(open(path)?);
        return Ok(vec![SegmentSource { name: name_of(path), file }]);
    }
    // The open one first: whatever is closed from now on is either this or comes after it.
    let open = found(open(&path.join(FILE)))?;
    let open_is = open.as_ref().map(File::metadata).transpose()?;
    let mut parts = Vec::new();
    for segment in closed(path)? {
        let name = name_of(&segment.path);
        let is_open = match (&open_is, fs::metadata(&segment.path)) {
            (Some(open), Ok(found)) => is_same(open, &found),
            _ => false,
        };
        if is_open {
            break;
        }
        parts.push(SegmentSource { name, file: Source::Closed(segment.path) });
    }
    parts.extend(open.map(|file| SegmentSource { name: FILE.to_owned(), file: Source::Open(file) }));
    Ok(parts)
}

/// The files that may hold records after this one, oldest first.
pub(crate) fn files_since(path: &Path, seq: u64) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    // Backwards, until one begins no later than the record after it.
    for part in parts(path)?.into_iter().rev() {
        let Some(file) = part.file.open()? else { break };
        let first = first_of(&file)?;
        files.push(file);
        if first.is_some_and(|first| first.head.seq <= seq.saturating_add(1)) {
            break;
        }
    }
    files.reverse();
    Ok(files)
}

/// Whether a record is in the audit log, or was before its first one and therefore removed as too old. Blocks on the disk.
pub(crate) fn holds(dir: &Path, record: Head) -> io::Result<bool> {
    let files = files_since(dir, record.seq.saturating_sub(1))?;
    let first = files.first().map(first_of).transpose()?.flatten();
    if first.is_some_and(|first| first.head.seq > record.seq) {
        return Ok(true);
    }
    for file in &files {
        let near_end = file.metadata()?.len().saturating_sub(NEAR_END_BYTES);
        for start in [near_end, 0] {
            if let Some(hash) = hash_of(file, start, record.seq)? {
                return Ok(hash == record.hash);
            }
        }
    }
    Ok(false)
}

/// The hash of a record that stands behind this byte of a segment.
fn hash_of(mut file: &File, start: u64, seq: u64) -> io::Result<Option<Hash>> {
    file.seek(SeekFrom::Start(start))?;
    // The first line may have lost its beginning, and has no number then.
    for line in chain::lines(BufReader::new(file)) {
        let line = line?;
        match chain::seq_of(&line) {
            Some(found) if found > seq => break,
            // A torn line bears the number of the record that comes again after it.
            Some(found) if found == seq => {
                if let Some(links) = line::read(&line).links() {
                    return Ok(Some(links.head.hash));
                }
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The end of a segment as it lies on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// The last whole line; `None` if there is none.
    pub(crate) last: Option<Links>,
    /// The length without zeros at the end.
    pub(crate) len: u64,
    /// Whether there are zeros, which a power cut left.
    pub(crate) has_zeros: bool,
    /// Whether the last line lacks its line break.
    pub(crate) is_torn: bool,
}

/// Finds the last whole line. `None` if there is none within [`TAIL_BYTES_MAX`]: the end is not ours.
pub(crate) fn end_of(file: &File) -> io::Result<Option<End>> {
    let found = file.metadata()?.len();
    for window in [TAIL_BYTES_FIRST, 2 * LINE_BYTES_MAX as u64, ZEROS_BYTES_MAX] {
        let window = window.min(found);
        let mut tail = vec![0; window as usize];
        file.read_exact_at(&mut tail, found - window)?;
        let written = chain::without_zeros(&tail);
        let searched = &written[written.len().saturating_sub(TAIL_BYTES_MAX)..];
        let last = searched.rsplit(|byte| *byte == b'\n').find_map(|line| line::read(line).links());
        if last.is_some() || (window == found && written.len() <= TAIL_BYTES_MAX) {
            let len = found - (tail.len() - written.len()) as u64;
            let is_torn = written.last().is_some_and(|byte| *byte != b'\n');
            return Ok(Some(End { last, len, has_zeros: len < found, is_torn }));
        }
    }
    Ok(None)
}

/// The first line of a segment, if it is whole. Blocks on the disk.
pub(crate) fn first_of(mut file: &File) -> io::Result<Option<Links>> {
    file.rewind()?;
    let first = chain::lines(BufReader::new(file)).next().transpose()?;
    // Whoever reads all of it goes on from here.
    file.rewind()?;
    Ok(first.and_then(|line| line::read(&line).links()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::sample;

    #[test]
    fn segments_are_in_the_order_of_their_numbers_and_nothing_else_is_one() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(closed(&dir.path().join("nowhere")).unwrap(), []);
        for name in ["audit-000010.jsonl", "audit-000002.jsonl", "audit-1000000.jsonl", "audit.jsonl"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        for name in ["audit-2.jsonl", "audit-0000003.jsonl", "audit-000003.jsonl.bak", "audit-x.jsonl"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let numbers: Vec<u64> = closed(dir.path()).unwrap().iter().map(|segment| segment.number).collect();
        assert_eq!(numbers, [2, 10, 1_000_000]);
        let names: Vec<String> = parts(dir.path()).unwrap().into_iter().map(|part| part.name).collect();
        assert_eq!(names, ["audit-000002.jsonl", "audit-000010.jsonl", "audit-1000000.jsonl", FILE]);
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join(FILE);
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [dir.path(), &socket, Path::new("/dev/null")] {
            let told = parts(path).map(|parts| parts.len()).map_err(|error| error.kind());
            assert_eq!(told, Err(ErrorKind::InvalidInput), "{path:?}");
        }
    }

    #[test]
    fn the_end_is_found_behind_any_number_of_zeros() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("segment");
        let mut line = Vec::new();
        let head = line::write(&mut line, Head::START, 7, &sample("c1"));
        for zeros in [0, 1, 1_000, 64 * 1024 + 1, 3 << 20] {
            fs::write(&path, [&line[..], &vec![0; zeros]].concat()).unwrap();
            let end = end_of(&File::open(&path).unwrap()).unwrap().unwrap();
            assert_eq!(end.last.as_ref().map(|last| (last.head, last.written_at_ms)), Some((head, 7)));
            assert_eq!((end.len, end.has_zeros, end.is_torn), (line.len() as u64, zeros > 0, false));
            assert_eq!(first_of(&File::open(&path).unwrap()).unwrap(), end.last);
        }
        fs::write(&path, "not ours\n".repeat(200_000)).unwrap();
        assert_eq!(end_of(&File::open(&path).unwrap()).unwrap(), None);
    }
}
