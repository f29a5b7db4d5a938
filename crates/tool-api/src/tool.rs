//! A tool, twice: typed for its author, erased for the gate, and a thin adapter between.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sandbox::FileError;
use sandbox::egress::HostRules;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::about::About;
use crate::arguments::Arguments;
use crate::context::Context;
use crate::definition::{Definition, Listing, Origin, ResultBudget, ToolName, Validate};
use crate::failure::ToolError;
use crate::outcome::{Outcome, Output};
use crate::sandboxed::Sandboxed;
use crate::schema_text::SchemaText;

/// Up to here a floating-point number says which whole number is meant.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// What the author of a built-in tool writes.
pub trait Tool: Send + Sync + 'static {
    /// The tool's self-description.
    const ABOUT: About;
    /// What it takes. Must refuse unknown fields, so that its schema is closed.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// What it gives.
    type Output: Output;

    /// Hosts that a person's configuration names for it, beside those of `ABOUT`, if that has `Need::Net`.
    fn hosts(&self) -> HostRules {
        HostRules::none()
    }

    /// Does the work. Stops early when the context is cancelled.
    fn run(
        &self,
        input: Self::Input,
        cx: &Context,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// What the gate runs.
pub trait AnyTool: Send + Sync {
    /// What is known of it.
    fn definition(&self) -> &Definition;

    /// Does the work with arguments that have passed the input schema.
    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>>;

    /// Hosts that a person's configuration names for it, beside those that its needs do.
    fn hosts(&self) -> HostRules {
        HostRules::none()
    }

    /// How the program that it lives in is confined right now, if that is weaker than it should be. What it runs by its
    /// hands is not meant.
    fn sandboxed(&self) -> Option<Sandboxed> {
        None
    }
}

/// Makes a typed tool one that the gate can run.
pub fn builtin<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    for hosts in T::ABOUT.needs.iter().filter_map(|need| need.hosts()) {
        hosts.expect("a built-in tool's hosts can be read; the catalogue test checks it");
    }
    Arc::new(Builtin { definition: definition::<T>(), tool })
}

/// A tool that makes no sense is not even compiled.
const fn sound(about: &'static About) -> &'static About {
    match about.fault() {
        None => about,
        Some(fault) => panic!("{}", fault),
    }
}

struct Builtin<T> {
    definition: Definition,
    tool: T,
}

impl<T: Tool> AnyTool for Builtin<T> {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn hosts(&self) -> HostRules {
        self.tool.hosts()
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let text = arguments.bytes();
            let mut value = arguments.into_value();
            whole_numbers(&mut value);
            let input = serde_json::from_value(value).map_err(|error| schema_too_loose(&text, &error))?;
            match self.tool.run(input, cx).await {
                Ok(output) => Ok(output.into_outcome()),
                Err(error) if T::ABOUT.arguments.paths.is_empty() => Err(error),
                Err(error) => Err(folder_fault(cx).await.unwrap_or(error)),
            }
        })
    }
}

/// Why nothing is found in the workspace, if its folder is not there any more. Asked of calls that have failed alone.
async fn folder_fault(cx: &Context) -> Option<ToolError> {
    let files = cx.files.clone();
    let fault = cx.blocking(move || Ok(files.check_present().err())).await.ok().flatten()?;
    let is_about_folder = matches!(fault, FileError::Gone | FileError::Exchanged);
    is_about_folder.then(|| ToolError::new(ToolError::WORKSPACE_GONE, fault.to_string()))
}

/// Puts `2` in place of `2.0`: to JSON Schema both are integers, to a type of Rust only one is.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT_MAX);
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Array(all) => all.iter_mut().for_each(whole_numbers),
        Value::Object(all) => all.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The schema let something through that the type refuses: a number out of the type's range. Which one it is is looked for
/// here, since to have each type tell where it was costs code for each.
fn schema_too_loose(text: &[u8], error: &serde_json::Error) -> ToolError {
    let mut value = serde_json::from_slice(text).unwrap_or_default();
    whole_numbers(&mut value);
    let why = match odd_number(&value, String::new()) {
        Some((name, number)) => {
            format!("`{name}` takes no number like {number}: too large, too small or no whole one")
        }
        None => format!("the arguments do not fit: {error}"),
    };
    ToolError::new("invalid_arguments", why)
}

/// The first number that few types take, with its place.
fn odd_number(value: &Value, place: String) -> Option<(String, &Number)> {
    match value {
        Value::Number(number) => {
            let is_usual = number.as_i64().is_some_and(|whole| u32::try_from(whole).is_ok());
            (!is_usual).then_some((place, number))
        }
        Value::Array(all) => {
            all.iter().enumerate().find_map(|(nth, one)| odd_number(one, format!("{place}[{nth}]")))
        }
        Value::Object(all) => all.iter().find_map(|(name, one)| {
            let dot = if place.is_empty() { "" } else { "." };
            odd_number(one, format!("{place}{dot}{name}"))
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

fn definition<T: Tool>() -> Definition {
    let about = const { sound(&T::ABOUT) };
    Definition {
        name: ToolName::parse(about.name)
            .expect("a built-in tool's name is legal; the catalogue test checks it"),
        origin: Origin::BuiltIn,
        description: about.summary.into(),
        effect: about.effect,
        marked_destructive: about.effect == crate::Effect::Destroys,
        open_world: about.open_world,
        scopes: about.scopes.iter().map(|&scope| scope.into()).collect(),
        timeout: about.timeout,
        extends_to: None,
        input_schema: SchemaText::of_input::<T::Input>(),
        validate: Validate::Strict,
        output_schema: SchemaText::of_output::<T::Output>(),
        result_budget: ResultBudget::Whole,
        listing: Listing::Ours(about),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Input {
        count: Option<u32>,
        all: Option<Vec<u8>>,
    }

    /// What the arguments are read as, or what is said of them.
    fn read(text: &str) -> Result<(Option<u32>, Option<Vec<u8>>), String> {
        let mut value = serde_json::from_str(text).expect("JSON");
        whole_numbers(&mut value);
        let read = serde_json::from_value::<Input>(value);
        read.map(|input| (input.count, input.all))
            .map_err(|error| schema_too_loose(text.as_bytes(), &error).to_string())
    }

    #[test]
    fn a_whole_number_is_one_however_it_is_written() {
        assert_eq!(read(r#"{"count": 2.0, "all": [1.0, 2, 3e1]}"#), Ok((Some(2), Some(vec![1, 2, 30]))));
        assert_eq!(read(r#"{"count": -0.0}"#), Ok((Some(0), None)));
        let outside = |name: &str, number: &str| {
            Err(format!("`{name}` takes no number like {number}: too large, too small or no whole one"))
        };
        assert_eq!(read(r#"{"count": 1e20}"#), outside("count", "1e+20"));
        assert_eq!(read(r#"{"count": 2.5}"#), outside("count", "2.5"));
        assert_eq!(read(r#"{"count": -1}"#), outside("count", "-1"));
        assert_eq!(read(r#"{"all": [1, 2.5e9, 1e10]}"#), outside("all[2]", "10000000000"));
        let text = read(r#"{"all": [256.0]}"#).expect_err("too large for this one");
        assert!(text.starts_with("the arguments do not fit: ") && text.contains("256"), "{text}");
    }
}
