//! The one function that makes the profiles of calls: what a tool and its programs may touch follows from what the tool is and
//! from what its caller may do, and from nothing that either of them says in the call.

use policy::{Obligations, Scopes};
use sandbox::confine::{Limits, Profile, WorkspaceAccess};
use sandbox::egress::HostRules;
use tool_api::{Bounds, Effect, Need};

use super::settings::ProgramSettings;

/// What the caller must hold whose programs see the workspace.
const READ: &str = "read_workspace";

/// The same for those that change it.
const WRITE: &str = "write_workspace";

/// The same for calls that reach hosts.
const NETWORK: &str = "network";

/// What it follows from.
pub(super) struct Wanted<'c> {
    pub(super) effect: Effect,
    pub(super) needs: &'c [Need],
    /// The hosts that a person's configuration names for the tool.
    pub(super) named: HostRules,
    /// Of its programs.
    pub(super) bounds: Bounds,
    /// The caller's.
    pub(super) scopes: &'c Scopes,
    /// Those of the rule that allows the call.
    pub(super) obligations: Option<&'c Obligations>,
    /// What an operator lets every call have.
    pub(super) settings: &'c ProgramSettings,
    /// Whether somebody could be asked about hosts that nobody names.
    pub(super) asks: bool,
}

/// What one call may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reach {
    /// The profile of its programs; nothing for a tool that needs none.
    pub(super) profile: Option<Profile>,
    /// Which hosts it reaches; nothing for a tool that needs none, or a caller who may reach none.
    pub(super) hosts: Option<HostRules>,
}

/// What a call may touch.
pub(super) fn reach(wanted: &Wanted<'_>) -> Reach {
    let hosts = hosts(wanted);
    Reach { profile: profile(wanted, hosts.is_some()), hosts }
}

fn profile(wanted: &Wanted<'_>, has_network: bool) -> Option<Profile> {
    let need = wanted.needs.iter().find(|need| need.is_of_programs())?;
    let profile = match (need, access(wanted)) {
        (Need::Process, WorkspaceAccess::Writable) => Profile::write(),
        (Need::Process, WorkspaceAccess::ReadOnly) if has_network => Profile::net(),
        (Need::Process, WorkspaceAccess::ReadOnly) => Profile::shell(),
        (Need::Browser, _) => Profile::browser(),
        (Need::Process, WorkspaceAccess::None)
        | (
            Need::Worker
            | Need::Net(_)
            | Need::Hosts(_)
            | Need::Artifacts
            | Need::State
            | Need::Catalogue
            | Need::Person
            | Need::Tasks,
            _,
        ) => Profile::worker(),
    };
    let mut limits = bounded(wanted.settings.limits, wanted.bounds);
    if wanted.needs.contains(&Need::Tasks) {
        limits = Limits { output_bytes: limits.output_bytes, ..limits.lasting() };
    }
    if let Some(time) = wanted.obligations.and_then(|obligations| obligations.timeout_max) {
        limits.time = limits.time.min(time);
    }
    Some(Profile { limits, ..profile.with_network(has_network) })
}

