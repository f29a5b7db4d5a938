//! The cases beside the rules, tried.

use policy::{Case, CaseResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PolicyPart;
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// Tries cases.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Test {
    /// Which; those that stand beside the rules if nothing is said.
    pub cases: Option<Vec<Case>>,
}

/// Cases that were tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    /// In the order in which they stand.
    pub cases: Vec<CaseResult>,
    /// How many came otherwise than expected.
    pub failed: usize,
}

impl Operation for Test {
    const NAME: &'static str = "policy.test";
    type Part = PolicyPart;
    type Output = Tested;

    fn perform(self, part: &PolicyPart, _: &By) -> Result<Tested, Fault> {
        let cases = self.cases.map_or_else(|| part.beside.cases(), Ok)?;
        if cases.is_empty() {
            return Err(Fault::misused(
                "there are no cases; write them as [[policy.tests]] into the configuration, or as [[tests]] into a file \
                 beside it whose name ends with `.policy-test.toml`",
            ));
        }
        let cases: Vec<CaseResult> = cases.iter().map(|case| part.policy.try_case(case)).collect();
        let failed = cases.iter().filter(|case| !case.good).count();
        Ok(Tested { cases, failed })
    }
}
