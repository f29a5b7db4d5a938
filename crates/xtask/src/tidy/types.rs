//! No crate has two types of one name: whoever reads `Held` knows which one it is.

use std::collections::BTreeMap;

use super::tree::{Finding, Source, Tree};

/// What is defined at the margin is a type of its module; an associated type stands within something.
const KEYWORDS: [&str; 5] = ["struct ", "enum ", "union ", "trait ", "type "];

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in tree.ending(".rs").filter(|file| file.is_shipped()) {
        let Some(name_of_crate) = file.path.split('/').nth(1) else { continue };
        for (number, name) in types(file) {
            if let Some(other) = first.insert((name_of_crate, name), &file.path) {
                let what = format!("`{name}` is a type of {other}, too: give one of them another name");
                findings.push(file.at(number, what));
            }
        }
    }
    findings
}

fn types(file: &Source) -> impl Iterator<Item = (usize, &str)> {
    file.lines_before_tests().filter_map(|(number, line)| {
        let rest = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ")?.1,
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let name = KEYWORDS.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
        let end = name.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'))?;
        Some((number, &name[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    const FIRST: (&str, &str) = ("crates/a/src/b.rs", "struct Held {\n    x: u8,\n}\n");

    #[track_caller]
    fn check(path: &str, text: &str, is_found: bool) {
        assert_eq!(!found(look, &[FIRST, (path, text)]).is_empty(), is_found, "{path} {text}");
    }

    #[test]
    fn a_name_is_a_types_once_in_a_crate() {
        check("crates/a/src/c.rs", "pub(super) enum Held<T> {\n}\n", true);
        check("crates/a/src/c/d.rs", "pub type Held = u8;\n", true);
        check("crates/a/src/c.rs", "struct Holder;\nstruct HeldFile;\n", false);
        check("crates/a/src/c.rs", "impl Tool for A {\n    type Held = u8;\n}\n", false);
        check("crates/z/src/c.rs", "struct Held;\n", false);
        check("crates/a/src/c.rs", "#[cfg(test)]\nmod tests {\nstruct Held;\n}\n", false);
        check("crates/a/tests/c.rs", "struct Held;\n", false);
    }
}
