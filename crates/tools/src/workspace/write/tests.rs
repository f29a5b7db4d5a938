//! What writing a file does, case by case.

use expect_test::{Expect, expect};
use testkit::{Workspace, call, check_call, check_tool, keep_secret};
use tool_api::{Access, Cancel, builtin};

use super::*;

fn check(files: &str, arguments: &str, expected: Expect) {
    check_tool(Write, files, arguments, expected);
}

#[test]
fn the_schemas_are_these() {
    let tool = builtin(Write);
    for (schema, expected) in [
        (
            &tool.definition().input_schema,
            expect![[r#"
                {
                  "additionalProperties": false,
                  "properties": {
                    "content": {
                      "description": "The whole new content, at most 10 MiB.",
                      "type": "string"
                    },
                    "encoding": {
                      "default": "utf8",
                      "description": "How `content` is given: `utf8` as the text itself, `base64` for other bytes.",
                      "enum": [
                        "utf8",
                        "base64"
                      ],
                      "type": "string"
                    },
                    "expected_sha256": {
                      "description": "Write only if the present file has this SHA-256 (64 hexadecimal digits); the empty string: only if there is no file yet. Guards against overwriting somebody else's change.",
                      "pattern": "^([0-9a-fA-F]{64})?$",
                      "type": "string"
                    },
                    "path": {
                      "description": "The file, for example `notes.md` or `/workspace/src/main.rs`. Missing folders are created.",
                      "type": "string"
                    }
                  },
                  "required": [
                    "path",
                    "content"
                  ],
                  "type": "object"
                }"#]],
        ),
        (
            tool.definition().output_schema.as_ref().expect("it has structure"),
            expect![[r#"
                {
                  "properties": {
                    "bytes": {
                      "description": "Its size now.",
                      "minimum": 0,
                      "type": "integer"
                    },
                    "created": {
                      "description": "True if there was no such file before.",
                      "type": "boolean"
                    },
                    "path": {
                      "description": "The file, relative to the workspace.",
                      "type": "string"
                    },
                    "sha256": {
                      "description": "The SHA-256 of its content now.",
                      "type": "string"
                    }
                  },
                  "required": [
                    "path",
                    "bytes",
                    "created",
                    "sha256"
                  ],
                  "type": "object"
                }"#]],
        ),
    ] {
        let schema: serde_json::Value = serde_json::from_slice(schema).expect("JSON");
        expected.assert_eq(&serde_json::to_string_pretty(&schema).expect("JSON"));
    }
}

#[test]
fn files_are_created_and_replaced() {
    check(
        "",
        r##"{"path": "notes.md", "content": "# Notes\n"}"##,
        expect![[r#"
        text: Wrote 8 bytes to notes.md
        sha256: 365d0b84ae63c2afc293dedd2b00bdf0dc8d6ef70c9297d90f9e5682ab0d72ee¶
        structured: {"path":"notes.md","bytes":8,"created":true,"sha256":"365d0b84ae63c2afc293dedd2b00bdf0dc8d6ef70c9297d90f9e5682ab0d72ee"}
        --
        notes.md: # Notes\n
    "#]],
    );
    check(
        "notes.md: old",
        r#"{"path": "/workspace/notes.md", "content": ""}"#,
        expect![[r#"
        text: Wrote 0 bytes to notes.md
        sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855¶
        structured: {"path":"notes.md","bytes":0,"created":false,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
        --
        notes.md: 
    "#]],
    );
    check(
        "",
        r#"{"path": "a/b/c.txt", "content": "x"}"#,
        expect![[r#"
        text: Wrote 1 bytes to a/b/c.txt
        sha256: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881¶
        structured: {"path":"a/b/c.txt","bytes":1,"created":true,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}
        --
        a/
        a/b/
        a/b/c.txt: x
    "#]],
    );
    check(
        "a.txt: old\nb -> a.txt",
        r#"{"path": "b", "content": "new"}"#,
        expect![[r#"
        text: Wrote 3 bytes to b
        sha256: 11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437¶
        structured: {"path":"b","bytes":3,"created":false,"sha256":"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}
        --
        a.txt: new
        b -> a.txt
    "#]],
    );
}

#[test]
fn bytes_are_written_as_base64() {
    check(
        "",
        r#"{"path": "a", "content": "aGkK", "encoding": "base64"}"#,
        expect![[r#"
        text: Wrote 3 bytes to a
        sha256: 98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4¶
        structured: {"path":"a","bytes":3,"created":true,"sha256":"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"}
        --
        a: hi\n
    "#]],
    );
    check(
        "",
        r#"{"path": "a", "content": "aGk", "encoding": "base64"}"#,
        expect![[r#"
        text: Wrote 2 bytes to a
        sha256: 8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4¶
        structured: {"path":"a","bytes":2,"created":true,"sha256":"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"}
        --
        a: hi
    "#]],
    );
    check(
        "",
        r#"{"path": "a", "content": "a b", "encoding": "base64"}"#,
        expect![[r#"
        error invalid_content: the content is not base64 (standard alphabet, no spaces or line breaks)
        --
    "#]],
    );
    check(
        "",
        r#"{"path": "a", "content": "", "encoding": "latin1"}"#,
        expect![[r#"
        refused /encoding: "latin1" is not one of "utf8" or "base64"
        --
    "#]],
    );
}

/// The SHA-256 of `old`.
const OLD: &str = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4";

#[test]
fn a_changed_file_is_left_alone() {
    let expecting = |sha256: &str| {
        serde_json::json!({"path": "a", "content": "new", "expected_sha256": sha256}).to_string()
    };
    check(
        "a: old",
        &expecting(OLD),
        expect![[r#"
        text: Wrote 3 bytes to a
        sha256: 11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437¶
        structured: {"path":"a","bytes":3,"created":false,"sha256":"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}
        --
        a: new
    "#]],
    );
    check(
        "a: old",
        &expecting(&OLD.to_uppercase()),
        expect![[r#"
        text: Wrote 3 bytes to a
        sha256: 11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437¶
        structured: {"path":"a","bytes":3,"created":false,"sha256":"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}
        --
        a: new
    "#]],
    );
    check(
        "a: changed",
        &expecting(OLD),
        expect![[r#"
        error changed: the file is not as expected: its SHA-256 is now d67e2e944994496c8d8ec76eed0cf9f09679448d584b532bebf941852a37f5ed; read it again before writing
        --
        a: changed
    "#]],
    );
    check(
        "",
        &expecting(OLD),
        expect![[r#"
        error changed: the file is not as expected: it does not exist; read it again before writing
        --
    "#]],
    );
    check(
        "a: old",
        &expecting(""),
        expect![[r#"
        error changed: the file is not as expected: its SHA-256 is now cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4; read it again before writing
        --
        a: old
    "#]],
    );
    check(
        "",
        &expecting(""),
        expect![[r#"
        text: Wrote 3 bytes to a
        sha256: 11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437¶
        structured: {"path":"a","bytes":3,"created":true,"sha256":"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}
        --
        a: new
    "#]],
    );
    check(
        "a: old",
        &expecting("abc"),
        expect![[r#"
        refused /expected_sha256: "abc" does not match "^([0-9a-fA-F]{64})?$"
        --
        a: old
    "#]],
    );
}

#[test]
fn what_cannot_be_written_is_refused() {
    let files = "
        folder/
        file: x
        out -> /tmp
        gone -> /surely-not-there
    ";
    check(
        files,
        r#"{"path": "folder", "content": ""}"#,
        expect![[r#"
        error not_a_file: folder is not a file but a folder
        --
        file: x
        folder/
        gone -> /surely-not-there
        out -> /tmp
    "#]],
    );
    check(
        files,
        r#"{"path": ".", "content": ""}"#,
        expect![[r#"
            error not_a_file: this is the workspace itself, which is a folder; name a file in it
            --
            file: x
            folder/
            gone -> /surely-not-there
            out -> /tmp
        "#]],
    );
    check(
        files,
        r#"{"path": "file/x", "content": ""}"#,
        expect![[r#"
        error not_a_folder: file/x is not a folder, or leads through something that is not one
        --
        file: x
        folder/
        gone -> /surely-not-there
        out -> /tmp
    "#]],
    );
    for path in ["../x", "/etc/x", "out", "out/x", "gone", "gone/x"] {
        let arguments = serde_json::json!({"path": path, "content": ""}).to_string();
        let workspace = Workspace::new(files);
        let before = workspace.tree();
        let shown = call(&*builtin(Write), &workspace, &arguments);
        assert!(
            shown.starts_with("error outside_workspace: the path leads outside the workspace;"),
            "{shown}"
        );
        assert_eq!(workspace.tree(), before);
    }
}

#[test]
fn content_has_a_limit() {
    let write = |bytes: usize| {
        let arguments = serde_json::json!({"path": "a", "content": "x".repeat(bytes)}).to_string();
        call(&*builtin(Write), &Workspace::new(""), &arguments)
    };
    assert!(write(CONTENT_BYTES_MAX).starts_with("text: Wrote 10485760 bytes to a\n"));
    assert_eq!(write(CONTENT_BYTES_MAX + 1), "error too_large: the content is larger than 10485760 bytes\n");
}

#[test]
fn the_mode_is_kept() {
    let workspace = Workspace::new("run.sh: old");
    workspace.set_mode("run.sh", 0o750);
    let shown = call(&*builtin(Write), &workspace, r#"{"path": "run.sh", "content": "new"}"#);
    assert!(shown.starts_with("text: Wrote 3 bytes"), "{shown}");
    assert_eq!((workspace.mode("run.sh"), &*workspace.bytes("run.sh")), (0o750, &b"new"[..]));
}

#[test]
fn hands_that_may_only_read_write_nothing() {
    let workspace = Workspace::new("a: old");
    let error = testkit::call_in(
        &*builtin(Write),
        workspace.root(Access::Read),
        r#"{"path": "a", "content": "new"}"#,
        &Cancel::new(),
    );
    assert_eq!(error.expect_err("refused").code(), "read_only");
    assert_eq!(workspace.tree(), "a: old\n");
}

#[test]
fn a_cancelled_call_writes_nothing() {
    let workspace = Workspace::new("a: old");
    let cancel = Cancel::new();
    cancel.cancel();
    let arguments = r#"{"path": "a", "content": "new"}"#;
    let outcome = testkit::call_with(&*builtin(Write), &workspace, arguments, &cancel);
    assert_eq!(outcome.expect_err("cancelled").code(), ToolError::CANCELLED);
    check_call(
        Write,
        &workspace,
        arguments,
        expect![[r#"
        text: Wrote 3 bytes to a
        sha256: 11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437¶
        structured: {"path":"a","bytes":3,"created":false,"sha256":"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}
        --
        a: new
    "#]],
    );
}

/// What is written over a file, by a writer from whom `s3cret` is kept, and what is there then.
#[track_caller]
fn check_kept(files: &str, arguments: &str, expected: Expect) {
    let workspace = Workspace::new(files);
    let shown = keep_secret(&*builtin(Write), &workspace, "s3cret", arguments);
    expected.assert_eq(&format!("{shown}--\n{}", workspace.tree()));
}

#[test]
fn what_was_not_shown_is_not_written_away() {
    let placeholders = r#"{"path": "a", "content": "x=1\ny=[REDACTED:A]\n[REDACTED:A#2]\n"}"#;
    check_kept(
        "a: x=0\\ny=s3cret",
        placeholders,
        expect![[r#"
        error would_destroy_secret: nothing was written: lines 2, 3 of the content hold `[REDACTED:…]`, which only stands in place of a secret, and the file that is there has secrets, which would be lost; put what is new into another file, or ask the person to change this one
        --
        a: x=0\ny=s3cret
    "#]],
    );
    // With the right hash, and as bytes.
    check_kept(
        "a: s3cret",
        r#"{"path": "a", "content": "W1JFREFDVEVEOkFd", "encoding": "base64", "expected_sha256": "1ec1c26b50d5d3c58d9583181af8076655fe00756bf7285940ba3670f99fcba0"}"#,
        expect![[r#"
            error would_destroy_secret: nothing was written: line 1 of the content holds `[REDACTED:…]`, which only stands in place of a secret, and the file that is there has secrets, which would be lost; put what is new into another file, or ask the person to change this one
            --
            a: s3cret
        "#]],
    );
    // A document about placeholders, one that is new, and a file without any.
    check_kept(
        "a: old",
        placeholders,
        expect![[r#"
        text: Wrote 34 bytes to a
        sha256: 067cec9ba5fb865d87e2024974b723ad86f788fbb31ee3b498be81e6991d41e8¶
        structured: {"path":"a","bytes":34,"created":false,"sha256":"067cec9ba5fb865d87e2024974b723ad86f788fbb31ee3b498be81e6991d41e8"}
        --
        a: x=1\ny=[REDACTED:A]\n[REDACTED:A#2]\n
    "#]],
    );
    check_kept(
        "",
        placeholders,
        expect![[r#"
        text: Wrote 34 bytes to a
        sha256: 067cec9ba5fb865d87e2024974b723ad86f788fbb31ee3b498be81e6991d41e8¶
        structured: {"path":"a","bytes":34,"created":true,"sha256":"067cec9ba5fb865d87e2024974b723ad86f788fbb31ee3b498be81e6991d41e8"}
        --
        a: x=1\ny=[REDACTED:A]\n[REDACTED:A#2]\n
    "#]],
    );
    check_kept(
        "a: s3cret",
        r#"{"path": "a", "content": "new"}"#,
        expect![[r#"
        text: Wrote 3 bytes to a
        sha256: 11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437¶
        structured: {"path":"a","bytes":3,"created":false,"sha256":"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}
        --
        a: new
    "#]],
    );
    // The other conditions hold as ever.
    check_kept(
        "",
        r#"{"path": "a", "content": "[REDACTED:A]", "expected_sha256": "1ec1c26b50d5d3c58d9583181af8076655fe00756bf7285940ba3670f99fcba0"}"#,
        expect![[r#"
        error changed: the file is not as expected: it does not exist; read it again before writing
        --
    "#]],
    );
    check_kept(
        "a: old",
        r#"{"path": "a", "content": "[REDACTED:A]", "expected_sha256": ""}"#,
        expect![[r#"
        error changed: the file is not as expected: its SHA-256 is now cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4; read it again before writing
        --
        a: old
    "#]],
    );
}

#[test]
fn a_secret_in_utf16_is_one() {
    let workspace = Workspace::new("");
    let bytes: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("s3cret".bytes().flat_map(|byte| [byte, 0])).collect();
    workspace.put("a", &bytes);
    let shown =
        keep_secret(&*builtin(Write), &workspace, "s3cret", r#"{"path": "a", "content": "[REDACTED:A]"}"#);
    assert!(shown.starts_with("error would_destroy_secret"), "{shown}");
}

#[test]
fn no_file_ends_with_a_slash() {
    for (files, path) in [("", "sub/"), ("d/x: y", "d/"), ("a: b", "a/")] {
        let arguments = format!(r#"{{"path": "{path}", "content": "x"}}"#);
        let workspace = Workspace::new(files);
        let before = workspace.tree();
        let said = call(&*builtin(Write), &workspace, &arguments);
        assert!(said.starts_with("error invalid_path: `path` ends with /"), "{said}");
        assert!(said.contains(&format!("name the file: {path}NAME")), "{said}");
        assert_eq!(workspace.tree(), before, "{path}");
    }
}
