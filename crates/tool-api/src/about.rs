//! What a built-in tool says of itself: one constant beside its code.

use std::time::Duration;

use sandbox::egress::{HostRuleError, HostRules};
use schemars::JsonSchema;
use serde::Deserialize;

/// What a tool can do to the world, least severe first. Default policy, annotations and hands follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Effect {
    /// Looks, and changes nothing.
    Reads,
    /// Changes what can be changed back.
    Writes,
    /// Removes or overwrites what cannot be had back.
    Destroys,
    /// Runs a program, ours or somebody else's.
    Executes,
}

impl Effect {
    /// The word for records and tables.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Reads => "reads",
            Effect::Writes => "writes",
            Effect::Destroys => "destroys",
            Effect::Executes => "executes",
        }
    }
}

/// A hand that a tool has beside its files. It has no other. What it may do with it follows from the tool's effect and from
/// what its caller may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Programs that look at the workspace, or change it: `Context::process`.
    Process,
    /// Programs that compute with what they are sent, and see no workspace: `Context::process`.
    Worker,
    /// A browser, which sees no workspace: `Context::browser`, and programs that see as little: `Context::process`.
    Browser,
    /// These hosts, written as in `sandbox.hosts`, beside those that an operator names: `Context::net`, and the network of
    /// its programs.
    Net(&'static [&'static str]),
    /// The same for a declared tool, whose hosts have been read with its file.
    Hosts(HostRules),
    /// Results that are too large to be said are kept for the caller, and read again: `Context::artifacts`.
    Artifacts,
    /// What it keeps for its caller in this workspace is there in the next call: `Context::state`.
    State,
    /// It finds other tools: `Context::catalogue`.
    Catalogue,
    /// A person at a terminal answers what the client cannot ask: `Context::person`.
    Person,
    /// The caller's background tasks: `Context::tasks`. The programs of a tool that needs them last as long as it does.
    Tasks,
}

impl Need {
    /// Whether it is of programs.
    pub fn is_of_programs(&self) -> bool {
        match self {
            Need::Process | Need::Worker | Need::Browser => true,
            Need::Net(_)
            | Need::Hosts(_)
            | Need::Artifacts
            | Need::State
            | Need::Catalogue
            | Need::Person
            | Need::Tasks => false,
        }
    }

    /// Whether it reaches beyond what Toolcrib keeps itself.
    pub fn reaches_out(&self) -> bool {
        !matches!(self, Need::Artifacts | Need::State | Need::Catalogue | Need::Person | Need::Tasks)
    }

    /// The hosts, if it is of them; by what the sandbox knows them.
    pub fn hosts(&self) -> Option<Result<HostRules, HostRuleError>> {
        match self {
            Need::Net(hosts) => Some(HostRules::parse(*hosts)),
            Need::Hosts(rules) => Some(Ok(rules.clone())),
            Need::Process
            | Need::Worker
            | Need::Browser
            | Need::Artifacts
            | Need::State
            | Need::Catalogue
            | Need::Person
            | Need::Tasks => None,
        }
    }
}

/// What the arguments of a tool are, by their names, as the rules, the policy and the gate read it: nobody guesses it by what
/// they are called. One that stands in no list is none of this.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentRoles {
    /// Name files or folders, or are patterns for them.
    pub paths: &'static [&'static str],
    /// Of those, the ones that name files it writes. What is not named here cannot be written where others obey it.
    pub writes: &'static [&'static str],
    /// Are a word to the person who is asked about the call, and nothing to what it does: no answer is bound to them.
    pub remarks: &'static [&'static str],
}

impl ArgumentRoles {
    /// Of arguments that are nothing of the kind.
    pub const NONE: ArgumentRoles = ArgumentRoles { paths: &[], writes: &[], remarks: &[] };
}

/// A sample call that shows how a tool is meant.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// What it is good for.
    pub title: &'static str,
    /// The arguments as JSON text; a test runs them against the input schema.
    pub arguments: &'static str,
}

/// The self-description of a built-in tool.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Name for calling, `noun_verb`.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What it does, for the model that must choose: limits and defaults included.
    pub summary: &'static str,
    /// The strongest thing it can do.
    pub effect: Effect,
    /// What its arguments are.
    pub arguments: ArgumentRoles,
    /// What a caller must have been given to see it.
    pub scopes: &'static [&'static str],
    /// What it needs beside its files.
    pub needs: &'static [Need],
    /// True if a second identical call changes nothing more.
    pub idempotent: bool,
    /// True if it reaches beyond this machine.
    pub open_world: bool,
    /// How long one call may take.
    pub timeout: Duration,
    /// Sample calls.
    pub examples: &'static [Example],
}

