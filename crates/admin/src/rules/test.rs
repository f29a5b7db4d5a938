//! What the rules would do with a call, without making it.

use rules::{Approval, Call, Finding, Rules, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RulesPart, place, rules_of};
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// Holds a call against the rules. Nothing is called, and no server is started.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The tool.
    pub tool: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// What the tool would give, to be held against the rules as well.
    #[serde(default)]
    pub result: Option<String>,
    /// The server that the tool is on; without it the tool is looked for.
    #[serde(default)]
    pub upstream: Option<String>,
}

/// What the rules would do with a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    /// The rules that the call itself falls under.
    pub findings: Vec<Match>,
    /// Why it does not run.
    pub refused: Option<Stop>,
    /// What a person must agree to.
    pub asks: Vec<Approval>,
    /// The arguments as they would reach the tool, if they are changed.
    pub arguments: Option<Value>,
    /// What becomes of the result, if one was given and the call runs.
    pub result: Option<OnResult>,
}

/// A rule that a call or a result falls under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Match {
    /// Whose it is.
    pub from: String,
    /// Its id.
    pub rule: String,
    /// What it does, for records.
    pub effect: String,
    /// Whether it acts.
    pub acts: bool,
    /// Where it stands: `file:line:column`.
    #[serde(rename = "where")]
    pub place: String,
}

/// What becomes of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnResult {
    /// The rules that it falls under.
    pub findings: Vec<Match>,
    /// Why it is withheld.
    pub withheld: Option<Stop>,
    /// What is left of it, unless it is withheld.
    pub text: Option<String>,
}

impl Operation for Test {
    const NAME: &'static str = "rules.test";
    type Part = RulesPart;
    type Output = Tested;

    fn perform(self, part: &RulesPart, _: &By) -> Result<Tested, Fault> {
        let (rules, arguments) = (part.sound()?, Value::Object(self.arguments));
        let mut call = Call {
            tool: &self.tool,
            upstream: self.upstream.as_deref(),
            open_world: true,
            is_action: false,
            paths: None,
            input_schema: None,
            output_schema: None,
            arguments: &arguments,
            begun_with: None,
            answers: None,
            meta: None,
        };
        if self.upstream.is_some() {
            return Ok(judged(&rules, &call, self.result.as_deref()));
        }
        let known = part.tools.known()?;
        let definition = known.definition(&self.tool)?;
        call.upstream = definition.upstream();
        call.open_world = definition.open_world;
        call.paths = definition.listing.paths();
        call.input_schema = Some(&definition.input_schema);
        Ok(judged(&rules, &call, self.result.as_deref()))
    }
}

fn judged(rules: &Rules, call: &Call<'_>, result: Option<&str>) -> Tested {
    let judgement = rules.judge(call);
    let matches = |findings: &[Finding]| findings.iter().map(|found| Match::of(rules, found)).collect();
    let result = result.filter(|_| judgement.stop.is_none()).map(|given| match judgement.on_result {
        None => OnResult { findings: Vec::new(), withheld: None, text: Some(given.to_owned()) },
        Some(mut on_result) => {
            let left = on_result.text(given).unwrap_or_else(|| given.to_owned());
            let words = on_result.end();
            let text = words.stop.is_none().then_some(left);
            OnResult { findings: matches(&words.findings), withheld: words.stop, text }
        }
    });
    Tested {
        findings: matches(&judgement.findings),
        refused: judgement.stop,
        asks: judgement.approvals,
        arguments: judgement.arguments,
        result,
    }
}

impl Match {
    fn of(rules: &Rules, finding: &Finding) -> Match {
        let place = rules.show(|files, _| {
            let mut of_layer = files.iter().filter(|file| file.layer == finding.layer);
            let rule = |file| rules_of(file).find(|rule| rule.id == finding.rule);
            of_layer.find_map(|file| Some(place(file, rule(file)?)))
        });
        Match {
            from: finding.layer.word().to_owned(),
            rule: finding.rule.to_string(),
            effect: finding.effect.to_string(),
            acts: finding.acts,
            place: place.unwrap_or_default(),
        }
    }
}
