//! What verification finds in a single segment.
#![expect(clippy::disallowed_methods, reason = "these tests damage what the book wrote")]

use std::fs;

use super::*;
use crate::hash::Hash;
use crate::record::tests::sample;

/// A book of five records, as lines.
fn book() -> Vec<Vec<u8>> {
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
    let lines = book();
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
    let lines = book();
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
    let lines = book();
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

#[test]
fn a_line_forged_with_a_hash_of_its_own_is_found() {
    let mut lines = book();
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
    let mut lines = book();
    lines[2] = [&lines[2][..50], b"\n"].concat();
    check_broken(
        &lines,
        "line 3 of audit.jsonl, record 3: it is not whole, and the record is missing after it",
    );
    // A crash left the same bytes, but the record came again.
    let mut lines = book();
    lines.insert(2, [&lines[2][..50], b"\n"].concat());
    let verified = verify_bytes(&lines.concat()).unwrap();
    assert_eq!((verified.records, verified.torn_lines), (5, 1));
}

#[test]
fn zeros_of_a_power_cut_are_a_torn_line_however_many() {
    let lines = book();
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
    let mut lines = book();
    lines.push(vec![b'x'; 4 * LINE_BYTES_MAX]);
    check_broken(&lines, "line 6 of audit.jsonl, record 6: it is longer than any record");
}
