//! A tool, twice: typed for its author, erased for the gate, and a thin adapter between.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use sandbox::egress::HostRules;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

use crate::about::About;
use crate::arguments::Arguments;
use crate::context::Context;
use crate::definition::{Definition, Listing, Origin, ResultBudget, ToolName, Validate};
use crate::failure::ToolError;
use crate::outcome::{Outcome, Output};
use crate::sandboxed::Sandboxed;

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
    let input =
        schema_text(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T::Input>());
    let output = <T::Output as Output>::schema().map(schema_text);
    for hosts in T::ABOUT.needs.iter().filter_map(|need| need.hosts()) {
        hosts.expect("a built-in tool's hosts can be read; the catalogue test checks it");
    }
    Arc::new(Builtin { definition: definition(const { sound(&T::ABOUT) }, input, output), tool })
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
            let input = serde_json::from_value(arguments.into_value()).map_err(schema_too_loose)?;
            self.tool.run(input, cx).await.map(Output::into_outcome)
        })
    }
}

/// The schema let something through that the type refuses, such as a number out of the type's range.
fn schema_too_loose(error: serde_json::Error) -> ToolError {
    ToolError::new("invalid_arguments", format!("the arguments do not fit: {error}"))
}

fn definition(about: &'static About, input_schema: Bytes, output_schema: Option<Bytes>) -> Definition {
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
        input_schema,
        validate: Validate::Strict,
        output_schema,
        result_budget: ResultBudget::Whole,
        listing: Listing::Ours(about),
    }
}

/// The schema without what only costs tokens: the dialect (2020-12 is MCP's default) and the type's name.
fn schema_text(mut schema: Schema) -> Bytes {
    schema.remove("$schema");
    schema.remove("title");
    serde_json::to_vec(&schema).expect("a schema is plain JSON").into()
}
