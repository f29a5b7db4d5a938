//! Roles: what a caller is here. Scopes follow from them, and who may answer for a call.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use crate::scope::{Scope, Scopes};

/// What each role may do, in the order of [`Role::ALL`].
static SCOPES: LazyLock<[Scopes; Role::ALL.len()]> = LazyLock::new(|| {
    Role::ALL.map(|role| {
        let names: &[&'static str] = match role {
            Role::Owner | Role::Maintainer => return Scopes::all(),
            Role::Developer => &["read_workspace", "write_workspace", "run_tests", "network"],
            Role::Auditor => &["read_workspace", "audit:read"],
            Role::Agent => &["read_workspace", "write_workspace", "run_tests"],
        };
        names.iter().map(|name| Scope::fixed(name)).collect()
    })
});

/// One role.
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Whose machine or project it is: may do and answer everything.
    Owner,
    /// Works on the project with the owner's trust: may answer for others' calls.
    Maintainer,
    /// Works on the project.
    Developer,
    /// Looks, and changes nothing.
    Auditor,
    /// A program that acts for somebody. May answer for nothing.
    Agent,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 5] = [Self::Owner, Self::Maintainer, Self::Developer, Self::Auditor, Self::Agent];

    /// The word for configurations, keys and records.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The role of this word.
    pub fn parse(word: &str) -> Option<Role> {
        word.parse().ok()
    }

    /// What a caller of this role may do, unless its key or token says something narrower: owners and maintainers
    /// everything; developers `read_workspace`, `write_workspace`, `run_tests` and `network`; auditors
    /// `read_workspace` and `audit:read`; agents `read_workspace`, `write_workspace` and `run_tests`.
    pub fn scopes(self) -> Scopes {
        SCOPES[self as usize].clone()
    }
}

/// A set of roles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Roles(u8);

impl Roles {
    /// Whether the role is in it.
    pub const fn contains(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// Whether any role is in both.
    pub const fn meets(self, others: Roles) -> bool {
        self.0 & others.0 != 0
    }

    /// Whether there is none in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What a caller of these roles may do; nothing without any.
    pub fn scopes(self) -> Scopes {
        self.iter().fold(Scopes::from_iter([]), |all, role| all.with(&role.scopes()))
    }

    /// Their words with blanks between them, the mightiest first.
    pub fn words(self) -> Cow<'static, str> {
        let mut words = self.iter().map(Role::as_str);
        match (words.next(), words.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(one), None) => Cow::Borrowed(one),
            (Some(one), Some(other)) => {
                Cow::Owned(words.fold(format!("{one} {other}"), |all, word| format!("{all} {word}")))
            }
        }
    }

    /// The roles of such words; nothing if there is one that is none.
    pub fn of_words(words: &str) -> Option<Roles> {
        words.split_ascii_whitespace().map(Role::parse).collect()
    }

    /// Those in it, the mightiest first.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.contains(*role))
    }
}

impl From<Role> for Roles {
    fn from(role: Role) -> Roles {
        Roles(1 << role as u8)
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Roles {
        roles.into_iter().fold(Roles::default(), |set, role| Roles(set.0 | Roles::from(role).0))
    }
}

impl fmt::Debug for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for words in ["", "agent", "owner auditor", "owner maintainer developer auditor agent"] {
            assert_eq!(Roles::of_words(words).expect("roles").words(), words);
        }
        assert_eq!(Roles::of_words("agent emperor"), None);
    }

    #[test]
    fn roles_and_what_they_may_do() {
        let all = None;
        let cases: [(&[Role], Option<&[&str]>); 7] = [
            (&[], Some(&[])),
            (&[Role::Owner], all),
            (&[Role::Maintainer], all),
            (&[Role::Developer], Some(&["network", "read_workspace", "run_tests", "write_workspace"])),
            (&[Role::Auditor], Some(&["audit:read", "read_workspace"])),
            (&[Role::Agent], Some(&["read_workspace", "run_tests", "write_workspace"])),
            (
                &[Role::Auditor, Role::Agent],
                Some(&["audit:read", "read_workspace", "run_tests", "write_workspace"]),
            ),
        ];
        for (roles, expected) in cases {
            let scopes = roles.iter().copied().collect::<Roles>().scopes();
            let named: Option<Vec<&str>> =
                scopes.named().map(|named| named.iter().map(Scope::as_str).collect());
            assert_eq!(named.as_deref(), expected, "{roles:?}");
            for name in named.iter().flatten() {
                assert!(Scope::parse(name).is_ok(), "{name}");
            }
        }
        assert!(Roles::from_iter([Role::Owner, Role::Agent]).scopes().named().is_none());
    }

    #[test]
    fn words_read_back() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("Owner"), None);
    }
}
