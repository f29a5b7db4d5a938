//! The one function that makes the profiles of calls: what the programs of a tool may touch follows from what the tool is and
//! from what its caller may do, and from nothing that either of them says in the call.

use policy::{Obligations, Scopes};
use sandbox::confine::{Limits, Profile, WorkspaceAccess};
use tool_api::{Effect, Need};

/// What the caller must hold whose programs see the workspace.
const READ: &str = "read_workspace";

/// The same for those that change it.
const WRITE: &str = "write_workspace";

/// What a profile follows from.
pub(super) struct Wanted<'c> {
    pub(super) effect: Effect,
    pub(super) needs: &'c [Need],
    /// The caller's.
    pub(super) scopes: &'c Scopes,
    /// Those of the rule that allows the call.
    pub(super) obligations: Option<&'c Obligations>,
    /// What an operator lets every program use.
    pub(super) limits: Limits,
}

/// The profile of the programs that a call runs; nothing if its tool needs none.
pub(super) fn profile(wanted: &Wanted<'_>) -> Option<Profile> {
    let need = wanted.needs.iter().find(|need| matches!(need, Need::Process | Need::Worker))?;
    let profile = match (need, access(wanted)) {
        (Need::Worker, _) | (Need::Process, WorkspaceAccess::None) => Profile::worker(),
        (Need::Process, WorkspaceAccess::ReadOnly) => Profile::shell(),
        (Need::Process, WorkspaceAccess::Writable) => Profile::write(),
    };
    let mut limits = wanted.limits;
    if let Some(time) = wanted.obligations.and_then(|obligations| obligations.timeout_max) {
        limits.time = limits.time.min(time);
    }
    Some(Profile { limits, ..profile })
}

/// No more of the workspace than the caller has by other tools, and no more than this tool says that it does.
fn access(wanted: &Wanted<'_>) -> WorkspaceAccess {
    let writes = match wanted.effect {
        Effect::Reads => false,
        Effect::Writes | Effect::Destroys | Effect::Executes => wanted.scopes.contains(WRITE),
    };
    match (wanted.scopes.contains(READ), writes) {
        (false, _) => WorkspaceAccess::None,
        (true, false) => WorkspaceAccess::ReadOnly,
        (true, true) => WorkspaceAccess::Writable,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use policy::Scope;

    use super::*;

    const BOTH: &[&str] = &[READ, WRITE];
    const PROGRAMS: &[Need] = &[Need::Process];

    fn made(
        (effect, needs): (Effect, &[Need]),
        held: Option<&[&str]>,
        time_max: Option<Duration>,
        limits: Limits,
    ) -> Option<Profile> {
        let parse = |name: &&str| Scope::parse(name).expect("a scope");
        let scopes = held.map_or_else(Scopes::all, |held| held.iter().map(parse).collect());
        let obligations = Obligations { timeout_max: time_max, ..Obligations::default() };
        profile(&Wanted { effect, needs, scopes: &scopes, obligations: Some(&obligations), limits })
    }

    #[test]
    fn programs_get_what_their_tool_says_and_its_caller_may() {
        let (shell, write, worker) = (Profile::shell(), Profile::write(), Profile::worker());
        let table: &[(Effect, &[Need], Option<&[&str]>, Option<Profile>)] = &[
            // A tool that has not said so gets no programs, whatever it does and whoever calls.
            (Effect::Reads, &[], None, None),
            (Effect::Executes, &[], None, None),
            // Writing takes a tool that does, and a caller who may.
            (Effect::Executes, PROGRAMS, None, Some(write)),
            (Effect::Executes, PROGRAMS, Some(BOTH), Some(write)),
            (Effect::Writes, PROGRAMS, Some(BOTH), Some(write)),
            (Effect::Destroys, PROGRAMS, Some(BOTH), Some(write)),
            (Effect::Executes, PROGRAMS, Some(&[READ]), Some(shell)),
            (Effect::Writes, PROGRAMS, Some(&[READ, "run_tests"]), Some(shell)),
            (Effect::Reads, PROGRAMS, None, Some(shell)),
            (Effect::Reads, PROGRAMS, Some(BOTH), Some(shell)),
            // Who may not read sees nothing, not by writing either.
            (Effect::Executes, PROGRAMS, Some(&["run_tests"]), Some(worker)),
            (Effect::Executes, PROGRAMS, Some(&[WRITE]), Some(worker)),
            (Effect::Executes, PROGRAMS, Some(&[]), Some(worker)),
            // What computes with what it is sent sees no workspace, whoever calls.
            (Effect::Executes, &[Need::Worker], None, Some(worker)),
            (Effect::Reads, &[Need::Worker], Some(BOTH), Some(worker)),
        ];
        for (effect, needs, held, expected) in table {
            let found = made((*effect, needs), *held, None, Limits::default());
            assert_eq!(found, *expected, "{effect:?} {needs:?} {held:?}");
        }
    }

    #[test]
    fn a_rule_leaves_a_program_less_time_and_never_more() {
        let seconds = Duration::from_secs;
        let limits = Limits { time: seconds(60), processes: 7, ..Limits::default() };
        for (time_max, time) in [(None, 60), (Some(seconds(5)), 5), (Some(seconds(600)), 60)] {
            let found = made((Effect::Executes, PROGRAMS), None, time_max, limits);
            let expected = Profile { limits: Limits { time: seconds(time), ..limits }, ..Profile::write() };
            assert_eq!(found, Some(expected), "{time_max:?}");
        }
    }
}