/// What an operator says, or less where the tool says so.
fn bounded(limits: Limits, bounds: Bounds) -> Limits {
    let less = |limit: u64, bound: Option<u64>| bound.map_or(limit, |bound| limit.min(bound));
    Limits {
        memory_bytes: less(limits.memory_bytes, bounds.memory_bytes),
        processes: less(limits.processes, bounds.processes),
        open_files: less(limits.open_files, bounds.open_files),
        ..limits
    }
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

/// What the tool names and what an operator names, for a caller who may reach the network; none that are named is none, unless
/// somebody could be asked.
fn hosts(wanted: &Wanted<'_>) -> Option<HostRules> {
    let named = wanted.needs.iter().find_map(Need::hosts)?;
    // Hosts that cannot be read are none; a tool with such is not even offered.
    let named = named.unwrap_or_default().or(wanted.named.clone());
    let rules = named.or(wanted.settings.hosts.clone());
    (wanted.scopes.contains(NETWORK) && (wanted.asks || !rules.is_none())).then_some(rules)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use policy::Scope;

    const BOTH: &[&str] = &[READ, WRITE];
    const PROGRAMS: &[Need] = &[Need::Process];

    fn made(
        (effect, needs): (Effect, &[Need]),
        held: Option<&[&str]>,
        time_max: Option<Duration>,
        settings: &ProgramSettings,
    ) -> Reach {
        let parse = |name: &&str| Scope::parse(name).expect("a scope");
        let scopes = held.map_or_else(Scopes::all, |held| held.iter().map(parse).collect());
        let obligations = Obligations { timeout_max: time_max, ..Obligations::default() };
        let (asks, bounds) = (settings.asks, Bounds::default());
        let obligations = Some(&obligations);
        reach(&Wanted {
            effect,
            needs,
            named: HostRules::none(),
            bounds,
            scopes: &scopes,
            obligations,
            settings,
            asks,
        })
    }

    #[test]
    fn programs_get_what_their_tool_says_and_its_caller_may() {
        let (shell, write, worker) = (Profile::shell(), Profile::write(), Profile::worker());
        let browser = Profile::browser().with_network(false);
        type Row<'r> = (Effect, &'r [Need], Option<&'r [&'r str]>, Option<Profile>);
        let table: &[Row<'_>] = &[
            // A tool that has not said so gets no programs, whatever it does and whoever calls.
            (Effect::Reads, &[], None, None),
            (Effect::Executes, &[], None, None),
            (Effect::Executes, &[Need::Artifacts], None, None),
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
            // So does a browser, and without hosts it reaches none.
            (Effect::Executes, &[Need::Browser], None, Some(browser)),
            (Effect::Reads, &[Need::Browser], Some(BOTH), Some(browser)),
            // The scope alone opens no network to programs whose tool names no host.
            (Effect::Executes, PROGRAMS, Some(&[READ, NETWORK]), Some(shell)),
            (Effect::Executes, &[Need::Worker], Some(&[READ, NETWORK]), Some(worker)),
        ];
        let settings = ProgramSettings { hosts: HostRules::public(), ..ProgramSettings::default() };
        for (effect, needs, held, profile) in table {
            let found = made((*effect, needs), *held, None, &settings);
            assert_eq!(found, Reach { profile: *profile, hosts: None }, "{effect:?} {needs:?} {held:?}");
        }
    }

    #[test]
    fn hosts_take_a_tool_that_names_them_or_an_operator_and_a_caller_who_may() {
        const NET: &[Need] = &[Need::Process, Need::Net(&["a.test"])];
        const WEB: &[Need] = &[Need::Browser, Need::Net(&[])];
        const ANY: &[Need] = &[Need::Net(&[])];
        let write = Profile::write().with_network(true);
        // The tool's needs, what an operator names, what the caller holds; its profile, and the words of its hosts.
        type Row = (
            &'static [Need],
            &'static [&'static str],
            Option<&'static [&'static str]>,
            Option<Profile>,
            Option<&'static [&'static str]>,
        );
        let table: &[Row] = &[
            (NET, &[], None, Some(write), Some(&["a.test"])),
            (NET, &["b.test"], None, Some(write), Some(&["a.test", "b.test"])),
            (NET, &[], Some(&[READ, NETWORK]), Some(Profile::net()), Some(&["a.test"])),
            (NET, &[], Some(&[NETWORK]), Some(Profile::worker().with_network(true)), Some(&["a.test"])),
            (NET, &["public"], Some(BOTH), Some(Profile::write()), None),
            (NET, &["public"], Some(&[READ]), Some(Profile::shell()), None),
            (WEB, &["b.test"], Some(&[NETWORK]), Some(Profile::browser()), Some(&["b.test"])),
            (WEB, &["b.test"], Some(BOTH), Some(Profile::browser().with_network(false)), None),
            (ANY, &["b.test"], Some(&[NETWORK]), None, Some(&["b.test"])),
            (ANY, &["b.test"], Some(BOTH), None, None),
            // Nobody has named any.
            (ANY, &[], None, None, None),
        ];
        for (needs, named, held, profile, words) in table {
            let hosts = HostRules::parse(*named).expect("hosts");
            let settings = ProgramSettings { hosts, ..ProgramSettings::default() };
            let found = made((Effect::Executes, needs), *held, None, &settings);
            let told = found.hosts.as_ref().map(HostRules::words);
            let words: Option<Vec<_>> = words.map(|words| words.iter().map(ToString::to_string).collect());
            assert_eq!((found.profile, told), (*profile, words.as_deref()), "{needs:?} {named:?} {held:?}");
        }
    }

    #[test]
    fn where_somebody_can_be_asked_no_host_needs_to_be_named() {
        let settings = ProgramSettings { asks: true, ..ProgramSettings::default() };
        let needs: &[Need] = &[Need::Process, Need::Net(&[])];
        for (needs, held, profile, has_hosts) in [
            (needs, None, Some(Profile::write().with_network(true)), true),
            (needs, Some(&[READ, NETWORK][..]), Some(Profile::net()), true),
            // Asking takes the same need and the same scope.
            (needs, Some(BOTH), Some(Profile::write()), false),
            (PROGRAMS, None, Some(Profile::write()), false),
            (&[Need::Net(&[])], Some(&[NETWORK]), None, true),
            (&[Need::Net(&[])], Some(&[READ]), None, false),
        ] {
            let found = made((Effect::Executes, needs), held, None, &settings);
            let hosts = has_hosts.then(HostRules::none);
            assert_eq!(
                (found.profile, found.hosts.map(|it| it.is_none())),
                (profile, hosts.map(|it| it.is_none())),
                "{needs:?} {held:?}"
            );
        }
    }

    #[test]
    fn a_declared_tool_bounds_its_programs_and_never_widens_them() {
        let limits = Limits { memory_bytes: 100, processes: 10, open_files: 50, ..Limits::default() };
        let some =
            |value| Bounds { memory_bytes: Some(value), processes: Some(value), open_files: Some(value) };
        for (bounds, memory_bytes, processes, open_files) in [
            (Bounds::default(), 100, 10, 50),
            (some(5), 5, 5, 5),
            (some(1000), 100, 10, 50),
            (Bounds { processes: Some(3), ..Bounds::default() }, 100, 3, 50),
        ] {
            let expected = Limits { memory_bytes, processes, open_files, ..limits };
            assert_eq!(bounded(limits, bounds), expected, "{bounds:?}");
        }
    }

    #[test]
    fn the_programs_of_background_tasks_last_but_print_no_more_than_others() {
        let settings =
            ProgramSettings { limits: Limits { output_bytes: 9, ..Limits::default() }, ..Default::default() };
        let limits_of = |needs, time_max| {
            let found =
                made((Effect::Executes, needs), None, time_max, &settings).profile.expect("a profile");
            (found.limits.time, found.limits.cpu, found.limits.output_bytes)
        };
        let (tasks, five): (&[Need], _) = (&[Need::Process, Need::Tasks], Duration::from_secs(5));
        assert_eq!(limits_of(tasks, None), (Duration::MAX, Duration::MAX, 9));
        assert_eq!(limits_of(tasks, Some(five)), (five, Duration::MAX, 9));
        assert_eq!(limits_of(PROGRAMS, None), (settings.limits.time, settings.limits.cpu, 9));
    }

    #[test]
    fn a_rule_leaves_a_program_less_time_and_never_more() {
        let seconds = Duration::from_secs;
        let limits = Limits { time: seconds(60), processes: 7, ..Limits::default() };
        let settings = ProgramSettings { limits, ..ProgramSettings::default() };
        for (time_max, time) in [(None, 60), (Some(seconds(5)), 5), (Some(seconds(600)), 60)] {
            let found = made((Effect::Executes, PROGRAMS), None, time_max, &settings).profile;
            let expected = Profile { limits: Limits { time: seconds(time), ..limits }, ..Profile::write() };
            assert_eq!(found, Some(expected), "{time_max:?}");
        }
    }
}
