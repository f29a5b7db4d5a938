//! `workspace_write`: one file, replaced or created whole. That readers see the old content or the new is
//! the sandbox's affair.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, Expect, FileError, Inside, Need, Root, Secrets,
    Structured, Tool, ToolError,
};

use super::file_error::refused;
use super::text_encoding::utf8;
use crate::plain_schema::plain;

/// The most that is written in one call, after decoding: far beyond what a model writes by itself.
const CONTENT_BYTES_MAX: usize = 10 * 1024 * 1024;

/// The digits of a SHA-256.
const SHA256_CHARS: usize = 64;

/// Most lines that a refusal names.
const LINES_TOLD_MAX: usize = 20;

/// Writes a file of the workspace.
#[derive(Debug)]
pub(crate) struct Write;

/// The arguments of `workspace_write`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The file, for example `notes.md` or `/workspace/src/main.rs`. Missing folders are created.
    path: String,
    /// The whole new content, at most 10 MiB.
    content: String,
    /// How `content` is given: `utf8` as the text itself, `base64` for other bytes.
    #[serde(default)]
    encoding: Encoding,
    /// Write only if the present file has this SHA-256 (64 hexadecimal digits); the empty string: only if there is
    /// no file yet. Guards against overwriting somebody else's change.
    #[schemars(with = "Option<String>", extend("pattern" = "^([0-9a-fA-F]{64})?$"))]
    expected_sha256: Option<Expected>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Encoding {
    #[default]
    Utf8,
    Base64,
}

/// What the writer believes to be there now.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Expected(Expect);

impl TryFrom<String> for Expected {
    type Error = &'static str;

    fn try_from(given: String) -> Result<Expected, &'static str> {
        if given.is_empty() {
            Ok(Expected(Expect::Absent))
        } else if given.len() == SHA256_CHARS && given.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            Ok(Expected(Expect::Sha256(given)))
        } else {
            Err("expected_sha256 is 64 hexadecimal digits, or empty")
        }
    }
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Written {
    /// The file, relative to the workspace.
    path: String,
    /// Its size now.
    bytes: u64,
    /// True if there was no such file before.
    created: bool,
    /// The SHA-256 of its content now.
    sha256: String,
}

impl fmt::Display for Written {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Wrote {} bytes to {}\nsha256: {}", self.bytes, self.path, self.sha256)
    }
}

impl Tool for Write {
    const ABOUT: About = About {
        name: "workspace_write",
        title: "Write a file",
        summary: "Create a file of the workspace, or replace its whole content, at most 10 MiB. The file is replaced \
                  at once: readers see the old content or the new. Missing folders are created; the file's mode is \
                  kept. With `expected_sha256` a file that has changed meanwhile is left alone. `[REDACTED:…]` stands in \
                  place of a secret: content with it never replaces a file that holds secrets.",
        effect: Effect::Writes,
        needs: &[Need::Files],
        arguments: ArgumentRoles {
            paths: &["path"],
            writes: &["path"],
            contents: &["content"],
            ..ArgumentRoles::NONE
        },
        scopes: &["write_workspace"],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example { title: "A file", arguments: r##"{"path": "notes.md", "content": "# Notes\n"}"## },
            Example {
                title: "A file that must not exist yet",
                arguments: r#"{"path": "docs/new.md", "content": "", "expected_sha256": ""}"#,
            },
        ],
    };
    type Input = Input;
    type Output = Structured<Written>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Written>, ToolError> {
        let path = cx.files().locate(&input.path).map_err(refused)?;
        let expect = input.expected_sha256.map_or(Expect::Anything, |Expected(expect)| expect);
        let content = decoded(input.content, input.encoding)?;
        let (files, cancel, secrets) = (cx.files().clone(), cx.cancel().clone(), cx.secrets().cloned());
        cx.blocking(move || {
            if cancel.is_cancelled() {
                return Err(ToolError::cancelled());
            }
            let done = match secrets {
                Some(secrets) => keeping(&*secrets, &files, &path, &content, &expect)?,
                None => files.write(&path, &content, &expect).map_err(refused)?,
            };
            let path = path.to_string();
            Ok(Structured(Written { path, bytes: done.bytes, created: done.created, sha256: done.sha256 }))
        })
        .await
    }
}

/// Writes the content, unless it has something in place of a secret and the file has a secret: what the writer was not
/// shown would be lost.
fn keeping(
    secrets: &dyn Secrets,
    files: &Root,
    path: &Inside,
    content: &[u8],
    expect: &Expect,
) -> Result<tool_api::Written, ToolError> {
    let lines = secrets.placeholder_lines(content);
    if lines.is_empty() {
        return files.write(path, content, expect).map_err(refused);
    }
    let holds_one = |present: &[u8]| secrets.are_in(present) || secrets.are_in(&utf8(present));
    files.write_unless(path, content, expect, &holds_one).map_err(|error| match error {
        FileError::Kept => would_destroy(&lines),
        other => refused(other),
    })
}

fn would_destroy(lines: &[usize]) -> ToolError {
    let told = lines.iter().take(LINES_TOLD_MAX).map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if lines.len() > LINES_TOLD_MAX { " and more" } else { "" };
    let (noun, hold) = if lines.len() == 1 { ("line", "holds") } else { ("lines", "hold") };
    ToolError::new(
        "would_destroy_secret",
        format!(
            "nothing was written: {noun} {told}{more} of the content {hold} `[REDACTED:…]`, which only stands in place of a \
             secret, and the file that is there has secrets, which would be lost; put what is new into another file, or \
             ask the person to change this one"
        ),
    )
    .with_details(serde_json::json!({ "lines": &lines[..lines.len().min(LINES_TOLD_MAX)] }))
}

fn decoded(content: String, encoding: Encoding) -> Result<Vec<u8>, ToolError> {
    let bytes = match encoding {
        Encoding::Utf8 => content.into_bytes(),
        Encoding::Base64 => STANDARD_PAD_INDIFFERENT.decode(&content).map_err(|error| {
            ToolError::new(
                "invalid_content",
                "the content is not base64 (standard alphabet, no spaces or line breaks)",
            )
            .with_source(error)
        })?,
    };
    if bytes.len() > CONTENT_BYTES_MAX {
        return Err(refused(FileError::TooLarge {
            what: "the content",
            max: CONTENT_BYTES_MAX,
            unit: "bytes",
        }));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
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
            error not_a_file: . is not a file but a folder
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
        for path in ["../x", "/etc/x", "out", "out/x", "gone", "gone/x", "a\0b"] {
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
        assert_eq!(
            write(CONTENT_BYTES_MAX + 1),
            "error too_large: the content is larger than 10485760 bytes\n"
        );
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
        let shown = keep_secret(
            &*builtin(Write),
            &workspace,
            "s3cret",
            r#"{"path": "a", "content": "[REDACTED:A]"}"#,
        );
        assert!(shown.starts_with("error would_destroy_secret"), "{shown}");
    }
}
