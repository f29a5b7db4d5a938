//! Searches in small artifacts, and in one with a long line.

use expect_test::{Expect, expect};
use testkit::{Kept, Workspace, call_keeping, show};
use tool_api::{Access, TEXT, builtin};

use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef";

const LOG: &str = "start\nok 1\nERROR a\nok 2\nok 3\nok 4\nerror b\nend";

fn check_of(media_type: &str, text: &str, arguments: &str, expected: Expect) {
    let kept = Kept::default();
    kept.put(ID, "stdout", media_type, text.to_owned());
    let files = Workspace::new("").root(Access::Read);
    let arguments = arguments.replace("ID", ID);
    let tool = builtin(Search { text_bytes_max: 1024 });
    let outcome = call_keeping(&*tool, files, &arguments, &Cancel::new(), &kept);
    expected.assert_eq(&show(&outcome).replace(ID, "ID"));
}

fn check(text: &str, arguments: &str, expected: Expect) {
    check_of(TEXT, text, arguments, expected);
}

#[test]
fn lines_are_found() {
    check(
        LOG,
        r#"{"id": "ID", "pattern": "error"}"#,
        expect![[r#"
        text: 7:error b
        [1 lines match, and there are no more of 8.]¶
    "#]],
    );
    check(
        LOG,
        r#"{"id": "ID", "pattern": "error", "ignore_case": true, "context": 1}"#,
        expect![[r#"
        text: 2-ok 1
        3:ERROR a
        4-ok 2
        --
        6-ok 4
        7:error b
        8-end
        [2 lines match, and there are no more of 8.]¶
    "#]],
    );
    check(
        LOG,
        r#"{"id": "ID", "pattern": "^ok", "limit": 2}"#,
        expect![[r#"
        text: 2:ok 1
        4:ok 2
        [2 lines match before line 5 of 8. To go on, call artifact_search with id: "ID", line: 5.]¶
    "#]],
    );
    check(
        LOG,
        r#"{"id": "ID", "pattern": "^ok", "limit": 2, "line": 5}"#,
        expect![[r#"
        text: 5:ok 3
        6:ok 4
        [2 lines match, and there are no more of 8.]¶
    "#]],
    );
    check(
        LOG,
        r#"{"id": "ID", "pattern": "d$"}"#,
        expect![[r#"
        text: 8:end
        [1 lines match, and there are no more of 8.]¶
    "#]],
    );
    check(
        LOG,
        r#"{"id": "ID", "pattern": "nothing"}"#,
        expect![[r#"
        text: [0 lines match, and there are no more of 8.]¶
    "#]],
    );
}

#[test]
fn a_long_line_is_shown_around_what_is_found() {
    let long = format!("{}needle{}\nneedle\n", "x".repeat(3 * 1024 * 1024), "y".repeat(20));
    check(
        &long,
        r#"{"id": "ID", "pattern": "needle"}"#,
        expect![[r#"
        text: 1:needleyyyyyyyyyyyyyyyyyyyy
        2:needle
        [2 lines match, and there are no more of 2.]¶
    "#]],
    );
}

#[test]
fn as_much_is_shown_as_fits() {
    let many = "a match of some length\n".repeat(1_000);
    let kept = Kept::default();
    kept.put(ID, "stdout", TEXT, many);
    let files = Workspace::new("").root(Access::Read);
    let tool = builtin(Search { text_bytes_max: 1024 });
    let arguments = format!(r#"{{"id": "{ID}", "pattern": "match", "limit": 500}}"#);
    let shown = show(&call_keeping(&*tool, files, &arguments, &Cancel::new(), &kept));
    assert!(shown.len() < 1_500 && shown.contains("To go on"), "{} bytes: {shown}", shown.len());
}

#[test]
fn what_cannot_be_searched_is_refused() {
    check(
        LOG,
        r#"{"id": "ID", "pattern": "("}"#,
        expect![[r#"
        error invalid_pattern: `pattern` cannot be used: regex parse error:
            (
            ^
        error: unclosed group
    "#]],
    );
    check(
        LOG,
        r#"{"id": "ID", "pattern": "\\w{1000}{1000}"}"#,
        expect![[r#"
        error invalid_pattern: `pattern` cannot be used: Compiled regex exceeds size limit of 1048576 bytes.
    "#]],
    );
    check(
        LOG,
        r#"{"id": "another", "pattern": "x"}"#,
        expect![[r#"
        error artifact_not_found: no artifact of this id is kept for you in this workspace: it may be over; call the tool again that made it
    "#]],
    );
    check_of(
        "image/x",
        LOG,
        r#"{"id": "ID", "pattern": "x"}"#,
        expect![[r#"
        error not_text: the artifact is no text but image/x
    "#]],
    );
}
