//! Attributes that switch a lint off: never without a reason, and never the ban on unsafe code.

use super::tree::{Finding, Tree};

/// The folder whose crate may hold unsafe code.
const UNSAFE_HOME: &str = "crates/sandbox/";

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        for (number, line) in file.lines() {
            if !["#[allow(", "#![allow(", "#[expect(", "#![expect("]
                .iter()
                .any(|it| line.trim_start().starts_with(it))
            {
                continue;
            }
            let attribute = whole(file.text.lines().skip(number - 1));
            if !attribute.contains("reason =") {
                findings
                    .push(file.at(number, "switches a lint off without saying why: add `reason = \"…\"`"));
            }
            if attribute.contains("unsafe_code") && !file.path.starts_with(UNSAFE_HOME) {
                findings.push(file.at(number, "unsafe code has one home, and this is not it"));
            }
        }
    }
    findings
}

/// The attribute that begins with the first line, over as many lines as it takes.
fn whole<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut attribute = String::new();
    for line in lines {
        attribute.push_str(line);
        if line.trim_end().ends_with(")]") {
            break;
        }
    }
    attribute
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    const BARE: &str = "switches a lint off without saying why: add `reason = \"…\"`";

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(found(look, &[(path, text)]), expected);
    }

    #[test]
    fn a_reason_is_wanted() {
        check("a.rs", "#[expect(dead_code, reason = \"why\")]\nfn a() {}\n", &[]);
        check("a.rs", "#![expect(\n    dead_code,\n    reason = \"why\"\n)]\nfn a() {}\n", &[]);
        check(
            "a.rs",
            "fn a() {\n    #[allow(dead_code)]\n    let b = 1;\n}\n",
            &[&format!("a.rs:2: {BARE}")],
        );
        check("a.rs", "#![allow(\n    dead_code\n)]\n// reason = none\n", &[&format!("a.rs:1: {BARE}")]);
    }

    #[test]
    fn unsafe_code_has_one_home() {
        let text = "#![allow(unsafe_code, reason = \"why\")]\n";
        check("crates/sandbox/src/a.rs", text, &[]);
        check(
            "crates/gate/src/a.rs",
            text,
            &["crates/gate/src/a.rs:1: unsafe code has one home, and this is not it"],
        );
    }
}
