//! What searching files gives, case by case.

use expect_test::{Expect, expect};
use testkit::{Workspace, call, check_tool, keep_secret};
use tool_api::{Access, Cancel, PathRules, builtin};

use super::in_file::{Looking, Reader};
use super::*;

const SEARCH: Search = Search { text_bytes_max: 65_536 };

fn check(files: &str, arguments: &str, expected: Expect) {
    check_tool(SEARCH, files, arguments, expected);
}

const TREE: &str = "
    .env: needle\\n
    .git/HEAD: needle\\n
    .gitignore: target/\\n
    a.rs: one\\nneedle\\nthree\\nfour\\nNeedle\\n
    b/c.txt: x\\r\\nneedle here\\r\\n
    b/bin: needle\\0\\n
    link -> a.rs
    target/out: needle\\n
";

#[test]
fn lines_are_shown_below_their_files() {
    check(
        TREE,
        r#"{"pattern": "ne+dle"}"#,
        expect![[r#"
        text: .env
        1:needle

        a.rs
        2:needle

        b/c.txt
        2:needle here
        [Left out: 1 binary file.]
        [3 matching lines in 3 files.]
    "#]],
    );
    check(
        TREE,
        r#"{"pattern": "NEEDLE", "ignore_case": true, "path": "a.rs", "context": 1}"#,
        expect![[r#"
            text: a.rs
            1-one
            2:needle
            3-three
            4-four
            5:Needle
            [2 matching lines in 1 file.]
        "#]],
    );
    check(
        TREE,
        r#"{"pattern": "needle", "glob": "*.txt"}"#,
        expect![[r#"
        text: b/c.txt
        2:needle here
        [1 matching line in 1 file.]
    "#]],
    );
}

#[test]
fn files_are_counted_and_patterns_taken_as_they_are() {
    check(
        TREE,
        r#"{"pattern": "needle", "glob": "b/*", "mode": "counts"}"#,
        expect![[r#"
        text: b/c.txt:1
        [Left out: 1 binary file.]
        [1 matching file.]
    "#]],
    );
    check(
        TREE,
        r#"{"pattern": "needle", "mode": "files", "ignored": true}"#,
        expect![[r#"
        text: .env
        a.rs
        b/c.txt
        target/out
        [Left out: 1 binary file.]
        [4 matching files.]
    "#]],
    );
    check(
        TREE,
        r#"{"pattern": "n.*e", "literal": true}"#,
        expect![[r#"
        text: [Left out: 1 binary file.]
        [0 matching lines in 0 files.]
    "#]],
    );
    check(
        TREE,
        r#"{"pattern": "^needle$", "path": "/workspace/b"}"#,
        expect![[r#"
        text: [Left out: 1 binary file.]
        [0 matching lines in 0 files.]
    "#]],
    );
    check(
        "",
        r#"{"pattern": "x"}"#,
        expect![[r#"
        text: [0 matching lines in 0 files.]
    "#]],
    );
    check(
        "a: ",
        r#"{"pattern": "x", "path": "a"}"#,
        expect![[r#"
        text: [0 matching lines in 0 files.]
    "#]],
    );
    check(
        "a: x\\ny\\n1\\n2\\n3\\n4\\nx\\n",
        r#"{"pattern": "x", "context": 1}"#,
        expect![[r#"
        text: a
        1:x
        2-y
        --
        6-4
        7:x
        [2 matching lines in 1 file.]
    "#]],
    );
    let long = format!("a: {}needle{}\\n", "x".repeat(2_000), "y".repeat(2_000));
    check(
        &long,
        r#"{"pattern": "needle"}"#,
        expect![[r#"
        text: a
        1:…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxneedleyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
        [1 matching line in 1 file.]
    "#]],
    );
}

#[test]
fn other_encodings_are_read_and_bytes_shown_as_they_can_be() {
    let workspace = Workspace::new("");
    workspace.put("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
    workspace.put("latin", b"needle \xfc\n");
    expect![[r#"
        text: latin
        1:needle �

        utf16
        1:needle
        [2 matching lines in 2 files.]
    "#]]
    .assert_eq(&call(&*builtin(SEARCH), &workspace, r#"{"pattern": "needle"}"#));
}

/// Taken up again and again, with any limit, a search gives every line once and in order.
#[test]
fn a_search_goes_on_where_it_ended() {
    let lines: String = (0..9).map(|n| format!("needle {n}\\nother\\n")).collect();
    let workspace = Workspace::new(&format!("a/x: {lines}\na/y: {lines}\nb: needle\\n\nc: x\\n"));
    for (mode, context) in [("lines", 0), ("lines", 1), ("files", 0), ("counts", 0)] {
        let arguments = |limit: u64, after: &str| {
            format!(
                r#"{{"pattern": "needle", "mode": "{mode}", "context": {context}, "limit": {limit}{after}}}"#
            )
        };
        let found = |shown: &str| -> Vec<String> {
            let text = shown.trim_start_matches("text: ");
            let is_found = |line: &&str| {
                line.contains(':') && !line.starts_with('[') || mode == "files" && !line.starts_with('[')
            };
            text.lines().filter(is_found).map(str::to_owned).collect()
        };
        let whole = call(&*builtin(SEARCH), &workspace, &arguments(2000, ""));
        assert!(!whole.contains("To go on"), "{whole}");
        for limit in [1, 2, 4, 9, 10, 19] {
            let (mut all, mut after) = (Vec::new(), String::new());
            loop {
                let shown = call(&*builtin(SEARCH), &workspace, &arguments(limit, &after));
                assert!(found(&shown).len() <= usize::try_from(limit).expect("few"), "{shown}");
                all.extend(found(&shown));
                let Some((_, on)) = shown.split_once("To go on, call again with ") else { break };
                let on = on.trim_end().trim_end_matches(".]").replace("after_line:", "\"after_line\":");
                after = format!(", {}", on.replace("after: ", "\"after\": "));
            }
            assert_eq!(all, found(&whole), "{mode} {limit} at a time");
        }
    }
}

#[test]
fn an_answer_has_room_for_so_much_text() {
    let workspace = Workspace::new("");
    for n in 0..40 {
        workspace.put(&format!("{n:02}"), "needle and more\n".repeat(10).as_bytes());
    }
    let shown = call(&*builtin(Search { text_bytes_max: 1_000 }), &workspace, r#"{"pattern": "needle"}"#);
    assert!(shown.len() < 1_300, "{}", shown.len());
    assert!(shown.contains("To go on, call again with after: \"0"), "{shown}");
}

#[test]
fn a_pattern_that_cannot_be_used_is_refused() {
    for (pattern, expected) in [
        (
            "(",
            expect![[r#"
            error invalid_pattern: `pattern` cannot be used: regex parse error:
                (?:()
                ^
            error: unclosed group; to find the text as it stands, say `literal`: true
        "#]],
        ),
        (
            "((a{1,1000}){1,1000}){1,1000}",
            expect![[r#"
            error invalid_pattern: `pattern` cannot be used: compiled regex exceeds size limit of 10485760; repeat less in it
        "#]],
        ),
        (
            r"a(?=b)",
            expect![[r#"
            error invalid_pattern: `pattern` cannot be used: regex parse error:
                (?:a(?=b))
                    ^^^
            error: look-around, including look-ahead and look-behind, is not supported; search for a plainer pattern, and look through what it finds
        "#]],
        ),
        (
            r"a\nb",
            expect![[r#"
            error invalid_pattern: `pattern` cannot be used: the literal "\n" is not allowed in a regex; each line is searched by itself, so search for a part of one
        "#]],
        ),
    ] {
        let arguments = serde_json::json!({ "pattern": pattern }).to_string();
        expected.assert_eq(&call(&*builtin(SEARCH), &Workspace::new("a: x"), &arguments));
    }
    let long = serde_json::json!({ "pattern": "x".repeat(10_000) }).to_string();
    expect![[r#"
        error invalid_pattern: `pattern` cannot be used: it has more than 8192 bytes
    "#]]
    .assert_eq(&call(&*builtin(SEARCH), &Workspace::new("a: x"), &long));
}

#[test]
fn what_is_no_place_to_search_is_refused() {
    check(
        "a: x",
        r#"{"pattern": "x", "path": "gone"}"#,
        expect![[r#"
        error not_found: gone does not exist
    "#]],
    );
    check(
        "a: x",
        r#"{"pattern": "x", "path": "/etc"}"#,
        expect![[r#"
        error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
    "#]],
    );
    check(
        "a: x",
        r#"{"pattern": "x", "after": "../b"}"#,
        expect![[r#"
        error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
    "#]],
    );
    check(
        "a: x",
        r#"{"pattern": "x", "glob": "["}"#,
        expect![[r#"
        error invalid_glob: the glob cannot be used: unclosed character class; missing ']'
    "#]],
    );
}

/// A rule about what is below `secrets`.
struct Ruled;

impl PathRules for Ruled {
    fn concern(&self, path: &str) -> bool {
        path.starts_with("secrets/")
    }
}

#[test]
fn what_is_left_out_for_a_rule_does_not_tell_what_is_in_it() {
    let workspace = Workspace::new("a: needle\\n\nsecrets/key: needle 12\\n");
    let files = workspace.root(Access::Read);
    let search = |path: &str, pattern: &str| {
        let asked = Asked {
            start: files.locate(path).expect("inside"),
            filter: NameFilter::new(None).expect("no glob"),
            matcher: RegexMatcher::new(pattern).expect("a pattern"),
            mode: Mode::Lines,
            context: 0,
            ignored: false,
            limit: 10,
            after: None,
            after_line: None,
            text_bytes_max: 1_000,
            secrets: None,
        };
        in_files::search(&asked, &files, Some(&Ruled), &Cancel::new()).expect("an answer")
    };
    for pattern in ["12", "13"] {
        let shown = search("", pattern);
        assert!(shown.contains("is about them: 1 file"), "{shown}");
    }
    // The file that is named has been judged.
    assert!(search("secrets/key", "12").contains("1:needle 12"));
}

#[test]
fn a_secret_is_struck_out_before_a_line_is_cut() {
    let workspace = Workspace::new("");
    workspace.put("a", format!("needle {}hunter2{}\n", "x".repeat(490), "y".repeat(90)).as_bytes());
    let shown = keep_secret(&*builtin(SEARCH), &workspace, "hunter2", r#"{"pattern": "needle"}"#);
    assert!(shown.contains("x[RE") && !shown.contains("hun"), "{shown}");
}

/// As files do that are made up while they are read.
#[test]
#[expect(clippy::disallowed_methods, reason = "the kernel has such files")]
fn a_file_that_says_it_has_no_bytes_is_read() {
    let file = std::fs::File::open("/proc/self/status").expect("this is Linux");
    let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build("^Name:").expect("a pattern");
    let looking = Looking {
        matcher: &matcher,
        keeps_lines: true,
        matches_max: 9,
        after_line: 0,
        text_bytes_max: 100,
        secrets: None,
    };
    let bytes = file.metadata().expect("it has one").len();
    let found = looking.through(&mut Reader::new(0), &file, bytes).expect("readable");
    assert_eq!((bytes, found.matches, found.lines.len()), (0, 1, 1));
}

/// Read at once or piece by piece.
#[test]
fn a_file_is_binary_wherever_its_nul_stands() {
    let workspace = Workspace::new("");
    for (name, bytes) in [("small", 60 * 1024), ("limit", 64 * 1024), ("large", 200 * 1024)] {
        let mut content = b"needle\n".to_vec();
        content.resize(bytes - 2, b'x');
        for (kind, end) in [("text", b"x\n"), ("binary", b"\0\n")] {
            workspace.put(&format!("{name}-{kind}"), &[&content[..], end].concat());
        }
    }
    let shown = call(&*builtin(SEARCH), &workspace, r#"{"pattern": "needle", "mode": "counts"}"#);
    expect![[r#"
        text: large-text:1
        limit-text:1
        small-text:1
        [Left out: 3 binary files.]
        [3 matching files.]
    "#]]
    .assert_eq(&shown);
}
