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
    check(LOG, r#"{"id": "ID", "pattern": "error"}"#, expect![[""]]);
    check(LOG, r#"{"id": "ID", "pattern": "error", "ignore_case": true, "context": 1}"#, expect![[""]]);
    check(LOG, r#"{"id": "ID", "pattern": "^ok", "limit": 2}"#, expect![[""]]);
    check(LOG, r#"{"id": "ID", "pattern": "^ok", "limit": 2, "line": 5}"#, expect![[""]]);
    check(LOG, r#"{"id": "ID", "pattern": "d$"}"#, expect![[""]]);
    check(LOG, r#"{"id": "ID", "pattern": "nothing"}"#, expect![[""]]);
}

#[test]
fn a_long_line_is_shown_around_what_is_found() {
    let long = format!("{}needle{}\nneedle\n", "x".repeat(3 * 1024 * 1024), "y".repeat(1000));
    check(&long, r#"{"id": "ID", "pattern": "needle"}"#, expect![[""]]);
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
    check(LOG, r#"{"id": "ID", "pattern": "("}"#, expect![[""]]);
    check(LOG, r#"{"id": "ID", "pattern": "\\w{1000}{1000}"}"#, expect![[""]]);
    check(LOG, r#"{"id": "another", "pattern": "x"}"#, expect![[""]]);
    check_of("image/x", LOG, r#"{"id": "ID", "pattern": "x"}"#, expect![[""]]);
}
