//! Which crate may depend on which: the table of ARCHITECTURE.md, which the manifests are held to.

use super::tree::{Finding, Source, Tree};

/// The page with the table. A new arrow needs a word there.
const PAGE: &str = "ARCHITECTURE.md";

/// How the table begins.
const HEAD: &str = "| crate | its sentence | may depend on |";

/// Crates, and those of ours that they may use.
struct Row<'a> {
    names: Vec<&'a str>,
    may_use: May<'a>,
}

enum May<'a> {
    Only(Vec<&'a str>),
    /// It puts the others together, or helps to test them.
    All,
}

/// The rows of the table; none if the page has no such table.
fn table(page: &Source) -> Vec<Row<'_>> {
    let rows = page.text.lines().skip_while(|line| *line != HEAD).skip(2);
    rows.map_while(|line| row(line.strip_prefix('|')?)).collect()
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut cells = line.split('|').map(str::trim);
    let (names, arrows) = (quoted(cells.next()?), cells.nth(1)?);
    // Without an answer: it helps in development, and is not part of what ships.
    let may_use = match arrows {
        "all" => May::All,
        _ => May::Only(quoted(arrows)),
    };
    Some(Row { names, may_use })
}

/// What stands between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// For development only: every crate may have it in its tests, none in what ships.
const TEST_HELPER: &str = "testkit";

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(page) = tree.files.iter().find(|file| file.path == PAGE) else { return findings };
    let table = table(page);
    for (name, file) in tree.manifests() {
        let Some(row) = table.iter().find(|row| row.names.contains(&name)) else {
            findings.push(file.at(0, format!("the table of crates in {PAGE} has no row for `{name}`")));
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
            let is_ours = table.iter().any(|row| row.names.contains(&used.as_str()));
            if !is_ours || allowed(row, &used, for_tests) {
                continue;
            }
            let line = file.lines().find(|(_, line)| line.starts_with(&used)).map_or(0, |(number, _)| number);
            findings.push(file.at(line, format!("`{name}` may not depend on `{used}`")));
        }
    }
    findings
}

fn allowed(row: &Row<'_>, used: &str, for_tests: bool) -> bool {
    if used == TEST_HELPER {
        return for_tests;
    }
    match &row.may_use {
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
        let page = "# Crates\n\n| crate | its sentence | may depend on |\n|---|---|---|\n\
            | `sandbox` | holds | – |\n| `policy` | decides | – |\n| `tools`, `server` | do | `sandbox` |\n\
            | `gate` | is one | `policy`, `sandbox` |\n| `toolcrib` | is all | all |\n| `wire` | spells | – |\n\
            | `testkit` | tests | all |\n\nAnd more.\n";
        let manifest = (&*format!("crates/{name}/Cargo.toml"), manifest);
        assert_eq!(found(look, &[(PAGE, page), manifest]), expected);
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
        check(
            "junk",
            "",
            &["crates/junk/Cargo.toml: the table of crates in ARCHITECTURE.md has no row for `junk`"],
        );
    }
}
