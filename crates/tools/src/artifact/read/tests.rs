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
    check(
        "0123456789abcdef",
        r#"{"id": "ID"}"#,
        expect![[r#"
        text: 0123456789abcdef¶
        text: [16 bytes from byte 0 of an artifact with 16 bytes in 1 lines. This is its end.]¶
    "#]],
    );
    check(
        "0123456789abcdef0",
        r#"{"id": "ID"}"#,
        expect![[r#"
        text: 0123456789abcdef¶
        text: [16 bytes from byte 0 of an artifact with 17 bytes in 1 lines. To read on, call artifact_read with id: "ID", offset: 16.]¶
    "#]],
    );
    check(
        "0123456789abcd\nf0",
        r#"{"id": "ID"}"#,
        expect![[r#"
        text: 0123456789abcd
        text: [15 bytes from byte 0 of an artifact with 17 bytes in 2 lines. To read on, call artifact_read with id: "ID", offset: 15.]¶
    "#]],
    );
    check(
        "0123456789abcdef0",
        r#"{"id": "ID", "offset": 16}"#,
        expect![[r#"
        text: 0¶
        text: [1 bytes from byte 16 of an artifact with 17 bytes in 1 lines. This is its end.]¶
    "#]],
    );
    check(
        "0123456789abcdef0",
        r#"{"id": "ID", "offset": 2, "bytes": 3}"#,
        expect![[r#"
        text: 234¶
        text: [3 bytes from byte 2 of an artifact with 17 bytes in 1 lines. To read on, call artifact_read with id: "ID", offset: 5.]¶
    "#]],
    );
    check(
        "ééééééééé",
        r#"{"id": "ID", "offset": 1}"#,
        expect![[r#"
        text: éééééééé¶
        text: [16 bytes from byte 0 of an artifact with 18 bytes in 1 lines. To read on, call artifact_read with id: "ID", offset: 16.]¶
    "#]],
    );
    check(
        "aééééééééé",
        r#"{"id": "ID"}"#,
        expect![[r#"
        text: aééééééé¶
        text: [15 bytes from byte 0 of an artifact with 19 bytes in 1 lines. To read on, call artifact_read with id: "ID", offset: 15.]¶
    "#]],
    );
    check(
        "",
        r#"{"id": "ID"}"#,
        expect![[r#"
        text: ¶
        text: [0 bytes from byte 0 of an artifact with 0 bytes in 0 lines. This is its end.]¶
    "#]],
    );
}

#[test]
fn lines_are_read() {
    check(
        "1\n2\n3\n4\n5\n",
        r#"{"id": "ID", "line": 2, "lines": 2}"#,
        expect![[r#"
        text: 2
        3
        text: [4 bytes from byte 2 of an artifact with 10 bytes in 5 lines. To read on, call artifact_read with id: "ID", offset: 6.]¶
    "#]],
    );
    check(
        "1\n2\n3\n4\n5\n",
        r#"{"id": "ID", "lines": 1}"#,
        expect![[r#"
        text: 1
        text: [2 bytes from byte 0 of an artifact with 10 bytes in 5 lines. To read on, call artifact_read with id: "ID", offset: 2.]¶
    "#]],
    );
    check(
        "1\n2\n3\n4\n5\n",
        r#"{"id": "ID", "tail": 2}"#,
        expect![[r#"
        text: 4
        5
        text: [4 bytes from byte 6 of an artifact with 10 bytes in 5 lines. This is its end.]¶
    "#]],
    );
    check(
        "1\n2\n3\n4\n5",
        r#"{"id": "ID", "tail": 1}"#,
        expect![[r#"
        text: 5¶
        text: [1 bytes from byte 8 of an artifact with 9 bytes in 5 lines. This is its end.]¶
    "#]],
    );
    check(
        "1\n2\n",
        r#"{"id": "ID", "tail": 9}"#,
        expect![[r#"
        text: 1
        2
        text: [4 bytes from byte 0 of an artifact with 4 bytes in 2 lines. This is its end.]¶
    "#]],
    );
    check(
        "1\n2\n",
        r#"{"id": "ID", "line": 3}"#,
        expect![[r#"
        error invalid_offset: there is nothing from there on: the artifact has 4 bytes and 2 lines
    "#]],
    );
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    check_of(
        "image/x",
        b"\0\x01\x02",
        r#"{"id": "ID", "offset": 1}"#,
        expect![[r#"
        image/x 2 bytes artifact://ID
        text: [2 bytes from byte 1 of an artifact with 3 bytes in 1 lines. This is its end.]¶
    "#]],
    );
}

#[test]
fn what_is_not_there_is_refused() {
    check(
        "012",
        r#"{"id": "ID", "offset": 3}"#,
        expect![[r#"
        error invalid_offset: there is nothing from there on: the artifact has 3 bytes and 1 lines
    "#]],
    );
    check(
        "012",
        r#"{"id": "ID", "offset": 18446744073709551615}"#,
        expect![[r#"
        error invalid_offset: there is nothing from there on: the artifact has 3 bytes and 1 lines
    "#]],
    );
    check(
        "012",
        r#"{"id": "ID", "offset": 1, "line": 1}"#,
        expect![[r#"
        error invalid_arguments: `offset`, `line` and `tail` each say where to begin: give one of them
    "#]],
    );
    check(
        "012",
        r#"{"id": "another"}"#,
        expect![[r#"
        error artifact_not_found: no artifact of this id is kept for you in this workspace: it may be over; call the tool again that made it
    "#]],
    );
}
