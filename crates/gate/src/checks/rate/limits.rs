//! The limits: how they are configured, and which of them concern a call.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;

/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// How many refusals a caller may meet for each call that its limit allows, before its calls are turned away unseen. Who
/// tries things out is refused often; who is refused more than that is no use to anybody.
const REFUSALS_PER_CALL: u64 = 10;

/// How many resources a caller may subscribe to at once, whatever its burst: a client that has lost its connection
/// subscribes again to all it had, and a session has at most so many subscriptions.
const WATCHES_BURST: u64 = 1_000;

/// How often one caller may call tools. To begin to watch a resource is limited beside that: as often a second, but up to
/// 1,000 at once.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateConfig {
    /// Calls a second that a caller may keep up; 0 switches the limit off.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub per_second: u32,
    /// Calls that may come at once before the limit applies.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub burst: u32,
}

impl Default for RateConfig {
    fn default() -> RateConfig {
        RateConfig { per_second: 10, burst: 20 }
    }
}

/// How often something in particular may be called. A call that one limit refuses counts for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitConfig {
    /// Calls a second that may be kept up; 0 means any number.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub per_second: Option<u32>,
    /// Calls that may come at once before that applies; by default as many as a second allows.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub burst: Option<NonZeroU32>,
    /// Calls in 24 hours, counted from the first one, by all processes with this state folder together. The count outlives
    /// them; what a process has put by for itself when it ends is lost, at most a hundredth and never more than it has
    /// used.
    #[schemars(range(min = 1))]
    pub per_day: Option<NonZeroU32>,
}

/// One limit, in the form in which it is checked.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    /// Its name in the configuration.
    pub(crate) name: Arc<str>,
    /// The time that one call, or one refusal, costs; 0 for no limit.
    pub(crate) every_ns: u64,
    /// How much time may be lacking for one more to pass.
    pub(crate) lacking_max_ns: u64,
    pub(super) per_day: Option<u32>,
}

impl Limit {
    fn new(name: String, rate: RateConfig, per_day: Option<NonZeroU32>) -> Limit {
        let every_ns = SECOND_NS.checked_div(u64::from(rate.per_second)).unwrap_or(0);
        let lacking_max_ns = every_ns.saturating_mul(u64::from(rate.burst.max(1)) - 1);
        Limit { name: name.into(), every_ns, lacking_max_ns, per_day: per_day.map(NonZeroU32::get) }
    }

    fn is_one(&self) -> bool {
        self.every_ns > 0 || self.per_day.is_some()
    }
}

/// All limits.
#[derive(Debug, Clone)]
pub struct Rates {
    every_caller: Limit,
    /// The most particular pattern first.
    callers: Vec<(GlobMatcher, Limit)>,
    tools: Vec<(GlobMatcher, Limit)>,
    upstreams: BTreeMap<String, Limit>,
}

/// A limit that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("limits.{}.{:?} {what}", .keys[0], .keys[1])]
pub struct RateProblem {
    /// The keys of its table below `limits`.
    pub keys: [String; 2],
    /// What is wrong with it.
    pub what: String,
}

impl From<RateConfig> for Rates {
    fn from(every_caller: RateConfig) -> Rates {
        Rates {
            every_caller: Limit::new("limits.rate".to_owned(), every_caller, None),
            callers: Vec::new(),
            tools: Vec::new(),
            upstreams: BTreeMap::new(),
        }
    }
}

