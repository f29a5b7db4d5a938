//! The `[tools]` section: which sets of built-in tools are offered, and how much they say at once.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text of a file in one answer, in KiB: some 12,000 tokens. Of what is longer than 50,000 characters Claude Code shows its model
/// the first 2 KiB, and OpenCode the first 50 KiB, without the words at the end that say how to read on; there is room for these.
const READ_KIB: u16 = 46;

/// Entries in one listing: some 25 KiB of text.
const LIST_ENTRIES: u16 = 500;

/// The most that can be set: some 65,000 tokens, more than most models should be given at once.
const READ_KIB_MAX: u16 = 256;

/// The same for a listing, and for what a call can ask for: some 100 KiB of text.
pub(crate) const ENTRIES_MAX: u16 = 2_000;

/// The longest edge of a picture in an answer: what is larger, model providers make smaller themselves.
const IMAGE_EDGE: u16 = 1_568;

/// What can be set: below, nothing can be made out; above, model providers refuse it.
const IMAGE_EDGE_MIN: u16 = 64;
const IMAGE_EDGE_MAX: u16 = 4_000;

/// Which built-in tools are offered to agents, and how much they say at once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Sets of built-in tools on offer, for example `["workspace"]`. Without it all sets are offered but `jobs`;
    /// `[]` offers none.
    pub offer: Option<Vec<Set>>,
    /// What stands in the list of tools that an agent reads: `all` of them, or with `search` three by which it finds and calls the
    /// others. Every tool costs each conversation some of its room; with some hundred, searching is cheaper.
    pub exposure: Exposure,
    /// More folders of skills, each with a folder for each skill, searched last; a path may begin with `~/`. Those of the project
    /// (`.toolcrib/skills`, `.claude/skills`, `.agents/skills`) come first, once you have agreed to each (`toolcrib trust`), then `skills`
    /// beside this file, `~/.claude/skills` and `~/.agents/skills`.
    pub skills: Vec<PathBuf>,
    /// How much of a text the tools show at once, in KiB: of a file, an artifact, a page of the web, what a command printed. Clients refuse or put away what is too long.
    #[schemars(range(min = 1, max = READ_KIB_MAX))]
    pub read_kib: u16,
    /// How many entries `workspace_list` shows where a call does not say how many it wants.
    #[schemars(range(min = 1, max = ENTRIES_MAX))]
    pub list_entries: u16,
    /// How many pixels the longer edge of a picture has at most that `ReadImage` shows; larger ones are made smaller.
    #[schemars(range(min = IMAGE_EDGE_MIN, max = IMAGE_EDGE_MAX))]
    pub image_edge: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            offer: None,
            exposure: Exposure::All,
            skills: Vec::new(),
            read_kib: READ_KIB,
            list_entries: LIST_ENTRIES,
            image_edge: IMAGE_EDGE,
        }
    }
}

/// How much the tools say at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    pub(crate) text_bytes: usize,
    pub(crate) list_entries: usize,
    pub(crate) image_edge: u16,
}

impl Budgets {
    /// What is shown of what a command prints: it is said as text and as structure, and so twice.
    pub(crate) fn printed_bytes(self) -> usize {
        self.text_bytes / 2
    }
}

impl Default for Budgets {
    fn default() -> Budgets {
        Config::default().budgets()
    }
}

/// A group of built-in tools that are offered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Set {
    /// Files of the workspace: read, look at, write, list.
    Workspace,
    /// Commands for bash, sandboxed: one that is waited for, and those that go on in the background.
    Shell,
    /// The web: searching it, and reading its pages.
    Web,
    /// An agent's own work: its tasks, planning before changing, asking its user, messages that come back.
    Agent,
    /// Skills of the project and of the user: instructions for a kind of task; there where there are any.
    Skills,
    /// Reading results that are too large for one answer; on offer where there are servers, declared tools or the `shell`.
    /// Without it the results of servers come whole.
    Artifacts,
    /// Waiting for jobs and reading what came of them, for clients that know no tasks; on offer where it is named here.
    Jobs,
    /// Finding tools and calling what was found; there where an agent is not shown all of them.
    #[serde(skip)]
    Catalogue,
}

