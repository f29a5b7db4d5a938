//! Conditions: expressions in CEL, read once, and evaluated without ever being able to hang, to grow or to panic.
//!
//! Everything that can be found without a call is found when the policy is made: names that mean nothing, comparisons
//! that cannot hold, patterns that do not compile; and every condition is tried once on samples of what it will see.

mod check;
mod given;
mod pattern;
mod shape;
mod trial;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use cel::common::ast::IdedExpr;
use cel::common::types::CelBool;
use cel::{Context, Env, ExecutionError, Value};

pub(crate) use check::Uses;
pub(crate) use given::Given;
use given::Limit;
use pattern::Pattern;
pub use pattern::Places;

/// The longest condition, in bytes. What is longer belongs into several rules.
const SOURCE_BYTES_MAX: usize = 4_096;

/// What the parser may need: some 100 KiB for each level of brackets in a program that is not optimised. Only what is
/// used takes memory.
const PARSER_STACK_BYTES: usize = 64 * 1024 * 1024;

/// Makes conditions, and holds what they share.
pub(crate) struct Conditions {
    env: Option<Arc<Env>>,
    patterns: Vec<Pattern>,
    /// What paths mean to our own tools, if that is known.
    places: Option<Arc<Places>>,
}

/// One condition.
#[derive(Debug)]
pub(crate) struct Condition {
    source: Arc<str>,
    expression: IdedExpr,
    uses: Uses,
}

/// What conditions are evaluated in; one for each decision.
pub(crate) struct Evaluation<'v, 'a> {
    context: Context<'v, 'v>,
    given: &'v Given<'a>,
}

impl Conditions {
    pub(crate) fn new(places: Option<Arc<Places>>) -> Conditions {
        Conditions { env: None, patterns: Vec::new(), places }
    }

    /// Reads a condition and tries it.
    ///
    /// # Errors
    /// What is wrong with it, with the place in it.
    pub(crate) fn compile(&mut self, source: &str) -> Result<Condition, String> {
        if source.len() > SOURCE_BYTES_MAX {
            return Err(format!("it is longer than {SOURCE_BYTES_MAX} bytes"));
        }
        if source.trim().is_empty() {
            return Err("it is empty; leave it out for a rule without a condition".to_owned());
        }
        shape::check(source)?;
        let env = self.env.get_or_insert_with(|| Arc::new(pattern::environment())).clone();
        let read = with_room(|| parsed(&env, source, &mut self.patterns))?;
        let condition = Condition { source: source.into(), expression: read.expression, uses: read.uses };
        trial::try_out(self, &condition, &read.paths)?;
        Ok(condition)
    }

    /// What conditions are evaluated in; nothing if there are none.
    pub(crate) fn evaluation<'v, 'a>(&self, given: &'v Given<'a>) -> Option<Evaluation<'v, 'a>> {
        let mut context = Context::with_env(self.env.clone()?);
        context.set_variable_resolver(given);
        Some(Evaluation { context, given })
    }
}

impl Condition {
    /// What it depends on.
    pub(crate) fn uses(&self) -> Uses {
        self.uses
    }

    /// As it was written.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// Why it cannot be said, without any value of the call.
    pub(crate) fn holds(&self, evaluation: &Evaluation<'_, '_>) -> Result<bool, String> {
        self.outcome(evaluation).map_err(|fault| match fault {
            Fault::Evaluation(error) => told(&error, &self.source, evaluation.given.reached()),
            Fault::NotBoolean(sort) => format!("it gives a value of type {sort}, not true or false"),
            Fault::Panic => "it cannot be evaluated".to_owned(),
        })
    }

    fn outcome(&self, evaluation: &Evaluation<'_, '_>) -> Result<bool, Fault> {
        let evaluate = || {
            let value =
                Value::resolve_val(&self.expression, &evaluation.context).map_err(Fault::Evaluation)?;
            let answer = value.downcast_ref::<CelBool>().map(|answer| *answer.inner());
            answer.ok_or_else(|| Fault::NotBoolean(value.get_type().name().to_owned()))
        };
        catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or(Err(Fault::Panic))
    }
}

/// Does something that is recursive with large frames, where there is room for it.
fn with_room<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    let unreadable = || "it cannot be read".to_owned();
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("it cannot be read: {error}"))?;
        // The parser is somebody else's, and made by a machine; a panic of it is no reason to end.
        thread.join().unwrap_or_else(|_| Err(unreadable()))
    })
}

fn parsed(env: &Env, source: &str, patterns: &mut Vec<Pattern>) -> Result<check::Read, String> {
    let program = env.compile(source).map_err(|errors| unreadable(source, &errors))?;
    check::read(&program, source, patterns)
}

/// Why a condition gave no answer.
enum Fault {
    Evaluation(ExecutionError),
    /// The type it gave.
    NotBoolean(String),
    Panic,
}

/// The first thing that the parser says, with its place.
fn unreadable(source: &str, errors: &cel::ParseErrors) -> String {
    let Some(first) = errors.errors.first() else { return "it cannot be read".to_owned() };
    let (line, column) = first.pos;
    // The parser's words list every token it would have taken.
    let said = first.msg.split(" expecting ").next().unwrap_or_default().trim_start_matches("Syntax error: ");
    let said = if said.contains("<EOF>") { "it ends too early" } else { said };
    match source.trim_end().contains('\n') {
        true => format!("line {line}, column {column}: {said}"),
        false => format!("column {column}: {said}"),
    }
}

/// An error in words that tell nothing of the values.
fn told(error: &ExecutionError, source: &str, reached: Option<Limit>) -> String {
    match reached {
        Some(Limit::Steps) => {
            return format!(
                "it takes more steps than {} or the size of the arguments allow",
                given::STEPS_MAX
            );
        }
        Some(Limit::Values) => return format!("the arguments hold more than {} values", given::VALUES_MAX),
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
            let types = overload.argument_types().iter().filter(|name| ***name != *pattern::GROUND_NAME);
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
        ExecutionError::FunctionError { function, message } if function == "isUnder" => message.clone(),
        ExecutionError::FunctionError { function, .. } => {
            format!("`{function}` cannot be applied to this value")
        }
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => {
            format!("`{operator}` cannot be applied to these values")
        }
        _ => "it cannot be evaluated over these values".to_owned(),
    }
}
