//! Places where something secret stands, and what is written there instead.

use std::cmp::Reverse;
use std::sync::Arc;

/// What the text in place of a secret begins with.
pub(crate) const MARK: &str = "[REDACTED:";

/// What stands in place of a secret without a name.
pub(crate) const STARS: &str = "***";

/// What stands between the name and a number, where several names in one object would be the same.
pub(crate) const NUMBER: char = '#';

/// Longest name in such a text that is looked for, in bytes; names of secrets are shorter.
pub(crate) const NAME_BYTES_MAX: usize = 256;

/// One place, in bytes of the text.
#[derive(Clone)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Of two that take as much, the one with the smaller number gives the name: known secrets before kinds.
    pub(crate) rank: usize,
    /// What is shown of it: the name of a known one, or the kind of one that was recognised.
    pub(crate) name: Arc<str>,
}

impl Hit {
    /// Counts from `by` on.
    pub(crate) fn shift_back(&mut self, by: usize) {
        self.start -= by;
        self.end -= by;
    }

    /// Writes what stands in place of the secret.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if self.name.is_empty() {
            return out.extend_from_slice(STARS.as_bytes());
        }
        out.extend_from_slice(MARK.as_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out.push(b']');
    }

    fn bytes(&self) -> usize {
        self.end - self.start
    }
}

/// Makes one of places that overlap, in the order of the text. The longest gives it its name; so no part
/// of any stays, and the same text gives the same result always.
pub(crate) fn merge(hits: &mut Vec<Hit>) {
    hits.sort_unstable_by_key(|hit| (hit.start, Reverse(hit.end), hit.rank));
    let mut merged: Vec<Hit> = Vec::with_capacity(hits.len());
    // How long the one is that gave the last its name.
    let mut named_by = 0;
    for hit in hits.drain(..) {
        match merged.last_mut().filter(|last| hit.start < last.end) {
            Some(last) => {
                last.end = last.end.max(hit.end);
                if (hit.bytes(), Reverse(hit.rank)) > (named_by, Reverse(last.rank)) {
                    named_by = hit.bytes();
                    (last.rank, last.name) = (hit.rank, hit.name);
                }
            }
            None => {
                named_by = hit.bytes();
                merged.push(hit);
            }
        }
    }
    *hits = merged;
}

/// The text with marks in place of `hits`, and how many places that were; nothing if there are none.
pub(crate) fn replaced(text: &[u8], mut hits: Vec<Hit>) -> Option<(Vec<u8>, u32)> {
    if hits.is_empty() {
        return None;
    }
    merge(&mut hits);
    let (mut out, mut kept) = (Vec::with_capacity(text.len()), 0);
    for hit in &hits {
        out.extend_from_slice(&text[kept..hit.start]);
        hit.write(&mut out);
        kept = hit.end;
    }
    out.extend_from_slice(&text[kept..]);
    Some((out, u32::try_from(hits.len()).unwrap_or(u32::MAX)))
}

/// True if the place is inside of what was written for a secret before, with one of the names that `ours` knows.
pub(crate) fn is_struck(text: &[u8], hit: &Hit, ours: &dyn Fn(&str) -> bool) -> bool {
    let from = hit.start.saturating_sub(MARK.len() + NAME_BYTES_MAX);
    let Some(mark) =
        memchr::memmem::rfind(&text[from..(hit.start + MARK.len()).min(text.len())], MARK.as_bytes())
    else {
        return false;
    };
    let name = from + mark + MARK.len();
    let Some(length) = memchr::memchr(b']', &text[name..text.len().min(name + NAME_BYTES_MAX)]) else {
        return false;
    };
    let end = name + length;
    let Ok(whole) = std::str::from_utf8(&text[name..end]) else { return false };
    let unnumbered = unnumbered(whole);
    // A number is none of ours where a secret is in it.
    let ours_end = if unnumbered.len() == whole.len() { end + 1 } else { name + unnumbered.len() };
    from + mark <= hit.start && hit.end <= ours_end && ours(unnumbered)
}

fn unnumbered(name: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once(NUMBER).filter(|(_, number)| is_number(number)).map_or(name, |(name, _)| name)
}
