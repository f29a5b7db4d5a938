//! `Profile`: what a kind of program may touch, as plain data that can be compared. Nothing here knows Linux.

use super::limits::Limits;

/// What a program sees of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// Nothing.
    None,
    /// All but what holds secrets.
    ReadOnly,
    /// The same, and it writes all but what decides about agents or what others obey.
    Writable,
}

/// What a kind of program may touch. No profile reaches a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// As people name it.
    pub name: &'static str,
    /// What it sees of the workspace.
    pub workspace: WorkspaceAccess,
    /// How much it may use.
    pub limits: Limits,
}

impl Profile {
    /// The names of all profiles.
    pub const NAMES: [&str; 3] = ["shell", "write", "worker"];

    /// A program that looks at the workspace.
    pub fn shell() -> Profile {
        Profile { name: "shell", workspace: WorkspaceAccess::ReadOnly, limits: Limits::default() }
    }

    /// A program that also writes there.
    pub fn write() -> Profile {
        Profile { name: "write", workspace: WorkspaceAccess::Writable, ..Profile::shell() }
    }

    /// A program of our own that computes with what it is sent.
    pub fn worker() -> Profile {
        Profile { name: "worker", workspace: WorkspaceAccess::None, ..Profile::shell() }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Profile> {
        [Profile::shell(), Profile::write(), Profile::worker()]
            .into_iter()
            .find(|profile| profile.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_their_names() {
        for name in Profile::NAMES {
            assert_eq!(Profile::named(name).map(|profile| profile.name), Some(name));
        }
        assert_eq!(Profile::named("net"), None);
        assert_ne!(Profile::shell(), Profile::write());
    }
}