impl About {
    /// Why no tool can be like this; nothing if one can.
    pub const fn fault(&self) -> Option<&'static str> {
        let (mut processes, mut workers, mut nets, mut nth) = (0, 0, 0, 0);
        let (mut named, mut ends) = (false, false);
        while nth < self.needs.len() {
            match self.needs[nth] {
                Need::Process | Need::Browser => processes += 1,
                Need::Worker => workers += 1,
                Need::Net(hosts) => {
                    nets += 1;
                    named = !hosts.is_empty();
                }
                Need::Hosts(_) => (nets, named) = (nets + 1, true),
                // Whoever ends what runs has a say in it, too.
                Need::Tasks => ends = true,
                Need::Artifacts | Need::State | Need::Catalogue | Need::Person => {}
            }
            nth += 1;
        }
        match (self.effect, processes + workers, nets) {
            (_, 2.., _) => Some("a tool needs programs of one kind, and says so once"),
            (_, _, 2..) => Some("a tool names its hosts once"),
            // Our own workers reach none anyway, whichever hosts a person names for their tool.
            (_, _, 1) if workers > 0 && named => Some("what computes with what it is sent reaches no host"),
            // One that names none reaches what an operator names for programs, and what a person grants while it runs.
            (_, _, 1) if named && !self.open_world => Some("a tool that names hosts has an open world"),
            (Effect::Executes, 0, _) if !ends => Some("a tool that executes needs programs"),
            (Effect::Reads | Effect::Writes | Effect::Destroys | Effect::Executes, _, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(effect: Effect, needs: &'static [Need], fault: Option<&str>) {
        check_in(true, effect, needs, fault);
    }

    #[track_caller]
    fn check_in(open_world: bool, effect: Effect, needs: &'static [Need], fault: Option<&str>) {
        let about = About {
            name: "sample",
            title: "Sample",
            summary: "a sample",
            effect,
            arguments: ArgumentRoles::NONE,
            scopes: &["read_workspace"],
            needs,
            idempotent: true,
            open_world,
            timeout: Duration::from_secs(1),
            examples: &[],
        };
        assert_eq!(about.fault(), fault, "{effect:?} {needs:?}");
    }

    #[test]
    fn what_makes_no_sense_is_no_tool() {
        let several = Some("a tool needs programs of one kind, and says so once");
        check(Effect::Reads, &[], None);
        check(Effect::Reads, &[Need::Process], None);
        check(Effect::Writes, &[Need::Worker], None);
        check(Effect::Executes, &[Need::Process], None);
        check(Effect::Executes, &[Need::Browser, Need::Net(&["public"])], None);
        check(Effect::Reads, &[Need::Artifacts], None);
        check(Effect::Executes, &[Need::Artifacts], Some("a tool that executes needs programs"));
        check(Effect::Executes, &[], Some("a tool that executes needs programs"));
        check(Effect::Executes, &[Need::Tasks], None);
        check(Effect::Executes, &[Need::Process, Need::Worker], several);
        check(Effect::Executes, &[Need::Process, Need::Browser], several);
        check(Effect::Reads, &[Need::Process, Need::Process], several);
        check(Effect::Reads, &[Need::Net(&["public"])], None);
        check(Effect::Executes, &[Need::Net(&[]), Need::Process], None);
        check(Effect::Executes, &[Need::Net(&[])], Some("a tool that executes needs programs"));
        check(Effect::Reads, &[Need::Net(&[]), Need::Net(&[])], Some("a tool names its hosts once"));
        let worker = Some("what computes with what it is sent reaches no host");
        check(Effect::Executes, &[Need::Worker, Need::Net(&["a.test"])], worker);
        check(Effect::Reads, &[Need::Worker, Need::Net(&[])], None);
        let closed = Some("a tool that names hosts has an open world");
        check_in(false, Effect::Reads, &[Need::Net(&["a.test"])], closed);
        check_in(false, Effect::Reads, &[Need::Net(&[])], None);
        check_in(false, Effect::Reads, &[Need::Process], None);
    }
}
