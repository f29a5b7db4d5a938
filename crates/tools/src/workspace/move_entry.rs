//! `workspace_move`: a file, link or folder under another path. That nothing is overwritten is the sandbox's affair.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{About, ArgumentRoles, Context, Effect, Example, Inside, Root, Structured, Tool, ToolError};

use super::file_error::refused;
use super::mover::Mover;
use super::near_paths::or_nearest;
use crate::plain_schema::plain;

/// Moves a file or folder.
#[derive(Debug)]
pub(crate) struct Move;

/// The arguments of `workspace_move`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The file, link or folder.
    from: String,
    /// Its new path, not the folder to put it in. Missing folders are made.
    to: String,
}

/// What was moved.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Moved {
    /// Where it was.
    from: String,
    /// Where it is.
    to: String,
}

impl fmt::Display for Moved {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Moved {} to {}", self.from, self.to)
    }
}

impl Tool for Move {
    const ABOUT: About = About {
        name: "workspace_move",
        title: "Move or rename",
        summary: "Give a file or folder another path. Never over something that is there.",
        effect: Effect::Writes,
        arguments: ArgumentRoles { paths: &["from", "to"], writes: &["from", "to"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace", "write_workspace"],
        needs: &[],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example {
            title: "Another name",
            arguments: r#"{"from": "notes.md", "to": "docs/plans.md"}"#,
        }],
    };
    type Input = Input;
    type Output = Structured<Moved>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Moved>, ToolError> {
        let (from, to) = (cx.files.locate(&input.from), cx.files.locate(&input.to));
        let (from, to) = (from.map_err(refused)?, to.map_err(refused)?);
        let (mover, asked) = (Mover::of(cx), from.clone());
        let moved = cx.blocking(move || {
            let slash = input.to.ends_with('/').then(|| slash(&mover.files, &from, &to)).flatten();
            slash.map_or(Ok(()), Err)?;
            if let Err(error) = mover.move_to(&from, &to) {
                let is_taken = error.code() == "exists";
                let told = is_taken.then(|| named_folder(&mover.files, &from, &to)).flatten();
                return Err(told.unwrap_or(error));
            }
            Ok(Structured(Moved { from: from.to_string(), to: to.to_string() }))
        });
        or_nearest(moved.await, &asked, cx).await
    }
}

/// Why nothing is moved where the new path is that of a folder to put it in, if it is. The policy has judged the path that was
/// given, and so nothing goes to another.
fn named_folder(files: &Root, from: &Inside, to: &Inside) -> Option<ToolError> {
    let into = to.child(from.name()?).ok().filter(|_| from != to && files.folder(to).is_ok())?;
    let why = format!("{to} is a folder; to move {from} into it, give its whole new path: {into}");
    Some(ToolError::new("exists", why))
}

/// The same of a folder that is not there; of a folder it is just the new path.
fn slash(files: &Root, from: &Inside, to: &Inside) -> Option<ToolError> {
    let into = to.child(from.name()?).ok()?;
    let (is_folder, is_free) = (files.folder(from).is_ok(), files.folder(to).is_err());
    (!is_folder && is_free && files.open_read(to).is_err()).then(|| {
        let why = "`to` ends with /, and is the new path itself, not the folder to put it in";
        ToolError::new("invalid_path", format!("{why}: {into}?"))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use testkit::check_tool;

    use super::*;

    fn check(files: &str, from: &str, to: &str, expected: Expect) {
        check_tool(Move, files, &serde_json::json!({"from": from, "to": to}).to_string(), expected);
    }

    #[test]
    fn who_names_what_is_not_there_is_told_the_nearest() {
        check(
            "notes.md: x",
            "nots.md",
            "b",
            expect![[r#"
            error not_found: nots.md does not exist; the nearest are notes.md
            --
            notes.md: x
        "#]],
        );
    }

    #[test]
    fn files_links_and_folders_are_moved() {
        check(
            "a: x",
            "a",
            "b/c",
            expect![[r#"
            text: Moved a to b/c¶
            structured: {"from":"a","to":"b/c"}
            --
            b/
            b/c: x
        "#]],
        );
        check(
            "a -> gone",
            "a",
            "b",
            expect![[r#"
            text: Moved a to b¶
            structured: {"from":"a","to":"b"}
            --
            b -> gone
        "#]],
        );
        check(
            "a/b: x\na/c/d: y\nb/",
            "/workspace/a",
            "b/a",
            expect![[r#"
            text: Moved a to b/a¶
            structured: {"from":"a","to":"b/a"}
            --
            b/
            b/a/
            b/a/b: x
            b/a/c/
            b/a/c/d: y
        "#]],
        );
    }

    #[test]
    fn the_folder_to_put_it_in_is_no_new_path() {
        check(
            "a/x: y",
            "a",
            "b/",
            expect![[r#"
            text: Moved a to b¶
            structured: {"from":"a","to":"b"}
            --
            b/
            b/x: y
        "#]],
        );
        for (to, expected) in [
            ("b", "exists: b is a folder; to move a into it, give its whole new path: b/a"),
            ("b/", "exists: b is a folder; to move a into it, give its whole new path: b/a"),
            (
                "new/",
                "invalid_path: `to` ends with /, and is the new path itself, not the folder to put it in: new/a?",
            ),
            ("f/", "exists: something is at f already; give another path, or move it away first"),
        ] {
            let expected = format!("error {expected}\n--\na: x\nb/\nf: y\n");
            let found = testkit::Workspace::new("a: x\nb/\nf: y");
            let arguments = serde_json::json!({ "from": "a", "to": to }).to_string();
            let said = testkit::call(&*tool_api::builtin(Move), &found, &arguments);
            assert_eq!(format!("{said}--\n{}", found.tree()), expected, "{to}");
        }
    }

    #[test]
    fn what_cannot_be_moved_stays() {
        check(
            "a: x\nb: y",
            "a",
            "b",
            expect![[r#"
            error exists: something is at b already; give another path, or move it away first
            --
            a: x
            b: y
        "#]],
        );
        check(
            "a: x\nb/",
            "a",
            "b",
            expect![[r#"
                error exists: b is a folder; to move a into it, give its whole new path: b/a
                --
                a: x
                b/
            "#]],
        );
        check(
            "a: x",
            "a",
            "a",
            expect![[r#"
            error exists: something is at a already; give another path, or move it away first
            --
            a: x
        "#]],
        );
        check(
            "a: x",
            "gone",
            "b",
            expect![[r#"
            error not_found: gone does not exist
            --
            a: x
        "#]],
        );
        check(
            "a: x",
            "a",
            "..",
            expect![[r#"
            error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
            --
            a: x
        "#]],
        );
        check(
            "a: x",
            ".",
            "b",
            expect![[r#"
                error is_workspace: this is the workspace itself, which is neither moved nor deleted; name what is in it
                --
                a: x
            "#]],
        );
        check(
            "a: x",
            "a",
            ".",
            expect![[r#"
                error exists: . is a folder; to move a into it, give its whole new path: a
                --
                a: x
            "#]],
        );
        check(
            "a/b: x",
            "a",
            "a/b/c",
            expect![[r#"
            error into_itself: a cannot be moved into itself
            --
            a/
            a/b: x
        "#]],
        );
        check(
            "a/b: x",
            "a",
            "a/c",
            expect![[r#"
            error into_itself: a cannot be moved into itself
            --
            a/
            a/b: x
        "#]],
        );
        check(
            "a: x\nout -> /tmp",
            "a",
            "out/b",
            expect![[r#"
            error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
            --
            a: x
            out -> /tmp
        "#]],
        );
    }

    #[test]
    fn what_is_protected_or_obeyed_is_at_neither_end_nor_within() {
        check(
            "a: x",
            "a",
            "toolcrib.toml",
            expect![[r#"
            error protected: toolcrib.toml decides what may be done or run here, so only a person may write it
            --
            a: x
        "#]],
        );
        check(
            "toolcrib.toml: x",
            "toolcrib.toml",
            "a",
            expect![[r#"
            error protected: toolcrib.toml decides what may be done or run here, so only a person may write it
            --
            toolcrib.toml: x
        "#]],
        );
        check(
            "a: x",
            "a",
            ".git/hooks/x",
            expect![[r#"
            error protected: .git/hooks/x decides what may be done or run here, so only a person may write it
            --
            a: x
        "#]],
        );
        check(
            "a: x",
            "a",
            "CLAUDE.md",
            expect![[r#"
            error approval_required: CLAUDE.md, which agents obey, so a person must agree before it is written
            --
            a: x
        "#]],
        );
        check(
            "a/b/CLAUDE.md: x",
            "a",
            "c",
            expect![[r#"
            error approval_required: a/b/CLAUDE.md, which agents obey, so a person must agree before it is written
            --
            a/
            a/b/
            a/b/CLAUDE.md: x
        "#]],
        );
        check(
            "a/toolcrib.toml: x",
            "a",
            "c",
            expect![[r#"
            error protected: a/toolcrib.toml decides what may be done or run here, so only a person may write it
            --
            a/
            a/toolcrib.toml: x
        "#]],
        );
        check(
            "a/workflows/x: x",
            "a",
            ".github",
            expect![[r#"
            error approval_required: .github/workflows, which build services obey: they run what it says, so a person must agree before it is written
            --
            a/
            a/workflows/
            a/workflows/x: x
        "#]],
        );
    }
}
