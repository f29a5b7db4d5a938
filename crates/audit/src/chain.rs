//! How a line of the audit log is framed: its hash at the end, its number and its time at the beginning.

use std::io::{self, BufRead, Read, Write};

use crate::hash::{HEX_BYTES, Hash};
use crate::head::Head;

/// The longest line that is read. Ours stay below: 46 texts of [`crate::TEXT_BYTES_MAX`], each byte escaped,
/// arguments of [`crate::ARGUMENTS_BYTES_MAX`], of which every byte takes two at most, and a few numbers.
pub(crate) const LINE_BYTES_MAX: usize = 128 * 1024;

const BEFORE_HASH: &[u8] = b",\"hash\":\"";
const AFTER_HASH: &[u8] = b"\"}";

/// Adds the line that follows `head`, line break included, and returns the new head. `body` appends its members, each
/// behind a comma, and is told where the line begins.
pub(crate) fn write(
    into: &mut Vec<u8>,
    head: Head,
    written_at_ms: i64,
    body: impl FnOnce(&mut Vec<u8>, usize),
) -> Head {
    let (start, seq) = (into.len(), head.seq + 1);
    write!(into, "{{\"seq\":{seq},\"prev\":\"{}\",\"written_at_ms\":{written_at_ms}", head.hash)
        .expect("memory takes every byte");
    body(into, start);
    end(into, start, seq)
}

/// Ends a line, whose body begins at `start`, with its hash.
pub(crate) fn end(into: &mut Vec<u8>, start: usize, seq: u64) -> Head {
    let hash = Hash::of(&into[start..]);
    for part in [BEFORE_HASH, &hash.hex(), AFTER_HASH, b"\n"] {
        into.write_all(part).expect("memory takes every byte");
    }
    Head { seq, hash }
}

/// The bytes without the zeros at their end.
pub(crate) fn without_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// The lines of a segment, without line breaks and the zeros that a power cut leaves of what was not written yet. One that
/// is longer than ours comes in pieces, of which none is a whole line.
pub(crate) fn lines(mut reader: impl BufRead) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match (&mut reader).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => line.truncate(without_zeros(line.trim_ascii_end()).len()),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(line))
    })
}

/// The number of a record, from the beginning of its line. Tells nothing of the rest.
pub(crate) fn seq_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = &rest[..rest.iter().position(|byte| *byte == b',')?];
    str::from_utf8(digits).ok()?.parse().ok()
}

/// When a record was written, in milliseconds since 1970, from the beginning of its line. Tells nothing of the rest.
pub(crate) fn written_at_of(line: &[u8]) -> Option<i64> {
    let digits = line.iter().position(|byte| *byte == b',')?;
    let rest = line[digits..].strip_prefix(b",\"prev\":\"")?.get(HEX_BYTES..)?;
    let rest = rest.strip_prefix(b"\",\"written_at_ms\":")?;
    let number = &rest[..rest.iter().position(|byte| *byte == b',')?];
    str::from_utf8(number).ok()?.parse().ok()
}

/// The body of a line and the hash it ends with; nothing for one that does not end as records do. Costs no hashing.
pub(crate) fn split(line: &[u8]) -> Option<(&[u8], Hash)> {
    let line = line.strip_suffix(AFTER_HASH)?;
    let (body, hash) = line.split_at_checked(line.len().checked_sub(HEX_BYTES)?)?;
    Some((body.strip_suffix(BEFORE_HASH)?, Hash::parse(hash)?))
}
