//! What no file may name: a package registry's host, or a folder of one developer's machine.
//!
//! The names are put together from pieces, so that this file does not break its own rule.

use super::tree::{Finding, Tree};

/// Hosts of package registries: which one serves is the machine's configuration, not ours.
const HOSTS: &[[&str; 2]] = &[
    ["index.cr", "ates"],
    ["static.cr", "ates"],
    ["npm", "js."],
    ["registry.ya", "rnpkg"],
    ["python", "hosted"],
    ["pyp", "i.org"],
    ["deb.deb", "ian"],
];

/// Folders that are somebody's own.
const FOLDERS: &[[&str; 2]] = &[
    ["/fa", "rm/"],
    ["/work/", "main"],
    ["/work/", "steering"],
    ["/work/", "shared"],
    ["/work/", "."],
    ["/ro", "ot/"],
];

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_lock = |path: &str| path.ends_with(".lock") || path.ends_with("lock.json");
    for file in tree.files.iter().filter(|file| !is_lock(&file.path)) {
        for (number, line) in file.lines() {
            let names = |list: &[[&str; 2]]| list.iter().any(|pieces| line.contains(&pieces.concat()));
            if names(HOSTS) {
                findings.push(file.at(number, "names a package registry's host"));
            }
            if names(FOLDERS) {
                findings.push(file.at(number, "names a folder of one machine"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn every_name_is_found_wherever_it_stands() {
        for pieces in HOSTS.iter().chain(FOLDERS) {
            let text = format!("# A page\n\nsee https:/{}x\n", pieces.concat());
            assert_eq!(found(look, &[("docs/a.md", &text)]).len(), 1, "{text}");
            assert!(found(look, &[("Cargo.lock", &text), ("e2e/package-lock.json", &text)]).is_empty());
        }
    }

    #[test]
    fn an_example_path_is_not_a_machine() {
        assert!(found(look, &[("a.md", "`/workspace/notes.md`, `/home/you/project`, root/\n")]).is_empty());
    }
}
