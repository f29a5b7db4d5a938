//! Why a condition cannot be read or evaluated, in words that hold no value of the call.

use std::fmt::Display;

use cel::ExecutionError;

use super::given::{Limit, STEPS_MAX, VALUES_MAX};
use super::hidden::TYPE_NAME;
use super::scripts;

/// The first thing that the parser says, with its place.
pub(super) fn of_parser(source: &str, errors: &cel::ParseErrors) -> String {
    let Some(first) = errors.errors.first() else { return "it cannot be read".to_owned() };
    let (line, column) = first.pos;
    // The parser's words list every token it would have taken.
    let message =
        first.msg.split(" expecting ").next().unwrap_or_default().trim_start_matches("Syntax error: ");
    let message = if message.contains("<EOF>") { "it ends too early" } else { message };
    place(source, line, column) + message
}

/// `column 4: `, or `line 2, column 4: ` in an expression of several lines.
pub(super) fn place(source: &str, line: impl Display, column: impl Display) -> String {
    match source.trim_end().contains('\n') {
        true => format!("line {line}, column {column}: "),
        false => format!("column {column}: "),
    }
}

/// An error in words that tell nothing of the values.
pub(super) fn of_evaluation(error: &ExecutionError, source: &str, reached: Option<Limit>) -> String {
    match reached {
        Some(Limit::Steps) => {
            return format!("it takes more steps than {} or the size of the arguments allow", STEPS_MAX);
        }
        Some(Limit::Values) => return format!("the arguments hold more than {} values", VALUES_MAX),
        None => {}
    }
    match error {
        // A key that is not in the text of the rule came with the arguments.
        ExecutionError::NoSuchKey(key) if source.contains(&***key) => {
            format!("there is no `{key}`; ask `has(…)` first")
        }
        ExecutionError::NoSuchKey(_) => "there is no such key".to_owned(),
        ExecutionError::UndeclaredReference(name) if source.contains(&***name) => {
            format!("there is no `{name}`; ask `has(…)` first")
        }
        ExecutionError::NoSuchOverload(overload) => {
            let operator = overload.function().trim_matches(['_', '@']);
            let types = overload.argument_types().iter().filter(|name| ***name != *TYPE_NAME);
            let types: Vec<_> = types.map(|name| &**name).collect();
            format!("`{operator}` cannot be applied to {}", types.join(" and "))
        }
        ExecutionError::UnexpectedType { got, want } => format!("it has {got} where {want} is needed"),
        ExecutionError::IndexOutOfBounds(_) => "a list is shorter than it must be".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "it divides by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "a number gets too large".to_owned(),
        // What is ours says why, without a value.
        ExecutionError::FunctionError { function, message }
            if function == "isUnder" || scripts::FUNCTIONS.contains(&function.as_str()) =>
        {
            message.clone()
        }
        ExecutionError::FunctionError { function, .. } => {
            format!("`{function}` cannot be applied to this value")
        }
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => {
            format!("`{operator}` cannot be applied to these values")
        }
        _ => "it cannot be evaluated over these values".to_owned(),
    }
}
