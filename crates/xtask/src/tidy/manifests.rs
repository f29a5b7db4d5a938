//! Every crate is held to the workspace's lints, and only `sandbox` may lift the ban on unsafe code.

use super::tree::{Finding, Source, Tree};

/// The only home of unsafe code. It repeats the workspace's other lints, since a manifest takes all or none.
const UNSAFE_HOME: &str = "sandbox";

const UNSAFE_LINT: &str = "unsafe_code";

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let workspace = tree.files.iter().find(|file| file.path == "Cargo.toml");
    let root: toml::Table = workspace.and_then(|file| file.text.parse().ok()).unwrap_or_default();
    let lints = root.get("workspace").and_then(|it| it.get("lints"));
    let mut findings = Vec::new();
    if let Some(file) = workspace
        && lint(lints, "rust", UNSAFE_LINT).and_then(toml::Value::as_str) != Some("forbid")
    {
        findings.push(file.at(0, "the workspace must forbid unsafe code"));
    }
    for (name, file) in tree.manifests() {
        let manifest: toml::Table = file.text.parse().unwrap_or_default();
        let own = manifest.get("lints");
        if own.and_then(|it| it.get("workspace")).and_then(toml::Value::as_bool) == Some(true) {
            continue;
        }
        if name == UNSAFE_HOME {
            findings.extend(own_lints(file, own, lints));
        } else {
            findings.push(file.at(0, "needs `[lints] workspace = true`"));
        }
    }
    findings
}

/// What the unsafe home's own lints leave out of the workspace's.
fn own_lints(file: &Source, own: Option<&toml::Value>, workspace: Option<&toml::Value>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in ["rust", "clippy"] {
        let all = workspace.and_then(|it| it.get(group)).and_then(toml::Value::as_table);
        for (name, level) in all.into_iter().flatten().filter(|(name, _)| *name != UNSAFE_LINT) {
            if lint(own, group, name) != Some(level) {
                findings.push(file.at(0, format!("needs the workspace's lint {group}.{name} = {level}")));
            }
        }
    }
    findings
}

fn lint<'a>(lints: Option<&'a toml::Value>, group: &str, name: &str) -> Option<&'a toml::Value> {
    lints?.get(group)?.get(name)
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    const ROOT: (&str, &str) =
        ("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"warn\"\n");

    fn check(manifest: (&str, &str), expected: &[&str]) {
        assert_eq!(found(look, &[ROOT, manifest]), expected);
    }

    #[test]
    fn every_crate_takes_the_lints_of_the_workspace() {
        check(("crates/gate/Cargo.toml", "[lints]\nworkspace = true\n"), &[]);
        let missing = "crates/gate/Cargo.toml: needs `[lints] workspace = true`";
        check(("crates/gate/Cargo.toml", "[package]\n"), &[missing]);
        check(("crates/gate/Cargo.toml", "[lints.rust]\nunsafe_code = \"allow\"\n"), &[missing]);
    }

    #[test]
    fn the_home_of_unsafe_code_keeps_the_other_lints() {
        let good = "[lints.rust]\nunsafe_code = \"deny\"\nmissing_docs = \"warn\"\n";
        check(("crates/sandbox/Cargo.toml", good), &[]);
        let missing = r#"crates/sandbox/Cargo.toml: needs the workspace's lint rust.missing_docs = "warn""#;
        check(("crates/sandbox/Cargo.toml", "[lints.rust]\nunsafe_code = \"allow\"\n"), &[missing]);
    }

    #[test]
    fn the_workspace_forbids_unsafe_code() {
        let said = found(look, &[("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"warn\"\n")]);
        assert_eq!(said, ["Cargo.toml: the workspace must forbid unsafe code"]);
    }
}
