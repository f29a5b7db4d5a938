//! What the tests install is pinned: one exact version each, never a range or a tag.

use super::tree::{Finding, Tree};

/// Where the versions are written.
const LIST: &str = "crates/xtask/src/install/pins.rs";

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path == LIST) {
        for (number, line) in file.lines().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for package in line.split('"').skip(1).step_by(2).filter(|text| looks_installable(text)) {
                if !is_pinned(package) {
                    findings.push(file.at(number, format!("`{package}` needs one exact version")));
                }
            }
        }
    }
    findings
}

/// Whether a text of the list names a package or a version, rather than a program.
fn looks_installable(text: &str) -> bool {
    text.contains(['@', '=', '<', '>', '^', '~', '*']) || text.starts_with(|c: char| c.is_ascii_digit())
}

/// `name@1.2.3`, `name==1.2.3` or `1.2.3`, or one before its release: `1.2.3-alpha.4`.
fn is_pinned(package: &str) -> bool {
    let version = match (package.rsplit_once("=="), package.rsplit_once('@')) {
        (Some((_, version)), _) => version,
        (None, Some((name, version))) if !name.is_empty() => version,
        (None, Some(_)) => return false,
        (None, None) => package,
    };
    let (release, before) = version.split_once('-').map_or((version, None), |(a, b)| (a, Some(b)));
    let parts: Vec<&str> = release.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_exact = |before: &str| before.rsplit_once('.').is_some_and(|(_, last)| is_number(&last));
    parts.len() >= 3 && parts.iter().all(is_number) && before.is_none_or(is_exact)
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(package: &str, pinned: bool) {
        let text = format!("//! \"a@latest\"\nconst A: &[&str] = &[\"b@1.2.3\", \"{package}\"];\n");
        let said = format!("{LIST}:2: `{package}` needs one exact version");
        let expected = if pinned { vec![] } else { vec![said] };
        assert_eq!(found(look, &[(LIST, &text)]), expected);
    }

    #[test]
    fn only_exact_versions_are_pins() {
        for package in [
            "@scope/name@1.32.2",
            "mcp==2.3.0",
            "name@2026.8.31",
            "24.21.0",
            "cargo-deny",
            "a@0.2.0-alpha.12",
        ] {
            check(package, true);
        }
        for package in [
            "@scope/name",
            "name@latest",
            "name@^1.2.3",
            "name@1.2",
            "mcp>=2.3.0",
            "mcp==2.*",
            "24",
            "a@1.2.3-alpha",
            "a@1.2.3-",
        ] {
            check(package, false);
        }
    }
}
