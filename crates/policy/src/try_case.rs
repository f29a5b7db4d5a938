//! Trying the cases that stand beside the rules.

use serde_json::Value;

use crate::case::{Case, CaseResult, Decided, Expected, Got};
use crate::decide::Policy;
use crate::engine::Decision;
use crate::facts::{Effect, Facts, ToolOrigin};
use crate::scope::ScopeError;
use crate::words::ActionWord;

impl Policy {
    /// Tries a case.
    pub fn try_case(&self, case: &Case) -> CaseResult {
        let got = case.caller.settle().map(|caller| {
            let is_ours = case.upstream.is_none();
            let facts = Facts {
                caller: &caller,
                tool: &case.tool,
                upstream: case.upstream.as_deref(),
                origin: case.origin.unwrap_or(ToolOrigin::of(case.upstream.as_deref())),
                action: case.action.filter(|word| *word != ActionWord::ToolsCall).map(ActionWord::as_str),
                effect: case.effect.unwrap_or(if is_ours { Effect::Reads } else { Effect::Executes }),
                marked_destructive: case.destructive || case.effect == Some(Effect::Destroys),
                leaves_machine: case.leaves_machine.unwrap_or(!is_ours),
                sends: case.sends.or(case.leaves_machine).unwrap_or(!is_ours),
            };
            self.decide_at(&facts, &Value::Object(case.arguments.clone()), case.at)
        });
        let expected = Expected { effect: case.expect, rule: case.rule.clone() };
        let is_expected = |got: &Decision| {
            got.verdict == case.expect && case.rule.as_ref().is_none_or(|rule| **rule == *got.rule)
        };
        let good = got.as_ref().is_ok_and(is_expected);
        let untried = |error: ScopeError| Got::Untried { error: error.to_string() };
        let got = got.map_or_else(untried, |got| Got::Decided(Decided::from(&got)));
        CaseResult { name: case.name.clone(), good, expected, got }
    }
}
