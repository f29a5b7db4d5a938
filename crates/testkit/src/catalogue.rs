//! What every built-in tool must keep to, checked for all of them at once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_api::{About, AnyTool, Arguments, Cancel, Definition, Effect, Listing, Need, ToolError, ToolName};

use crate::run::{call, call_with};
use crate::schema::{compiled, objections};
use crate::workspace::Workspace;

/// A model reads every summary before it does anything: about 150 tokens.
const SUMMARY_BYTES_MAX: usize = 600;

/// The same for a tool's whole input schema.
const SCHEMA_BYTES_MAX: usize = 4 * 1024;

/// What one call gives back at most, before base64.
const OUTPUT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A call that nobody waits for any more is over within this time, also on a busy machine.
const CANCELLED_WITHIN: Duration = Duration::from_secs(30);

/// What the examples find: with it they all succeed.
fn workspace() -> Workspace {
    let long = "// A line.\\n".repeat(500);
    Workspace::new(&format!("notes.md: # Notes\\n\nsrc/main.rs: {long}\ndocs/\n"))
}

/// Checks each tool, and that no two have one name.
///
/// # Panics
/// On the first tool that does not keep to the rules, naming it and the rule.
pub fn check_catalogue(tools: &[std::sync::Arc<dyn AnyTool>]) {
    let mut names = HashSet::new();
    for tool in tools {
        let definition = tool.definition();
        assert!(names.insert(definition.name.clone()), "two tools are called {}", definition.name);
        let Listing::Ours(about) = definition.listing else {
            panic!("{} is not built in", definition.name);
        };
        check_about(about);
        check_schemas(definition);
        refuses_unknown_fields(&**tool, about);
        runs_its_examples(&**tool, about);
        hears_cancel(&**tool, about);
    }
}

fn check_about(about: &About) {
    let name = about.name;
    // A point is legal, and not taken by every model provider.
    let is_taken_everywhere = ToolName::parse(name).is_some() && !name.contains('.');
    assert!(is_taken_everywhere, "{name:?} is no legal name");
    assert!(!about.title.is_empty(), "{name} has no title");
    let summary = about.summary;
    assert!(
        (1..=SUMMARY_BYTES_MAX).contains(&summary.len()),
        "the summary of {name} has {} bytes",
        summary.len()
    );
    assert!(!summary.contains("  "), "the summary of {name} has a hole in it");
    let writes = matches!(about.effect, Effect::Writes | Effect::Destroys);
    // What is the caller's own anyway needs no scope, and writes no file.
    let keeps = !about.needs.is_empty() && about.needs.iter().all(|need| !need.reaches_out());
    let is_own = about.arguments.paths.is_empty() && about.needs.iter().all(|need| !need.reaches_out());
    assert_eq!(
        writes && !keeps,
        !about.arguments.writes.is_empty(),
        "{name} must name the arguments that name files it writes"
    );
    assert!(is_own || !about.scopes.is_empty(), "{name} needs no scope");
    assert!(about.timeout > Duration::ZERO, "{name} has no time to run");
    assert!(!about.examples.is_empty(), "{name} has no example");
}

fn check_schemas(definition: &Definition) {
    let name = &definition.name;
    let schema = &definition.input_schema;
    assert!(schema.len() <= SCHEMA_BYTES_MAX, "the schema of {name} has {} bytes", schema.len());
    compiled(schema);
    let schema: Value = serde_json::from_slice(schema).expect("a schema is JSON");
    assert_eq!(schema["type"], "object", "the schema of {name}");
    assert_eq!(schema["additionalProperties"], false, "the schema of {name} is open");
    if let Listing::Ours(about) = definition.listing {
        let roles = about.arguments;
        roles
            .paths
            .iter()
            .for_each(|&field| assert!(schema["properties"][field].is_object(), "{name}.{field}"));
        assert!(
            roles.writes.iter().all(|field| roles.paths.contains(field)),
            "{name} writes what is no path"
        );
    }
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        assert!(schema["description"].is_string(), "{name}.{field} is not described");
        assert!(schema.get("format").is_none(), "{name}.{field} has a format that models do not know");
    }
    if let Some(schema) = &definition.output_schema {
        compiled(schema);
    }
}

/// Both by its schema and by its type.
fn refuses_unknown_fields(tool: &dyn AnyTool, about: &About) {
    let mut arguments: Value = serde_json::from_str(about.examples[0].arguments).expect("an example is JSON");
    arguments["surely_unknown"] = json!(1);
    let schema = &tool.definition().input_schema;
    assert_ne!(objections(schema, &arguments), "", "{} takes an unknown field by its schema", about.name);
    let refused = call_with(tool, &workspace(), &arguments.to_string(), &Cancel::new());
    let code = refused.expect_err("the type refuses unknown fields").code().clone();
    assert_eq!(code, "invalid_arguments", "{} takes an unknown field by its type", about.name);
}

fn runs_its_examples(tool: &dyn AnyTool, about: &About) {
    for example in about.examples {
        let arguments = Arguments::parse(Some(example.arguments.into())).expect("an example is an object");
        let objections = objections(&tool.definition().input_schema, arguments.value());
        assert_eq!(objections, "", "{}: {}", about.name, example.title);
        if is_run_elsewhere(about) {
            continue;
        }
        let shown = call(tool, &workspace(), example.arguments);
        assert!(!shown.starts_with("error"), "{}: {}: {shown}", about.name, example.title);
        let outcome = call_with(tool, &workspace(), example.arguments, &Cancel::new());
        let bytes = outcome.expect("it ran before").payload.bytes();
        assert!(bytes <= OUTPUT_BYTES_MAX, "{}: {}: {bytes} bytes", about.name, example.title);
    }
}

/// Here are no programs and no network. What needs them is tried with a sandbox, and through the whole gate.
fn is_run_elsewhere(about: &About) -> bool {
    about.needs.iter().any(|need| need.is_of_programs() || need.hosts().is_some() || *need == Need::Tasks)
}

/// A call cancelled before it begins is over at once and has changed nothing.
fn hears_cancel(tool: &dyn AnyTool, about: &About) {
    if is_run_elsewhere(about) {
        return;
    }
    let cancel = Cancel::new();
    cancel.cancel();
    for example in about.examples {
        let workspace = workspace();
        let before = (workspace.tree(), Instant::now());
        let outcome = call_with(tool, &workspace, example.arguments, &cancel);
        assert!(before.1.elapsed() < CANCELLED_WITHIN, "{} does not hear cancel", about.name);
        assert_eq!(workspace.tree(), before.0, "{} changed things after cancel", about.name);
        if let Err(error) = outcome {
            assert_eq!(error.code(), ToolError::CANCELLED, "{}: {error}", about.name);
        }
    }
}
