//! The vocabulary has every word of the protocol that this crate spells.

#![expect(clippy::disallowed_methods, reason = "the test reads the sources")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wire::vocabulary::{Holds, members, meta_keys};

/// Literals of JSON, what stands below a key of an extension in `_meta`, and members of an extension's own results.
const NO_MEMBERS: [&str; 7] = ["false", "null", "resourceUri", "skill", "skills", "true", "ui"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// The names in a text that stand between these two.
fn between<'t>(text: &'t str, before: &'t str, after: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(before).skip(1).filter_map(move |rest| rest.split_once(after)).map(|(name, _)| name)
}

#[test]
fn every_word_that_is_spelt_here_is_in_the_vocabulary() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut known: BTreeSet<&str> = members().map(|member| member.name).chain(NO_MEMBERS).collect();
    assert_eq!(known.len(), members().count() + NO_MEMBERS.len(), "a word is there twice");
    for member in members() {
        if let Holds::Words(words) = member.holds {
            known.extend(words);
        }
    }
    let (mut spelt, mut missing) = (0, Vec::new());
    // The fields of event streams are no members.
    for file in files.iter().filter(|file| !file.ends_with("tests.rs") && !file.ends_with("sse.rs")) {
        let text = std::fs::read_to_string(file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let calls = [".get(\"", ".string(\"", ".object(\"", ".is(\"", ".json(\"", ".member(\""];
        let reads = calls.map(|call| between(code, call, "\""));
        let writes = [between(code, "\\\"", "\\\":"), between(code, "{\"", "\":")];
        let arms = code.split("\" =>").filter_map(|before| before.rsplit_once('"')).map(|(_, name)| name);
        for name in reads.into_iter().flatten().chain(writes.into_iter().flatten()).chain(arms) {
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if is_name && !known.contains(name) {
                missing.push(format!("{name} in {}", file.display()));
            }
            spelt += usize::from(is_name);
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(spelt > 30, "only {spelt} words were found");
}

#[test]
fn the_words_that_this_crate_reads_are_those_of_their_members() {
    let words = |name: &str| match members().find(|member| member.name == name).map(|member| member.holds) {
        Some(Holds::Words(words)) => words,
        other => panic!("{name} holds {other:?}"),
    };
    for level in words("level") {
        assert!(wire::LogLevel::parse(level).is_some(), "{level}");
    }
    for (key, _) in meta_keys() {
        assert_eq!(meta_keys().filter(|(other, _)| *other == key).count(), 1, "{key}");
    }
}
