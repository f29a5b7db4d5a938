//! What editing a file does, case by case.

use expect_test::{Expect, expect};
use testkit::{Workspace, call, check_tool, keep_secret};
use tool_api::builtin;

use super::*;

fn check(files: &str, arguments: &str, expected: Expect) {
    check_tool(EditFile, files, arguments, expected);
}

/// What is answered to one edit of a file that holds `text`.
fn check_refusal(text: &str, edits: &str, expected: Expect) {
    let workspace = Workspace::new(&format!("a: {text}"));
    let before = workspace.tree();
    let shown = call(&*builtin(EditFile), &workspace, &format!(r#"{{"path": "a", "edits": {edits}}}"#));
    assert_eq!(workspace.tree(), before, "nothing is changed");
    expected.assert_eq(&shown);
}

/// What a file of these bytes is after `old` has become `new`.
fn check_bytes(before: &[u8], (old, new): (&str, &str), expected: &[u8]) {
    let workspace = Workspace::new("");
    workspace.put("a", before);
    workspace.set_mode("a", 0o750);
    let arguments = serde_json::json!({"path": "a", "edits": [{"old_text": old, "new_text": new}]});
    let shown = call(&*builtin(EditFile), &workspace, &arguments.to_string());
    assert_eq!(workspace.bytes("a"), expected, "{shown}");
    assert_eq!(workspace.mode("a"), 0o750);
}

#[test]
fn the_schema_is_this() {
    let tool = builtin(EditFile);
    let expected = expect![[r#"
        {
          "additionalProperties": false,
          "properties": {
            "edits": {
              "description": "The replacements, made one after the other.",
              "items": {
                "additionalProperties": false,
                "properties": {
                  "count": {
                    "description": "How many times `old_text` stands there; all are replaced. Default: 1.",
                    "minimum": 1,
                    "type": "integer"
                  },
                  "new_text": {
                    "description": "What is to stand there.",
                    "type": "string"
                  },
                  "old_text": {
                    "description": "The text to replace, exactly as it stands in the file, with its indentation.",
                    "type": "string"
                  }
                },
                "required": [
                  "old_text",
                  "new_text"
                ],
                "type": "object"
              },
              "maxItems": 100,
              "minItems": 1,
              "type": "array"
            },
            "expected_sha256": {
              "description": "Edit only if the file has this SHA-256.",
              "pattern": "^[0-9a-fA-F]{64}$",
              "type": "string"
            },
            "path": {
              "description": "The file.",
              "type": "string"
            }
          },
          "required": [
            "path",
            "edits"
          ],
          "type": "object"
        }"#]];
    let schema: serde_json::Value = serde_json::from_slice(&tool.definition().input_schema).expect("JSON");
    expected.assert_eq(&serde_json::to_string_pretty(&schema).expect("JSON"));
}

#[test]
fn edits_are_made_in_order() {
    check(
        "a.rs: one\\ntwo\\nthree\\n",
        r#"{"path": "a.rs", "edits": [{"old_text": "two", "new_text": "2"}, {"old_text": "2\nthree", "new_text": "2\n3"}]}"#,
        expect![[r#"
            text: Edited a.rs: 2 places
            sha256: 691fb8cfb488c2ae4d485722e3ab7c4013e6553406b97d8401a9c07fd871a1fc¶
            structured: {"path":"a.rs","replaced":2,"bytes":8,"sha256":"691fb8cfb488c2ae4d485722e3ab7c4013e6553406b97d8401a9c07fd871a1fc"}
            --
            a.rs: one\n2\n3\n
        "#]],
    );
    check(
        "a.rs: x x x\\n",
        r#"{"path": "/workspace/a.rs", "edits": [{"old_text": "x", "new_text": "", "count": 3}], "expected_sha256": "03DBF5E2D3E1A8C15F7A2F6C8B8A0E3E39F4E0B7B2A4D8D3B8B3E1C1F2A5D6E7"}"#,
        expect![[r#"
            error changed: the file is not as expected: its SHA-256 is now 534614b843bee54bbfdf211d0930dbed634cd16a86ed57a03d8ba1b11770ca7f; read it again before writing
            --
            a.rs: x x x\n
        "#]],
    );
    check(
        "a.rs: x x x\\n",
        r#"{"path": "a.rs", "edits": [{"old_text": "x", "new_text": "yy", "count": 3}]}"#,
        expect![[r#"
            text: Edited a.rs: 3 places
            sha256: 5792f489c358ace533a71c18eea5c6b85a3c7bb4da35a811f00d08daa06ed0cf¶
            structured: {"path":"a.rs","replaced":3,"bytes":9,"sha256":"5792f489c358ace533a71c18eea5c6b85a3c7bb4da35a811f00d08daa06ed0cf"}
            --
            a.rs: yy yy yy\n
        "#]],
    );
}

#[test]
fn a_text_that_does_not_stand_as_often_is_named_with_its_lines() {
    check_refusal(
        "x\\ny\\nx\\n",
        r#"[{"old_text": "x", "new_text": "z"}]"#,
        expect![[r#"
        error text_count: `old_text` stands 2 times in the file, not once: at lines 1, 3; take more of the text around it, or say `count`: 2; nothing was changed
    "#]],
    );
    check_refusal(
        "x\\ny\\nx\\n",
        r#"[{"old_text": "x", "new_text": "z", "count": 3}]"#,
        expect![[r#"
        error text_count: `old_text` stands 2 times in the file, not 3 times: at lines 1, 3; say `count`: 2; nothing was changed
    "#]],
    );
    check_refusal(
        "x\\ny\\n",
        r#"[{"old_text": "x", "new_text": "y"}, {"old_text": "y", "new_text": "z"}]"#,
        expect![[r#"
            error text_count: edit 2 of 2: `old_text` stands 2 times in the file as the edits before have left it, not once: at lines 1, 2; take more of the text around it, or say `count`: 2; nothing was changed
        "#]],
    );
    check_refusal(
        "x\\ny\\n",
        r#"[{"old_text": "x", "new_text": "y"}, {"old_text": "x", "new_text": "z"}]"#,
        expect![[r#"
            error text_not_found: edit 2 of 2: `old_text` does not stand in the file as the edits before have left it: read the file and take the text from it; nothing was changed
        "#]],
    );
    let many = "x\\n".repeat(30);
    check_refusal(
        &many,
        r#"[{"old_text": "x", "new_text": "z"}]"#,
        expect![[r#"
        error text_count: `old_text` stands 30 times in the file, not once: at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and more; take more of the text around it, or say `count`: 30; nothing was changed
    "#]],
    );
}

#[test]
fn what_is_almost_there_is_told() {
    check_refusal(
        "a\\n\\tif x {\\n\\t\\ty();\\n\\t}\\n",
        r#"[{"old_text": "    if x {\n        y();\n    }", "new_text": ""}]"#,
        expect![[r#"
            error text_not_found: `old_text` does not stand in the file: with other white space it stands at line 2; nothing was changed
        "#]],
    );
    check_refusal(
        "a\\r\\nb\\nc\\n",
        r#"[{"old_text": "a\nb", "new_text": "x"}]"#,
        expect![[r#"
        error text_not_found: `old_text` does not stand in the file: with other line ends it stands at line 1; nothing was changed
    "#]],
    );
    let looks = |content: &str, old: &str, told: &str| {
        let arguments = serde_json::json!([{ "old_text": old, "new_text": "x" }]).to_string();
        let workspace = Workspace::new("");
        workspace.put("f", format!("first\n{content}\n").as_bytes());
        let said =
            call(&*builtin(EditFile), &workspace, &format!(r#"{{"path": "f", "edits": {arguments}}}"#));
        let expected = format!(
            "error text_not_found: `old_text` does not stand in the file: it stands at line 2 in characters that look the same: \
             the file has {told}; write them so (\\u0301 is U+0301), or take text beside them; nothing was changed\n"
        );
        assert_eq!(said, expected, "{content}");
    };
    looks("a cafe\u{301} b", "caf\u{e9} b", "U+0065 U+0301 where `old_text` has U+00E9");
    looks("a caf\u{e9} b", "a cafe\u{301} b", "U+00E9 where `old_text` has U+0065 U+0301");
    looks("\u{1112}\u{1161}\u{11ab}", "\u{d55c}", "U+1112 U+1161 U+11AB where `old_text` has U+D55C");
    looks("a\u{a0}b", "a b", "U+00A0 where `old_text` has U+0020");
    looks("say(\u{201c}it\u{201d})", "say(\"it\")", "U+201C where `old_text` has U+0022");
    looks("a \u{2013} b\u{2026}", "a - b...", "U+2013 where `old_text` has U+002D");
    looks("wait\u{2026}", "wait...", "U+2026 where `old_text` has U+002E U+002E U+002E");
    looks("wait\u{2026}", "..", "U+2026 where `old_text` has U+002E U+002E");
    looks("zero\u{200b}width", "zerowidth", "U+200B U+0077 where `old_text` has U+0077");
    let wide = format!("wide{}", "\u{200b}".repeat(100_000));
    let eight = ["U+200B"; 8].join(" ");
    looks(&format!("{wide}!"), "wide!", &format!("{eight} and more where `old_text` has U+0021"));
    looks("width", "wid\u{ad}th", "U+0074 where `old_text` has U+00AD U+0074");
    looks("end", "end\u{200b}", "nothing where `old_text` has U+200B");
    check_refusal(
        "a\\n",
        r#"[{"old_text": "\u200b", "new_text": "x"}]"#,
        expect![[r#"
            error text_not_found: `old_text` does not stand in the file: read the file and take the text from it; nothing was changed
        "#]],
    );
    check_refusal(
        "a\\nb\\nc\\nb\\n",
        r#"[{"old_text": "b\nx", "new_text": "x"}]"#,
        expect![[r#"
        error text_not_found: `old_text` does not stand in the file: its first line alone stands at lines 2, 4; nothing was changed
    "#]],
    );
    check_refusal(
        "a\\n",
        r#"[{"old_text": "z", "new_text": "x"}]"#,
        expect![[r#"
        error text_not_found: `old_text` does not stand in the file: read the file and take the text from it; nothing was changed
    "#]],
    );
    check_refusal(
        "a\\n",
        r#"[{"old_text": "", "new_text": "x"}]"#,
        expect![[r#"
        error invalid_edit: `old_text` is empty; to write a whole file call workspace_write; nothing was changed
    "#]],
    );
    check_refusal(
        "a\\n",
        r#"[{"old_text": "a", "new_text": "a"}]"#,
        expect![[r#"
        error invalid_edit: `old_text` and `new_text` are the same; nothing was changed
    "#]],
    );
}

#[test]
fn encoding_line_ends_and_mode_stay() {
    check_bytes(b"a\r\nb\r\n", ("a\nb", "x\ny"), b"x\r\ny\r\n");
    check_bytes(b"a\r\nb\r\n", ("a\r\nb", "x\ny"), b"x\ny\r\n");
    check_bytes(b"a\r\nb\n", ("b\n", "x\n"), b"a\r\nx\n");
    check_bytes(b"\xef\xbb\xbfhi", ("hi", "ho"), b"\xef\xbb\xbfho");
    check_bytes(b"\xff\xfeh\0i\0", ("i", "ö"), b"\xff\xfeh\0\xf6\0");
    check_bytes(b"\xfe\xff\0h\0i", ("i", "o"), b"\xfe\xff\0h\0o");
    check_bytes(b"Gr\xfc\xdfe aus K\xf6ln", ("Köln", "Ulm"), b"Gr\xfc\xdfe aus Ulm");
    // No sign for it.
    check_bytes(b"Gr\xfc\xdfe aus K\xf6ln", ("Köln", "日本"), b"Gr\xfc\xdfe aus K\xf6ln");
    // No text, and what would come out otherwise.
    check_bytes(b"a\0b", ("a", "x"), b"a\0b");
    check_bytes(b"\xff\xfea\0\x00\xd8", ("a", "x"), b"\xff\xfea\0\x00\xd8");
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let edits = r#""edits": [{"old_text": "x", "new_text": "y"}]"#;
    let wrong = "0".repeat(64);
    for (arguments, expected) in [
        (
            format!(r#"{{"path": "gone", {edits}}}"#),
            expect![[r#"
            error not_found: gone does not exist
        "#]],
        ),
        (
            format!(r#"{{"path": "../a", {edits}}}"#),
            expect![[r#"
            error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
        "#]],
        ),
        (
            format!(r#"{{"path": "bin", {edits}}}"#),
            expect![[r#"
            error not_text: bin is not text, or cannot be written again as it is; nothing was changed
        "#]],
        ),
        (
            format!(r#"{{"path": "toolcrib.toml", {edits}}}"#),
            expect![[r#"
            error protected: toolcrib.toml decides what may be done or run here, so only a person may write it
        "#]],
        ),
        (
            format!(r#"{{"path": "a", "expected_sha256": "{wrong}", {edits}}}"#),
            expect![[r#"
            error changed: the file is not as expected: its SHA-256 is now 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881; read it again before writing
        "#]],
        ),
        (
            r#"{"path": "a", "edits": []}"#.to_owned(),
            expect![[r#"
            refused /edits: [] has less than 1 item
        "#]],
        ),
    ] {
        let workspace = Workspace::new("a: x\nbin: \\0x\ntoolcrib.toml: x");
        let before = workspace.tree();
        expected.assert_eq(&call(&*builtin(EditFile), &workspace, &arguments));
        assert_eq!(workspace.tree(), before);
    }
    let workspace = Workspace::new("");
    workspace.put("large", &vec![b'x'; 10 * 1024 * 1024 + 1]);
    expect![[r#"
        error too_large: the file is larger than 10485760 bytes
    "#]]
    .assert_eq(&call(&*builtin(EditFile), &workspace, &format!(r#"{{"path": "large", {edits}}}"#)));
}

#[test]
fn what_stands_in_place_of_a_secret_takes_no_secret() {
    let workspace = Workspace::new("a: key=s3cret\\nb=1\\n");
    let edit = |old: &str, new: &str| {
        let arguments = serde_json::json!({"path": "a", "edits": [{"old_text": old, "new_text": new}]});
        keep_secret(&*builtin(EditFile), &workspace, "s3cret", &arguments.to_string())
    };
    expect![[r#"
        error would_destroy_secret: nothing was written: line 2 of the content holds `[REDACTED:…]`, which only stands in place of a secret, and the file that is there has secrets, which would be lost; put what is new into another file, or ask the person to change this one
    "#]].assert_eq(&edit("b=1", "b=[REDACTED:A]"));
    expect![[r#"
        text: Edited a: 1 place
        sha256: 22287deb93ee4405d254127f782e0abf99a4094ec7c125dcc6f0df652c1a13fc¶
        structured: {"path":"a","replaced":1,"bytes":15,"sha256":"22287deb93ee4405d254127f782e0abf99a4094ec7c125dcc6f0df652c1a13fc"}
    "#]].assert_eq(&edit("b=1", "b=2"));
}

#[test]
fn what_would_grow_too_large_is_refused_before_it_is_made() {
    let new = "y".repeat(6 * 1024 * 1024);
    let error = edited("xx", &[Edit { old: "x", new: &new, count: 2 }]).expect_err("12 MiB");
    expect!["too_large: the new text is larger than 10485760 bytes; make it shorter; nothing was changed"]
        .assert_eq(&format!("{}: {error}", error.code()));
}
