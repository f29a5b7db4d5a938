//! Holds a `[mcp.NAME]` table to its rules and finds every problem at once.

mod oauth;
mod place;
mod sandbox;
mod text;
mod tool_filter;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tool_api::ResultBudget;

use super::checked::{Inherits, Settings};
use super::limits::{
    CALL_TIMEOUT_MAX, CALL_TIMEOUT_MIN, LIST_TIMEOUT, Life, Limits, PROCESSES, START_TIMEOUT,
};
use super::mask::Mask;
use super::named::Named;
use super::workspace_words::WorkspaceWords;
use crate::config::{Config, NotFollowed, RESULT_KIB_MAX, Reference, Timeout};
use crate::naming;

/// Longest NAME of a table, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Longest prefix, in characters; leaves room for the tools' own names.
const PREFIX_CHARS_MAX: usize = 40;

/// How long one call may take, however much progress it reports, unless its table says otherwise.
const CALL_MAX_DEFAULT: Duration = Duration::from_secs(60 * 60);

/// A server that is stopped sooner would do little but start.
const IDLE_TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// Most calls at once that can be asked for.
const CONCURRENCY_MAX: u16 = 10_000;

/// Most processes of one server, which are as many as its connections may be beside the first.
const PROCESSES_MAX: u8 = 16;

/// What is said of a time that nobody means.
const NO_TIME: &str = "must be between 1 ms and 24 h";

pub(super) type LookUp<'a> = &'a dyn Fn(&Reference) -> Result<String, NotFollowed>;

impl Config {
    /// Checks the table named `name` and follows its references, those within texts too (`${env:NAME}`), with
    /// `look_up`, whose errors are sentences about the place, such as "the environment variable X is not set".
    /// `default_timeout` is for tables that name none. References of a disabled table are not followed.
    ///
    /// # Errors
    /// Everything that is wrong, each problem with the path of its key.
    pub fn settle(
        &self,
        name: &str,
        default_timeout: Duration,
        look_up: &dyn Fn(&Reference) -> Result<String, NotFollowed>,
    ) -> Result<Settings, Vec<String>> {
        let mut check = Check {
            table: format!("mcp.{}", key(name)),
            look_up,
            follow: self.enabled.0,
            lacks: None,
            secrets: Vec::new(),
            named: Named::default(),
            workspace: WorkspaceWords::default(),
            problems: Vec::new(),
        };
        check.name(name);
        let prefix = check.prefix(self, name);
        let limits = check.limits(self, default_timeout);
        let life = check.life(self);
        let result_budget = check.result_budget(self);
        let shape = Arc::new(check.shape(self));
        let sandbox = check.sandbox(self);
        let endpoint = check.endpoint(self);
        match endpoint {
            Some(endpoint) if check.problems.is_empty() => {
                let (name, enabled, foreign) = (name.into(), self.enabled.0, Default::default());
                let mask = Mask::of(&endpoint, &check.secrets);
                let (named, lacks) = (Arc::new(check.named), check.lacks);
                Ok(Settings {
                    name,
                    enabled,
                    limits,
                    life,
                    shape,
                    sandbox,
                    confined: Default::default(),
                    prefix,
                    foreign,
                    endpoint,
                    inherits: Inherits { globs: self.inherit.clone(), ..Inherits::default() },
                    workspace: check.workspace,
                    trust: self.trust,
                    era: self.era,
                    validate: self.validate,
                    errors: self.errors,
                    result_budget,
                    mask,
                    named,
                    lacks,
                    signer: None,
                })
            }
            _ => Err(check.problems),
        }
    }
}

/// A key as TOML wants it in a path.
pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(naming::is_legal);
    if bare { name.to_owned() } else { format!("{name:?}") }
}

struct Check<'a> {
    table: String,
    look_up: LookUp<'a>,
    /// False for a disabled table, whose references may lead nowhere.
    follow: bool,
    /// Why its server cannot be started yet, if a reference leads to something that is still missing.
    lacks: Option<Arc<str>>,
    /// Texts that references have led to and that others should not read.
    secrets: Vec<Box<str>>,
    /// Those of them that nobody may see, in other servers' words either, with what they are called.
    named: Named,
    workspace: WorkspaceWords,
    problems: Vec<String>,
}

