//! What reading the end of a file gives, and several files at once.

use expect_test::{Expect, expect};
use testkit::{Workspace, call, check_tool};
use tool_api::builtin;

use super::*;

const READ: Read = Read { text_bytes_max: 65_536 };

fn check(files: &str, arguments: &str, expected: Expect) {
    check_tool(READ, files, arguments, expected);
}

#[test]
fn the_last_lines_are_shown() {
    check(
        "a: 1\\n2\\n3\\n",
        r#"{"path": "a", "tail": 2}"#,
        expect![[r#"
            text: 2
            3
            text: [Lines 2 to 3 of 3; 4 bytes of a file of 6. This is the end of the file.]¶
        "#]],
    );
    check(
        "a: 1\\n2\\n3",
        r#"{"path": "a", "tail": 1}"#,
        expect![[r#"
            text: 3¶
            text: [Line 3 of 3; 1 bytes of a file of 5. This is the end of the file.]¶
        "#]],
    );
    check(
        "a: 1\\n",
        r#"{"path": "a", "tail": 9}"#,
        expect![[r#"
        text: 1
    "#]],
    );
    check(
        "a:",
        r#"{"path": "a", "tail": 9}"#,
        expect![[r#"
        text: [a is empty.]¶
    "#]],
    );
    check(
        "a: 1\\n",
        r#"{"path": "a", "tail": 1, "limit": 1}"#,
        expect![[r#"
        error invalid_arguments: `offset`, `limit` and `line_byte` are for one file, without `tail`
    "#]],
    );
    let workspace = Workspace::new("");
    workspace.put("large", "line\n".repeat(100_000).as_bytes());
    let shown = call(&*builtin(READ), &workspace, r#"{"path": "large", "tail": 2}"#);
    expect![[r#"
        text: line
        line
        text: [Lines 99999 to 100000 of 100000; 10 bytes of a file of 500000. This is the end of the file.]¶
    "#]]
    .assert_eq(&shown);
}

#[test]
fn no_more_lines_are_shown_than_clients_take_unless_they_are_asked_for() {
    let workspace = Workspace::new("");
    workspace.put("short", "x\n".repeat(4_000).as_bytes());
    workspace.put("shorter", "x\n".repeat(1_900).as_bytes());
    let lines = |arguments: &str| {
        let shown = call(&*builtin(READ), &workspace, arguments);
        let counted = shown.lines().filter(|line| line.ends_with('x')).count();
        (counted, shown.lines().last().map(str::to_owned).unwrap_or_default())
    };
    let (shown, mark) = lines(r#"{"path": "short"}"#);
    assert_eq!(shown, 1_900);
    assert_eq!(
        mark,
        "text: [Lines 1 to 1900 of 4000; 3800 bytes of a file of 8000. To read on, call again with offset: 1901.]¶"
    );
    assert_eq!(lines(r#"{"path": "short", "limit": 3000}"#).0, 3_000);
    assert_eq!(lines(r#"{"path": "shorter"}"#), (1_900, "x".to_owned()));
    assert_eq!(lines(r#"{"path": "short", "paths": ["shorter"]}"#).0, 1_900);
}

#[test]
fn what_is_near_is_named_where_nothing_is() {
    let near = "error not_found: Notes.mb does not exist; the nearest are notes.md, old/notes.mb\n";
    let workspace = Workspace::new("notes.md: x\nold/notes.mb: x\n");
    let edit = r#"{"path": "Notes.mb", "edits": [{"old_text": "x", "new_text": "y"}]}"#;
    assert_eq!(call(&*builtin(READ), &workspace, r#"{"path": "Notes.mb"}"#), near);
    assert_eq!(call(&*builtin(super::super::edit::EditFile), &workspace, edit), near);
    let image = builtin(super::super::read_image::ReadImage::new(64));
    assert_eq!(call(&*image, &workspace, r#"{"file_path": "Notes.mb"}"#), near);
    let folder = "error not_found: odl does not exist; the nearest are old\n";
    let list = builtin(super::super::list::List { entries: 9 });
    assert_eq!(call(&*list, &workspace, r#"{"path": "odl"}"#), folder);
    let find = builtin(super::super::find::Find { entries: 9 });
    assert_eq!(call(&*find, &workspace, r#"{"glob": "*", "path": "odl"}"#), folder);
    let search = builtin(super::super::search::Search { text_bytes_max: 999 });
    assert_eq!(call(&*search, &workspace, r#"{"pattern": "x", "path": "odl"}"#), folder);
}

#[test]
fn several_files_are_shown_one_behind_the_other() {
    check(
        "a: 1\\n2\\n\nb: x",
        r#"{"path": "a", "paths": ["gone", "b"], "tail": 1}"#,
        expect![[r#"
            text: [a:]¶
            text: 2
            text: [Line 2 of 2; 2 bytes of a file of 4. This is the end of the file.]¶
            text: [gone:]¶
            text: [gone does not exist]¶
            text: [b:]¶
            text: x¶
        "#]],
    );
    check(
        "a: 1\\n2\\n\nb: x",
        r#"{"path": "a", "paths": ["b"], "offset": 2}"#,
        expect![[r#"
        error invalid_arguments: `offset`, `limit` and `line_byte` are for one file, without `tail`
    "#]],
    );
}
