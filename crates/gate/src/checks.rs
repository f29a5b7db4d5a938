//! The checks between a call and its tool, in the order they are made.

mod again;
mod messages;
mod obeyed;
mod policy_check;
mod rate;
mod rules_check;
mod schema_check;
mod scope;

use crate::failure::Refusal;
use crate::pending::Pending;
use crate::ruleset::Ruleset;

pub(crate) use again::judge_again;
pub(crate) use messages::{judge_news, listener, note_messages, on_messages};
pub use obeyed::{obeyed_files, obeyed_rule};
pub use policy_check::facts;
pub use rate::{LimitConfig, RateConfig, RateProblem, Rates};
pub(crate) use rate::{NAME as RATE, Quotas};
pub(crate) use rules_check::judge_result;
pub(crate) use scope::has_scopes;
pub use scope::missing_scopes;

/// One check. Checks decide; the loop around them records what they decided.
pub(crate) trait Check: Send + Sync {
    /// The name in records.
    fn name(&self) -> &'static str;

    /// Lets the call pass, or says why not; may leave a question that a person must answer before it runs. A check that
    /// cannot be made refuses.
    fn check(&self, pending: &mut Pending<'_>, ruleset: &Ruleset) -> Result<(), Refusal>;
}

/// All checks, the last of which counts days for itself.
pub(crate) fn in_order() -> Vec<Box<dyn Check>> {
    counting(Quotas::default())
}

/// All checks, which count the calls of days so. Cheap and certain first, what costs the caller something last.
pub(crate) fn counting(quotas: Quotas) -> Vec<Box<dyn Check>> {
    vec![
        Box::new(scope::Scope),
        Box::new(policy_check::PolicyCheck),
        Box::new(rules_check::AiRules),
        Box::new(schema_check::InputSchema),
        Box::new(rate::Rate::counting(quotas)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_checks_is_settled() {
        let names: Vec<_> = in_order().iter().map(|check| check.name()).collect();
        assert_eq!(names, ["scope", "policy", "ai_rules", "input_schema", "rate"]);
    }
}
