//! What is deleted and put back, case by case.

use expect_test::{Expect, expect};
use testkit::{Workspace, call, check_tool};
use tool_api::{Access, Cancel, builtin};

use super::super::restore::Restore;
use super::super::write::Write;
use super::*;

/// The workspace after each call; ids are left out of what is said.
fn check(files: &str, calls: &[(&str, &str)], expected: Expect) {
    let workspace = Workspace::new(files);
    let mut shown = String::new();
    for (tool, arguments) in calls {
        let said = match *tool {
            "delete" => call(&*builtin(Delete), &workspace, arguments),
            "write" => call(&*builtin(Write), &workspace, arguments),
            _ => call(&*builtin(Restore), &workspace, arguments),
        };
        for line in said.lines().filter(|line| !line.starts_with("structured")) {
            let line = line.split_once(", id ").map_or(line, |(before, _)| before);
            let line = line.split_once("with id ").map_or(line, |(before, _)| before);
            // Behind the time stands the id, and how it came here.
            let (before, from_time) = line.split_once("\\t20").unwrap_or((line, ""));
            let how = from_time.split("\\t").nth(2).unwrap_or_default();
            shown.push_str(format!("{before} {how}").trim_end());
            shown.push('\n');
        }
    }
    expected.assert_eq(&format!("{shown}--\n{}", workspace.tree()));
}

