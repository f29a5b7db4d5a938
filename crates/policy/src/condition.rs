//! Conditions: expressions in CEL, read once, and evaluated without ever being able to hang, to grow or to panic.
//!
//! Everything that can be found without a call is found when the policy is made: names that mean nothing, comparisons
//! that cannot hold, patterns that do not compile; and every condition is tried once on samples of what it will see.

mod check;
mod error;
mod given;
mod hidden;
mod scripts;
mod shape;
mod trial;
mod variables;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use cel::common::ast::IdedExpr;
use cel::common::types::CelBool;
use cel::{Context, Env, ExecutionError, Value};

pub(crate) use check::Uses;
use given::Given;
use hidden::Hidden;
pub use hidden::Places;

use crate::caller::{Caller, Via};
use crate::facts::{Effect, Facts};

/// The longest condition, in bytes. What is longer belongs into several rules.
const SOURCE_BYTES_MAX: usize = 4_096;

/// What the parser may need: some 100 KiB for each level of brackets in a program that is not optimised. Only what is
/// used takes memory.
const PARSER_STACK_BYTES: usize = 64 * 1024 * 1024;

/// When samples are called, in seconds since 1970: any time; a Tuesday.
const SAMPLE_NOW: i64 = 1_700_000_000;

/// Makes conditions, and holds what they share.
pub(crate) struct Conditions {
    env: Option<Arc<Env>>,
    patterns: Vec<Hidden>,
    /// What paths mean to our own tools, if that is known.
    places: Option<Arc<Places>>,
}

/// One condition.
#[derive(Debug)]
pub(crate) struct Condition {
    source: Arc<str>,
    expression: IdedExpr,
    /// What it depends on.
    pub(crate) uses: Uses,
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
        let env = self.env.get_or_insert_with(|| Arc::new(hidden::environment())).clone();
        let read = with_room(|| {
            let program = env.compile(source).map_err(|errors| error::of_parser(source, &errors))?;
            check::read(&program, source, &mut self.patterns)
        })?;
        let condition = Condition { source: source.into(), expression: read.expression, uses: read.uses };
        trial::try_out(&read.paths, |arguments| self.try_on(&condition, arguments))?;
        Ok(condition)
    }

    /// Evaluates a condition on sample arguments.
    ///
    /// # Errors
    /// Why it gives no answer, unless other values of the same sorts may give one.
    fn try_on(&self, condition: &Condition, arguments: &serde_json::Value) -> Result<(), String> {
        let caller = Caller::local_user(Via::Stdio);
        let facts = Facts {
            caller: &caller,
            tool: "a_tool",
            upstream: None,
            origin: crate::facts::ToolOrigin::BuiltIn,
            action: None,
            effect: Effect::Reads,
            marked_destructive: false,
            leaves_machine: false,
            sends: false,
        };
        let given = self.given(&facts, Some(arguments), SAMPLE_NOW);
        let Some(evaluation) = self.evaluation(&given) else { return Ok(()) };
        match condition.outcome(&evaluation) {
            Ok(_)
            | Err(EvaluationFault::Evaluation(
                ExecutionError::NoSuchKey(_)
                | ExecutionError::IndexOutOfBounds(_)
                | ExecutionError::DivisionByZero(_)
                | ExecutionError::RemainderByZero(_)
                | ExecutionError::Overflow(..)
                | ExecutionError::FunctionError { .. },
            )) => Ok(()),
            Err(fault) => Err(condition.explained(fault, &evaluation)),
        }
    }

    /// What a condition about this call is evaluated over.
    pub(crate) fn given<'a>(
        &'a self,
        facts: &'a Facts<'a>,
        arguments: Option<&'a serde_json::Value>,
        now: i64,
    ) -> Given<'a> {
        Given::new(facts, arguments, now, &self.patterns, self.places.as_ref())
    }

    /// What conditions are evaluated in; nothing if there are none.
    pub(crate) fn evaluation<'v, 'a>(&self, given: &'v Given<'a>) -> Option<Evaluation<'v, 'a>> {
        let mut context = Context::with_env(self.env.clone()?);
        context.set_variable_resolver(given);
        Some(Evaluation { context, given })
    }
}

impl Condition {
    /// Whether it holds.
    ///
    /// # Errors
    /// Why it cannot be said, without any value of the call.
    pub(crate) fn holds(&self, evaluation: &Evaluation<'_, '_>) -> Result<bool, NoAnswer> {
        self.outcome(evaluation).map_err(|fault| {
            let is_unclear = matches!(
                &fault,
                EvaluationFault::Evaluation(ExecutionError::FunctionError { function, .. })
                    if scripts::FUNCTIONS.contains(&function.as_str())
            );
            let why = self.explained(fault, evaluation);
            if is_unclear { NoAnswer::Unclear(why) } else { NoAnswer::Failed(why) }
        })
    }

    fn explained(&self, fault: EvaluationFault, evaluation: &Evaluation<'_, '_>) -> String {
        match fault {
            EvaluationFault::Evaluation(error) => {
                error::of_evaluation(&error, &self.source, evaluation.given.reached())
            }
            EvaluationFault::NotBoolean(sort) => {
                format!("it gives a value of type {sort}, not true or false")
            }
            EvaluationFault::Panic => "it cannot be evaluated".to_owned(),
        }
    }

    fn outcome(&self, evaluation: &Evaluation<'_, '_>) -> Result<bool, EvaluationFault> {
        let evaluate = || {
            let value = Value::resolve_val(&self.expression, &evaluation.context)
                .map_err(EvaluationFault::Evaluation)?;
            let answer = value.downcast_ref::<CelBool>().map(|answer| *answer.inner());
            answer.ok_or_else(|| EvaluationFault::NotBoolean(value.get_type().name().to_owned()))
        };
        catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or(Err(EvaluationFault::Panic))
    }
}

/// Does something that is recursive with large frames, where there is room for it.
fn with_room<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("it cannot be read: {error}"))?;
        // The parser is somebody else's, and made by a machine; a panic of it is no reason to end.
        thread.join().unwrap_or_else(|_| Err("it cannot be read".to_owned()))
    })
}

/// Why it cannot be said whether a condition holds.
pub(crate) enum NoAnswer {
    /// It does not fit the call: a mistake of whoever wrote the rule, or whoever calls.
    Failed(String),
    /// What a command runs cannot be told: a person can.
    Unclear(String),
}

/// Why a condition gave no answer.
enum EvaluationFault {
    Evaluation(ExecutionError),
    /// The type it gave.
    NotBoolean(String),
    Panic,
}
