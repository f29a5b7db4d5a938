//! What verification finds in a single segment.
#![expect(clippy::disallowed_methods, reason = "these tests damage what the audit log wrote")]

use std::fs;

use super::*;
use crate::hash::Hash;
use crate::record::tests::sample;

/// A audit log of five records, as lines.
fn audit_log() -> Vec<Vec<u8>> {
    let mut head = Head::START;
    let line = |nth: u8| {
        let mut line = Vec::new();
        head = line::write(&mut line, head, i64::from(nth), &sample(&format!("c{nth}")));
        line
    };
    (1..=5).map(line).collect()
}

fn verify_bytes(bytes: &[u8]) -> Result<Verified, VerifyError> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), bytes).unwrap();
    verify(dir.path(), &Trust::default())
}

#[track_caller]
fn check_broken(lines: &[Vec<u8>], expected: &str) {
    assert_eq!(verify_bytes(&lines.concat()).map_err(|error| error.to_string()), Err(expected.to_owned()));
}

#[test]
fn a_book_as_written_is_verified() {
    let lines = audit_log();
    let verified = verify_bytes(&lines.concat()).unwrap();
    assert_eq!((verified.records, verified.torn_lines, verified.head.seq), (5, 0, 5));
    let nothing = Verified {
        records: 0,
        first: 1,
        segments: 0,
        torn_lines: 0,
        head: Head::START,
        signed: None,
        losses: vec![],
    };
    assert_eq!(verify_bytes(b"").unwrap(), Verified { segments: 1, ..nothing.clone() });
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(verify(&dir.path().join("no book"), &Trust::default()).unwrap(), nothing);
    assert!(matches!(
        verify(Path::new("/proc/self/mem/x"), &Trust::default()),
        Err(VerifyError::Unreadable(_))
    ));
}

#[test]
fn every_changed_byte_is_found_and_its_line_named() {
    let lines = audit_log();
    for at in 0..lines[2].len() {
        let mut changed = lines.clone();
        changed[2][at] ^= 1;
        match verify_bytes(&changed.concat()) {
            Err(VerifyError::Broken { line: 3, .. }) => {}
            other => panic!("byte {at}: {other:?}"),
        }
    }
}

#[test]
fn lines_removed_moved_or_added_are_found() {
    let lines = audit_log();
    let picked = |order: &[usize]| order.iter().map(|nth| lines[nth - 1].clone()).collect::<Vec<_>>();
    let order = "lines were removed, added or moved";
    for (order_of_lines, expected) in [
        (&[1, 2, 4, 5][..], format!("line 3 of audit.jsonl, record 3: it holds record 4: {order}")),
        (
            &[2, 3, 4, 5],
            "line 1 of audit.jsonl, record 1: records from this one on are missing, and no checkpoint says \
             that they were removed as too old"
                .to_owned(),
        ),
        (&[1, 3, 2, 4, 5], format!("line 2 of audit.jsonl, record 2: it holds record 3: {order}")),
        (&[1, 2, 2, 3, 4], format!("line 3 of audit.jsonl, record 3: it holds record 2: {order}")),
    ] {
        check_broken(&picked(order_of_lines), &expected);
    }
}

/// What is said of a single segment of these lines, with this record named as its first one.
fn check_alone(lines: &[Vec<u8>], from: Option<u64>) -> Result<(u64, u64), String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy");
    fs::write(&path, lines.concat()).unwrap();
    let verified = verify(&path, &Trust { from, ..Trust::default() });
    verified.map(|verified| (verified.first, verified.records)).map_err(|error| error.to_string())
}

#[test]
fn a_copy_that_lost_its_beginning_is_told_apart() {
    let lines = audit_log();
    assert_eq!(check_alone(&lines, None), Ok((1, 5)));
    assert_eq!(check_alone(&lines, Some(1)), Ok((1, 5)));
    for cut in 1..5 {
        let first = cut as u64 + 1;
        let expected = format!(
            "line 1 of copy, record {first}: it starts here: what was before it is not here, and no checkpoint says that \
             it was removed as too old; `--from {first}` says that you know where it is"
        );
        assert_eq!(check_alone(&lines[cut..], None), Err(expected));
        assert_eq!(check_alone(&lines[cut..], Some(first)), Ok((first, 5 - cut as u64)));
        for from in [1, first - 1, first + 1].into_iter().filter(|from| *from != first) {
            let expected =
                format!("line 1 of copy, record {first}: it starts here, and not with record {from}");
            assert_eq!(check_alone(&lines[cut..], Some(from)), Err(expected));
        }
    }
}

