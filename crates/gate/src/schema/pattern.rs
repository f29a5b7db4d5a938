//! Patterns of schemas, each as an automaton that reads every byte once and does the same for each.
//!
//! One that cannot be made such an automaton, since it looks around, refers back, or would be too large, is not checked.

use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Keyword, ValidationError};
use regex_automata::Input;
use regex_automata::dfa::dense::{self, DFA};
use regex_automata::dfa::{Automaton, StartKind};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use serde_json::Value;

use super::counted::Counted;
use super::meter;

/// Memory of all patterns of one schema, at most, and of what is made while they are compiled. `^.{1,1000}$` takes more than 1 MiB.
const PATTERNS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of text that cost one step.
const BYTES_A_STEP: usize = 4;

/// Steps to begin with a text.
const STEPS_TO_BEGIN: u64 = 8;

/// Compiles the patterns of one schema.
#[derive(Debug, Clone)]
pub(super) struct Patterns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    bytes_left: usize,
    /// Those that are not checked.
    left_out: Vec<String>,
}

impl Default for Patterns {
    fn default() -> Patterns {
        Patterns(Arc::new(Mutex::new(State { bytes_left: PATTERNS_BYTES_MAX, left_out: Vec::new() })))
    }
}

impl Patterns {
    /// The pattern, ready to be run; nothing, which is noted, if it is none or cannot be run with those before it.
    pub(super) fn compile(&self, text: &str) -> Option<DFA<Vec<u32>>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = compile(text, state.bytes_left);
        // What was tried in vain has cost as much as there was.
        let bytes = compiled.as_ref().map_or(state.bytes_left / 4, DFA::memory_usage);
        state.bytes_left = state.bytes_left.saturating_sub(bytes);
        if compiled.is_none() {
            state.left_out.push(text.to_owned());
        }
        compiled
    }

    /// The keyword `pattern` with this text.
    pub(super) fn keyword<'s>(
        &self,
        text: &'s Value,
    ) -> Result<Box<dyn for<'i> Keyword<'i, Counted>>, ValidationError<'s>> {
        let Value::String(text) = text else { return Err(ValidationError::custom("it is no text")) };
        Ok(Box::new(Matches { text: text.as_str().into(), pattern: self.compile(text) }))
    }

    /// The patterns that are not checked.
    pub(super) fn left_out(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).left_out.clone()
    }
}

fn compile(text: &str, bytes_max: usize) -> Option<DFA<Vec<u32>>> {
    let text = jsonschema_regex::to_rust_regex(text).ok()?;
    // It may begin and end between two bytes of one character only where nothing is matched.
    let nfa = thompson::Config::new()
        .nfa_size_limit(Some(bytes_max))
        .utf8(false)
        .which_captures(WhichCaptures::None);
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .unicode_word_boundary(true)
        .dfa_size_limit(Some(bytes_max))
        .determinize_size_limit(Some(bytes_max));
    dense::Builder::new().thompson(nfa).configure(config).build(&text).ok()
}

/// The keyword.
struct Matches {
    text: Box<str>,
    pattern: Option<DFA<Vec<u32>>>,
}

impl<'i> Keyword<'i, Counted> for Matches {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let why = || ValidationError::custom(format!("text that matches {}", self.text));
        if self.look(instance) { Ok(()) } else { Err(why()) }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.look(instance)
    }
}

impl Matches {
    fn look(&self, instance: &Value) -> bool {
        let (Some(pattern), Some(text)) = (&self.pattern, instance.as_str()) else { return true };
        let has_steps = meter::take(STEPS_TO_BEGIN + (text.len() / BYTES_A_STEP) as u64);
        // An automaton knows no ends of words beside letters beyond ASCII, and stops there: not checked.
        let found = || pattern.try_search_fwd(&Input::new(text).earliest(true));
        has_steps && found().map_or(true, |found| found.is_some())
    }
}

#[cfg(test)]
mod tests;