/// What of all that is on offer stands in the list of tools that an agent reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Exposure {
    /// Every tool.
    #[default]
    All,
    /// `tools_search`, `tools_describe` and `tools_call`, through which every tool is found and called.
    Search,
}

impl Set {
    /// Every set, in the order in which their tools are listed.
    pub const ALL: [Set; 8] = [
        Set::Workspace,
        Set::Shell,
        Set::Web,
        Set::Agent,
        Set::Skills,
        Set::Artifacts,
        Set::Jobs,
        Set::Catalogue,
    ];

    /// Whether some of its tools see files of the workspace.
    pub fn is_of_workspace(self) -> bool {
        matches!(self, Set::Workspace | Set::Shell | Set::Agent)
    }
}

impl Config {
    /// The sets on offer, each once, in the order of [`Set::ALL`].
    pub fn sets(&self) -> Vec<Set> {
        // Most calls never become jobs, and each tool on offer costs every conversation some of its room.
        let is_usual = |set: Set| set != Set::Jobs;
        let is_offered = |set: &Set| match set {
            Set::Catalogue => self.exposure == Exposure::Search,
            set => self.offer.as_ref().map_or_else(|| is_usual(*set), |offer| offer.contains(set)),
        };
        Set::ALL.into_iter().filter(is_offered).collect()
    }

    /// Every key whose value is out of its range, with why.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let keys = [
            ("read_kib", self.read_kib, 1..=READ_KIB_MAX),
            ("list_entries", self.list_entries, 1..=ENTRIES_MAX),
            ("image_edge", self.image_edge, IMAGE_EDGE_MIN..=IMAGE_EDGE_MAX),
        ];
        let wrong = keys.into_iter().filter(|(_, value, range)| !range.contains(value));
        let why =
            |range: RangeInclusive<u16>| format!("must be between {} and {}", range.start(), range.end());
        wrong.map(|(key, _, range)| (key, why(range))).collect()
    }

    /// How much the tools say at once.
    pub fn budgets(&self) -> Budgets {
        Budgets {
            text_bytes: usize::from(self.read_kib) * 1024,
            list_entries: usize::from(self.list_entries),
            image_edge: self.image_edge,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(section: &str, expected: Result<&[Set], &str>) {
        let sets = serde_json::from_str::<Config>(section).map(|config| config.sets());
        let sets = sets.map_err(|error| error.to_string());
        assert_eq!(sets, expected.map(<[Set]>::to_vec).map_err(str::to_owned), "{section}");
    }

    #[test]
    fn sets_are_named() {
        check("{}", Ok(&[Set::Workspace, Set::Shell, Set::Web, Set::Agent, Set::Skills, Set::Artifacts]));
        check(r#"{"offer": []}"#, Ok(&[]));
        check(r#"{"offer": ["workspace", "workspace"]}"#, Ok(&[Set::Workspace]));
        let all = r#"{"offer": ["jobs", "artifacts", "skills", "agent", "web", "shell", "workspace"], "exposure": "search"}"#;
        check(all, Ok(&Set::ALL));
        check(r#"{"offer": [], "exposure": "search"}"#, Ok(&[Set::Catalogue]));
        check(
            r#"{"offer": ["workspce"]}"#,
            Err(
                "unknown variant `workspce`, expected one of `workspace`, `shell`, `web`, `agent`, `skills`, `artifacts`, `jobs` at line 1 column 21",
            ),
        );
        check(
            r#"{"offers": []}"#,
            Err(
                "unknown field `offers`, expected one of `offer`, `exposure`, `skills`, `read_kib`, `list_entries`, `image_edge` at line 1 column 9",
            ),
        );
    }
}
