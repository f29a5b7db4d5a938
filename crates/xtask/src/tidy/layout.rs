//! Where a file lies and how it opens: a library's root has the crate's name, and every file has a head.

use super::tree::{Finding, Tree};

/// No file named for its folder's role, since a dozen tabs called the same help nobody.
pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        match file.path.rsplit('/').next() {
            Some("mod.rs") => findings.push(file.at(0, "name the file after the module, beside its folder")),
            Some("lib.rs") => findings.push(file.at(0, "name the library's root after the crate")),
            _ => {}
        }
    }
    for (name, manifest) in tree.manifests() {
        let root = format!("{}.rs", name.replace('-', "_"));
        let has = |file: &str| tree.files.iter().any(|it| it.path == format!("crates/{name}/src/{file}"));
        if !has(&root) && !has("main.rs") {
            findings.push(manifest.at(0, format!("has neither src/{root} nor src/main.rs")));
        }
    }
    findings
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
    fn a_root_is_named_after_its_crate() {
        let good = [("crates/tool-api/Cargo.toml", ""), ("crates/tool-api/src/tool_api.rs", "")];
        assert!(found(look, &good).is_empty());
        assert!(found(look, &[("crates/a/Cargo.toml", ""), ("crates/a/src/main.rs", "")]).is_empty());
        let bad = [("crates/a/Cargo.toml", ""), ("crates/a/src/lib.rs", ""), ("crates/a/src/b/mod.rs", "")];
        let expected = [
            "crates/a/src/lib.rs: name the library's root after the crate",
            "crates/a/src/b/mod.rs: name the file after the module, beside its folder",
            "crates/a/Cargo.toml: has neither src/a.rs nor src/main.rs",
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