impl Check<'_> {
    fn wrong(&mut self, key: &str, why: impl Display) {
        self.problems.push(format!("{}.{key}: {why}", self.table));
    }

    fn name(&mut self, name: &str) {
        let table = &self.table;
        if !name.chars().any(|character| character.is_ascii_alphanumeric()) {
            self.problems.push(format!("{table}: the name needs at least one letter a-z or digit"));
        }
        if name.chars().count() > NAME_CHARS_MAX {
            self.problems.push(format!("{table}: the name is longer than {NAME_CHARS_MAX} characters"));
        }
    }

    fn prefix(&mut self, config: &Config, name: &str) -> String {
        let Some(prefix) = &config.prefix else { return naming::sanitised(name) };
        if !prefix.chars().all(naming::is_legal) {
            self.wrong("prefix", "only letters a-z, digits, `_` and `-` may stand in a tool's name");
        }
        if prefix.chars().count() > PREFIX_CHARS_MAX {
            self.wrong("prefix", format!("longer than {PREFIX_CHARS_MAX} characters"));
        }
        prefix.clone()
    }

    fn limits(&mut self, config: &Config, default_timeout: Duration) -> Limits {
        let call_max = self.time("max_timeout", config.max_timeout);
        // Who sets the hard maximum alone means that no call takes longer.
        let bound = call_max.filter(|&most| is_time(most));
        let unsaid = bound.map_or(default_timeout, |most| most.min(default_timeout));
        let call = config.timeout.map_or(unsaid, |timeout| timeout.0);
        if !is_time(call) {
            self.wrong("timeout", "a call's time is between 1 ms and 24 h");
        }
        if bound.is_some_and(|most| most < call) {
            self.wrong("max_timeout", format!("must not be shorter than `timeout`, which is {call:?}"));
        }
        let concurrency = config.concurrency;
        if concurrency.is_some_and(|most| !(1..=CONCURRENCY_MAX).contains(&most)) {
            self.wrong("concurrency", format!("must be between 1 and {CONCURRENCY_MAX}"));
        }
        let processes = config.processes.unwrap_or(PROCESSES);
        if !(1..=PROCESSES_MAX).contains(&processes) {
            self.wrong("processes", format!("must be between 1 and {PROCESSES_MAX}"));
        }
        Limits {
            start: self.time("start_timeout", config.start_timeout).unwrap_or(START_TIMEOUT),
            list: self.time("list_timeout", config.list_timeout).unwrap_or(LIST_TIMEOUT),
            call,
            call_max: call_max.unwrap_or(CALL_MAX_DEFAULT.max(call)),
            concurrency,
            processes,
        }
    }

    fn result_budget(&mut self, config: &Config) -> ResultBudget {
        let Some(kib) = config.result_kib else { return ResultBudget::Usual };
        if kib > RESULT_KIB_MAX {
            self.wrong(
                "result_kib",
                format!("must be between 1 and {RESULT_KIB_MAX}, or 0 for results as they come"),
            );
        }
        match kib {
            0 => ResultBudget::Whole,
            kib => ResultBudget::Bytes(usize::from(kib) * 1024),
        }
    }

    fn life(&mut self, config: &Config) -> Life {
        let idle = config.idle_timeout.map(|timeout| timeout.0);
        if idle.is_some_and(|idle| !(IDLE_TIMEOUT_MIN..=CALL_TIMEOUT_MAX).contains(&idle)) {
            self.wrong("idle_timeout", "must be between 1 s and 24 h");
        }
        let Config { on_demand, restart, isolation, .. } = *config;
        Life { on_demand, idle, restart, isolation }
    }

    fn time(&mut self, key: &str, given: Option<Timeout>) -> Option<Duration> {
        let time = given?.0;
        if !is_time(time) {
            self.wrong(key, NO_TIME);
        }
        Some(time)
    }
}

/// True for a time that something may be given.
fn is_time(time: Duration) -> bool {
    (CALL_TIMEOUT_MIN..=CALL_TIMEOUT_MAX).contains(&time)
}

#[cfg(test)]
mod tests;
