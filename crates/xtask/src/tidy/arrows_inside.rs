//! Which file of a crate takes something from which other: an arrow for each pair, whatever hands it on between.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Module, Words};

/// A path that leads through more hands than this leads in a circle.
const HANDS_MAX: usize = 16;

/// An arrow: who takes, and from whom, as modules' paths.
pub(super) type Arrow = (Words, Words);

pub(super) fn arrows(modules: &BTreeMap<Words, Module>) -> BTreeSet<Arrow> {
    let mut arrows = BTreeSet::new();
    for (path, module) in modules {
        let used_here = module.handed_on.iter().filter(|(name, _)| module.uses(name));
        // The paths that begin with an import lead where the import leads.
        let through_imports = module.paths.iter().filter_map(|words| {
            let (_, start) = module.imports.iter().find(|(name, _)| *name == words[0])?;
            Some([start, &words[1..]].concat())
        });
        let written = module.imports.iter().chain(used_here).map(|(_, words)| words.clone());
        for words in written.chain(module.paths.iter().cloned()).chain(through_imports) {
            let found = absolute(modules, path, &words).and_then(|words| defines(modules, &words, HANDS_MAX));
            if let Some(file) = found.filter(|file| file != path && !path.is_empty()) {
                arrows.insert((path.clone(), file));
            }
        }
    }
    arrows
}

/// A path from the crate's root; none if it leads out of the crate, or names no module at all.
fn absolute(modules: &BTreeMap<Words, Module>, from: &[String], words: &[String]) -> Option<Words> {
    let (first, rest) = words.split_first()?;
    let mut base = from.to_vec();
    match first.as_str() {
        "crate" => return Some(rest.to_vec()),
        "self" => return Some([from, rest].concat()),
        "super" => {
            base.pop()?;
            let mut rest = rest;
            while rest.first().is_some_and(|word| word == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
            return Some([base.as_slice(), rest].concat());
        }
        _ => base.push(first.clone()),
    }
    modules.contains_key(&base).then(|| [base.as_slice(), rest].concat())
}

/// The module whose file defines what a path from the root names; none for a path to a module itself.
fn defines(modules: &BTreeMap<Words, Module>, words: &[String], hands: usize) -> Option<Words> {
    let depth = (0..=words.len()).rev().find(|&length| modules.contains_key(&words[..length]))?;
    let (path, rest) = words.split_at(depth);
    let (name, hands) = (rest.first()?, hands.checked_sub(1)?);
    let module = &modules[path];
    let handed = module.handed_on.iter().find(|(handed, _)| handed == name);
    if let Some((_, target)) = handed {
        // From another crate, if it leads nowhere here.
        let target = absolute(modules, path, target)?;
        return match modules.contains_key(&target) {
            true if rest.len() == 1 => None,
            _ => defines(modules, &[&target, &rest[1..]].concat(), hands),
        };
    }
    Some(path.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::modules;
    use super::super::tree::Source;
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(&format!("src/{path}"), text)).collect();
        let modules = modules::read("src/", &files.iter().collect::<Vec<_>>()).expect("Rust");
        let arrows = arrows(&modules);
        let lines: Vec<String> =
            arrows.iter().map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::"))).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn an_arrow_leads_to_the_file_that_defines_the_name() {
        let root = ("lib.rs", "mod a; mod b; pub use a::inner::Thing; pub use other::Foreign;");
        let a = [("a.rs", "mod inner; pub(crate) use inner::Thing;"), ("a/inner.rs", "pub struct Thing;")];
        for import in ["crate::Thing", "super::Thing", "crate::a::Thing", "crate::a::inner::Thing"] {
            let user = format!("use {import}; fn f(_: Thing) {{}}");
            check(&[root, a[0], a[1], ("b.rs", &user)], &["b -> a::inner"]);
            let path = format!("fn f(_: {import}) {{ println!(\"{{}}\", 1); }}");
            check(&[root, a[0], a[1], ("b.rs", &path)], &["b -> a::inner"]);
        }
        check(&[root, a[0], a[1], ("b.rs", "fn f() { vec![crate::a::inner::Thing]; }")], &["b -> a::inner"]);
        check(&[root, a[0], a[1], ("b.rs", "use crate::a; fn f(_: a::Thing) {}")], &["b -> a::inner"]);
        check(&[root, a[0], a[1], ("b.rs", "use crate::{Foreign, a};")], &[]);
    }

    #[test]
    fn what_a_parent_hands_on_is_an_arrow_only_where_it_uses_it() {
        let child = ("a/b.rs", "pub struct B;");
        check(&[("lib.rs", "mod a;"), ("a.rs", "mod b; pub use b::B;"), child], &[]);
        check(&[("lib.rs", "mod a;"), ("a.rs", "mod b; pub use b::B; struct A(B);"), child], &["a -> a::b"]);
        let up = ("a/b.rs", "use super::A; pub struct B(A);");
        check(
            &[("lib.rs", "mod a;"), ("a.rs", "mod b; use b::B; struct A(B);"), up],
            &["a -> a::b", "a::b -> a"],
        );
    }

    #[test]
    fn tests_draw_no_arrow() {
        let root = "mod a; mod b; #[cfg(test)] mod samples;";
        let with_tests = "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }";
        let samples = ("samples.rs", "use crate::b::B;");
        check(&[("lib.rs", root), ("a.rs", with_tests), ("b.rs", "pub struct B;"), samples], &[]);
    }
}
