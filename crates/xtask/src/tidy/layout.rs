//! Where a file lies and how it opens: a library's root holds modules and re-exports alone, and every file has a head.

use super::tree::{Finding, Tree};

/// No file named for its folder's role, since a dozen tabs called the same help nobody.
pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        match file.path.rsplit('/').next() {
            Some("mod.rs") => findings.push(file.at(0, "name the file after the module, beside its folder")),
            Some("lib.rs") => findings.extend(definition(&file.text).map(|line| {
                file.at(
                    line,
                    "a library's root holds modules and re-exports alone: give this a file of its own",
                )
            })),
            _ => {}
        }
    }
    for (name, manifest) in tree.manifests() {
        let has = |file: &str| tree.files.iter().any(|it| it.path == format!("crates/{name}/src/{file}"));
        if !has("lib.rs") && !has("main.rs") {
            findings.push(manifest.at(0, "has neither src/lib.rs nor src/main.rs"));
        }
    }
    findings
}

/// The first line of a library's root that defines something. What is private there is open to every module.
fn definition(text: &str) -> Option<usize> {
    const KEYWORDS: &[&str] = &[
        "fn",
        "struct",
        "enum",
        "union",
        "trait",
        "const",
        "static",
        "type",
        "impl",
        "macro_rules!",
        "async",
    ];
    let defines = |line: &str| {
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        line.split([' ', '<']).next().is_some_and(|word| KEYWORDS.contains(&word))
    };
    text.lines().position(defines).map(|index| index + 1)
}

/// Every source file says at its top what it is for.
pub(super) fn heads(tree: &Tree) -> Vec<Finding> {
    let has_head = |text: &str, test: bool| text.starts_with("//! ") || (test && text.starts_with("// "));
    tree.ending(".rs")
        .filter(|file| !has_head(&file.text, file.is_test()))
        .map(|file| file.at(1, "open with a `//!` line: what the file is for, and what it leaves to others"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_root_holds_modules_and_re_exports_alone() {
        let root = "//! What it is.\n\nmod b;\npub mod c;\n\npub use b::{B, b};\n";
        assert!(found(look, &[("crates/a/Cargo.toml", ""), ("crates/a/src/lib.rs", root)]).is_empty());
        assert!(found(look, &[("crates/a/Cargo.toml", ""), ("crates/a/src/main.rs", "")]).is_empty());
        for line in ["pub struct B;", "fn b() {}", "pub(crate) const B: u8 = 1;", "impl<T> B<T> {}"] {
            let root = format!("//! What it is.\n\nmod b;\n{line}\n");
            let expected = "crates/a/src/lib.rs:4: a library's root holds modules and re-exports alone: give this a file of its own";
            let bad = [("crates/a/Cargo.toml", ""), ("crates/a/src/lib.rs", root.as_str())];
            assert_eq!(found(look, &bad), [expected]);
        }
    }

    #[test]
    fn a_file_named_for_its_role_is_found() {
        let bad = [("crates/a/Cargo.toml", ""), ("crates/a/src/a.rs", ""), ("crates/a/src/b/mod.rs", "")];
        let expected = [
            "crates/a/src/b/mod.rs: name the file after the module, beside its folder",
            "crates/a/Cargo.toml: has neither src/lib.rs nor src/main.rs",
        ];
        assert_eq!(found(look, &bad), expected);
    }

    #[test]
    fn a_file_without_a_head_is_found() {
        let good = [("a.rs", "//! What it is for.\n"), ("a/tests/b.rs", "// A sample.\n")];
        assert!(found(heads, &good).is_empty());
        assert_eq!(found(heads, &[("a.rs", "// A sample.\n"), ("b.rs", "use c;\n"), ("c.rs", "")]).len(), 3);
    }
}
