//! The rules in force: what a reload exchanges. A call goes by those that were in force when it came, to its end.

use std::sync::Arc;

use policy::Engine;
use rules::Rules;

use crate::approvals;
use crate::checks::Rates;
use crate::hands::ProgramSettings;
use crate::result_limit::ResultLimit;

/// All that decides about calls, at one moment.
#[derive(Clone)]
pub struct Ruleset {
    /// Who may do what.
    pub policy: Arc<dyn Engine>,
    /// What agents may see, do and send, by paths and contents.
    pub rules: Arc<Rules>,
    /// How often.
    pub rates: Arc<Rates>,
    /// How people are asked.
    pub approvals: approvals::Config,
    /// What the programs of calls may use.
    pub programs: Arc<ProgramSettings>,
    /// How much of a result one answer holds.
    pub result: ResultLimit,
}

impl Ruleset {
    /// A policy, and how often callers may call; no rules for AI, and the rest as it is by default.
    pub fn new(policy: impl Engine + 'static, rates: impl Into<Rates>) -> Ruleset {
        Ruleset {
            policy: Arc::new(policy),
            rules: Arc::new(Rules::none()),
            rates: Arc::new(rates.into()),
            approvals: approvals::Config::default(),
            programs: Arc::default(),
            result: ResultLimit::default(),
        }
    }
}
