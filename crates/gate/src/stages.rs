//! The checks between a call and its tool, in the order they are made.

mod again;
mod messages;
mod obeyed;
mod policy_stage;
mod rate;
mod rules_stage;
mod schema_stage;
mod scope;

use crate::bylaws::Bylaws;
use crate::failure::Refusal;
use crate::pending::Pending;

pub(crate) use again::judge_again;
pub(crate) use messages::{judge_news, listener, note_messages, on_messages};
pub use obeyed::{obeyed_files, obeyed_rule};
pub use policy_stage::facts;
pub use rate::{LimitConfig, RateConfig, RateProblem, Rates};
pub(crate) use rate::{NAME as RATE, Quotas};
pub(crate) use rules_stage::judge_result;
pub(crate) use scope::has_scopes;
pub use scope::missing_scopes;

/// One check. Stages decide; the loop around them records what they decided.
pub(crate) trait Stage: Send + Sync {
    /// The name in records.
    fn name(&self) -> &'static str;

    /// Lets the call pass, or says why not; may leave a question that a person must answer before it runs. A check that
    /// cannot be made refuses.
    fn check(&self, pending: &mut Pending<'_>, bylaws: &Bylaws) -> Result<(), Refusal>;
}

/// All stages, the last of which counts days for itself.
pub(crate) fn in_order() -> Vec<Box<dyn Stage>> {
    counting(Quotas::default())
}

/// All stages, which count the calls of days so. Cheap and certain first, what costs the caller something last.
pub(crate) fn counting(quotas: Quotas) -> Vec<Box<dyn Stage>> {
    vec![
        Box::new(scope::Scope),
        Box::new(policy_stage::PolicyStage),
        Box::new(rules_stage::AiRules),
        Box::new(schema_stage::InputSchema),
        Box::new(rate::Rate::counting(quotas)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_stages_is_settled() {
        let names: Vec<_> = in_order().iter().map(|stage| stage.name()).collect();
        assert_eq!(names, ["scope", "policy", "ai_rules", "input_schema", "rate"]);
    }
}
