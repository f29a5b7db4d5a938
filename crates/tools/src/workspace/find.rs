//! `workspace_find`: files by name, time, size and kind. Going through the folders is left to `walk`, how it looks to `listing`.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{About, ArgumentRoles, Block, Context, Document, Effect, Example, Tool, ToolError};

use super::file_error::refused;
use super::listing::{Item, ItemKind, Listing};
use super::name_filter::NameFilter;
use super::near_paths::or_nearest;
use super::walk::{LOOKED_AT_MAX, Wanted, walk};
use crate::offer::ENTRIES_MAX;
use crate::plain_schema::plain;

/// Finds files.
#[derive(Debug)]
pub(crate) struct Find {
    /// Entries in one answer where the call does not say how many it wants.
    pub(crate) entries: usize,
}

/// The arguments of `workspace_find`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// Which names, for example `*.rs`, or `src/**/*.rs` below `path`.
    glob: String,
    /// The folder to look in. Default: the whole workspace.
    #[serde(default)]
    path: String,
    /// Changed at or after this time, such as `2026-01-31`, `2026-01-31T08:00:00Z`, or `-2h` (30m, 2h, 3d ago).
    modified_after: Option<String>,
    /// Changed before this time.
    modified_before: Option<String>,
    /// Files of at least so many bytes.
    size_min: Option<u64>,
    /// Files of at most so many bytes.
    size_max: Option<u64>,
    /// Default: files.
    #[serde(default)]
    kind: KindWanted,
    /// By path, or the newest or the largest first.
    #[serde(default)]
    sort: Sort,
    /// Also what ignore files leave out.
    #[serde(default)]
    ignored: bool,
    /// How many to show at most.
    #[schemars(range(min = 1, max = ENTRIES_MAX))]
    limit: Option<u16>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum KindWanted {
    #[default]
    File,
    Folder,
    Link,
    Any,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Sort {
    #[default]
    Path,
    Newest,
    Largest,
}

impl Tool for Find {
    const ABOUT: About = About {
        name: "workspace_find",
        title: "Find files",
        summary: "Find files by name, time of change and size, in all folders below `path` but `.git` and what ignore \
                  files leave out: one line for each with path, size in bytes and time.",
        effect: Effect::Reads,
        arguments: ArgumentRoles { paths: &["path", "glob"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example {
            title: "What changed last",
            arguments: r#"{"glob": "*", "modified_after": "-7d", "sort": "newest", "limit": 20}"#,
        }],
    };
    type Input = Input;
    // No structure beside it: clients that show a model both would show it everything twice.
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let start = cx.files.locate(&input.path).map_err(refused)?;
        let asked = Asked::new(&input, SystemTime::now())?;
        let shown_max = input.limit.map_or(self.entries, usize::from).clamp(1, usize::from(ENTRIES_MAX));
        let wanted = Wanted {
            recursive: true,
            filter: NameFilter::new(Some(&input.glob))?,
            hidden: true,
            ignored: input.ignored,
            meta: true,
            entries_max: LOOKED_AT_MAX,
            paths_bytes_max: usize::MAX,
            looked_at_max: LOOKED_AT_MAX,
            after: None,
        };
        let (files, cancel, at) = (cx.files.clone(), cx.cancel.clone(), start.clone());
        let found = cx.blocking(move || Ok(asked.of(walk(&files, &at, &wanted, &cancel)?))).await;
        let found = or_nearest(found, &start, cx).await?;
        Ok(Document(vec![Block::Text(text(found, shown_max))]))
    }
}

/// What an entry must be beside its name.
struct Asked {
    after: Option<SystemTime>,
    before: Option<SystemTime>,
    size_min: u64,
    size_max: u64,
    has_size: bool,
    kind: KindWanted,
    sort: Sort,
}

impl Asked {
    fn new(input: &Input, now: SystemTime) -> Result<Asked, ToolError> {
        let time =
            |name, given: &Option<String>| given.as_deref().map(|text| time(name, text, now)).transpose();
        Ok(Asked {
            after: time("modified_after", &input.modified_after)?,
            before: time("modified_before", &input.modified_before)?,
            size_min: input.size_min.unwrap_or(0),
            size_max: input.size_max.unwrap_or(u64::MAX),
            has_size: input.size_min.is_some() || input.size_max.is_some(),
            kind: input.kind,
            sort: input.sort,
        })
    }

    fn of(&self, mut listing: Listing) -> Listing {
        listing.entries.retain(|item| self.fits(item));
        match self.sort {
            Sort::Path => {}
            Sort::Newest => listing.entries.sort_by_key(|item| Reverse(item.modified)),
            Sort::Largest => listing.entries.sort_by_key(|item| Reverse(item.bytes)),
        }
        listing
    }

    fn fits(&self, item: &Item) -> bool {
        let is_kind = match self.kind {
            KindWanted::Any => true,
            KindWanted::File => item.kind == ItemKind::File,
            KindWanted::Folder => item.kind == ItemKind::Folder,
            KindWanted::Link => item.kind == ItemKind::Link,
        };
        // Only files have a size.
        let is_sized = match item.bytes {
            Some(bytes) => (self.size_min..=self.size_max).contains(&bytes),
            None => !self.has_size,
        };
        let is_after = self.after.is_none_or(|after| item.modified >= Some(after));
        let is_before = self.before.is_none_or(|before| item.modified < Some(before));
        is_kind && is_sized && is_after && is_before
    }
}

/// A day, a time, or how long ago. What has no zone is in UTC, as times are shown.
fn time(name: &str, text: &str, now: SystemTime) -> Result<SystemTime, ToolError> {
    let ago = text.strip_prefix('-').and_then(ago).and_then(|ago| now.checked_sub(ago));
    let day = || Some(text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let at = || day().or_else(|| text.parse::<Timestamp>().ok()).map(SystemTime::from);
    ago.or_else(at).ok_or_else(|| {
        let message =
            format!("`{name}` is no time; write 2026-01-31, 2026-01-31T08:00:00Z, or -2h (30m, 2h, 3d ago)");
        ToolError::new("invalid_time", message)
    })
}

fn ago(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds: u64 = match unit {
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    Some(Duration::from_secs(number.parse::<u32>().map(u64::from).ok()?.saturating_mul(seconds)))
}

fn text(mut listing: Listing, shown_max: usize) -> String {
    let found = listing.entries.len();
    listing.entries.truncate(shown_max);
    // It goes on nowhere: what is looked for can be told more exactly.
    let unseen = listing.next_after.take();
    let mut text = listing.to_string();
    if found > shown_max {
        text.push_str(&format!(
            "[{shown_max} of {found} that were found; narrow the search, or say `limit`.]\n"
        ));
    }
    if let Some(path) = unseen {
        text.push_str(&format!(
            "[Only {LOOKED_AT_MAX} entries were looked at, up to {path:?}; name a folder as `path`.]\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use testkit::check_tool;

    use super::*;

    fn check(arguments: &str, expected: Expect) {
        const TREE: &str = "
            .gitignore: out\n
            a.rs: 12345
            b/c.rs: 1
            b/d.txt: 123
            b/link -> c.rs
            out: 1
        ";
        check_tool(Find { entries: 3 }, TREE, arguments, expected);
    }

    #[test]
    fn files_are_found_by_name_time_size_and_kind() {
        check(
            r#"{"glob": "*.rs"}"#,
            expect![[r#"
            text: a.rs\t5\t2026-01-02T03:04:05Z
            b/c.rs\t1\t2026-01-02T03:04:05Z
        "#]],
        );
        check(
            r#"{"glob": "b/*", "kind": "any"}"#,
            expect![[r#"
            text: b/c.rs\t1\t2026-01-02T03:04:05Z
            b/d.txt\t3\t2026-01-02T03:04:05Z
            b/link\tlink\t2026-01-02T03:04:05Z
        "#]],
        );
        check(
            r#"{"glob": "*", "kind": "folder"}"#,
            expect![[r#"
            text: b/\tfolder\t2026-01-02T03:04:05Z
        "#]],
        );
        check(
            r#"{"glob": "*", "size_min": 2, "size_max": 4, "kind": "any"}"#,
            expect![[r#"
            text: .gitignore\t3\t2026-01-02T03:04:05Z
            b/d.txt\t3\t2026-01-02T03:04:05Z
        "#]],
        );
        check(
            r#"{"glob": "*", "sort": "largest", "limit": 2, "ignored": true}"#,
            expect![[r#"
            text: a.rs\t5\t2026-01-02T03:04:05Z
            .gitignore\t3\t2026-01-02T03:04:05Z
            [2 of 5 that were found; narrow the search, or say `limit`.]
        "#]],
        );
        check(
            r#"{"glob": "*", "path": "b", "modified_after": "2026-01-02"}"#,
            expect![[r#"
            text: b/c.rs\t1\t2026-01-02T03:04:05Z
            b/d.txt\t3\t2026-01-02T03:04:05Z
        "#]],
        );
        check(
            r#"{"glob": "*", "modified_before": "2026-01-02T03:04:05Z"}"#,
            expect![[r#"
            text: [No entries.]
        "#]],
        );
        check(
            r#"{"glob": "*", "path": "b", "modified_after": "2026-01-02T03:04:05Z", "modified_before": "-1m"}"#,
            expect![[r#"
                text: b/c.rs\t1\t2026-01-02T03:04:05Z
                b/d.txt\t3\t2026-01-02T03:04:05Z
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_looked_for_is_refused() {
        check(
            r#"{"glob": "*", "modified_after": "yesterday"}"#,
            expect![[r#"
            error invalid_time: `modified_after` is no time; write 2026-01-31, 2026-01-31T08:00:00Z, or -2h (30m, 2h, 3d ago)
        "#]],
        );
        check(
            r#"{"glob": "*", "modified_before": "-2y"}"#,
            expect![[r#"
            error invalid_time: `modified_before` is no time; write 2026-01-31, 2026-01-31T08:00:00Z, or -2h (30m, 2h, 3d ago)
        "#]],
        );
        check(
            r#"{"glob": "*", "path": "a.rs"}"#,
            expect![[r#"
            error not_a_folder: a.rs is not a folder, or leads through something that is not one
        "#]],
        );
        check(
            r#"{"glob": "*", "path": ".."}"#,
            expect![[r#"
            error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
        "#]],
        );
        check(
            r#"{"glob": "["}"#,
            expect![[r#"
            error invalid_glob: the glob cannot be used: unclosed character class; missing ']'
        "#]],
        );
    }

    #[test]
    fn a_time_is_a_day_a_moment_or_how_long_ago() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let seconds = |text: &str| {
            let time = time("t", text, now).ok()?;
            time.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs())
        };
        for (text, expected) in [
            ("1970-01-02", Some(86_400)),
            ("1970-01-02T00:00:01Z", Some(86_401)),
            ("1970-01-02T02:00:00+02:00", Some(86_400)),
            ("-2m", Some(999_880)),
            ("-1h", Some(996_400)),
            ("-1d", Some(913_600)),
            ("-99999d", None),
            ("1h", None),
            ("-h", None),
            ("-", None),
            ("", None),
            ("-1ü", None),
            ("1970-13-02", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