#[test]
fn what_is_deleted_is_put_back() {
    check(
        "a: x\nb/c: y\nb/d -> c",
        &[
            ("restore", "{}"),
            ("delete", r#"{"path": "a"}"#),
            ("delete", r#"{"path": "b", "recursive": true}"#),
            ("restore", "{}"),
            ("restore", r#"{"path": "b"}"#),
            ("restore", r#"{"path": "b"}"#),
            ("restore", "{}"),
        ],
        expect![[r#"
            text: [Nothing that was deleted or replaced is kept.]¶
            text: Deleted a; workspace_restore puts it back
            text: Deleted b with 2 entries; workspace_restore puts it back
            text: b\t1\t3 entries
            a\t1
            text: Restored b¶
            error not_found: nothing that was at b is kept; without `path` you see what is
            text: a\t1
            --
            b/
            b/c: y
            b/d -> c
        "#]],
    );
    check(
        "a -> gone\nempty/",
        &[("delete", r#"{"path": "a"}"#), ("delete", r#"{"path": "empty"}"#)],
        expect![[r#"
            text: Deleted a; workspace_restore puts it back
            text: Deleted empty; workspace_restore puts it back
            --
        "#]],
    );
    // The newest of a path, into a folder that is not there any more, and never over something.
    check(
        "f/a: 1",
        &[
            ("delete", r#"{"path": "f", "recursive": true}"#),
            ("restore", r#"{"path": "f"}"#),
            ("delete", r#"{"path": "f/a"}"#),
            ("delete", r#"{"path": "f"}"#),
            ("restore", r#"{"path": "f/a"}"#),
            ("restore", r#"{"path": "f"}"#),
        ],
        expect![[r#"
            text: Deleted f with 1 entry; workspace_restore puts it back
            text: Restored f¶
            text: Deleted f/a; workspace_restore puts it back
            text: Deleted f; workspace_restore puts it back
            text: Restored f/a¶
            error exists: something is at f already; move it away or delete it first, and then restore
            --
            f/
            f/a: 1
        "#]],
    );
}

#[test]
fn undoing_goes_further_back_and_says_where_it_ends() {
    let writes =
        ["two", "three", "four"].map(|text| serde_json::json!({ "path": "a", "content": text }).to_string());
    let undo = ("restore", r#"{"path": "a"}"#);
    let of_write = |nth: usize| ("write", &*writes[nth]);
    check(
        "a: one",
        &[of_write(0), of_write(1), undo, undo, undo, ("restore", "{}")],
        expect![[r#"
            text: Wrote 3 bytes to a
            sha256: 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3¶
            text: Wrote 5 bytes to a
            sha256: 8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f¶
            text: Restored a¶
            text: Restored a¶
            error not_found: nothing earlier of a is kept; what the last undoing replaced is put back
            text: a\t3 replaced by an undoing
            a\t5 replaced by an undoing
            --
            a: one
        "#]],
    );
    // What was written after an undoing is undone before what was there earlier.
    check(
        "a: one",
        &[of_write(0), of_write(1), undo, of_write(2), undo, undo],
        expect![[r#"
        text: Wrote 3 bytes to a
        sha256: 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3¶
        text: Wrote 5 bytes to a
        sha256: 8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f¶
        text: Restored a¶
        text: Wrote 4 bytes to a
        sha256: 04efaf080f5a3e74e1c29d1ca6a48569382cbbcd324e8d59d2b83ef21c039f00¶
        text: Restored a¶
        text: Restored a¶
        --
        a: one
    "#]],
    );
}

#[test]
fn what_cannot_be_deleted_stays() {
    let files = "full/a: x\n.git/HEAD: x\ntoolcrib.toml: x\n.mcp.json: x\na/.git/HEAD: x";
    for (path, takes_all, expected) in [
        (
            "full",
            false,
            "not_empty: full is a folder with something in it; say `recursive` to delete all of it",
        ),
        ("gone", false, "not_found: gone does not exist"),
        (
            ".",
            true,
            "is_workspace: this is the workspace itself, which is neither moved nor deleted; name what is in it",
        ),
        ("..", true, OUTSIDE),
        (".git", true, "protected: .git decides what may be done or run here, so only a person may write it"),
        ("a", true, "protected: a/.git decides what may be done or run here, so only a person may write it"),
        (
            "toolcrib.toml",
            false,
            "protected: toolcrib.toml decides what may be done or run here, so only a person may write it",
        ),
        (".mcp.json", false, OBEYED),
    ] {
        let workspace = Workspace::new(files);
        let before = workspace.tree();
        let arguments = serde_json::json!({ "path": path, "recursive": takes_all }).to_string();
        assert_eq!(call(&*builtin(Delete), &workspace, &arguments), format!("error {expected}\n"));
        assert_eq!(workspace.tree(), before);
    }
}

const OUTSIDE: &str = "outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or \
                       /workspace/notes.md";

const OBEYED: &str = "approval_required: .mcp.json, which agents and editors obey: it can name what they start, so a person \
                      must agree before it is written";

#[test]
fn what_is_not_in_the_trash_is_not_put_back() {
    check(
        "b: x",
        &[("restore", r#"{"path": "a"}"#)],
        expect![[r#"
            error not_found: nothing that was at a is kept; without `path` you see what is
            --
            b: x
        "#]],
    );
    check(
        "b: x",
        &[("restore", r#"{"path": "a", "id": "../x"}"#)],
        expect![[r#"
            error not_found: nothing that was at a is kept; without `path` you see what is
            --
            b: x
        "#]],
    );
    check(
        "b: x",
        &[("restore", r#"{"id": "x"}"#)],
        expect![[r#"
        error invalid_arguments: say `path` beside `id`: where it was
        --
        b: x
    "#]],
    );
}

#[test]
fn without_a_trash_nothing_is_deleted() {
    let workspace = Workspace::new("a: x");
    let root = tool_api::Root::open(workspace.path(), Access::ReadWrite).expect("a root");
    let refused = testkit::call_in(&*builtin(Delete), root, r#"{"path": "a"}"#, &Cancel::new());
    assert_eq!(refused.expect_err("no trash").code(), "no_trash");
    assert_eq!(workspace.tree(), "a: x\n");
}

#[test]
fn the_answer_is_this() {
    check_tool(
        Delete,
        "a: x",
        r#"{"path": "b"}"#,
        expect![[r#"
        error not_found: b does not exist
        --
        a: x
    "#]],
    );
}

#[test]
fn who_names_what_is_not_there_is_told_the_nearest() {
    check(
        "notes.md: x",
        &[("delete", r#"{"path": "nots.md"}"#)],
        expect![[r#"
        error not_found: nots.md does not exist; the nearest are notes.md
        --
        notes.md: x
    "#]],
    );
}
