//! Which scenarios a revision's requirement set counts: the lists that the suite's package brings with it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

/// The scenarios that count for one revision.
pub(super) struct Requirements {
    pub(super) server: Vec<String>,
    pub(super) client: Vec<String>,
    /// What it runs and does not count, for servers and for clients.
    not_scored: Vec<(String, bool)>,
}

impl Requirements {
    /// The set of a revision, from beside the suite's script.
    pub(super) fn of(suite: &Path, revision: &str) -> anyhow::Result<Self> {
        let package =
            suite.parent().and_then(Path::parent).context("the suite's script lies in its package")?;
        let file = package.join("requirements").join(format!("{revision}.yaml"));
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let found = Self {
            server: list(&text, "server"),
            client: list(&text, "client"),
            not_scored: not_scored(&text),
        };
        ensure!(!found.server.is_empty() && !found.client.is_empty(), "{} has no lists", file.display());
        Ok(found)
    }
}

impl Requirements {
    /// What the set runs and does not count: of clients, or of servers.
    pub(super) fn not_scored(&self, of_clients: bool) -> impl Iterator<Item = &String> {
        self.not_scored.iter().filter(move |(_, client)| *client == of_clients).map(|(name, _)| name)
    }
}

/// The entries of the last list: a name, and on the next line whether it is of clients.
fn not_scored(text: &str) -> Vec<(String, bool)> {
    let lines: Vec<&str> = text.lines().skip_while(|line| *line != "not_scored:").collect();
    let name = |line: &str| line.trim().strip_prefix("- scenario: ").map(str::to_owned);
    let is_client = |line: &str| line.trim() == "leg: client";
    lines.windows(2).filter_map(|pair| Some((name(pair[0])?, is_client(pair[1])))).collect()
}

/// The names below a key. The files are lists of plain names, so no more of YAML is needed than this.
fn list(text: &str, key: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let below = lines.skip_while(|line| line.strip_suffix(':') != Some(key)).skip(1);
    let inside = below.take_while(|line| line.is_empty() || line.starts_with(' '));
    inside.filter_map(|line| Some(line.trim().strip_prefix("- ")?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# About.\n\nserver:\n  - a\n  # why\n  - b/c\n\nclient:\n  - d\nnot_scored:\n  - scenario: e\n    leg: client\n  - scenario: f\n    leg: server\n";

    #[test]
    fn each_list_ends_where_the_next_begins() {
        assert_eq!(list(FILE, "server"), ["a", "b/c"]);
        assert_eq!(list(FILE, "client"), ["d"]);
        assert!(list(FILE, "other").is_empty());
        assert_eq!(not_scored(FILE), [("e".to_owned(), true), ("f".to_owned(), false)]);
    }

    #[test]
    fn a_set_without_lists_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(folder.path().join("requirements")).expect("a folder");
        fs::write(folder.path().join("requirements/2025-11-25.yaml"), "server: []\n").expect("a file");
        let suite = folder.path().join("dist/index.js");
        let error = Requirements::of(&suite, "2025-11-25").err().expect("there is nothing in it");
        assert!(error.to_string().ends_with("2025-11-25.yaml has no lists"), "{error}");
        let error = Requirements::of(&suite, "2024-11-05").err().expect("there is no such file");
        assert!(error.to_string().starts_with("cannot read "), "{error}");
    }
}
