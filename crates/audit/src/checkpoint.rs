//! Checkpoints: lines of the audit log that are signed. Since each names its predecessor's hash, one signature
//! vouches for the whole audit log before it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chain;
use crate::hash::Hash;
use crate::head::Head;
use crate::key::{PublicKey, SIGNATURE_HEX_BYTES, Signer};

/// A checkpoint follows whenever the number of records passes a multiple of this: a signature costs as much
/// as some twenty records.
pub const CHECKPOINT_RECORDS: u64 = 10_000;

/// What is signed begins with this, so that no signature of another purpose can be taken for one.
const PURPOSE: &[u8] = b"toolcrib audit checkpoint\n";

const BEFORE_SIGNATURE: &[u8] = b",\"signature\":\"";

/// What a checkpoint says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) why: Occasion,
    /// What the occasion needs.
    #[serde(flatten)]
    pub(crate) details: Details,
    /// The key it is signed with.
    pub(crate) key: PublicKey,
}

/// What a checkpoint says besides its occasion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Details {
    /// What was taken out of the audit log, if that is the occasion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<Removed>,
    /// True if some of that was younger than it was to be kept: the audit log had grown too large.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) early: bool,
    /// The record that was kept and is not in the audit log, if that is the occasion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<Head>,
    /// What a person says of a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) because: Option<String>,
}

/// Why a checkpoint was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Occasion {
    /// Many records were written since the last one.
    Records,
    /// The segment is full or old.
    Segment,
    /// The process ends.
    Shutdown,
    /// The oldest segment is removed after this line.
    Removed,
    /// When the audit log was opened, a record that had been kept was not in it.
    Lost,
    /// A person knows of the losses before this line.
    Acknowledged,
}

/// An old segment that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Its file's name.
    pub segment: String,
    /// The number of its last record.
    pub seq: u64,
    /// The hash of its last record.
    #[schemars(with = "String")]
    pub hash: Hash,
}

impl Removed {
    pub(crate) fn head(&self) -> Head {
        Head { seq: self.seq, hash: self.hash }
    }
}

/// Adds the checkpoint that follows `head`, line break included, and returns the new head.
pub(crate) fn write(
    into: &mut Vec<u8>,
    head: Head,
    written_at_ms: i64,
    why: Occasion,
    details: Details,
    signer: &Signer,
) -> Head {
    let checkpoint = Checkpoint { why, details, key: signer.public() };
    chain::write(into, head, written_at_ms, |into, start| {
        into.extend_from_slice(b",\"checkpoint\":");
        serde_json::to_writer(&mut *into, &checkpoint)
            .expect("texts and numbers become JSON, and memory takes every byte");
        let signature = signer.sign(&signed(&into[start..]));
        into.extend_from_slice(&[BEFORE_SIGNATURE, &signature, b"\""].concat());
    })
}

/// Whether a whole line with a checkpoint bears the signature of the key it names.
pub(crate) fn is_signed(line: &[u8], checkpoint: &Checkpoint) -> bool {
    /// From the quote behind the signature to the end: the quote, and the line's hash in its place.
    const AFTER_SIGNATURE_BYTES: usize = r#"","hash":""}"#.len() + crate::hash::HEX_BYTES;
    let line = chain::without_zeros(line);
    let Some(end) = line.len().checked_sub(AFTER_SIGNATURE_BYTES) else { return false };
    let Some(start) = end.checked_sub(SIGNATURE_HEX_BYTES) else { return false };
    let Some(body) = line[..start].strip_suffix(BEFORE_SIGNATURE) else { return false };
    checkpoint.key.has_signed(&signed(body), &line[start..end])
}

fn signed(body: &[u8]) -> Vec<u8> {
    [PURPOSE, body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{self, Line, Links};

    #[test]
    fn a_checkpoint_is_a_line_whose_signature_covers_what_came_before() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Signer::of_folder(dir.path()).unwrap();
        let head = Head { seq: 6, hash: Hash::of(b"x") };
        let removed = Removed { segment: "audit-000001.jsonl".to_owned(), seq: 3, hash: Hash::of(b"y") };
        let mut line = Vec::new();
        let details = Details { removed: Some(removed.clone()), ..Details::default() };
        let after = write(&mut line, head, 7, Occasion::Removed, details.clone(), &signer);
        let text = String::from_utf8(line.clone()).unwrap();
        let begin = format!(
            r#"{{"seq":7,"prev":"{}","written_at_ms":7,"checkpoint":{{"why":"removed","removed":{{"segment":"audit-000001.jsonl","seq":3,"hash":"{}"}},"key":"{}"}},"signature":""#,
            head.hash,
            removed.hash,
            signer.public(),
        );
        assert!(text.starts_with(&begin), "{text}");
        let line = line.trim_ascii_end();
        let Line::Whole(Links { prev, head: read, checkpoint: Some(checkpoint), .. }) = line::read(line)
        else {
            panic!("{text}");
        };
        assert_eq!((prev, read, &checkpoint.details), (head.hash, after, &details));
        assert!(is_signed(line, &checkpoint));

        // Another body under the same signature, with a hash that is right for it.
        let forged = text.replacen("\"seq\":7", "\"seq\":8", 1);
        let mut forged = forged.as_bytes()[..forged.rfind(",\"hash\"").unwrap()].to_vec();
        chain::end(&mut forged, 0, 8);
        assert!(matches!(line::read(forged.trim_ascii_end()), Line::Whole(_)));
        assert!(!is_signed(forged.trim_ascii_end(), &checkpoint));
    }
}