impl Rates {
    /// The limits of a configuration: of every caller, of callers and tools by patterns of their names, and of
    /// upstreams by their names.
    ///
    /// # Errors
    /// All that cannot be used.
    pub fn new(
        every_caller: RateConfig,
        callers: &BTreeMap<String, LimitConfig>,
        tools: &BTreeMap<String, LimitConfig>,
        upstreams: &BTreeMap<String, LimitConfig>,
    ) -> Result<Rates, Vec<RateProblem>> {
        let mut rates = Rates::from(every_caller);
        let mut problems = Vec::new();
        let mut settle = |table: &str, name: &String, config: &LimitConfig, otherwise: RateConfig| {
            let mut report = |what: String| {
                problems.push(RateProblem { keys: [table.to_owned(), name.clone()], what });
            };
            if *config == LimitConfig::default() {
                report("limits nothing; give it `per_second` or `per_day`".to_owned());
            }
            if config.burst.is_some() && config.per_second.is_none() {
                report("has a `burst` and no `per_second` that it belongs to".to_owned());
            }
            if table != "callers" && name.contains('/') {
                report("fits nothing: no name of a tool or a server has a `/`".to_owned());
            }
            let glob = GlobBuilder::new(name).literal_separator(false).build();
            let glob = glob.map_err(|error| report(format!("is no pattern: {}", error.kind()))).ok()?;
            let rate = match config.per_second {
                None => otherwise,
                Some(per_second) => {
                    let burst = config.burst.map_or(per_second, NonZeroU32::get);
                    RateConfig { per_second, burst }
                }
            };
            Some((
                glob.compile_matcher(),
                Limit::new(format!("limits.{table}.{name:?}"), rate, config.per_day),
            ))
        };
        let unlimited = RateConfig { per_second: 0, burst: 1 };
        let mut names: Vec<_> = callers.iter().collect();
        // A name is more particular than a pattern, and a long pattern more than a short one.
        names.sort_by_key(|(name, _)| (name.contains(['*', '?', '[', '{']), usize::MAX - name.len()));
        let named =
            names.into_iter().filter_map(|(name, config)| settle("callers", name, config, every_caller));
        rates.callers = named.collect();
        rates.tools =
            tools.iter().filter_map(|(name, config)| settle("tools", name, config, unlimited)).collect();
        let named = upstreams.iter().filter_map(|(name, config)| {
            let (_, limit) = settle("upstreams", name, config, unlimited)?;
            Some((name.clone(), limit))
        });
        rates.upstreams = named.collect();
        if problems.is_empty() { Ok(rates) } else { Err(problems) }
    }

    /// True if only callers are limited, so that nobody needs to know which tool it is.
    pub(super) fn are_plain(&self) -> bool {
        self.tools.is_empty() && self.upstreams.is_empty()
    }

    /// The limit of a caller over all that they call.
    pub(super) fn of_caller(&self, id: &str) -> Option<&Limit> {
        let own = self.callers.iter().find(|(pattern, _)| pattern.is_match(id));
        Some(own.map_or(&self.every_caller, |(_, limit)| limit)).filter(|limit| limit.is_one())
    }

    /// The limit of a caller over what they subscribe to; nothing if they may call as often as they like.
    pub(super) fn of_subscriptions(&self, id: &str) -> Option<Limit> {
        let limit = self.of_caller(id).filter(|limit| limit.every_ns > 0)?;
        let lacking_max_ns = limit.every_ns.saturating_mul(WATCHES_BURST - 1).max(limit.lacking_max_ns);
        Some(Limit { lacking_max_ns, per_day: None, ..limit.clone() })
    }

    /// The limit of a caller over what they are refused; nothing if they may call as often as they like.
    pub(crate) fn of_refusals(&self, id: &str) -> Option<Limit> {
        let limit = self.of_caller(id).filter(|limit| limit.every_ns > 0)?;
        let calls = limit.lacking_max_ns / limit.every_ns + 1;
        let every_ns = (limit.every_ns / REFUSALS_PER_CALL).max(1);
        let lacking_max_ns = every_ns.saturating_mul(calls.saturating_mul(REFUSALS_PER_CALL) - 1);
        Some(Limit { name: limit.name.clone(), every_ns, lacking_max_ns, per_day: None })
    }

    /// The limits of a tool over all that call it; each tool has its own share of a pattern's.
    pub(super) fn of_tool(&self, name: &str) -> impl Iterator<Item = &Limit> {
        let fitting = self.tools.iter().filter(move |(pattern, _)| pattern.is_match(name));
        fitting.map(|(_, limit)| limit).filter(|limit| limit.is_one())
    }

    /// The limit of an upstream over all of its tools and all that call them.
    pub(super) fn of_upstream(&self, name: &str) -> Option<&Limit> {
        self.upstreams.get(name).filter(|limit| limit.is_one())
    }
}
