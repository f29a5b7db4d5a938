//! The last lines of the book, for people who look.
#![expect(clippy::disallowed_methods, reason = "the audit book is a declared home of files")]

use std::{
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    path::Path,
};

/// The most that is read from the end, whatever number of lines is asked for: some 100,000 records.
const TAIL_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What is read first; most questions need no more.
const TAIL_BYTES_FIRST: u64 = 64 * 1024;

/// The last lines of a book, oldest first, as they stand there: torn ones too. Fewer than `lines` if the
/// book, or the last 64 MiB of it, holds no more; none if there is no book. Blocks on the disk.
pub fn tail(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let len = file.metadata()?.len();
    let mut window = TAIL_BYTES_FIRST.min(len);
    loop {
        let mut bytes = vec![0; window as usize];
        file.read_exact_at(&mut bytes, len - window)?;
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
        if breaks >= lines || window == len || window == TAIL_BYTES_MAX {
            // The first line of the window may have lost its beginning, unless the window is the book.
            let whole = if window == len { breaks + 1 } else { breaks };
            return Ok(last_lines(bytes, lines.min(whole)));
        }
        window = (window * 4).min(TAIL_BYTES_MAX).min(len);
    }
}

fn last_lines(bytes: &[u8], lines: usize) -> Vec<String> {
    let mut last: Vec<String> = bytes
        .rsplit(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .take(lines)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    last.reverse();
    last
}
