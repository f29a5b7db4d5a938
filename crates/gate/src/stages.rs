//! The checks between a call and its tool, in the order they are made.

mod policy_stage;
mod rate;
mod schema_stage;
mod scope;

use crate::failure::Refusal;
use crate::pending::Pending;

pub(crate) use policy_stage::facts;
pub use rate::RateConfig;
pub(crate) use scope::has_scopes;

/// One check. Stages decide; the loop around them records what they decided.
pub(crate) trait Stage: Send + Sync {
    /// The name in records.
    fn name(&self) -> &'static str;

    /// Lets the call pass or says why not. A check that cannot be made refuses.
    fn check(&self, pending: &Pending<'_>) -> Result<(), Refusal>;
}

/// All stages. Cheap and certain first, what costs the caller something last.
pub(crate) fn in_order(policy: policy::Policy, rate: &RateConfig) -> Vec<Box<dyn Stage>> {
    vec![
        Box::new(scope::Scope),
        Box::new(policy_stage::PolicyStage::new(policy)),
        Box::new(schema_stage::InputSchema),
        Box::new(rate::Rate::new(rate)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_stages_is_settled() {
        let policy = policy::Policy::new(&policy::Config::default()).expect("the default is sound");
        let names: Vec<_> =
            in_order(policy, &RateConfig::default()).iter().map(|stage| stage.name()).collect();
        assert_eq!(names, ["scope", "policy", "input_schema", "rate"]);
    }
}
