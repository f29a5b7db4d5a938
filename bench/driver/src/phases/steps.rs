//! What each step of the gate costs a call, in instructions: steady where time is not.

use std::collections::BTreeMap;

use super::read_file;
use super::tables::failed_row;
use crate::bench::Bench;
use crate::counts::function_instructions;
use crate::programs::Rules;
use crate::report::{Report, Section, Unit};

/// A step in the words of the architecture, and the end of the name of the function that it is.
const STEPS: &[(&str, &str)] = &[
    ("the frame is read and checked", "wire::message::Frame::parse"),
    ("the whole gate", "gate::Gate>::call::{{closure}}"),
    ("the record is opened", "gate::record_scope::RecordScope::open"),
    ("the call is admitted", "gate::Gate>::admit::{{closure}}"),
    ("the arguments are parsed", "tool_api::arguments::Arguments::parse"),
    ("scope", "gate::checks::scope::scope"),
    ("policy", "gate::checks::policy_check::policy"),
    ("AI rules", "gate::checks::rules_check::ai_rules"),
    ("input schema", "gate::checks::schema_check::input_schema"),
    ("the limits that fit", "gate::checks::rate::wanted"),
    ("the tool itself", "tool_api::tool::AnyTool>::run::{{closure}}"),
    ("the result is cleaned", "gate::result::clean"),
    ("the record is closed", "gate::record_scope::RecordScope::close"),
    ("the answer is written", "server::reply::answer"),
];

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let programs = &bench.programs;
    let count = |rules| {
        let launch = programs.toolcrib_ruled(rules)?;
        function_instructions(&launch, &read_file(), || programs.own_path("callgrind"))
    };
    let rows = match (count(Rules::None), count(Rules::All)) {
        (Ok(plain), Ok(ruled)) => STEPS.iter().map(|step| row(step, &plain, &ruled)).collect(),
        (Err(error), _) | (_, Err(error)) => vec![failed_row(format!("{error:#}"), 3)],
    };
    report.section(Section {
        title: "Instructions of each step".into(),
        about: "One `workspace_read` over stdio, counted by callgrind, with all that each step calls. Left as it comes; right \
                with 50 rules of policy, conditions over the arguments among them, AI rules over paths and contents, limits for \
                callers, tools and upstreams, and 50 known secrets. A dash: the compiler has made it part of its caller."
            .into(),
        columns: ["step", "as it comes", "with rules of every kind"].map(str::to_owned).to_vec(),
        rows,
    });
    Ok(())
}

fn row(step: &(&str, &str), plain: &BTreeMap<String, f64>, ruled: &BTreeMap<String, f64>) -> Vec<String> {
    let (label, end) = step;
    let shown = |counted: &BTreeMap<String, f64>| {
        let found: Vec<f64> =
            counted.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, count)| *count).collect();
        if found.is_empty() { "–".to_owned() } else { Unit::Count.show(found.iter().sum::<f64>().round()) }
    };
    vec![(*label).to_owned(), shown(plain), shown(ruled)]
}
