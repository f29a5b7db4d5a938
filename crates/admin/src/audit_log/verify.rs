//! Whether an audit log is as it was written, ours or one from elsewhere.
#![expect(clippy::disallowed_methods, reason = "the audit log is named by the operator")]

use std::path::Path;
use std::thread;
use std::time::Duration;

use audit::{PublicKey, Trust, Verified, VerifyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::loss::LossReport;
use super::{AuditPart, unreadable};
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// Whoever has begun an audit log a moment ago writes its first records within this time.
const FIRST_RECORDS_WAIT: Duration = Duration::from_millis(500);

/// Which audit log is verified, and what it is held against.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Verify {
    /// Another one than that of the state folder: the path of a folder or of one segment.
    pub folder: Option<String>,
    /// Keys that may have signed it. No other one counts then, and one that bears no signature is found fault with.
    pub keys: Vec<String>,
    /// The number of the record that it begins with.
    pub from: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum VerifyReport {
    /// Nothing wrong.
    Good(GoodLog),
    /// The first record that is not as it was written.
    Broken(BrokenLog),
}

/// An audit log in which nothing was found wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoodLog {
    /// True.
    pub good: bool,
    /// Records in it, checkpoints included.
    pub records: u64,
    /// The number of its first record.
    pub first: u64,
    /// The number of its last record.
    pub last: u64,
    /// Its files.
    pub segments: usize,
    /// Lines that a crash cut short.
    pub torn_lines: u64,
    /// The number of the last record that a checked signature vouches for.
    pub signed: Option<u64>,
    /// True if a key was known to check signatures with.
    pub key_known: bool,
    /// The hash of its last record.
    pub head: String,
    /// What it says was lost of it, all acknowledged.
    pub losses: Vec<LossReport>,
}

/// An audit log that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLog {
    /// False.
    pub good: bool,
    /// The file.
    pub segment: String,
    /// The line in it.
    pub line: u64,
    /// The number of the record.
    pub seq: u64,
    /// What is wrong, with the place.
    pub why: String,
}

impl Operation for Verify {
    const NAME: &'static str = "audit.verify";
    type Part = AuditPart;
    type Output = VerifyReport;

    fn perform(self, part: &AuditPart, _: &By) -> Result<VerifyReport, Fault> {
        let named = self.folder.as_deref().map(Path::new);
        if let Some(missing) = named.filter(|path| !path.exists()) {
            return Err(unreadable(format!("there is no {}", missing.display())));
        }
        let path = named.unwrap_or(&part.state);
        let trust = self.trust(part, path)?;
        match verified(path, &trust) {
            // Of a mistyped path it would be said for ever that all is well.
            Ok(found) if named.is_some() && found.records == 0 => {
                Err(Fault::failed(format!("{} holds no record of an audit log", path.display())))
            }
            // An audit log is begun with its first record. If that did not reach the disk, no other did.
            Ok(found) if found.records == 0 && found.segments > 0 => Err(Fault::failed(format!(
                "the audit log in {} was begun and holds no record: the disk was full, or whoever began it died at once",
                path.display()
            ))),
            Ok(found) => Ok(VerifyReport::Good(good(found, !trust.keys.is_empty()))),
            Err(error) => {
                let why = error.to_string();
                match error {
                    VerifyError::Broken { segment, line, seq, .. } => {
                        Ok(VerifyReport::Broken(BrokenLog { good: false, segment, line, seq, why }))
                    }
                    VerifyError::Unreadable(error) => Err(unreadable(error)),
                }
            }
        }
    }
}

impl Verify {
    /// What the audit log at `path` is held against.
    fn trust(&self, part: &AuditPart, path: &Path) -> Result<Trust, Fault> {
        // Who names a key wants a signature, and of that key: what else is known may have been written by whoever wrote
        // the audit log.
        let has_key = !self.keys.is_empty();
        let keys = named(&self.keys)?;
        let mut trust = Trust { keys, must_be_signed: has_key, from: self.from, ..Trust::default() };
        if self.folder.is_none() && !has_key {
            trust.keys.extend(PublicKey::of_folder(&part.state).map_err(unreadable)?);
        }
        // A folder may come with what was noted in it; a single segment ends where it was closed.
        if path.is_dir() {
            trust.noted = audit::noted_head(path, &trust.keys).map_err(unreadable)?;
            trust.loss = audit::noted_loss(path, &trust.keys).map_err(unreadable)?;
        }
        Ok(trust)
    }
}

/// What is found; one that was begun and holds nothing is looked at again.
fn verified(path: &Path, trust: &Trust) -> Result<Verified, VerifyError> {
    let found = audit::verify(path, trust)?;
    if found.records > 0 || found.segments == 0 {
        return Ok(found);
    }
    thread::sleep(FIRST_RECORDS_WAIT);
    audit::verify(path, trust)
}

fn named(keys: &[String]) -> Result<Vec<PublicKey>, Fault> {
    let parse = |key: &String| {
        let wrong = || Fault::misused(format!("`{key}` is no key: 64 digits of 0-9 and a-f"));
        PublicKey::parse(key).ok_or_else(wrong)
    };
    keys.iter().map(parse).collect()
}

fn good(found: Verified, key_known: bool) -> GoodLog {
    GoodLog {
        good: true,
        records: found.records,
        first: found.first,
        last: found.head.seq,
        segments: found.segments,
        torn_lines: found.torn_lines,
        signed: found.signed,
        key_known,
        head: found.head.hash.to_string(),
        losses: found.losses.into_iter().map(LossReport::from).collect(),
    }
}
