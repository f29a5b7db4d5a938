//! `tools check`: whether arguments fit a tool. Nothing is called.

use daemon::assemble::Crib;
use gate::schema::Violation;
use gate::{Failure, Refusal};
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::call::Given;
use crate::commands::caller::caller;
use crate::commands::gated::failed;
use crate::commands::troubles::unknown_tool;

pub(super) async fn run(crib: &Crib, name: &str, given: Given, json: bool) -> Result<Ending, Trouble> {
    let arguments = given.fitting(crib, name).await?;
    let violations = match crib.gate.check_arguments(&caller(), name, Some(arguments)).await {
        Ok(()) => Vec::new(),
        Err(Failure::Refused(Refusal::InvalidArguments { violations, .. })) => violations,
        Err(Failure::Refused(Refusal::UnknownTool(_))) => return Err(unknown_tool(crib, name)),
        Err(failure) => return failed(crib, &failure, json),
    };
    let words = match violations.is_empty() {
        true => "the arguments fit".to_owned(),
        false => violations.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    print::found(json, &json!({ "valid": violations.is_empty(), "violations": violations }), &words)?;
    Ok(if violations.is_empty() { Ending::Good } else { Ending::Misused })
}

fn line(Violation { pointer, expected, found }: &Violation) -> String {
    let place = if pointer.is_empty() { "/" } else { pointer };
    format!("{place}: expected {expected}, got {found}")
}
