//! `workspace_list`: what is in a folder. Going through it is left to `walk`, how it looks to `listing`.

use std::num::NonZeroU64;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{About, ArgumentRoles, Block, Context, Document, Effect, Example, Inside, Tool, ToolError};

use super::file_error::refused;
use super::name_filter::{NameFilter, spans_folders};
use super::near_paths::or_nearest;
use super::walk::{LOOKED_AT_MAX, Wanted, walk};
use crate::offer::ENTRIES_MAX;
use crate::plain_schema::plain;

/// Bytes of paths in one answer; usual paths reach the limit of entries first.
const PATHS_BYTES_MAX: usize = 256 * 1024;

/// Lists a folder of the workspace.
#[derive(Debug)]
pub(crate) struct List {
    /// Entries in one answer where the call does not say how many it wants.
    pub(crate) entries: usize,
}

/// The arguments of `workspace_list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The folder, for example `src` or `/workspace/src`. Default: the workspace itself.
    #[serde(default)]
    path: String,
    /// Also list all folders below. Default: only if `glob` contains `/`.
    recursive: Option<bool>,
    /// Only entries that fit, for example `*.md`, or `**/*.rs` for all folders below. Without `/` it is matched with
    /// the name, else with the path below the listed folder.
    glob: Option<String>,
    /// Show names that begin with a dot.
    #[serde(default = "shown")]
    hidden: bool,
    /// In a recursive listing, also show what `.gitignore` and `.ignore` files leave out.
    #[serde(default)]
    ignored: bool,
    /// How many entries to show at most, up to 2000. Default: as many as suit one answer.
    limit: Option<NonZeroU64>,
    /// Go on after this path, as the end of the answer before says.
    after: Option<String>,
}

fn shown() -> bool {
    true
}

