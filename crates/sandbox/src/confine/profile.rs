//! `Profile`: what a kind of program may touch, as plain data that can be compared. Nothing here knows Linux.

use serde::{Deserialize, Serialize};

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

/// Which sockets a program opens. None leads anywhere but to Toolcrib's proxy: its network is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sockets {
    /// Pairs, which are connected to nothing but themselves.
    None,
    /// Those of files besides, in the folders that it sees.
    Local,
    /// TCP, and UDP for names.
    Network,
    /// Both.
    LocalAndNetwork,
}

impl Sockets {
    pub(super) fn has_network(self) -> bool {
        matches!(self, Sockets::Network | Sockets::LocalAndNetwork)
    }

    pub(super) fn has_local(self) -> bool {
        matches!(self, Sockets::Local | Sockets::LocalAndNetwork)
    }
}

/// How Chromium starts on Debian, and where fonts are.
const BROWSER_SETTINGS: &[&str] = &["/etc/chromium.d", "/etc/fonts"];

/// What a kind of program may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// As people name it.
    pub name: &'static str,
    /// What it sees of the workspace.
    pub workspace: WorkspaceAccess,
    /// Which sockets it opens.
    pub sockets: Sockets,
    /// What it reads of the machine's settings, beside what all programs do, where it is there.
    pub settings: &'static [&'static str],
    /// Whether folders that others obey at once are kept from being made where they are absent. Others see what stands in
    /// for them, so this is for programs that end soon.
    pub holds_absent: bool,
    /// How much it may use.
    pub limits: Limits,
}

impl Profile {
    /// The names of those that a person may choose.
    pub const NAMES: [&str; 5] = ["shell", "write", "net", "browser", "worker"];

    /// A program that looks at the workspace.
    pub fn shell() -> Profile {
        Profile {
            name: "shell",
            workspace: WorkspaceAccess::ReadOnly,
            sockets: Sockets::None,
            settings: &[],
            holds_absent: true,
            limits: Limits::default(),
        }
    }

    /// A program that also writes there.
    pub fn write() -> Profile {
        Profile { name: "write", workspace: WorkspaceAccess::Writable, ..Profile::shell() }
    }

    /// A program that looks at the workspace and reaches hosts.
    pub fn net() -> Profile {
        Profile { name: "net", sockets: Sockets::Network, ..Profile::shell() }
    }

    /// A browser: it reaches hosts and sees nothing of the workspace. Its processes speak to each other by sockets.
    pub fn browser() -> Profile {
        Profile {
            name: "browser",
            workspace: WorkspaceAccess::None,
            sockets: Sockets::LocalAndNetwork,
            settings: BROWSER_SETTINGS,
            ..Profile::shell()
        }
    }

    /// A server that is spoken to over its standard streams, for as long as it likes. What it works on is said for each; some
    /// start a browser.
    pub fn upstream() -> Profile {
        Profile {
            name: "upstream",
            workspace: WorkspaceAccess::None,
            sockets: Sockets::LocalAndNetwork,
            settings: BROWSER_SETTINGS,
            holds_absent: false,
            limits: Limits::default().lasting(),
        }
    }

    /// A program of our own that computes with what it is sent.
    pub fn worker() -> Profile {
        Profile { name: "worker", workspace: WorkspaceAccess::None, ..Profile::shell() }
    }

    /// The same with or without a network.
    #[must_use]
    pub fn with_network(self, has_network: bool) -> Profile {
        let sockets = match (self.sockets.has_local(), has_network) {
            (false, false) => Sockets::None,
            (true, false) => Sockets::Local,
            (false, true) => Sockets::Network,
            (true, true) => Sockets::LocalAndNetwork,
        };
        Profile { sockets, ..self }
    }

    /// The one of this name, of those that a person may choose.
    pub fn named(name: &str) -> Option<Profile> {
        [Profile::shell(), Profile::write(), Profile::net(), Profile::browser(), Profile::worker()]
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
        assert_eq!(Profile::named("upstream"), None);
        assert_ne!(Profile::shell(), Profile::write());
    }

    #[test]
    fn a_network_is_added_and_taken_away_alone() {
        for (profile, with, without) in [
            (Profile::shell(), Sockets::Network, Sockets::None),
            (Profile::net(), Sockets::Network, Sockets::None),
            (Profile::browser(), Sockets::LocalAndNetwork, Sockets::Local),
            (Profile::upstream(), Sockets::LocalAndNetwork, Sockets::Local),
        ] {
            assert_eq!(profile.with_network(true), Profile { sockets: with, ..profile });
            assert_eq!(profile.with_network(false), Profile { sockets: without, ..profile });
        }
    }
}