/// A audit log of five records, of which the first two were removed as too old and, if it is so, were named in a signed line.
fn pruned(is_told: bool) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let signer = crate::key::Signer::of_folder(dir.path()).unwrap();
    let mut lines = audit_log();
    let head_of = |line: &[u8]| match line::read(line.trim_ascii_end()) {
        Line::Whole(links) => links.head,
        other => panic!("{other:?}"),
    };
    let (removed, last) = (head_of(&lines[1]), head_of(&lines[4]));
    let segment = "audit-000001.jsonl".to_owned();
    let removed = checkpoint::Removed { segment, seq: removed.seq, hash: removed.hash };
    let why = if is_told { Occasion::Removed } else { Occasion::Shutdown };
    let details =
        checkpoint::Details { removed: is_told.then_some(removed), ..checkpoint::Details::default() };
    let mut line = Vec::new();
    checkpoint::write(&mut line, last, 6, why, details, &signer);
    lines.push(line);
    lines.split_off(2)
}

#[test]
fn what_was_removed_as_too_old_is_not_missed() {
    assert_eq!(check_alone(&pruned(true), None), Ok((3, 4)));
    assert!(check_alone(&pruned(false), None).unwrap_err().contains("record 3: it starts here: what was"));
    // One more is gone than the line names.
    assert!(
        check_alone(&pruned(true)[1..], None).unwrap_err().contains("record 4: it starts here: what was")
    );
}

#[test]
fn a_closed_segment_without_a_record_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in [("audit-000001.jsonl", &b""[..]), (FILE, &audit_log().concat())] {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    assert_eq!(
        verify(dir.path(), &Trust::default()).map_err(|error| error.to_string()),
        Err("line 1 of audit-000001.jsonl, record 1: the segment holds no record: it was emptied, or the disk was full \
             when it was copied"
            .to_owned())
    );
}

#[test]
fn a_line_forged_with_a_hash_of_its_own_is_found() {
    let mut lines = audit_log();
    let mut forged = Vec::new();
    line::write(&mut forged, Head { seq: 2, hash: Hash::of(b"guess") }, 3, &sample("forged"));
    lines[2] = forged;
    check_broken(
        &lines,
        "line 3 of audit.jsonl, record 3: it does not follow from the record before it: that one was replaced",
    );
}

#[test]
fn a_mutilated_line_is_no_crash() {
    let mut lines = audit_log();
    lines[2] = [&lines[2][..50], b"\n"].concat();
    check_broken(
        &lines,
        "line 3 of audit.jsonl, record 3: it is not whole, and the record is missing after it",
    );
    // A crash left the same bytes, but the record came again.
    let mut lines = audit_log();
    lines.insert(2, [&lines[2][..50], b"\n"].concat());
    let verified = verify_bytes(&lines.concat()).unwrap();
    assert_eq!((verified.records, verified.torn_lines), (5, 1));
}

#[test]
fn zeros_of_a_power_cut_are_a_torn_line_however_many() {
    let lines = audit_log();
    for zeros in [1, 1_000, LINE_BYTES_MAX - 1, LINE_BYTES_MAX, 3 * LINE_BYTES_MAX + 7] {
        let verified = verify_bytes(&[lines.concat(), vec![0; zeros]].concat()).unwrap();
        assert_eq!((verified.records, verified.torn_lines), (5, 1), "{zeros}");
        let ended = [&lines[..2].concat()[..], &vec![0; zeros], b"\n", &lines[2..].concat()].concat();
        let verified = verify_bytes(&ended).unwrap();
        assert_eq!((verified.records, verified.torn_lines), (5, 1), "{zeros}");
    }
    let mut hidden = vec![0; 2 * LINE_BYTES_MAX];
    hidden.extend(b"hidden");
    assert!(verify_bytes(&[lines.concat(), hidden].concat()).is_err());
}

#[test]
fn an_endless_line_takes_no_memory() {
    let mut lines = audit_log();
    lines.push(vec![b'x'; 4 * LINE_BYTES_MAX]);
    check_broken(&lines, "line 6 of audit.jsonl, record 6: it is longer than any record");
}
