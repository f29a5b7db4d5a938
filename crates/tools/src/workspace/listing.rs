//! What a listing says.

use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;
use tool_api::{Entry, Kind};

/// A listing, or a part of one.
#[derive(Debug)]
pub(crate) struct Listing {
    /// In order of their paths, a folder before what is in it.
    pub(super) entries: Vec<Item>,
    /// If there is more: call again with this as `after`.
    pub(super) next_after: Option<String>,
    /// Folders that could not be listed, with the reason.
    pub(super) unlisted: Vec<Unlisted>,
}

/// One entry.
#[derive(Debug)]
pub(super) struct Item {
    /// Relative to the workspace.
    pub(super) path: String,
    pub(super) kind: ItemKind,
    /// The size of a file, if the walk has looked at sizes and times.
    pub(super) bytes: Option<u64>,
    /// When the content last changed, likewise.
    pub(super) modified: Option<SystemTime>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    File,
    Folder,
    Link,
    Other,
}

/// A folder that could not be listed.
#[derive(Debug)]
pub(super) struct Unlisted {
    pub(super) path: String,
    pub(super) reason: String,
}

impl Item {
    pub(super) fn new(path: String, entry: &Entry) -> Item {
        let kind = match entry.kind {
            Kind::File => ItemKind::File,
            Kind::Folder => ItemKind::Folder,
            Kind::Link => ItemKind::Link,
            Kind::Other => ItemKind::Other,
        };
        let bytes = entry.meta.filter(|_| kind == ItemKind::File).map(|meta| meta.bytes);
        Item { path, kind, bytes, modified: entry.meta.map(|meta| meta.modified) }
    }
}

/// To the second, as `2026-01-02T03:04:05Z`. A time no calendar holds is shown as 1970.
fn utc(time: SystemTime) -> String {
    let exact = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    let whole = exact.as_nanosecond().div_euclid(1_000_000_000);
    let second = i64::try_from(whole).expect("a timestamp's seconds fit");
    Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

impl fmt::Display for Listing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in &self.entries {
            writeln!(out, "{item}")?;
        }
        if self.entries.is_empty() {
            writeln!(out, "[No entries.]")?;
        }
        for Unlisted { path, reason } in &self.unlisted {
            writeln!(out, "[Not listed: {}: {reason}]", OnOneLine(path))?;
        }
        if let Some(after) = &self.next_after {
            let shown = self.entries.len();
            writeln!(
                out,
                "[{shown} entries, and there is more. To go on, call again with after: {after:?}.]"
            )?;
        }
        Ok(())
    }
}

/// `path`, size or kind, and time, separated by tabs; folders end with `/`.
impl fmt::Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = OnOneLine(&self.path);
        let modified = utc(self.modified.unwrap_or(SystemTime::UNIX_EPOCH));
        match (self.kind, self.bytes) {
            (ItemKind::File, bytes) => write!(out, "{path}\t{}\t{modified}", bytes.unwrap_or(0)),
            (ItemKind::Folder, _) => write!(out, "{path}/\tfolder\t{modified}"),
            (ItemKind::Link, _) => write!(out, "{path}\tlink\t{modified}"),
            (ItemKind::Other, _) => write!(out, "{path}\tother\t{modified}"),
        }
    }
}

/// A path whose name cannot pass for lines of ours: with control characters it is quoted.
pub(super) struct OnOneLine<'a>(pub(super) &'a str);

impl fmt::Display for OnOneLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(char::is_control) { write!(out, "{:?}", self.0) } else { out.write_str(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_whole_seconds_of_utc() {
        let check = |time: SystemTime, expected: &str| assert_eq!(utc(time), expected);
        check(UNIX_EPOCH + Duration::from_millis(1_767_323_045_999), "2026-01-02T03:04:05Z");
        check(UNIX_EPOCH - Duration::from_millis(1), "1969-12-31T23:59:59Z");
        check(UNIX_EPOCH, "1970-01-01T00:00:00Z");
        check(UNIX_EPOCH + Duration::from_secs(u64::MAX / 4), "1970-01-01T00:00:00Z");
    }
}
