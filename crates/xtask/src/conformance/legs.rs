//! The legs: what each is about, which runs of the suites it is read from, and what it should reach. A list.

use super::runs::Run;

/// How often a leg is measured in which something is not as it should be. The suites wait for what they expect by clocks
/// of their own, and for some of it a second or two: on a machine that stands still for a moment they miss it. What is
/// wrong with the program is wrong each time.
pub(super) const GOES_MAX: usize = 3;

/// Which of a run's scenarios belong to a leg.
pub(super) enum Picks {
    /// All that the run has.
    All,
    /// Those that the revision's requirement set counts.
    Scored,
    /// Those whose names begin so.
    Beginning(&'static str),
    /// These.
    Named(&'static [&'static str]),
}

impl Picks {
    /// Whether these are picked by their names, and this is one of them.
    pub(super) fn take(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Scored => false,
            Self::Beginning(start) => name.starts_with(start),
            Self::Named(names) => names.contains(&name),
        }
    }
}

/// A part of the table.
pub(super) struct Leg {
    /// What is typed to run it alone.
    pub(super) name: &'static str,
    /// What it shows.
    pub(super) about: &'static str,
    pub(super) runs: &'static [Run],
    pub(super) picks: Picks,
    /// How many scenarios there are.
    pub(super) scenarios: usize,
    /// How many of them should pass.
    pub(super) target: usize,
}

pub(super) const LEGS: &[Leg] = &[
    Leg {
        name: "server-released",
        about: "the released suite, before a server of both eras",
        runs: &[Run::Released],
        picks: Picks::All,
        scenarios: 32,
        target: 32,
    },
    Leg {
        name: "server-2025-11-25",
        about: "what 2025-11-25 requires of a server",
        runs: &[Run::Legacy],
        picks: Picks::Scored,
        scenarios: 30,
        target: 30,
    },
    Leg {
        name: "server-2026-07-28",
        about: "what 2026-07-28 requires of a server",
        runs: &[Run::Modern],
        picks: Picks::Scored,
        scenarios: 37,
        target: 37,
    },
    Leg {
        name: "tasks",
        about: "the Tasks extension",
        runs: &[Run::Modern],
        picks: Picks::Beginning("tasks-"),
        scenarios: 9,
        target: 9,
    },
    Leg {
        name: "own-tasks",
        about: "the Tasks extension, before a server without tasks: jobs of Toolcrib's own",
        runs: &[Run::OwnTasks],
        picks: Picks::Beginning("tasks-"),
        scenarios: 9,
        target: 9,
    },
    Leg {
        name: "pending",
        about: "scenarios for servers that the suite does not count yet",
        runs: &[Run::Legacy, Run::Modern],
        picks: Picks::Named(&[
            "json-schema-2020-12",
            "server-sse-polling",
            "http-header-validation",
            "http-custom-header-server-validation",
        ]),
        scenarios: 4,
        target: 4,
    },
    Leg {
        name: "legacy-over-modern",
        about: "2025-11-25 asked for, before a server that speaks 2026-07-28 only",
        runs: &[Run::LegacyOverModern],
        picks: Picks::Scored,
        scenarios: 30,
        target: 30,
    },
    Leg {
        name: "modern-over-legacy",
        about: "2026-07-28 asked for, before a server that speaks up to 2025-11-25 only",
        runs: &[Run::ModernOverLegacy],
        picks: Picks::Scored,
        scenarios: 37,
        target: 35,
    },
    Leg {
        name: "client-2025-03-26",
        about: "authorization as 2025-03-26 had it, which servers still have",
        runs: &[Run::OldestClient],
        picks: Picks::All,
        scenarios: 2,
        target: 2,
    },
    Leg {
        name: "client-2025-11-25",
        about: "what 2025-11-25 requires of a client",
        runs: &[Run::LegacyClient],
        picks: Picks::Scored,
        scenarios: 18,
        target: 18,
    },
    Leg {
        name: "client-2026-07-28",
        about: "what 2026-07-28 requires of a client",
        runs: &[Run::ModernClient],
        picks: Picks::Scored,
        scenarios: 32,
        target: 32,
    },
    Leg {
        name: "client-extensions",
        about: "clients that act for themselves or for an enterprise",
        runs: &[Run::LegacyClient, Run::ModernClient],
        picks: Picks::Named(&[
            "auth/client-credentials-jwt",
            "auth/client-credentials-basic",
            "auth/enterprise-managed-authorization",
        ]),
        scenarios: 3,
        target: 3,
    },
    Leg {
        name: "added-later",
        about: "scenarios that came after the revisions' requirement sets were frozen",
        runs: &[Run::Legacy, Run::LegacyClient, Run::ModernClient],
        picks: Picks::Named(&["server-session-lifecycle", "json-schema-2020-12-preservation"]),
        scenarios: 2,
        target: 2,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leg_has_its_own_name_and_a_target_that_can_be_reached() {
        for (index, leg) in LEGS.iter().enumerate() {
            assert!(LEGS[..index].iter().all(|other| other.name != leg.name), "{}", leg.name);
            assert!(leg.target <= leg.scenarios && !leg.runs.is_empty(), "{}", leg.name);
            if let Picks::Named(names) = leg.picks {
                assert_eq!(names.len(), leg.scenarios, "{}", leg.name);
            }
        }
    }
}
