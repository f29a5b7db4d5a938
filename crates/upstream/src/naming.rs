//! The names under which an upstream's tools are offered.
//!
//! A name follows from the prefix and the tool's own name alone, never from the order of a list, so that
//! rules and habits stay right when the list changes.

use std::collections::HashMap;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tool_api::{NAME_CHARS_MAX, ToolName};

use crate::listing::shown_name;
use crate::settings::{Mask, Settings};

/// Hexadecimal digits of the hash that keeps shortened names apart.
const HASH_CHARS: usize = 8;

/// The names given to the entries of one list, each once.
pub(crate) struct Names<'l> {
    prefix: &'l str,
    mask: &'l Mask,
    foreign: Arc<Vec<Box<str>>>,
    taken: HashMap<ToolName, &'l str>,
}

impl<'l> Names<'l> {
    /// None given yet; `room` for about so many.
    pub(crate) fn new(settings: &'l Settings, room: usize) -> Names<'l> {
        let (prefix, foreign) = (&settings.prefix, settings.foreign.now());
        Names { prefix, mask: settings.mask(), foreign, taken: HashMap::with_capacity(room) }
    }

    /// The name under which `own` is offered.
    ///
    /// # Errors
    /// Why it cannot be offered: it has no name that agents could use, or another upstream's, or an earlier one
    /// has it.
    pub(crate) fn give(&mut self, own: &'l str) -> Result<ToolName, String> {
        let name = offered(self.prefix, own).ok_or("its name cannot be offered")?;
        if let Some(owner) = owner(&self.foreign, self.prefix, &name) {
            return Err(format!(
                "its name would be `{name}`, and those that begin with `{owner}_` are another's"
            ));
        }
        if let Some(first) = self.taken.get(&name) {
            let first = shown_name(first, self.mask);
            return Err(format!("its name would be `{name}`, which `{first}` already has"));
        }
        self.taken.insert(name.clone(), own);
        Ok(name)
    }
}

/// The prefix among `foreign` to which `name` belongs rather than to `prefix`: of two that fit, the longer one.
fn owner<'f>(foreign: &'f [Box<str>], prefix: &str, name: &ToolName) -> Option<&'f str> {
    let is_longer = |other: &str| other.len() > prefix.len();
    let begins = |other: &str| name.as_str().strip_prefix(other).is_some_and(|rest| rest.starts_with('_'));
    foreign.iter().map(|other| &**other).find(|other| is_longer(other) && begins(other))
}

/// The name of `tool` behind `prefix`; an empty prefix leaves the tool its own name.
///
/// Characters that agents may not use become `_`. What is longer than a name may be is cut, and the cut
/// is filled with a hash of the whole name.
pub(crate) fn offered(prefix: &str, tool: &str) -> Option<ToolName> {
    let full = if prefix.is_empty() { tool.to_owned() } else { format!("{prefix}_{tool}") };
    let mut name = sanitised(&full);
    if name.len() > NAME_CHARS_MAX {
        name.truncate(NAME_CHARS_MAX - HASH_CHARS - 1);
        name.push('_');
        name.push_str(&HEXLOWER.encode(&Sha256::digest(full.as_bytes()))[..HASH_CHARS]);
    }
    ToolName::parse(&name)
}

/// `name` with `_` for every character that a tool's name may not have.
pub(crate) fn sanitised(name: &str) -> String {
    name.chars().map(|character| if is_legal(character) { character } else { '_' }).collect()
}

/// True for the characters of a tool's name.
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
