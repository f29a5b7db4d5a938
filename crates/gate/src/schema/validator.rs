//! Compiling a schema with what we do in place of the library.

use std::sync::Arc;

use jsonschema::{PatternOptions, Retrieve, ValidationError, ValidationOptions, Validator};
use serde_json::Value;

use super::counted::Counted;
use super::pattern::Patterns;

/// How schemas are compiled.
pub(super) type Options<'r> = ValidationOptions<'r, Arc<dyn Retrieve>, Counted>;

/// Compiles a schema, with `pattern` in our hands, and the patterns of names in linear time.
pub(super) fn validator(
    schema: &Value,
    options: &Options<'_>,
) -> Result<Validator<Counted>, ValidationError<'static>> {
    let patterns = Patterns::default();
    let options = options.clone().with_keyword("pattern", move |_, text, _| patterns.keyword(text));
    options.with_pattern_options(PatternOptions::regex()).build(schema)
}
