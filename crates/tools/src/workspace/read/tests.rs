//! What reading a file gives, case by case.

use expect_test::{Expect, expect};
use testkit::{Workspace, call, check_call, check_tool};
use tool_api::{Block, Cancel, Outcome, Payload, builtin};

use super::*;
use crate::workspace::content::{COUNTED_BYTES_MAX, MEDIA_BYTES_MAX};

const TEXT_BYTES_MAX: usize = 256 * 1024;

const READ: Read = Read { text_bytes_max: TEXT_BYTES_MAX };

fn check(files: &str, arguments: &str, expected: Expect) {
    check_tool(READ, files, arguments, expected);
}

#[test]
fn the_schema_is_this() {
    let schema: serde_json::Value =
        serde_json::from_slice(&builtin(READ).definition().input_schema).expect("JSON");
    expect![[r#"
        {
          "additionalProperties": false,
          "properties": {
            "limit": {
              "description": "Text only: how many lines to show at most. Default: as many as fit into one answer.",
              "minimum": 1,
              "type": "integer"
            },
            "line_byte": {
              "default": 0,
              "description": "Text only: how many bytes of the first line to leave out. For going on within a line that is too long for one answer, as the end of that answer says.",
              "minimum": 0,
              "type": "integer"
            },
            "offset": {
              "default": 1,
              "description": "Text only: the first line to show, counted from 1.",
              "minimum": 1,
              "type": "integer"
            },
            "path": {
              "description": "The file, for example `notes.md` or `/workspace/src/main.rs`.",
              "type": "string"
            },
            "paths": {
              "default": [],
              "description": "More files, shown behind it.",
              "items": {
                "type": "string"
              },
              "maxItems": 19,
              "type": "array"
            },
            "sha256": {
              "default": false,
              "description": "Also give the SHA-256 of the whole file, which `workspace_write` takes as `expected_sha256`.",
              "type": "boolean"
            },
            "tail": {
              "description": "Text only: the last so many lines.",
              "minimum": 1,
              "type": "integer"
            }
          },
          "required": [
            "path"
          ],
          "type": "object"
        }"#]].assert_eq(&serde_json::to_string_pretty(&schema).expect("JSON"));
}

#[test]
fn one_file_has_many_spellings() {
    let workspace = Workspace::new("notes.md: # Notes\\n");
    let real = workspace.path().join("notes.md").display().to_string();
    for path in ["notes.md", "./notes.md", "/workspace/notes.md", "a/../notes.md", &real] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        assert_eq!(call(&*builtin(READ), &workspace, &arguments), "text: # Notes\n", "{path}");
    }
}

#[test]
fn whatever_is_outside_is_refused_alike() {
    let workspace = Workspace::new(
        "
        there -> /etc/passwd
        gone -> /etc/surely-not-there
        up -> ../..
        notes.md: x
        ",
    );
    let outside = "error outside_workspace: the path leads outside the workspace; give a path inside it, such as \
                   notes.md or /workspace/notes.md\n";
    for path in [
        "/etc/passwd",
        "/etc/surely-not-there",
        "../x",
        "a/../../x",
        "/workspace/../etc/passwd",
        "/workspacex/notes.md",
        "there",
        "gone",
        "up/etc/passwd",
        "up/surely-not-there",
    ] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        assert_eq!(call(&*builtin(READ), &workspace, &arguments), outside, "{path:?}");
    }
}

