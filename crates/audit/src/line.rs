//! One line of the book: its canonical form, written and read. The form itself is described in the
//! crate's head.

use std::{fmt, io::Write};

use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    checkpoint::Checkpoint,
    hash::{HEX_BYTES, Hash},
    record::Record,
};

/// The longest line that is read. Ours stay below: 44 texts of [`crate::TEXT_BYTES_MAX`], each byte escaped,
/// arguments of [`crate::ARGUMENTS_BYTES_MAX`], of which every byte takes two at most, and a few numbers.
pub(crate) const LINE_BYTES_MAX: usize = 128 * 1024;

const BEFORE_HASH: &[u8] = b",\"hash\":\"";
const AFTER_HASH: &[u8] = b"\"}";

/// A point on the chain: the last record up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The record's number; 0 before the first.
    pub seq: u64,
    /// The record's hash; all zeros before the first.
    pub hash: Hash,
}

impl Head {
    /// The chain before its first record.
    pub const START: Self = Self { seq: 0, hash: Hash::ZERO };

    /// Reads the written form.
    pub fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = text.split_once(' ')?;
        Some(Self { seq: seq.parse().ok()?, hash: Hash::parse(hash.as_bytes())? })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.seq, self.hash)
    }
}

#[derive(Serialize)]
struct Body<'a> {
    seq: u64,
    prev: Hash,
    written_at_ms: i64,
    #[serde(flatten)]
    record: &'a Record,
}

/// Adds the line that follows `head`, line break included, and returns the new head.
pub(crate) fn write(into: &mut Vec<u8>, head: Head, written_at_ms: i64, record: &Record) -> Head {
    let start = into.len();
    let seq = head.seq + 1;
    let body = Body { seq, prev: head.hash, written_at_ms, record };
    serde_json::to_writer(&mut *into, &body)
        .expect("texts and numbers become JSON, and memory takes every byte");
    into.pop(); // the closing brace: `hash` comes before it
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

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A record as it was written.
    Whole(Links),
    /// It has the form of a record, but its bytes do not match its hash, or it has none.
    Changed,
    /// It ends early: a crash, or somebody's hand.
    Torn,
}

/// What a whole line says of its place in the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Links {
    /// The hash it names as its predecessor's.
    pub(crate) prev: Hash,
    /// The point on the chain it makes.
    pub(crate) head: Head,
    /// When it was written, in milliseconds since 1970.
    pub(crate) written_at_ms: i64,
    /// What it is, if it is no record of a call. Its signature is not checked yet.
    pub(crate) checkpoint: Option<Box<Checkpoint>>,
}

/// Reads one line without its line break. Zeros behind it are what a power cut leaves of what was not
/// written yet.
pub(crate) fn read(line: &[u8]) -> Line {
    #[derive(Deserialize)]
    struct Body {
        seq: u64,
        prev: Hash,
        written_at_ms: i64,
        #[serde(default)]
        checkpoint: Option<Box<Checkpoint>>,
    }
    let line = without_zeros(line);
    let Some((body, hash)) = split(line) else {
        // What a crash cut short lacks its end; a whole object without our hash came from somebody's hand.
        let line = line.trim_ascii_end();
        let is_whole = line.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        return if is_whole { Line::Changed } else { Line::Torn };
    };
    if Hash::of(body) != hash {
        return Line::Changed;
    }
    match serde_json::from_slice(line) {
        Ok(Body { seq, prev, written_at_ms, checkpoint }) => {
            Line::Whole(Links { prev, head: Head { seq, hash }, written_at_ms, checkpoint })
        }
        Err(_) => Line::Changed,
    }
}

/// The bytes without the zeros at their end.
pub(crate) fn without_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Whether a line ends as records do. Costs no hashing, and tells nothing of what stands before.
pub(crate) fn has_end(line: &[u8]) -> bool {
    split(line).is_some()
}

/// The number of a record, from the beginning of its line. Tells nothing of the rest.
pub(crate) fn seq_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = &rest[..rest.iter().position(|byte| *byte == b',')?];
    str::from_utf8(digits).ok()?.parse().ok()
}

