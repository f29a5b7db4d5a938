//! The names under which an upstream's tools are offered.
//!
//! A name follows from the prefix and the tool's own name alone, never from the order of a list, so that
//! rules and habits stay right when the list changes.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tool_api::{NAME_CHARS_MAX, ToolName};

/// Hexadecimal digits of the hash that keeps shortened names apart.
const HASH_CHARS: usize = 8;

/// The name of `tool` behind `prefix`; an empty prefix leaves the tool its own name.
///
/// Characters that agents may not use become `_`, and so does a point behind a prefix: model providers take none, and
/// only who gives the prefix up wants the server's own names. What is longer than a name may be is cut, and the cut
/// is filled with a hash of the whole name.
pub(crate) fn offered(prefix: &str, tool: &str) -> Option<ToolName> {
    let full = if prefix.is_empty() { tool.to_owned() } else { format!("{prefix}_{tool}") };
    let has_own_name = prefix.is_empty();
    let is_kept = |character| is_legal(character) || (has_own_name && character == '.');
    let mut name = with_underscores(&full, is_kept);
    if name.len() > NAME_CHARS_MAX {
        name.truncate(NAME_CHARS_MAX - HASH_CHARS - 1);
        name.push('_');
        name.push_str(&HEXLOWER.encode(&Sha256::digest(full.as_bytes()))[..HASH_CHARS]);
    }
    ToolName::parse(&name)
}

/// `name` with `_` for every character that a tool's name may not have.
pub(crate) fn sanitised(name: &str) -> String {
    with_underscores(name, is_legal)
}

fn with_underscores(name: &str, is_kept: impl Fn(char) -> bool) -> String {
    name.chars().map(|character| if is_kept(character) { character } else { '_' }).collect()
}

/// True for the characters that every agent takes in a tool's name.
pub(crate) fn is_legal(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefix: &str, tool: &str, expected: &str) {
        assert_eq!(offered(prefix, tool).map(|name| name.to_string()).as_deref(), Some(expected));
    }

    #[test]
    fn the_prefix_and_an_underscore_come_first() {
        check("git", "git_status", "git_git_status");
        check("", "echo", "echo");
    }

    #[test]
    fn illegal_characters_become_underscores_one_by_one() {
        check("my.server", "a b/ä", "my_server_a_b__");
        check("p", "a.b", "p_a_b");
    }

    #[test]
    fn without_a_prefix_a_point_stays() {
        check("", "a.b/c", "a.b_c");
    }

    #[test]
    fn a_name_that_fits_is_left_alone() {
        check("p", &"x".repeat(62), &format!("p_{}", "x".repeat(62)));
    }

    #[test]
    fn a_longer_one_ends_in_its_hash() {
        let long = |end| format!("{}{end}", "x".repeat(62));
        check("p", &long("1"), &format!("p_{}_c7b2fa83", "x".repeat(53)));
        check("p", &long("2"), &format!("p_{}_683caa9e", "x".repeat(53)));
    }

    #[test]
    fn a_long_prefix_leaves_room_for_the_hash() {
        let of = |prefix: &str, tool: &str| offered(prefix, tool).expect("a name").to_string();
        let prefix = "n".repeat(64);
        let names = [of(&prefix, "a"), of(&prefix, "b"), of(&"n".repeat(63), "a"), of(&"ö.".repeat(32), "ä")];
        assert!(names.iter().all(|name| name.len() == NAME_CHARS_MAX), "{names:?}");
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)), "{names:?}");
    }

    #[test]
    fn no_name_is_no_name() {
        assert_eq!(offered("", ""), None);
    }
}
