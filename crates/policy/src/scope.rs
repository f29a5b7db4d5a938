//! Scopes: the names of what a caller was granted, checked when read so that nothing misspelt is granted.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::near::nearest;

/// The scopes that need no area. All others are `area:verb`.
const KNOWN: [&str; 4] = ["read_workspace", "write_workspace", "run_tests", "network"];

/// Other words for scopes, as agents' and extensions' settings spell them. Running any command is what `run_tests`
/// stands for here: there is no wider scope for programs.
const ALIASES: [(&str, &str); 5] = [
    ("read", "read_workspace"),
    ("write", "write_workspace"),
    ("run-tests", "run_tests"),
    ("run_commands", "run_tests"),
    ("access-secrets", "secrets:use"),
];

/// A scope is read by people in lists; a longer name is a mistake or an attack.
const SCOPE_BYTES_MAX: usize = 64;

/// One checked scope name: a known one, or `area:verb` in lower-case ASCII letters, digits and `_`. There are no
/// patterns: each scope is granted by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(Cow<'static, str>);

/// Why a text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScopeError(String);

impl Scope {
    /// The scopes that need no area: `read_workspace`, `write_workspace`, `run_tests` and `network`.
    pub fn known() -> [Scope; KNOWN.len()] {
        KNOWN.map(Scope::fixed)
    }

    /// A scope of ours, which is sound.
    pub(crate) const fn fixed(name: &'static str) -> Scope {
        Scope(Cow::Borrowed(name))
    }

    /// Checks a name from a configuration, a key or a token. The other words `read`, `write`, `run-tests`,
    /// `run_commands` and `access-secrets` become the scopes that they stand for.
    ///
    /// # Errors
    /// It is no scope; the error proposes the nearest.
    pub fn parse(name: &str) -> Result<Self, ScopeError> {
        if name.len() > SCOPE_BYTES_MAX {
            let bytes = name.len();
            let why = format!("a scope of {bytes} bytes is too long; the limit is {SCOPE_BYTES_MAX}");
            return Err(ScopeError(why));
        }
        if let Some(known) = KNOWN.iter().find(|known| **known == name) {
            return Ok(Scope::fixed(known));
        }
        if let Some((_, known)) = ALIASES.iter().find(|(alias, _)| *alias == name) {
            return Ok(Scope::fixed(known));
        }
        match name.split_once(':') {
            Some((area, verb)) if is_word(area) && is_word(verb) => Ok(Self(Cow::Owned(name.to_owned()))),
            _ => Err(unknown(name)),
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

fn unknown(name: &str) -> ScopeError {
    let known = KNOWN.join(", ");
    let more = match nearest(&name.to_ascii_lowercase(), KNOWN) {
        Some(nearest) => format!("did you mean {nearest:?}"),
        None => format!("use one of {known}, or `area:verb` in lower-case letters, digits and `_`"),
    };
    ScopeError(format!("unknown scope {name:?}; {more}"))
}

/// What is written for every scope.
const ALL: &str = "*";

/// What a caller was granted. Cloning shares the list; asking, comparing and hashing allocate nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scopes(
    /// Nothing for every scope. Sorted, so that a question is a binary search.
    Option<Arc<[Scope]>>,
);

impl Scopes {
    /// Every scope, those not yet invented included.
    pub const fn all() -> Self {
        Self(None)
    }

    /// Whether this scope was granted. Takes the text a tool declares; a text that is no scope is held by
    /// nobody but the holder of all.
    pub fn contains(&self, scope: &str) -> bool {
        self.named().is_none_or(|list| list.binary_search_by(|held| held.as_str().cmp(scope)).is_ok())
    }

    /// Those granted, in the order of their names; nothing for the holder of all.
    pub fn named(&self) -> Option<&[Scope]> {
        self.0.as_deref()
    }

    /// All that is in either.
    #[must_use]
    pub fn with(&self, others: &Scopes) -> Scopes {
        match (self.named(), others.named()) {
            (Some(own), Some(more)) => own.iter().chain(more).cloned().collect(),
            _ => Scopes::all(),
        }
    }

    /// What is in both.
    #[must_use]
    pub fn within(&self, others: &Scopes) -> Scopes {
        match (self.named(), others.named()) {
            (Some(own), Some(_)) => own.iter().filter(|own| others.contains(own.as_str())).cloned().collect(),
            (None, _) => others.clone(),
            (_, None) => self.clone(),
        }
    }
}

/// Their names with blanks between them, in order; `*` for all.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(list) = self.named() else { return f.write_str(ALL) };
        f.write_str(&list.iter().map(Scope::as_str).collect::<Vec<_>>().join(" "))
    }
}

/// Reads what is displayed.
impl FromStr for Scopes {
    type Err = ScopeError;

    fn from_str(names: &str) -> Result<Scopes, ScopeError> {
        if names == ALL {
            Ok(Scopes::all())
        } else {
            names.split_ascii_whitespace().map(Scope::parse).collect()
        }
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        let mut list: Vec<Scope> = scopes.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        Self(Some(list.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash, Hasher};

    use super::*;

    #[track_caller]
    fn check_refused(name: &str, expected: &str) {
        assert_eq!(Scope::parse(name).map_err(|error| error.to_string()), Err(expected.to_owned()));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for names in ["", "*", "network", "git:call read_workspace"] {
            assert_eq!(names.parse::<Scopes>().expect("scopes").to_string(), names);
        }
        assert!("git:call Nonsense".parse::<Scopes>().is_err());
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
        check_refused("run_test", r#"unknown scope "run_test"; did you mean "run_tests""#);
    }

    #[test]
    fn other_words_become_the_scopes_they_stand_for() {
        for (word, expected) in [
            ("read", "read_workspace"),
            ("write", "write_workspace"),
            ("run-tests", "run_tests"),
            ("run_commands", "run_tests"),
            ("access-secrets", "secrets:use"),
        ] {
            assert_eq!(Scope::parse(word).as_ref().map(Scope::as_str), Ok(expected), "{word}");
        }
        for word in ["Read", "run-test", "access_secrets", "run-commands"] {
            assert!(Scope::parse(word).is_err(), "{word}");
        }
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

    fn set(names: &[&str]) -> Scopes {
        names.iter().map(|name| Scope::parse(name).unwrap()).collect()
    }

    #[test]
    fn sets_are_put_together_and_narrowed() {
        let (all, both, one) = (Scopes::all(), set(&["network", "git:call"]), set(&["network"]));
        for (left, right, together, common) in [
            (&all, &one, &all, &one),
            (&one, &all, &all, &one),
            (&both, &one, &both, &one),
            (&set(&["git:call"]), &one, &both, &set(&[])),
            (&all, &all, &all, &all),
        ] {
            assert_eq!((&left.with(right), &left.within(right)), (together, common), "{left:?} {right:?}");
        }
    }

    #[test]
    fn equal_sets_are_equal_however_they_were_made() {
        let hash = |scopes: &Scopes| {
            let mut hasher = DefaultHasher::new();
            scopes.hash(&mut hasher);
            hasher.finish()
        };
        let (one, same) = (set(&["network", "run_tests"]), set(&["run-tests", "network", "network"]));
        assert_eq!((&one, hash(&one)), (&same, hash(&same)));
        for other in [set(&["network"]), set(&[]), Scopes::all()] {
            assert_ne!(one, other);
            assert_ne!(hash(&one), hash(&other));
        }
    }
}
