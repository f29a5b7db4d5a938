//! Trying the cases that stand beside the rules.

use serde_json::Value;

use crate::case::{Case, CaseResult};
use crate::decide::Policy;
use crate::facts::{Effect, Facts};
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
                action: case.action.filter(|word| *word != ActionWord::ToolsCall).map(ActionWord::as_str),
                effect: case.effect.unwrap_or(if is_ours { Effect::Reads } else { Effect::Executes }),
                marked_destructive: case.destructive || case.effect == Some(Effect::Destroys),
                leaves_machine: case.leaves_machine.unwrap_or(!is_ours),
            };
            self.decide_at(&facts, &Value::Object(case.arguments.clone()), case.at)
        });
        CaseResult { name: case.name.clone(), got, expected: case.expect, rule: case.rule.clone() }
    }
}