fn split(line: &[u8]) -> Option<(&[u8], Hash)> {
    let line = line.strip_suffix(AFTER_HASH)?;
    let (body, hash) = line.split_at_checked(line.len().checked_sub(HEX_BYTES)?)?;
    Some((body.strip_suffix(BEFORE_HASH)?, Hash::parse(hash)?))
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, sync::Arc};

    use super::*;
    use crate::record::{Approved, Decided, Outcome, tests::sample};

    fn written(record: &Record) -> String {
        let mut line = Vec::new();
        write(&mut line, Head::START, 1_700_000_000_020, record);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn the_canonical_form() {
        let body = format!(
            r#"{{"seq":1,"prev":"{}","written_at_ms":1700000000020,"call_id":"c1","opened_at_ms":1700000000000,"caller":"local","caller_kind":"local_user","via":"stdio","tool":"workspace_read","effect":"reads","arguments_sha256":"{}","arguments_bytes":2,"verdicts":[["scope","pass"],["policy","pass"]],"outcome":"result","duration_us":12,"result_bytes":34"#,
            "0".repeat(64),
            Hash::of(b"{}"),
        );
        let hash = Hash::of(body.as_bytes());
        assert_eq!(written(&sample("c1")), format!("{body},\"hash\":\"{hash}\"}}\n"));
    }

    #[test]
    fn hostile_texts_stay_on_their_line() {
        let mut record = sample("c1");
        let tool = "a\n{\"seq\":1}\r\0\u{1b}[31m\u{7}\",\"hash\":\"";
        record.opening.tool = Arc::from(tool);
        record.opening.upstream = Some(Arc::from("up\\stream"));
        record.outcome = Outcome::Refused;
        record.code = Some(Cow::Borrowed("policy.deny"));
        let line = written(&record);
        assert_eq!(line.bytes().filter(|byte| byte.is_ascii_control()).count(), 1, "{line}");
        let line = line.trim_end();
        assert!(matches!(
            read(line.as_bytes()),
            Line::Whole(Links { head: Head { seq: 1, .. }, prev: Hash::ZERO, .. })
        ));
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["tool"], tool);
        assert_eq!((&value["outcome"], &value["code"]), (&"refused".into(), &"policy.deny".into()));
    }

    #[test]
    fn the_longest_line_can_be_read_back() {
        let longest: Arc<str> = Arc::from("\0".repeat(1_000_000));
        let mut record = sample(&longest);
        record.opening.caller = Arc::clone(&longest);
        record.opening.tool = Arc::clone(&longest);
        record.opening.upstream = Some(Arc::clone(&longest));
        record.opening.via = Cow::Owned(longest.to_string());
        record.opening.effect = Some(Cow::Owned(longest.to_string()));
        record.code = Some(Cow::Owned(longest.to_string()));
        record.opening.trace_id = Some(Arc::clone(&longest));
        record.opening.caller_kind = Cow::Owned(longest.to_string());
        let effect = Cow::Owned(longest.to_string());
        record.decisions = vec![Decided { by: "policy", rule: Arc::clone(&longest), effect }; 100];
        let (id, by) = (Arc::clone(&longest), Arc::clone(&longest));
        record.approval = Some(Approved { id, by, through: "terminal", answer: "approved" });
        record.cut();
        record.opening.arguments = Some(Arc::from("\"".repeat(crate::ARGUMENTS_BYTES_MAX)));
        let line = written(&record);
        assert!(line.len() < LINE_BYTES_MAX, "{}", line.len());
        assert!(matches!(read(line.trim_end().as_bytes()), Line::Whole(_)));
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_seen() {
        let line = written(&sample("c1")).trim_end().as_bytes().to_vec();
        for at in 0..line.len() {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(!matches!(read(&changed), Line::Whole(_)), "byte {at}");
            assert_eq!(read(&line[..at]), Line::Torn, "cut at {at}");
        }
    }

    #[test]
    fn a_whole_object_without_our_hash_is_no_torn_line() {
        let line = written(&sample("c1"));
        let body = &line[..line.rfind(",\"hash\"").unwrap()];
        for forged in
            ["{}", &format!("{body}}}"), &format!("{body},\"hash\":\"0123\"}}"), "{\"tool\":\"x\"} "]
        {
            assert_eq!(read(forged.as_bytes()), Line::Changed, "{forged}");
        }
        assert_eq!(read(format!("{body},\"a\":{{}}").as_bytes()), Line::Torn, "a crash may end it there");
    }

    #[test]
    fn zeros_that_a_power_cut_left_do_not_cost_the_record_before_them() {
        let line = written(&sample("c1"));
        let zeros = [line.trim_end().as_bytes(), &[0; 100]].concat();
        assert!(matches!(read(&zeros), Line::Whole(_)));
        assert_eq!(read(&[0; 100]), Line::Torn);
    }

    #[test]
    fn a_head_is_written_and_read() {
        let head = Head { seq: 7, hash: Hash::of(b"x") };
        assert_eq!(Head::parse(&head.to_string()), Some(head));
        for wrong in ["", "7", "7 abc", &format!("-1 {}", head.hash), &format!("7  {}", head.hash)] {
            assert_eq!(Head::parse(wrong), None, "{wrong}");
        }
    }
}