#[test]
fn what_is_no_file_is_named() {
    let files = "
        folder/
        notes.md: x
        inner -> notes.md
    ";
    check(
        files,
        r#"{"path": "gone.md"}"#,
        expect![[r#"
        error not_found: gone.md does not exist
    "#]],
    );
    check(
        files,
        r#"{"path": "folder"}"#,
        expect![[r#"
        error not_a_file: folder is not a file but a folder
    "#]],
    );
    check(
        files,
        r#"{"path": ""}"#,
        expect![[r#"
            error not_a_file: this is the workspace itself, which is a folder; name a file in it
        "#]],
    );
    check(
        files,
        r#"{"path": "notes.md/x"}"#,
        expect![[r#"
        error not_a_folder: notes.md/x is not a folder, or leads through something that is not one
    "#]],
    );
    check(
        files,
        r#"{"path": "inner"}"#,
        expect![[r#"
        text: x¶
    "#]],
    );
    check(
        files,
        "{}",
        expect![[r#"
        refused : "path" is a required property
    "#]],
    );
    check(
        files,
        r#"{"path": "notes.md", "offset": 0}"#,
        expect![[r#"
        refused /offset: 0 is less than the minimum of 1
    "#]],
    );
    check(
        files,
        r#"{"path": "notes.md", "limit": 0}"#,
        expect![[r#"
        refused /limit: 0 is less than the minimum of 1
    "#]],
    );
}

const TEXTS: &str = "
    crlf.txt: one\\r\\ntwo\\r\\n
    empty.txt:
    marked.txt: \u{feff}hi\\n
    only_mark.txt: \u{feff}
    bell.txt: \u{7}
";

#[test]
fn text_comes_as_it_is() {
    let files = TEXTS;
    check(
        files,
        r#"{"path": "crlf.txt"}"#,
        expect![[r#"
        text: one\r
        two\r
    "#]],
    );
    check(
        files,
        r#"{"path": "crlf.txt", "offset": 2}"#,
        expect![[r#"
        text: two\r
        text: [Line 2 of 2; 5 bytes of a file of 10. This is the end of the file.]¶
    "#]],
    );
    check(
        files,
        r#"{"path": "crlf.txt", "offset": 1, "limit": 1}"#,
        expect![[r#"
        text: one\r
        text: [Line 1 of 2; 5 bytes of a file of 10. To read on, call again with offset: 2.]¶
    "#]],
    );
    check(
        files,
        r#"{"path": "crlf.txt", "offset": 3}"#,
        expect![[r#"
        error invalid_range: the file has 2 lines, so offset 3 is beyond its end
    "#]],
    );
    check(
        files,
        r#"{"path": "empty.txt"}"#,
        expect![[r#"
        text: [empty.txt is empty.]¶
    "#]],
    );
    check(
        files,
        r#"{"path": "empty.txt", "offset": 2}"#,
        expect![[r#"
        error invalid_range: the file has 0 lines, so offset 2 is beyond its end
    "#]],
    );
}

#[test]
fn marks_and_single_characters_come_as_they_are() {
    let files = TEXTS;
    check(
        files,
        r#"{"path": "marked.txt"}"#,
        expect![[r#"
        text: hi
        text: [The file begins with a UTF-8 byte order mark, not shown.]¶
    "#]],
    );
    check(
        files,
        r#"{"path": "only_mark.txt"}"#,
        expect![[r#"
        text: [only_mark.txt is empty.]
        [The file begins with a UTF-8 byte order mark, not shown.]¶
    "#]],
    );
    check(
        files,
        r#"{"path": "bell.txt"}"#,
        expect![[r#"
        text: \u{7}¶
    "#]],
    );
    check(
        files,
        r#"{"path": "crlf.txt", "sha256": true}"#,
        expect![[r#"
        text: one\r
        two\r
        text: [sha256: 6f4792b265fe72790b344fd3ef5294701d9d087bed9fce815c0f4bbad6d2ed87]¶
    "#]],
    );
}

#[test]
fn bytes_come_by_their_kind() {
    let workspace = Workspace::new("");
    workspace.put("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    workspace.put("a.wav", b"RIFF\x04\0\0\0WAVE");
    workspace.put("latin1.txt", b"Gr\xfc\xdfe aus K\xf6ln");
    workspace.put("sub/50% é.bin", b"\0\x01");
    workspace.put("utf16.txt", b"\xff\xfeh\0i\0\n\0");
    let check = |arguments, expected: Expect| check_call(READ, &workspace, arguments, expected);
    check(
        r#"{"path": "a.png"}"#,
        expect![[r#"
        image/png 16 bytes
    "#]],
    );
    check(
        r#"{"path": "a.png", "offset": 7, "limit": 1, "sha256": true}"#,
        expect![[r#"
        image/png 16 bytes
        text: [sha256: 02a3e298f1533f62558c58e4c70edcab9af5a50d62d925fd5390942020fb0fb8]¶
    "#]],
    );
    check(
        r#"{"path": "a.wav"}"#,
        expect![[r#"
        audio/wav 12 bytes
    "#]],
    );
    check(
        r#"{"path": "latin1.txt"}"#,
        expect![[r#"
            text: Grüße aus Köln¶
            text: [The file seems to be windows-1252, shown as UTF-8; written again it would be UTF-8.]¶
        "#]],
    );
    check(
        r#"{"path": "sub/50% é.bin"}"#,
        expect![[r#"
        application/octet-stream 2 bytes file:///workspace/sub/50%25%20%C3%A9.bin
    "#]],
    );
    check(
        r#"{"path": "utf16.txt"}"#,
        expect![[r#"
        text: hi
        text: [The file is UTF-16 (little endian), shown as UTF-8.]¶
    "#]],
    );
}

#[test]
fn large_bytes_have_a_limit() {
    let workspace = Workspace::new("");
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.resize(MEDIA_BYTES_MAX, 0);
    workspace.put("a.png", &picture);
    picture.push(0);
    workspace.put("b.png", &picture);
    check_call(
        READ,
        &workspace,
        r#"{"path": "a.png"}"#,
        expect![[r#"
        image/png 5242880 bytes
    "#]],
    );
    check_call(
        READ,
        &workspace,
        r#"{"path": "b.png"}"#,
        expect![[r#"
        error too_large: b.png (image/png) has 5242881 bytes; files that are not text are shown up to 5242880 bytes
    "#]],
    );
}

/// The text of the first block, and what the last one says.
fn read(workspace: &Workspace, arguments: &str) -> (String, String) {
    let outcome = testkit::call_with(&*builtin(READ), workspace, arguments, &Cancel::new());
    match outcome {
        Ok(Outcome { payload: Payload::Ours { mut blocks, .. }, .. }) => {
            let Some(Block::Text(mark)) = blocks.pop() else { panic!("text is expected") };
            match blocks.pop() {
                None => (mark, String::new()),
                Some(Block::Text(text)) => (text, mark),
                Some(other) => panic!("{other:?}"),
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn reading_on_gives_a_large_file_again() {
    let lines: String = (1..=60_000).map(|n| format!("line {n} of many, é€😀\r\n")).collect();
    let giant = "0123456789é€😀".repeat(40_000);
    for text in [lines.clone(), giant.clone(), format!("{giant}\n{lines}{giant}\nend")] {
        let workspace = Workspace::new("");
        workspace.put("big.txt", text.as_bytes());
        let (mut again, mut place) = (String::new(), r#""offset": 1"#.to_owned());
        loop {
            let (shown, mark) = read(&workspace, &format!(r#"{{"path": "big.txt", {place}}}"#));
            assert!(shown.len() <= TEXT_BYTES_MAX && !shown.is_empty(), "{mark}");
            again.push_str(&shown);
            let Some((_, on)) = mark.split_once("call again with ") else { break };
            let on = on.trim_end_matches(".]");
            place = on.replace("offset", "\"offset\"").replace("line_byte", "\"line_byte\"");
        }
        assert!(again == text, "{} bytes became {}", text.len(), again.len());
    }
}

#[test]
fn a_large_file_is_marked() {
    let workspace = Workspace::new("");
    let text: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    workspace.put("big.txt", text.as_bytes());
    let marks = ["{}", r#"{"offset": 90001}"#, r#"{"offset": 5, "limit": 2}"#].map(|range| {
        let path = r#"{"path": "big.txt", "sha256": true, "#;
        let arguments = range.replacen('{', path, 1).replace(", }", "}");
        read(&workspace, &arguments).1
    });
    expect![[r#"
        [Lines 1 to 1900 of 100000; 8393 bytes of a file of 588895. To read on, call again with offset: 1901.]
        [sha256: b2bc7d3f8b652d2ec96865b68ad8f80e22cca174abe1aed7889e242a747d590f]
        [Lines 90001 to 91900 of 100000; 11400 bytes of a file of 588895. To read on, call again with offset: 91901.]
        [sha256: b2bc7d3f8b652d2ec96865b68ad8f80e22cca174abe1aed7889e242a747d590f]
        [Lines 5 to 6 of 100000; 4 bytes of a file of 588895. To read on, call again with offset: 7.]
        [sha256: b2bc7d3f8b652d2ec96865b68ad8f80e22cca174abe1aed7889e242a747d590f]"#]].assert_eq(&marks.join("\n"));
    check_call(
        READ,
        &workspace,
        r#"{"path": "big.txt", "offset": 100001}"#,
        expect![[r#"
        error invalid_range: the file has 100000 lines, so offset 100001 is beyond its end
    "#]],
    );
}

#[test]
fn a_huge_file_is_left_when_the_lines_are_found() {
    let workspace = Workspace::new("");
    let mut text = b"first\n".to_vec();
    text.resize(usize::try_from(COUNTED_BYTES_MAX).expect("it fits"), b'x');
    text.extend_from_slice(b"\nlast\n");
    workspace.put("huge.txt", &text);
    check_call(
        READ,
        &workspace,
        r#"{"path": "huge.txt", "limit": 1}"#,
        expect![[r#"
        text: first
        text: [Line 1 of an unknown number; 6 bytes of a file of 67108870. To read on, call again with offset: 2.]¶
    "#]],
    );
    check_call(
        READ,
        &workspace,
        r#"{"path": "huge.txt", "offset": 3, "limit": 1}"#,
        expect![[r#"
        text: last
        text: [Line 3 of 3; 5 bytes of a file of 67108870. This is the end of the file.]¶
    "#]],
    );
    check_call(
        READ,
        &workspace,
        r#"{"path": "huge.txt", "offset": 4}"#,
        expect![[r#"
        error invalid_range: the file has 3 lines, so offset 4 is beyond its end
    "#]],
    );
}

#[test]
fn text_that_turns_to_bytes_late_is_shown_with_a_remark() {
    let workspace = Workspace::new("");
    let mut text = "x".repeat(TEXT_BYTES_MAX + 9).into_bytes();
    text.extend_from_slice(b"\nna\xefve\n");
    workspace.put("late.txt", &text);
    check_call(
        READ,
        &workspace,
        r#"{"path": "late.txt", "offset": 2}"#,
        expect![[r#"
        text: na�ve
        text: [Line 2 of 2; 6 bytes of a file of 262160. This is the end of the file.]
        [Bytes that are not UTF-8 are shown as U+FFFD.]¶
    "#]],
    );
}

#[test]
fn a_cancelled_call_stops_reading() {
    let workspace = Workspace::new("");
    workspace.put("big.txt", &vec![b'\n'; TEXT_BYTES_MAX + 1]);
    let cancel = Cancel::new();
    cancel.cancel();
    let outcome = testkit::call_with(&*builtin(READ), &workspace, r#"{"path": "big.txt"}"#, &cancel);
    assert_eq!(outcome.expect_err("cancelled").code(), ToolError::CANCELLED);
}
