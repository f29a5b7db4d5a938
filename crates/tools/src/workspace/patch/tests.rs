//! What patches do, case by case.

use std::sync::Arc;

use expect_test::{Expect, expect};
use testkit::{Workspace, call, keep_secret};
use tool_api::{Access, Cancel, Secrets, Striking, builtin};

use super::hunk_counts::FORM;
use super::*;

const FILES: &str = "
    a.txt: 1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n
    b.txt: b\\n
    crlf: 1\\r\\n2\\r\\n3\\r\\n
    run.sh: echo\\n
";

/// What is said of a patch, and the tree after it, or that nothing was changed.
#[track_caller]
fn check(patch: &str, paths: &[&str], fuzz: u8, expected: Expect) {
    let workspace = Workspace::new(FILES);
    let before = workspace.tree();
    let arguments = serde_json::json!({ "patch": patch, "paths": paths, "fuzz": fuzz }).to_string();
    let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
    let after = workspace.tree();
    let changed: Vec<&str> = after.lines().filter(|line| !before.contains(line)).collect();
    let gone = before.lines().filter(|line| !after.contains(line)).count();
    assert!(shown.starts_with("text") || after == before, "a refused patch changes nothing: {shown}");
    let said: String = shown
        .lines()
        .filter(|line| !line.starts_with("structured"))
        .map(|line| format!("{line}\n"))
        .collect();
    expected.assert_eq(&format!("{said}-- {gone} gone\n{}", changed.join("\n")));
}

