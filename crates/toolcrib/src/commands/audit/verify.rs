//! `audit verify`: whether an audit log is as it was written, ours or one from elsewhere.
#![expect(clippy::disallowed_methods, reason = "the audit log is named on the command line")]

use std::path::Path;
use std::thread;
use std::time::Duration;

use audit::{Loss, PublicKey, Trust, Verified, VerifyError};
use serde_json::json;

use super::unreadable::unreadable;
use crate::cli::Cli;
use crate::ending::{Ending, Trouble};
use crate::print;

/// Which audit log is verified, and what it is held against.
pub(super) struct Asked<'a> {
    /// Another one than that of the state folder.
    pub(super) audit_log: Option<&'a Path>,
    pub(super) keys: &'a [String],
    /// The record that it begins with.
    pub(super) from: Option<u64>,
}

/// Whoever has begun an audit log a moment ago writes its first records within this time.
const FIRST_RECORDS_WAIT: Duration = Duration::from_millis(500);

pub(super) fn run(cli: &Cli, state: &Path, asked: &Asked<'_>) -> Result<Ending, Trouble> {
    let Asked { audit_log, keys, from } = *asked;
    // Who names a key wants a signature, and of that key: what else is known may have been written by whoever wrote
    // the audit log.
    let mut trust = Trust { keys: named(keys)?, must_be_signed: !keys.is_empty(), from, ..Trust::default() };
    if audit_log.is_none() && keys.is_empty() {
        trust.keys.extend(PublicKey::of_folder(state).map_err(unreadable)?);
    }
    if let Some(missing) = audit_log.filter(|audit_log| !audit_log.exists()) {
        return Err(unreadable(format!("there is no {}", missing.display())));
    }
    let path = audit_log.unwrap_or(state);
    // A folder may come with what was noted in it; a single segment ends where it was closed.
    if path.is_dir() {
        trust.noted = audit::noted_head(path, &trust.keys).map_err(unreadable)?;
        trust.loss = audit::noted_loss(path, &trust.keys).map_err(unreadable)?;
    }
    let (ending, facts, words) = match verified(path, &trust) {
        // Of a mistyped path it would be said for ever that all is well.
        Ok(found) if audit_log.is_some() && found.records == 0 => {
            return Err(Trouble::Failed(format!("{} holds no record of an audit log", path.display())));
        }
        // An audit log is begun with its first record. If that did not reach the disk, no other did.
        Ok(found) if found.records == 0 && found.segments > 0 => {
            return Err(Trouble::Failed(format!(
                "the audit log in {} was begun and holds no record: the disk was full, or whoever began it died at once",
                path.display()
            )));
        }
        Ok(audit_log) => (Ending::Good, facts(&audit_log), words(&audit_log, trust.keys.is_empty())),
        Err(VerifyError::Unreadable(error)) => return Err(unreadable(error)),
        Err(error) => {
            let VerifyError::Broken { segment, line, seq, .. } = &error else {
                return Err(unreadable(error));
            };
            let why = error.to_string();
            let facts = json!({ "good": false, "segment": segment, "line": line, "seq": seq, "why": why });
            (Ending::Failed, facts, why)
        }
    };
    print::found(cli.json, &facts, &words)?;
    Ok(ending)
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

fn named(keys: &[String]) -> Result<Vec<PublicKey>, Trouble> {
    let parse = |key: &String| {
        let wrong = || Trouble::Misused(format!("--key: `{key}` is no key: 64 digits of 0-9 and a-f"));
        PublicKey::parse(key).ok_or_else(wrong)
    };
    keys.iter().map(parse).collect()
}

fn facts(audit_log: &Verified) -> serde_json::Value {
    json!({
        "good": true,
        "records": audit_log.records,
        "first": audit_log.first,
        "segments": audit_log.segments,
        "torn_lines": audit_log.torn_lines,
        "signed": audit_log.signed,
        "head": audit_log.head.hash,
        "losses": audit_log.losses.iter().map(loss).collect::<Vec<_>>(),
    })
}

fn loss(loss: &Loss) -> serde_json::Value {
    json!({
        "record": loss.seq,
        "kept": loss.kept,
        "acknowledged": loss.acknowledged,
        "because": loss.because,
    })
}

/// What was found, as far as it was checked: of what is not signed it is not said that nobody changed it.
fn words(audit_log: &Verified, has_no_key: bool) -> String {
    let (records, head) = (audit_log.records, audit_log.head.hash);
    if records == 0 {
        return "there is no audit log yet: no call was recorded".to_owned();
    }
    let mut words = match audit_log.signed {
        Some(signed) if signed == audit_log.head.seq => {
            format!("{records} records, none changed, moved or taken out; head {head}")
        }
        Some(signed) => {
            format!("{records} records, none changed, moved or taken out up to record {signed}; head {head}")
        }
        None => format!("{records} records, each chained to the one before; head {head}"),
    };
    if audit_log.first > 1 {
        words += &format!("\nit begins with record {}: older ones are not part of it", audit_log.first);
    }
    if audit_log.torn_lines > 0 {
        words += &format!("\n{} lines were cut short by a crash; they held no record", audit_log.torn_lines);
    }
    for loss in &audit_log.losses {
        words += &format!("\nrecord {} says: {loss}", loss.seq);
        words += &loss.acknowledged.map_or_else(String::new, |seq| format!("; acknowledged in record {seq}"));
        words += &loss.because.as_ref().map_or_else(String::new, |because| format!(": {because:?}"));
    }
    words += &match audit_log.signed {
        Some(signed) if signed == audit_log.head.seq => "\nsigned to its end".to_owned(),
        Some(signed) => format!(
            "\nsigned up to record {signed}; the {} after it are chained only, which whoever writes an audit log anew can do \
             as well",
            audit_log.head.seq - signed
        ),
        None if has_no_key => {
            "\nno signature was checked, and whoever writes an audit log anew can chain it as well; name the key with --key \
             (`toolcrib audit key` prints it where the audit log was written)"
                .to_owned()
        }
        None => "\nnot signed yet; whoever writes an audit log anew can chain it as well".to_owned(),
    };
    words
}

#[cfg(test)]
mod tests {
    use audit::Head;

    use super::*;

    #[track_caller]
    fn check(signed: Option<u64>, has_no_key: bool, because: Option<&str>, expected: &str) {
        let head = Head { seq: 9, ..Head::START };
        let loss = |because: &str| Loss {
            seq: 3,
            kept: 5,
            acknowledged: Some(4),
            because: Some(because.to_owned()),
        };
        let losses = because.map(loss).into_iter().collect();
        let audit_log = Verified { records: 9, first: 1, segments: 1, torn_lines: 0, head, signed, losses };
        let told = words(&audit_log, has_no_key).replace(&head.hash.to_string(), "0");
        assert_eq!(told, expected);
    }

    #[test]
    fn no_more_is_said_than_was_checked() {
        check(Some(9), false, None, "9 records, none changed, moved or taken out; head 0\nsigned to its end");
        check(
            Some(7),
            false,
            None,
            "9 records, none changed, moved or taken out up to record 7; head 0\nsigned up to record 7; the 2 after it \
             are chained only, which whoever writes an audit log anew can do as well",
        );
        check(
            None,
            false,
            None,
            "9 records, each chained to the one before; head 0\nnot signed yet; whoever writes an audit log anew can chain it \
             as well",
        );
        check(
            None,
            true,
            None,
            "9 records, each chained to the one before; head 0\nno signature was checked, and whoever writes an audit log \
             anew can chain it as well; name the key with --key (`toolcrib audit key` prints it where the audit log was \
             written)",
        );
    }

    #[test]
    fn of_nothing_it_is_not_said_that_it_is_whole() {
        let nothing = Verified {
            records: 0,
            first: 1,
            segments: 0,
            torn_lines: 0,
            head: Head::START,
            signed: None,
            losses: Vec::new(),
        };
        assert_eq!(words(&nothing, true), "there is no audit log yet: no call was recorded");
    }

    #[test]
    fn a_reason_is_no_line_of_ours() {
        check(
            Some(9),
            false,
            Some("a \"flood\"\nsigned to its end"),
            "9 records, none changed, moved or taken out; head 0\nrecord 3 says: the end after record 2 was lost: the \
             audit log went up to record 5 at least; acknowledged in record 4: \"a \\\"flood\\\"\\nsigned to its end\"\n\
             signed to its end",
        );
    }
}
