//! Which crate may depend on which: the architecture, as one table.

use super::tree::{Finding, Tree};

/// A crate, and those of ours that it may use. A new arrow needs a word in ARCHITECTURE.md.
struct Row {
    name: &'static str,
    may_use: May,
}

enum May {
    Only(&'static [&'static str]),
    /// It puts the others together, or helps to test them.
    All,
}

const TABLE: &[Row] = &[
    Row { name: "units", may_use: May::Only(&[]) },
    Row { name: "wire", may_use: May::Only(&[]) },
    Row { name: "sandbox", may_use: May::Only(&[]) },
    Row { name: "policy", may_use: May::Only(&["units"]) },
    Row { name: "redact", may_use: May::Only(&[]) },
    Row { name: "rules", may_use: May::Only(&[]) },
    Row { name: "store", may_use: May::Only(&[]) },
    Row { name: "telemetry", may_use: May::Only(&["sandbox"]) },
    Row { name: "oauth", may_use: May::Only(&["sandbox"]) },
    Row { name: "tool-api", may_use: May::Only(&["sandbox"]) },
    Row { name: "audit", may_use: May::Only(&["units", "store", "redact"]) },
    Row { name: "tools", may_use: May::Only(&["tool-api"]) },
    Row { name: "scripts", may_use: May::Only(&["tool-api"]) },
    Row { name: "contracts", may_use: May::Only(&["tool-api"]) },
    Row {
        name: "upstream",
        may_use: May::Only(&["units", "tool-api", "wire", "oauth", "redact", "sandbox"]),
    },
    Row {
        name: "gate",
        may_use: May::Only(&[
            "units",
            "tool-api",
            "policy",
            "rules",
            "redact",
            "store",
            "audit",
            "telemetry",
            "sandbox",
        ]),
    },
    Row { name: "server", may_use: May::Only(&["gate", "wire", "audit", "store", "telemetry", "sandbox"]) },
    Row { name: "toolcrib", may_use: May::All },
    Row { name: "testkit", may_use: May::All },
    Row { name: "xtask", may_use: May::Only(&[]) },
];

/// For development only: every crate may have it in its tests, none in what ships.
const TEST_HELPER: &str = "testkit";

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, file) in tree.manifests() {
        let Some(row) = TABLE.iter().find(|row| row.name == name) else {
            findings.push(file.at(0, format!("the table of arrows has no row for `{name}`")));
            continue;
        };
        let manifest: toml::Table = match file.text.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                findings.push(file.at(0, format!("not TOML: {}", error.message())));
                continue;
            }
        };
        for (used, for_tests) in dependencies(&manifest) {
            if !TABLE.iter().any(|row| row.name == used) || allowed(row, &used, for_tests) {
                continue;
            }
            let line = file.lines().find(|(_, line)| line.starts_with(&used)).map_or(0, |(number, _)| number);
            findings.push(file.at(line, format!("`{name}` may not depend on `{used}`")));
        }
    }
    findings
}

fn allowed(row: &Row, used: &str, for_tests: bool) -> bool {
    if used == TEST_HELPER {
        return for_tests;
    }
    match row.may_use {
        May::Only(list) => list.contains(&used),
        May::All => true,
    }
}

/// The packages a manifest names, each with whether only tests get it.
fn dependencies(manifest: &toml::Table) -> Vec<(String, bool)> {
    let for_targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets =
        for_targets.into_iter().flat_map(|targets| targets.values().filter_map(toml::Value::as_table));
    let mut all = Vec::new();
    for part in [manifest].into_iter().chain(targets) {
        for (section, for_tests) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let Some(section) = part.get(section).and_then(toml::Value::as_table) else { continue };
            all.extend(section.iter().map(|(key, value)| {
                // A dependency may be known here under another name.
                let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
                (package.to_owned(), for_tests)
            }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(name: &str, manifest: &str, expected: &[&str]) {
        assert_eq!(found(look, &[(&format!("crates/{name}/Cargo.toml"), manifest)]), expected);
    }

    #[test]
    fn an_arrow_in_the_table_is_allowed() {
        check(
            "gate",
            "[dependencies]\nsandbox.workspace = true\npolicy.workspace = true\nserde = \"1\"\n",
            &[],
        );
        check("wire", "[dev-dependencies]\ntestkit.workspace = true\n", &[]);
        check("toolcrib", "[dependencies]\ntools.workspace = true\nserver.workspace = true\n", &[]);
        check("testkit", "[dependencies]\ngate.workspace = true\n", &[]);
    }

    #[test]
    fn any_other_arrow_is_found() {
        let gate = "crates/gate/Cargo.toml:2: `gate` may not depend on `tools`";
        check("gate", "[dependencies]\ntools.workspace = true\n", &[gate]);
        check("gate", "[dev-dependencies]\ntools.workspace = true\n", &[gate]);
        check("gate", "[target.'cfg(unix)'.dependencies]\ntools.workspace = true\n", &[gate]);
        let renamed = "[build-dependencies]\ncraft = { package = \"tools\", path = \"../tools\" }\n";
        check("gate", renamed, &["crates/gate/Cargo.toml: `gate` may not depend on `tools`"]);
        let shipped = "crates/toolcrib/Cargo.toml:2: `toolcrib` may not depend on `testkit`";
        check("toolcrib", "[dependencies]\ntestkit.workspace = true\n", &[shipped]);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        check("junk", "", &["crates/junk/Cargo.toml: the table of arrows has no row for `junk`"]);
    }
}
