//! `audit verify`: whether an audit log is as it was written, in words.

use admin::audit_log::{AuditPart, GoodLog, LossReport, Verify, VerifyReport};
use admin::{By, Operation as _};
use audit::Loss;
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;

pub(super) fn run(cli: &Cli, part: &AuditPart, asked: Verify) -> Result<Ending, Trouble> {
    let report = asked.perform(part, &By::owner())?;
    let (ending, words) = match &report {
        VerifyReport::Good(audit_log) => (Ending::Good, words(audit_log)),
        VerifyReport::Broken(broken) => (Ending::Failed, broken.why.clone()),
    };
    print::found(cli.json, &report, &words)?;
    Ok(ending)
}

/// A loss, and which record says so.
pub(super) fn loss_line(loss: &LossReport) -> String {
    format!("acknowledged: {} (told by record {})", Loss::from(loss), loss.record)
}

/// What was found, as far as it was checked: of what is not signed it is not said that nobody changed it.
fn words(audit_log: &GoodLog) -> String {
    let (records, head) = (audit_log.records, &audit_log.head);
    if records == 0 {
        return "there is no audit log yet: no call was recorded".to_owned();
    }
    let mut words = match audit_log.signed {
        Some(signed) if signed == audit_log.last => {
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
        words += &format!("\nrecord {} says: {}", loss.record, Loss::from(loss));
        words += &loss.acknowledged.map_or_else(String::new, |seq| format!("; acknowledged in record {seq}"));
        words += &loss.because.as_ref().map_or_else(String::new, |because| format!(": {because:?}"));
    }
    words += &match audit_log.signed {
        Some(signed) if signed == audit_log.last => "\nsigned to its end".to_owned(),
        Some(signed) => format!(
            "\nsigned up to record {signed}; the {} after it are chained only, which whoever writes an audit log anew can do \
             as well",
            audit_log.last - signed
        ),
        None if !audit_log.key_known => {
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
    use super::*;

    const WHOLE: GoodLog = GoodLog {
        good: true,
        records: 9,
        first: 1,
        last: 9,
        segments: 1,
        torn_lines: 0,
        signed: None,
        key_known: true,
        head: String::new(),
        losses: Vec::new(),
    };

    #[track_caller]
    fn check(signed: Option<u64>, has_no_key: bool, because: Option<&str>, expected: &str) {
        let loss = |because: &str| LossReport {
            record: 3,
            kept: 5,
            acknowledged: Some(4),
            because: Some(because.to_owned()),
        };
        let losses = because.map(loss).into_iter().collect();
        let audit_log = GoodLog { signed, key_known: !has_no_key, head: "0".to_owned(), losses, ..WHOLE };
        assert_eq!(words(&audit_log), expected);
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
        let nothing = GoodLog { records: 0, segments: 0, ..WHOLE };
        assert_eq!(words(&nothing), "there is no audit log yet: no call was recorded");
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