#[test]
fn plain_diffs_fit_where_their_context_stands() {
    let hunk = "@@ -3,3 +3,3 @@\n 4\n-5\n+five\n 6\n";
    check(
        &format!("--- a.txt\t2026-01-02\n+++ a.txt\t2026-01-02\n{hunk}"),
        &["a.txt"],
        0,
        expect![[r#"
        text: a.txt: changed; hunk 1 fitted 1 lines further down¶
        -- 1 gone
        a.txt: 1\n2\n3\n4\nfive\n6\n7\n8\n9\n"#]],
    );
    check(
        "--- x/crlf\n+++ y/crlf\n@@ -2 +2 @@\n 1\n-2\n+two\n 3\n",
        &["crlf"],
        0,
        expect![[r#"
            text: crlf: changed; hunk 1 fitted 1 lines further up¶
            -- 1 gone
            crlf: 1\r\ntwo\r\n3\r\n"#]],
    );
    check(
        "--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
        &["/workspace/crlf"],
        0,
        expect![[r#"
            text: crlf: changed¶
            -- 1 gone
            crlf: 1\r\ntwo\r\n3\r\n"#]],
    );
    let differs = "--- a.txt\n+++ a.txt\n@@ -4,3 +4,3 @@\n four\n-5\n+five\n 6\n";
    check(
        differs,
        &["a.txt"],
        0,
        expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        a.txt: hunk 1: at line 4 stands `4`, and the patch has `four`
        -- 0 gone
    "#]],
    );
    check(
        differs,
        &["a.txt"],
        1,
        expect![[r#"
        text: a.txt: changed; hunk 1 fitted with a fuzz of 1¶
        -- 1 gone
        a.txt: 1\n2\n3\n4\nfive\n6\n7\n8\n9\n"#]],
    );
}

#[test]
fn git_diffs_add_delete_rename_and_set_modes() {
    check(
        "diff --git a/n/new b/n/new\nnew file mode 100755\n--- /dev/null\n+++ b/n/new\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n",
        &["n/new"],
        0,
        expect![[r#"
            text: n/new: added¶
            -- 0 gone
            n/
            n/new: x\ny"#]],
    );
    check(
        "diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
        &["b.txt"],
        0,
        expect![[r#"
            text: b.txt: deleted¶
            -- 1 gone
        "#]],
    );
    check(
        "diff --git a/b.txt b/c/d.txt\nsimilarity index 100%\nrename from b.txt\nrename to c/d.txt\n",
        &["b.txt", "c/d.txt"],
        0,
        expect![[r#"
            text: c/d.txt: renamed from b.txt¶
            -- 1 gone
            c/
            c/d.txt: b\n"#]],
    );
    check(
        "diff --git a/a.txt b/d.txt\nsimilarity index 90%\nrename from a.txt\nrename to d.txt\n--- a/a.txt\n+++ b/d.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n",
        &["a.txt", "d.txt"],
        0,
        expect![[r#"
            text: d.txt: renamed from a.txt and changed¶
            -- 1 gone
            d.txt: one\n2\n3\n4\n5\n6\n7\n8\n9\n"#]],
    );
    let workspace = Workspace::new(FILES);
    let patch = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n";
    let arguments = serde_json::json!({ "patch": patch, "paths": ["run.sh"] }).to_string();
    let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
    assert_eq!(workspace.mode("run.sh"), 0o755, "{shown}");
}

#[test]
fn what_does_not_fit_is_told_hunk_by_hunk_and_nothing_is_changed() {
    let two = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -5,2 +5,2 @@\n-five\n+5\n 6\n@@ -9,2 +9,2 @@\n 9\n-10\n+x\n--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-c\n+d\n";
    check(
        two,
        &["a.txt", "b.txt"],
        0,
        expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        a.txt: hunk 2: at line 5 stands `5`, and the patch has `five`
        a.txt: hunk 3: at line 10 the file has ended, and the patch has `10`
        b.txt: hunk 1: at line 1 stands `b`, and the patch has `c`
        -- 0 gone
    "#]],
    );
    let half = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n--- /dev/null\n+++ toolcrib.toml\n@@ -0,0 +1 @@\n+x\n";
    check(
        half,
        &["a.txt", "toolcrib.toml"],
        0,
        expect![[r#"
        error protected: toolcrib.toml decides what may be done or run here, so only a person may write it; nothing was changed
        -- 0 gone
    "#]],
    );
    check(
        half,
        &["a.txt"],
        0,
        expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        toolcrib.toml: `paths` does not name it; name every file that the patch is about
        -- 0 gone
    "#]],
    );
}

#[test]
fn what_is_no_patch_of_these_files_is_refused() {
    check(
        "--- /dev/null\n+++ b.txt\n@@ -0,0 +1 @@\n+x\n",
        &["b.txt"],
        0,
        expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        b.txt: the patch adds it, and it is there already
        -- 0 gone
    "#]],
    );
    check(
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n",
        &["l"],
        0,
        expect![[r#"
            error patch_failed: the patch does not fit; nothing was changed:
            b/l: it is a link or a submodule; only files are patched
            -- 0 gone
        "#]],
    );
    check(
        "diff --git a/l b/l\nBinary files a/l and b/l differ\n",
        &["l"],
        0,
        expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        b/l: it is binary; only text is patched
        -- 0 gone
    "#]],
    );
    check(
        "--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-1\n+2\n",
        &["a.txt"],
        0,
        expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        ../../x: `paths` does not name it; name every file that the patch is about
        -- 0 gone
    "#]],
    );
    check(
        "no patch\n",
        &["a.txt"],
        0,
        expect![[r#"
            error invalid_patch: the patch cannot be read: no line names a file; a unified diff is wanted: `--- FILE`, `+++ FILE`, then hunks of `@@ -12,3 +12,4 @@`, which is line and count before and after, and of lines that begin with a space, `-` or `+`
            -- 0 gone
        "#]],
    );
}

#[test]
fn what_changes_nothing_or_lacks_its_context_is_refused() {
    for (patch, why) in [
        (
            "--- a/a.txt\n+++ b/a.txt\n",
            "b/a.txt: no hunk stands behind its name; one begins with `@@ -12,3 +12,4 @@`",
        ),
        (
            "--- a/a.txt\n+++ b/a.txt\n-1\n+one\n",
            "b/a.txt: no hunk stands behind its name; one begins with `@@ -12,3 +12,4 @@`",
        ),
        (
            "--- a/none\n+++ b/none\n",
            "b/none: no hunk stands behind its name; one begins with `@@ -12,3 +12,4 @@`",
        ),
        (
            "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n 1\n 2\n",
            "a.txt: its hunks add nothing and remove nothing",
        ),
        (
            "--- a.txt\n+++ a.txt\n@@ -2 +2 @@\n-2\n+two\n",
            "a.txt: hunk 1: no line of context stands below its changes, as only at the end of a file; give the lines around them",
        ),
        (
            "--- a.txt\n+++ a.txt\n@@ -2 +2,2 @@\n 2\n+two\n",
            "a.txt: hunk 1: no line of context stands below its changes, as only at the end of a file; give the lines around them",
        ),
        (
            "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-5\n+five\n",
            "a.txt: hunk 1: at line 1 stands `1`, and the patch has `5`",
        ),
        ("diff --git a/none b/none\nold mode 100644\nnew mode 100755\n", "none: none does not exist"),
        (
            "diff --git a/none b/new\nsimilarity index 100%\nrename from none\nrename to new\n",
            "none: none does not exist",
        ),
    ] {
        let workspace = Workspace::new(FILES);
        let before = workspace.tree();
        let arguments = serde_json::json!({ "patch": patch, "paths": ["a.txt", "none", "new"] }).to_string();
        let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
        let refused =
            shown.strip_prefix("error patch_failed: the patch does not fit; nothing was changed:\n");
        assert_eq!(refused.map(str::trim_end), Some(why), "{patch}: {shown}");
        assert_eq!(workspace.tree(), before);
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let workspace = Workspace::new(FILES);
    let heads = "--- a.txt\n+++ a.txt\n";
    let hunk_of = |hunks: &str| format!("{heads}{hunks}");
    let begin = "*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+one\n*** End Patch\n".to_owned();
    let twice = "@@ -5,2 +5,2 @@\n-5\n+five\n 6\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n";
    let at = |line: usize| format!("line {line} of it (of a.txt): ");
    for (patch, why) in [
        (String::new(), format!("no line names a file; {FORM}")),
        (begin, format!("`*** Begin Patch` begins another form; {FORM}")),
        (hunk_of("@@\n-1\n+one\n"), format!("{}`@@` is no head of a hunk; {FORM}", at(3))),
        (
            hunk_of("@@ -1,x +1 @@\n-1\n+one\n"),
            format!("{}`@@ -1,x +1 @@` is no head of a hunk; {FORM}", at(3)),
        ),
        (
            hunk_of("@@ -1,2 +1,2 @@\n-1\n+one\n2\n"),
            format!("{}`2` stands in a hunk, where every line begins with a space, `-` or `+`", at(6)),
        ),
        (
            hunk_of(twice),
            format!(
                "{}this hunk is of line 1, and the one above it goes to line 6; give hunks in order, none over another",
                at(7)
            ),
        ),
        (hunk_of("@@ -1,2 +1,2 @@\n"), format!("{}the hunk has no lines", at(3))),
        (
            hunk_of("so:\n@@ -1 +1 @@\n-1\n+one\n"),
            format!("{}a hunk stands here without its file above it; {FORM}", at(4)),
        ),
    ] {
        let arguments = serde_json::json!({ "patch": patch, "paths": ["a.txt"] }).to_string();
        let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
        assert_eq!(shown, format!("error invalid_patch: the patch cannot be read: {why}\n"));
    }
}

/// What is told and what became of `a.txt`, for hunks that change its first line and its fifth.
#[track_caller]
fn check_counts(hunks: &str) {
    let workspace = Workspace::new(FILES);
    let patch = format!("--- a.txt\n+++ a.txt\n{hunks}");
    let arguments = serde_json::json!({ "patch": patch, "paths": ["a.txt", "b.txt"] }).to_string();
    let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
    let now = String::from_utf8(workspace.bytes("a.txt")).expect("text");
    assert_eq!(now, "one\n1.5\n2\n3\n4\nfive\n6\n7\n8\n9\n", "{patch}: {shown}");
}

#[test]
fn counts_that_are_wrong_are_put_right() {
    let (first, fifth) = ("-1\n+one\n+1.5\n 2\n", "-5\n+five\n 6\n");
    for (one, other) in [
        ("-1,2 +1,3", "-5,2 +6,2"),
        // Too few, with which the parser would leave out the rest of the file.
        ("-1 +1", "-5 +5"),
        ("-1,2 +1,2", "-5,2 +5,1"),
        ("-1,7 +1,9", "-5,2 +5,7"),
        ("-1,2 +1,3", "-5,99 +5,99"),
        ("-1,0 +1,0", "-5,0 +5,0"),
    ] {
        check_counts(&format!("@@ {one} @@\n{first}@@ {other} @@ fn five()\n{fifth}"));
        // Lines between them, and a file behind them.
        let behind = "--- b.txt\n+++ b.txt\n@@ -1,9 +1,9 @@\n-b\n+c\n";
        check_counts(&format!("@@ {one} @@\n{first}\n@@ {other} @@\n{fifth}{behind}\n\n"));
    }
}

#[test]
fn a_hunk_may_stand_close_behind_one_that_adds_much() {
    check(
        "--- a.txt\n+++ a.txt\n@@ -1,2 +1,6 @@\n-1\n+a\n+b\n+c\n+d\n+e\n 2\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n",
        &["a.txt"],
        0,
        expect![[r#"
            text: a.txt: changed¶
            -- 1 gone
            a.txt: a\nb\nc\nd\ne\n2\n3\nfour\n5\n6\n7\n8\n9\n"#]],
    );
}

#[test]
fn an_empty_line_of_context_may_have_lost_its_blank() {
    let workspace = Workspace::new("c: 1\\r\\n\\r\\n3\\r\\n");
    let patch = "--- c\r\n+++ c\r\n@@ -1,3 +1,3 @@\r\n 1\r\n\r\n-3\r\n+three\r\n";
    let arguments = serde_json::json!({ "patch": patch, "paths": ["c"] }).to_string();
    let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
    assert_eq!(String::from_utf8_lossy(&workspace.bytes("c")), "1\r\n\r\nthree\r\n", "{shown}");
}

#[test]
fn a_patch_without_its_last_line_end_keeps_that_of_the_file() {
    let check = |patch: &str, expected: &str| {
        let workspace = Workspace::new("a: yy\\n");
        let arguments = serde_json::json!({ "patch": patch, "paths": ["a"] }).to_string();
        let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
        assert_eq!(String::from_utf8_lossy(&workspace.bytes("a")), expected, "{patch}: {shown}");
    };
    check("--- a\n+++ a\n@@ -1 +1 @@\n-yy\n+xx", "xx\n");
    check("--- a\n+++ a\n@@ -1,9 +1 @@\n-yy\n+xx", "xx\n");
    for end in ["", "\n"] {
        let patch = format!("--- a\n+++ a\n@@ -1 +1 @@\n-yy\n+xx\n\\ No newline at end of file{end}");
        check(&patch, "xx");
    }
    check("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-yy\n+xx\n-- \n2.47.3\n\n", "xx\n");
    check("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-yy\n+xx\n-- \n2.47.3\n\n", "xx\n");
}

/// Cancels a call when it begins to write.
struct Cancelling(Cancel);

impl Secrets for Cancelling {
    fn placeholder_lines(&self, _: &[u8]) -> Vec<usize> {
        self.0.cancel();
        Vec::new()
    }

    fn are_in(&self, _: &[u8]) -> bool {
        false
    }

    fn striking(&self) -> Box<dyn Striking> {
        unreachable!("nothing is quoted")
    }
}

#[test]
fn a_patch_that_has_begun_is_not_cancelled() {
    let (workspace, cancel) = (Workspace::new(FILES), Cancel::new());
    let files = workspace.root(Access::ReadWrite);
    let paths = ["n", "b.txt"].map(|path| files.locate(path).expect("inside"));
    let patch = "--- /dev/null\n+++ n\n@@ -0,0 +1 @@\n+x\n--- b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n";
    let looking = Looking::new(&cancel, None);
    let plan = Plan::of(patch, &paths, 0, &files, &looking).expect("it fits");
    let secrets = Some(Arc::new(Cancelling(cancel.clone())) as Arc<dyn Secrets>);
    let mover = Mover { files: files.clone(), cancel: cancel.clone(), dry_run: None, rules: None };
    let writer = Writer { files, cancel: cancel.clone(), dry_run: None, secrets };
    steps::done(plan.steps, &writer, mover).expect("all of it is done");
    let tree = workspace.tree();
    assert!(cancel.is_cancelled() && tree.contains("n: x") && !tree.contains("b.txt"), "{tree}");
}

#[test]
fn a_hunk_is_not_looked_for_without_end() {
    let workspace = Workspace::new("");
    workspace.put("a", "\n".repeat(200_000).as_bytes());
    let hunk = format!("@@ -5,10002 +5,10002 @@\n{}-x\n+y\n \n", " \n".repeat(10_000));
    let arguments =
        serde_json::json!({ "patch": format!("--- a\n+++ a\n{hunk}"), "paths": ["a"] }).to_string();
    let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
    expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        a: hunk 1: looking for where it stands takes too long; make the patch anew from the files as they are, or cut it
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_last_line_without_an_end_is_told_as_a_patch_writes_it() {
    let workspace = Workspace::new("");
    workspace.put("a.txt", b"one");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
    let arguments = serde_json::json!({ "patch": patch, "paths": ["a.txt"] }).to_string();
    expect![[r#"
        error patch_failed: the patch does not fit; nothing was changed:
        a.txt: hunk 1: at line 1 stands `one` without a line end, and the patch has `one`; below that line write `\ No newline at end of file`
    "#]]
    .assert_eq(&call(&*builtin(ApplyPatch), &workspace, &arguments));
}

#[test]
fn no_more_than_one_folder_of_a_name_is_left_out() {
    check(
        "--- x/y/b.txt\n+++ x/y/b.txt\n@@ -1 +1 @@\n-b\n+c\n",
        &["b.txt"],
        0,
        expect![[r#"
            error patch_failed: the patch does not fit; nothing was changed:
            x/y/b.txt: `paths` does not name it; name every file that the patch is about
            -- 0 gone
        "#]],
    );
}

#[test]
fn a_copy_is_written_as_what_it_is_copied_from() {
    let workspace = Workspace::new("");
    workspace.put("a", b"\xff\xfeh\0i\0");
    workspace.set_mode("a", 0o755);
    let patch = "diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n";
    let arguments = serde_json::json!({ "patch": patch, "paths": ["a", "b"] }).to_string();
    let shown = call(&*builtin(ApplyPatch), &workspace, &arguments);
    assert_eq!((&workspace.bytes("b")[..], workspace.mode("b")), (&b"\xff\xfeh\0i\0"[..], 0o755), "{shown}");
}

#[test]
fn a_secret_is_struck_out_before_a_line_is_cut() {
    let workspace = Workspace::new("");
    workspace.put("a", format!("{}hunter2\n", "x".repeat(76)).as_bytes());
    let arguments = r#"{"paths": ["a"], "patch": "--- a\n+++ a\n@@ -1 +1 @@\n-b\n+c\n"}"#;
    let shown = keep_secret(&*builtin(ApplyPatch), &workspace, "hunter2", arguments);
    assert!(shown.contains("x[RED…`") && !shown.contains("hunt"), "{shown}");
}