impl Tool for List {
    const ABOUT: About = About {
        name: "workspace_list",
        title: "List files",
        summary: "List a folder of the workspace: one line for each entry with its path, its size in bytes (or \
                  `folder`, `link`, `other`) and the time of its last change. One level, or with `recursive` all \
                  folders below, without `.git` and what ignore files leave out. In order of their paths, as many as \
                  suit one answer or `limit`; the last line then says how to go on. Links are not followed.",
        effect: Effect::Reads,
        arguments: ArgumentRoles { paths: &["path", "glob", "after"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example { title: "The workspace", arguments: "{}" },
            Example { title: "All Rust files below src", arguments: r#"{"path": "src", "glob": "**/*.rs"}"# },
        ],
    };
    type Input = Input;
    // No structure beside it: clients that show a model both would show it everything twice.
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let start = cx.files.locate(&input.path).map_err(refused)?;
        let wanted = wanted(&input, self.entries, cx)?;
        let (files, cancel, at) = (cx.files.clone(), cx.cancel.clone(), start.clone());
        let listing = cx.blocking(move || walk(&files, &at, &wanted, &cancel)).await;
        let listing = or_nearest(listing, &start, cx).await?;
        Ok(Document(vec![Block::Text(listing.to_string())]))
    }
}

fn wanted(input: &Input, entries: usize, cx: &Context) -> Result<Wanted, ToolError> {
    let glob = input.glob.as_deref();
    let recursive = input.recursive.unwrap_or_else(|| glob.is_some_and(spans_folders));
    let limit = input.limit.map_or(entries, |limit| usize::try_from(limit.get()).unwrap_or(usize::MAX));
    let after: Option<Inside> =
        input.after.as_deref().map(|after| cx.files.locate(after)).transpose().map_err(refused)?;
    Ok(Wanted {
        recursive,
        filter: NameFilter::new(glob)?,
        hidden: input.hidden,
        // A single level is shown as it is: whoever looks into a folder wants to see what is there.
        ignored: input.ignored || !recursive,
        meta: true,
        entries_max: limit.min(usize::from(ENTRIES_MAX)),
        paths_bytes_max: PATHS_BYTES_MAX,
        looked_at_max: LOOKED_AT_MAX,
        after: after.filter(|after| !after.is_root()),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use testkit::{Workspace, call, check_tool};
    use tool_api::{Cancel, builtin};

    use super::*;
    use crate::workspace::walk::DEPTH_MAX;

    const LIST: List = List { entries: 500 };

    fn check(files: &str, arguments: &str, expected: Expect) {
        check_tool(LIST, files, arguments, expected);
    }

    /// Only the paths and remarks, without times and structure.
    fn check_paths(files: &str, arguments: &str, expected: &str) {
        assert_eq!(paths(&Workspace::new(files), arguments), expected, "{arguments}");
    }

    fn paths(workspace: &Workspace, arguments: &str) -> String {
        let shown = call(&*builtin(LIST), workspace, arguments);
        let text = shown.trim_start_matches("text: ");
        text.lines().map(|line| line.split("\\t").next().unwrap_or(line)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_schema_is_this() {
        let tool = builtin(LIST);
        let expected = expect![[r#"
                    {
                      "additionalProperties": false,
                      "properties": {
                        "after": {
                          "description": "Go on after this path, as the end of the answer before says.",
                          "type": "string"
                        },
                        "glob": {
                          "description": "Only entries that fit, for example `*.md`, or `**/*.rs` for all folders below. Without `/` it is matched with the name, else with the path below the listed folder.",
                          "type": "string"
                        },
                        "hidden": {
                          "default": true,
                          "description": "Show names that begin with a dot.",
                          "type": "boolean"
                        },
                        "ignored": {
                          "default": false,
                          "description": "In a recursive listing, also show what `.gitignore` and `.ignore` files leave out.",
                          "type": "boolean"
                        },
                        "limit": {
                          "description": "How many entries to show at most, up to 2000. Default: as many as suit one answer.",
                          "minimum": 1,
                          "type": "integer"
                        },
                        "path": {
                          "default": "",
                          "description": "The folder, for example `src` or `/workspace/src`. Default: the workspace itself.",
                          "type": "string"
                        },
                        "recursive": {
                          "description": "Also list all folders below. Default: only if `glob` contains `/`.",
                          "type": "boolean"
                        }
                      },
                      "type": "object"
                    }"#]];
        let schema: serde_json::Value =
            serde_json::from_slice(&tool.definition().input_schema).expect("JSON");
        expected.assert_eq(&serde_json::to_string_pretty(&schema).expect("JSON"));
    }

    const TREE: &str = "
        .env: secret
        .git/HEAD: ref
        .github/ci.yml: on
        .gitignore: target/\\n*.log\\n!keep.log\\n
        README.md: # Read me\\n
        a.log: x
        keep.log: x
        latest -> src
        src/.gitignore: /generated\\n!a.log\\n
        src/a.log: x
        src/generated/x.rs: x
        src/main.rs: fn main() {}\\n
        src/sub/generated/y.rs: y
        target/debug/out: x
    ";

    #[test]
    fn one_level_shows_all() {
        check(
            TREE,
            "{}",
            expect![[r#"
                text: .env\t6\t2026-01-02T03:04:05Z
                .git/\tfolder\t2026-01-02T03:04:05Z
                .github/\tfolder\t2026-01-02T03:04:05Z
                .gitignore\t24\t2026-01-02T03:04:05Z
                README.md\t10\t2026-01-02T03:04:05Z
                a.log\t1\t2026-01-02T03:04:05Z
                keep.log\t1\t2026-01-02T03:04:05Z
                latest\tlink\t2026-01-02T03:04:05Z
                src/\tfolder\t2026-01-02T03:04:05Z
                target/\tfolder\t2026-01-02T03:04:05Z
            "#]],
        );
        check(
            TREE,
            r#"{"path": "/workspace/src/sub"}"#,
            expect![[r#"
                text: src/sub/generated/\tfolder\t2026-01-02T03:04:05Z
            "#]],
        );
        check_paths(TREE, r#"{"hidden": false}"#, "README.md a.log keep.log latest src/ target/");
        check_paths(TREE, r#"{"glob": "*.log"}"#, "a.log keep.log");
        check_paths(
            TREE,
            r#"{"path": "latest"}"#,
            "latest/.gitignore latest/a.log latest/generated/ latest/main.rs latest/sub/",
        );
        check_paths("empty/", r#"{"path": "empty"}"#, "[No entries.]");
    }

    #[test]
    fn ignore_rules_apply_below() {
        check_paths(
            TREE,
            r#"{"recursive": true}"#,
            ".env .github/ .github/ci.yml .gitignore README.md keep.log latest src/ src/.gitignore src/a.log \
             src/main.rs src/sub/ src/sub/generated/ src/sub/generated/y.rs",
        );
        check_paths(
            TREE,
            r#"{"recursive": true, "ignored": true, "hidden": false}"#,
            "README.md a.log keep.log latest src/ src/a.log src/generated/ src/generated/x.rs src/main.rs src/sub/ \
             src/sub/generated/ src/sub/generated/y.rs target/ target/debug/ target/debug/out",
        );
        // The rules of the folders above count too.
        check_paths(
            ".gitignore: *.log\\n/src/b\\n\nsrc/a.log: x\nsrc/b: x\nsrc/c: x\nb: x",
            r#"{"path": "src", "recursive": true}"#,
            "src/c",
        );
        // Whoever names a folder wants to see it.
        check_paths(TREE, r#"{"path": "target", "recursive": true}"#, "target/debug/ target/debug/out");
        check_paths(TREE, r#"{"path": ".git", "recursive": true}"#, ".git/HEAD");
    }

    #[test]
    fn rule_files_are_read_with_care() {
        check_paths(
            ".gitignore: a\\n\n.ignore: !a\\nb\\n\na: x\nb: x",
            r#"{"recursive": true, "hidden": false}"#,
            "a",
        );
        check_paths(
            ".gitignore: \u{feff}a\\n[\\n\\0\\n#b\\n\na: x\nb: x",
            r#"{"recursive": true, "hidden": false}"#,
            "b",
        );
        check_paths(
            "rules: *\\n\n.gitignore -> rules\na: x",
            r#"{"recursive": true, "hidden": false}"#,
            "a rules",
        );
        // What is excluded as a folder cannot be had back from inside.
        check_paths(
            ".gitignore: out/\\n!out/keep\\n\nout/keep: x\nout/.gitignore: !keep\\n",
            r#"{"recursive": true, "hidden": false}"#,
            "[No entries.]",
        );
    }

    #[test]
    fn globs_choose() {
        check_paths(TREE, r#"{"glob": "**/*.rs"}"#, "src/main.rs src/sub/generated/y.rs");
        check_paths(
            TREE,
            r#"{"path": "src", "glob": "sub/**"}"#,
            "src/sub/generated/ src/sub/generated/y.rs",
        );
        check_paths(TREE, r#"{"recursive": true, "glob": "*.{md,yml}"}"#, ".github/ci.yml README.md");
        check_paths(TREE, r#"{"glob": "**/*.rs", "recursive": false}"#, "[No entries.]");
        check(
            TREE,
            r#"{"glob": "["}"#,
            expect![[r#"
            error invalid_glob: the glob cannot be used: unclosed character class; missing ']'
        "#]],
        );
    }

    #[test]
    fn a_listing_goes_on_where_it_ended() {
        let workspace = Workspace::new(TREE);
        let whole = paths(&workspace, r#"{"recursive": true, "ignored": true}"#);
        for limit in [1, 2, 3, 5] {
            let (mut all, mut after) = (Vec::new(), String::new());
            loop {
                let arguments = format!(r#"{{"recursive": true, "ignored": true, "limit": {limit}{after}}}"#);
                let shown = paths(&workspace, &arguments);
                let (entries, mark) = shown.split_once(" [").unwrap_or((&shown, ""));
                all.push(entries.to_owned());
                let Some((_, last)) = mark.split_once("with after: ") else { break };
                after = format!(r#", "after": {}"#, last.trim_end_matches(".]"));
            }
            assert_eq!(all.join(" "), whole, "{limit} at a time");
        }
        check(
            "a: x\nb: x\nc: x",
            r#"{"limit": 2}"#,
            expect![[r#"
            text: a\t1\t2026-01-02T03:04:05Z
            b\t1\t2026-01-02T03:04:05Z
            [2 entries, and there is more. To go on, call again with after: "b".]
        "#]],
        );
        // The entry itself may be gone.
        check_paths("a: x\nc: x", r#"{"after": "b"}"#, "c");
        check_paths("a: x\nc: x", r#"{"after": "/workspace/c"}"#, "[No entries.]");
    }

    #[test]
    fn an_answer_has_a_limit() {
        let workspace = Workspace::new("");
        for n in 0..=ENTRIES_MAX {
            workspace.put(&format!("{n:04}"), b"");
        }
        let shown = paths(&workspace, r#"{"limit": 99999}"#);
        assert!(shown.starts_with("0000 0001 "), "{shown}");
        assert!(shown.ends_with(
            " 1999 [2000 entries, and there is more. To go on, call again with after: \"1999\".]"
        ));
        assert_eq!(paths(&workspace, r#"{"after": "1999"}"#), "2000");
    }

    #[test]
    fn long_paths_have_a_limit() {
        let workspace = Workspace::new("");
        let tail = "x".repeat(240);
        for n in 0..1100 {
            workspace.put(&format!("{n:04}{tail}"), b"");
        }
        let shown = paths(&workspace, r#"{"limit": 2000}"#);
        assert!(shown.contains(" [1074 entries, and there is more. "), "{}", &shown[shown.len() - 400..]);
        let rest = paths(&workspace, &format!(r#"{{"after": "1073{tail}", "limit": 2000}}"#));
        assert_eq!(rest.split(' ').count(), 1100 - 1074);
    }

    #[test]
    fn names_that_are_not_utf8_are_shown() {
        use std::os::unix::ffi::OsStrExt;
        let workspace = Workspace::new("");
        let name = std::ffi::OsStr::from_bytes(b"a\xff");
        #[expect(clippy::disallowed_methods, reason = "a name that no tool takes")]
        std::fs::create_dir(workspace.path().join(name)).expect("a folder");
        let shown = paths(&workspace, r#"{"recursive": true}"#);
        assert_eq!(shown, "a\u{fffd}/ [Not listed: a\u{fffd}: its name is not UTF-8]");
    }

    #[test]
    fn deep_trees_end_somewhere() {
        let deep = "d/".repeat(DEPTH_MAX + 1);
        let workspace = Workspace::new(&format!("{deep}x: x"));
        let shown = paths(&workspace, r#"{"recursive": true}"#);
        let reason = format!("more than {DEPTH_MAX} folders deep; list it by itself");
        let folder = deep.trim_end_matches('/');
        assert!(shown.ends_with(&format!("{deep} [Not listed: {folder}: {reason}]")), "{shown}");
        let on = paths(&workspace, &serde_json::json!({"path": folder, "recursive": true}).to_string());
        assert_eq!(on, format!("{deep}x"));
    }

    #[test]
    fn what_cannot_be_listed_is_refused() {
        let files = "
            file: x
            out -> /tmp
        ";
        check(
            files,
            r#"{"path": "file"}"#,
            expect![[r#"
            error not_a_folder: file is not a folder, or leads through something that is not one
        "#]],
        );
        check(
            files,
            r#"{"path": "gone"}"#,
            expect![[r#"
            error not_found: gone does not exist
        "#]],
        );
        for arguments in
            [r#"{"path": ".."}"#, r#"{"path": "/etc"}"#, r#"{"path": "out"}"#, r#"{"after": "../x"}"#]
        {
            let shown = call(&*builtin(LIST), &Workspace::new(files), arguments);
            assert!(
                shown.starts_with("error outside_workspace: the path leads outside the workspace;"),
                "{shown}"
            );
        }
    }

    #[test]
    fn names_cannot_pass_for_lines() {
        let workspace = Workspace::new("");
        workspace.put("a\n[No entries.]", b"");
        assert!(paths(&workspace, "{}").starts_with(r#""a\n[No entries.]""#));
    }

    #[test]
    fn a_cancelled_listing_stops() {
        let cancel = Cancel::new();
        cancel.cancel();
        let outcome =
            testkit::call_with(&*builtin(LIST), &Workspace::new(TREE), r#"{"recursive": true}"#, &cancel);
        assert_eq!(outcome.expect_err("cancelled").code(), ToolError::CANCELLED);
    }
}
