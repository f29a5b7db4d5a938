//! What the tests install is pinned: one exact version each, never a range or a tag, and by its hash where a lock file
//! names it. No lock file names the registry that it came from.

use super::tree::{Finding, Source, Tree};

/// Where the versions are written that no lock file has.
const LIST: &str = "crates/xtask/src/install/pins.rs";

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().flat_map(look_at).collect()
}

fn look_at(file: &Source) -> Vec<Finding> {
    match file.path.rsplit('/').next().unwrap_or_default() {
        _ if file.path == LIST => unpinned(file, |line| line.split('"').skip(1).step_by(2).collect()),
        "package.json" => unpinned(file, |line| dependency(line).into_iter().collect()),
        "requirements.in" => unpinned(file, |line| vec![line.trim()]),
        "package-lock.json" => unhashed_npm(file),
        "requirements.txt" => unhashed_python(file),
        _ => Vec::new(),
    }
}

/// What is installable in a line that is no comment, and not pinned.
fn unpinned(file: &Source, words: impl Fn(&str) -> Vec<&str>) -> Vec<Finding> {
    let is_said = |line: &str| !line.trim_start().starts_with("//") && !line.starts_with('#');
    let mut findings = Vec::new();
    for (number, line) in file.lines().filter(|(_, line)| is_said(line)) {
        for package in words(line).into_iter().filter(|text| looks_installable(text)) {
            if !is_pinned(package) {
                findings.push(file.at(number, format!("`{package}` needs one exact version")));
            }
        }
    }
    findings
}

/// The version in a line of a `package.json`, which has a dependency's four spaces before it.
fn dependency(line: &str) -> Option<&str> {
    let version = line.strip_prefix("    \"")?.split_once("\": \"")?.1;
    version.trim_end_matches([',', ' ']).strip_suffix('"')
}

fn unhashed_npm(file: &Source) -> Vec<Finding> {
    let Ok(lock) = serde_json::from_str::<serde_json::Value>(&file.text) else {
        return vec![file.at(0, "is no JSON")];
    };
    let packages = lock["packages"].as_object().into_iter().flatten().filter(|(path, _)| !path.is_empty());
    packages
        .filter_map(|(path, package)| {
            if package.get("resolved").is_some() {
                return Some(file.at(0, format!("`{path}` names its registry: run `cargo xtask lock`")));
            }
            // What lies in another package's archive has no hash but that archive's.
            let is_hashed = package.get("integrity").is_some() || package["inBundle"] == true;
            (!is_hashed).then(|| file.at(0, format!("`{path}` has no hash")))
        })
        .collect()
}

fn unhashed_python(file: &Source) -> Vec<Finding> {
    let next = file.text.lines().skip(1).chain([""]);
    let mut findings = Vec::new();
    for ((number, line), next) in file.lines().zip(next) {
        let is_package = line.starts_with(|c: char| c.is_ascii_alphanumeric());
        if is_package && !next.trim_start().starts_with("--hash=sha256:") {
            findings.push(file.at(number, "has no hash"));
        }
        if line.contains("://") {
            findings.push(file.at(number, "names a registry: run `cargo xtask lock`"));
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

    fn check_file(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(found(look, &[(path, text)]), expected);
    }

    #[test]
    fn what_is_asked_for_is_exact_and_what_is_locked_has_a_hash_and_no_registry() {
        let json = "{\n  \"type\": \"^1\",\n  \"dependencies\": {\n    \"a\": \"^1.2.3\",\n    \"b\": \"npm:c@1.2.3\"\n";
        check_file("x/package.json", json, &["x/package.json:4: `^1.2.3` needs one exact version"]);
        check_file(
            "requirements.in",
            "# why\na==1.2.3\nb>=1\n",
            &["requirements.in:3: `b>=1` needs one exact version"],
        );
        let lock = r#"{"packages":{"":{},"m/a":{"integrity":"x"},"m/b":{},"m/c":{"integrity":"x","resolved":"y"},
            "m/a/m/d":{"inBundle":true},"m/e":{"inBundle":false}}}"#;
        let said = [
            "package-lock.json: `m/b` has no hash",
            "package-lock.json: `m/c` names its registry: run `cargo xtask lock`",
            "package-lock.json: `m/e` has no hash",
        ];
        check_file("package-lock.json", lock, &said);
        let lock = "a==1 \\\n    --hash=sha256:x\nb==2\nc @ https://d \\\n    --hash=sha256:x\n";
        let said = [
            "requirements.txt:3: has no hash",
            "requirements.txt:4: names a registry: run `cargo xtask lock`",
        ];
        check_file("requirements.txt", lock, &said);
    }
}
