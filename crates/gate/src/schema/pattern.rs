//! Patterns of schemas: read as ECMAScript reads them, run in counted steps.
//!
//! An engine that promises linear time may still take a microsecond for a byte, and does not count over several texts. So it
//! is run here step by step, on the meter of the check.

mod classes;
mod ecma;
mod linear;
mod rust;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Keyword, ValidationError};
use serde_json::Value;

use super::counted::Counted;
use super::meter;
use linear::{Linear, PATTERNS_BYTES_MAX, too_large};
pub(super) use rust::in_rust;

/// Compiles a pattern into at most so many bytes; tells how many those are.
fn compile(text: &str, bytes_max: usize, room: &Arc<AtomicUsize>) -> Result<(Linear, usize), String> {
    let hir = match ecma::read(text) {
        Ok(hir) => hir,
        // Much is written for other engines: `(?i)`, `\A`, `(?P<name>…)`.
        Err(why) => rust::read(text).ok_or(why)?,
    };
    Linear::compile(&hir, bytes_max, room)
}

/// The patterns of one schema, each compiled once.
#[derive(Debug)]
pub(super) struct Patterns {
    known: Mutex<HashMap<Box<str>, Arc<Linear>>>,
    /// What is left of [`PATTERNS_BYTES_MAX`].
    bytes_left: AtomicUsize,
    /// What is left for running them faster the next time.
    room: Arc<AtomicUsize>,
}

impl Default for Patterns {
    fn default() -> Patterns {
        let (bytes_left, room) =
            (AtomicUsize::new(PATTERNS_BYTES_MAX), AtomicUsize::new(linear::KEPT_BYTES_MAX));
        Patterns { known: Mutex::default(), bytes_left, room: Arc::new(room) }
    }
}

impl Patterns {
    /// True if this is a pattern, and can be run with those before it.
    pub(super) fn has(&self, text: &str) -> bool {
        self.get(text).is_ok()
    }

    fn get(&self, text: &str) -> Result<Arc<Linear>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(text) {
            return Ok(Arc::clone(known));
        }
        let bytes_left = self.bytes_left.load(Ordering::Relaxed);
        let (pattern, bytes) = compile(text, bytes_left, &self.room)?;
        self.bytes_left.store(bytes_left.saturating_sub(bytes), Ordering::Relaxed);
        let pattern = Arc::new(pattern);
        known.insert(text.into(), Arc::clone(&pattern));
        Ok(pattern)
    }

    /// The keyword `pattern` with this text.
    ///
    /// # Errors
    /// It is no pattern, or too large.
    pub(super) fn keyword<'s>(
        &self,
        text: &'s Value,
    ) -> Result<Box<dyn for<'i> Keyword<'i, Counted>>, ValidationError<'s>> {
        let Value::String(text) = text else { return Err(ValidationError::custom("it is no text")) };
        let pattern =
            self.get(text).map_err(|why| ValidationError::custom(format!("the pattern {text:?}: {why}")))?;
        Ok(Box::new(Matches { text: text.as_str().into(), pattern }))
    }
}

/// Patterns of names of members, which the validator runs by itself, by an engine that counts nothing.
#[derive(Debug, Default)]
pub(super) struct NamePatterns(Vec<Arc<Linear>>);

impl NamePatterns {
    /// Compiles them. One that is none is left out, for the validator has none of it either.
    ///
    /// # Errors
    /// They are too large, which they would be for the validator's engine, too.
    pub(super) fn of<'s>(texts: impl IntoIterator<Item = &'s str>) -> Result<NamePatterns, String> {
        let (patterns, mut compiled) = (Patterns::default(), Vec::new());
        for text in texts {
            match patterns.get(text) {
                Ok(pattern) => compiled.push(pattern),
                Err(why) if why == too_large() => return Err(why),
                Err(_) => {}
            }
        }
        Ok(NamePatterns(compiled))
    }

    /// How many steps the dearest name of a document takes. What is found is not used: it is the price for letting the
    /// validator find the same, each time that it comes by a name.
    pub(super) fn rehearse(&self, document: &Value) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        // The first time, much is made that is there from then on.
        self.dearest(document);
        self.dearest(document)
    }

    fn dearest(&self, document: &Value) -> u64 {
        match document {
            Value::Object(members) => {
                let each = members.iter().map(|(name, member)| self.steps(name).max(self.dearest(member)));
                each.max().unwrap_or_default()
            }
            Value::Array(items) => items.iter().map(|item| self.dearest(item)).max().unwrap_or_default(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    fn steps(&self, name: &str) -> u64 {
        let before = meter::left();
        for pattern in &self.0 {
            pattern.is_match(name);
        }
        before - meter::left()
    }
}

/// The keyword.
struct Matches {
    text: Box<str>,
    pattern: Arc<Linear>,
}

impl<'i> Keyword<'i, Counted> for Matches {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let why = || ValidationError::custom(format!("text that matches {}", self.text));
        if Keyword::<Counted>::is_valid(self, instance) { Ok(()) } else { Err(why()) }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| self.pattern.is_match(text))
    }
}

#[cfg(test)]
mod tests;
