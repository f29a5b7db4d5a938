//! Scopes: the names of what a caller was granted, checked when read so that nothing misspelt is granted.

use std::{borrow::Cow, sync::Arc};

/// The scopes that need no area. All others are `area:verb`.
const KNOWN: [&str; 4] = ["read_workspace", "write_workspace", "run_tests", "network"];

/// A scope is read by people in lists; a longer name is a mistake or an attack.
const SCOPE_BYTES_MAX: usize = 64;

/// How alike (0 to 1) a known name must be to be worth proposing.
const NEAR_ENOUGH: f64 = 0.8;

/// One checked scope name: a known one, or `area:verb` in lower-case ASCII letters, digits and `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(Cow<'static, str>);

/// Why a text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// Neither known nor of the form `area:verb`, but close to a known one.
    #[error("unknown scope {name:?}; did you mean {nearest:?}")]
    Misspelt {
        /// What was written.
        name: String,
        /// The known scope nearest to it.
        nearest: &'static str,
    },
    /// Neither known nor of the form `area:verb`, and close to nothing.
    #[error(
        "unknown scope {name:?}; use one of {}, or `area:verb` in lower-case letters, digits and `_`",
        KNOWN.join(", ")
    )]
    Unknown {
        /// What was written.
        name: String,
    },
    /// Longer than any scope may be.
    #[error("a scope of {bytes} bytes is too long; the limit is {SCOPE_BYTES_MAX}")]
    TooLong {
        /// The length that came.
        bytes: usize,
    },
}

impl Scope {
    /// Checks a name from a configuration or a key.
    pub fn parse(name: &str) -> Result<Self, ScopeError> {
        if name.len() > SCOPE_BYTES_MAX {
            return Err(ScopeError::TooLong { bytes: name.len() });
        }
        if let Some(known) = KNOWN.iter().find(|known| **known == name) {
            return Ok(Self(Cow::Borrowed(known)));
        }
        match name.split_once(':') {
            Some((area, verb)) if is_word(area) && is_word(verb) => Ok(Self(Cow::Owned(name.to_owned()))),
            _ => Err(nearest_or_unknown(name)),
        }
    }

    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn nearest_or_unknown(name: &str) -> ScopeError {
    let lowered = name.to_ascii_lowercase();
    let (nearest, likeness) = KNOWN
        .map(|known| (known, strsim::jaro_winkler(known, &lowered)))
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("the list of known scopes is not empty");
    let name = name.to_owned();
    if likeness >= NEAR_ENOUGH {
        ScopeError::Misspelt { name, nearest }
    } else {
        ScopeError::Unknown { name }
    }
}

/// What a caller was granted. Cloning shares the list; asking allocates nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Granted);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Granted {
    All,
    /// Sorted, so that a question is a binary search.
    Only(Arc<[Scope]>),
}

impl Scopes {
    /// Every scope, those not yet invented included.
    pub const fn all() -> Self {
        Self(Granted::All)
    }

    /// Whether this scope was granted. Takes the text a tool declares; a text that is no scope is held by
    /// nobody but the holder of all.
    pub fn contains(&self, scope: &str) -> bool {
        match &self.0 {
            Granted::All => true,
            Granted::Only(list) => list.binary_search_by(|held| held.as_str().cmp(scope)).is_ok(),
        }
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        let mut list: Vec<Scope> = scopes.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        Self(Granted::Only(list.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(name: &str, expected: &str) {
        assert_eq!(Scope::parse(name).map_err(|error| error.to_string()), Err(expected.to_owned()));
    }

    #[test]
    fn known_and_composed_names_are_scopes() {
        let longest = format!("a:{}", "b".repeat(SCOPE_BYTES_MAX - 2));
        for name in KNOWN.into_iter().chain(["chat:send", "git_hub2:read_all", "1:2", longest.as_str()]) {
            assert_eq!(Scope::parse(name).as_ref().map(Scope::as_str), Ok(name));
        }
    }

    #[test]
    fn misspelt_names_are_refused_with_the_nearest() {
        check_refused("read_workspce", r#"unknown scope "read_workspce"; did you mean "read_workspace""#);
        check_refused("Network", r#"unknown scope "Network"; did you mean "network""#);
        check_refused("run-tests", r#"unknown scope "run-tests"; did you mean "run_tests""#);
    }

    #[test]
    fn everything_else_is_refused() {
        for name in
            ["", "x", "*", "a:", ":a", "a:b:c", "Chat:send", "chat:sénd", "chat: send", "a:b\0", "a:*"]
        {
            check_refused(
                name,
                &format!(
                    "unknown scope {name:?}; use one of read_workspace, write_workspace, run_tests, network, \
                     or `area:verb` in lower-case letters, digits and `_`"
                ),
            );
        }
        check_refused(&format!("a:{}", "b".repeat(63)), "a scope of 65 bytes is too long; the limit is 64");
    }

    #[test]
    fn a_set_holds_what_it_was_given_and_nothing_else() {
        let scopes: Scopes = ["run_tests", "chat:send", "network", "network"]
            .map(|name| Scope::parse(name).unwrap())
            .into_iter()
            .collect();
        for held in ["run_tests", "chat:send", "network"] {
            assert!(scopes.contains(held), "{held}");
        }
        for missing in ["read_workspace", "chat:read", "chat", "Network", "network ", "", "*"] {
            assert!(!scopes.contains(missing), "{missing}");
        }
        assert!(!Scopes::from_iter([]).contains("network"));
        assert!(Scopes::all().contains("network") && Scopes::all().contains("new_area:verb"));
    }
}
