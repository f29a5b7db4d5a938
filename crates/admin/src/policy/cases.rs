//! The cases beside the rules, tried.

use policy::{Case, CaseResult, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Decided, PolicyPart};
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
    pub cases: Vec<CaseReport>,
    /// How many came otherwise than expected.
    pub failed: usize,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// Whether it came as expected.
    pub good: bool,
    /// What was to come of it.
    pub expected: Expected,
    /// What came of it.
    pub got: Got,
}

/// What is to come of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// The answer.
    pub effect: Verdict,
    /// The rule that is to decide, if it is not all the same.
    pub rule: Option<String>,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Got {
    /// The policy decided.
    Decided(Decided),
    /// It could not be tried.
    Untried {
        /// Why not.
        error: String,
    },
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
        let cases: Vec<CaseReport> =
            cases.iter().map(|case| CaseReport::of(part.policy.try_case(case))).collect();
        let failed = cases.iter().filter(|case| !case.good).count();
        Ok(Tested { cases, failed })
    }
}

impl CaseReport {
    fn of(result: CaseResult) -> CaseReport {
        let good = result.is_good();
        let CaseResult { name, got, expected, rule } = result;
        let got = match got {
            Ok(decision) => Got::Decided(Decided::from(&decision)),
            Err(error) => Got::Untried { error: error.to_string() },
        };
        CaseReport { name, good, expected: Expected { effect: expected, rule }, got }
    }
}
