//! Parts of small artifacts.

use expect_test::{Expect, expect};
use testkit::{Kept, Workspace, call_keeping, show};
use tool_api::{Access, TEXT, builtin};

use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef";

/// What 16 bytes of an artifact show, with ID for its id.
fn check_of(media_type: &str, bytes: &[u8], arguments: &str, expected: Expect) {
    let kept = Kept::default();
    kept.put(ID, "stdout", media_type, bytes.to_vec());
    let files = Workspace::new("").root(Access::Read);
    let arguments = arguments.replace("ID", ID);
    let tool = builtin(Read { text_bytes_max: 16 });
    let outcome = call_keeping(&*tool, files, &arguments, &Cancel::new(), &kept);
    expected.assert_eq(&show(&outcome).replace(ID, "ID"));
}

fn check(text: &str, arguments: &str, expected: Expect) {
    check_of(TEXT, text.as_bytes(), arguments, expected);
}

#[test]
fn parts_are_read() {
    check("0123456789abcdef", r#"{"id": "ID"}"#, expect![[""]]);
    check("0123456789abcdef0", r#"{"id": "ID"}"#, expect![[""]]);
    check("0123456789abcd\nf0", r#"{"id": "ID"}"#, expect![[""]]);
    check("0123456789abcdef0", r#"{"id": "ID", "offset": 16}"#, expect![[""]]);
    check("0123456789abcdef0", r#"{"id": "ID", "offset": 2, "bytes": 3}"#, expect![[""]]);
    check("ééééééééé", r#"{"id": "ID", "offset": 1}"#, expect![[""]]);
    check("aééééééééé", r#"{"id": "ID"}"#, expect![[""]]);
    check("", r#"{"id": "ID"}"#, expect![[""]]);
}

#[test]
fn lines_are_read() {
    check("1\n2\n3\n4\n5\n", r#"{"id": "ID", "line": 2, "lines": 2}"#, expect![[""]]);
    check("1\n2\n3\n4\n5\n", r#"{"id": "ID", "lines": 1}"#, expect![[""]]);
    check("1\n2\n3\n4\n5\n", r#"{"id": "ID", "tail": 2}"#, expect![[""]]);
    check("1\n2\n3\n4\n5", r#"{"id": "ID", "tail": 1}"#, expect![[""]]);
    check("1\n2\n", r#"{"id": "ID", "tail": 9}"#, expect![[""]]);
    check("1\n2\n", r#"{"id": "ID", "line": 3}"#, expect![[""]]);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    check_of("image/x", b"\0\x01\x02", r#"{"id": "ID", "offset": 1}"#, expect![[""]]);
}

#[test]
fn what_is_not_there_is_refused() {
    check("012", r#"{"id": "ID", "offset": 3}"#, expect![[""]]);
    check("012", r#"{"id": "ID", "offset": 18446744073709551615}"#, expect![[""]]);
    check("012", r#"{"id": "ID", "offset": 1, "line": 1}"#, expect![[""]]);
    check("012", r#"{"id": "another"}"#, expect![[""]]);
}
