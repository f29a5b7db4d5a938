//! What a condition is evaluated over: the caller, the tool, the arguments and the time, each turned into a value of the
//! expression language only when it is looked at. Strings are borrowed, so a large text costs nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use serde_json::Value;

use super::hidden::{Hidden, Places};
use super::scripts::Scripts;
use super::variables::{BASE, PATTERN, SCRIPTS, STEP, fields_of};
use crate::facts::Facts;
use crate::names::BUILT_IN;
use crate::role::Role;
use crate::scope::Scope;
use crate::words::TOOLS_CALL;

/// The most steps of loops in one decision: some milliseconds. All conditions share them.
pub(crate) const STEPS_MAX: i64 = 10_000;

/// A step may look at all there is, so arguments of many bytes get fewer steps; this many bytes are gone through in
/// well under a second.
const STEP_BYTES_MAX: usize = 512 * 1024 * 1024;

/// What one value counts beside its text.
const VALUE_BYTES: usize = 16;

/// The most values in arguments that a condition looks at as a whole: some milliseconds to turn over.
pub(crate) const VALUES_MAX: usize = 50_000;

/// Why a name has no value, if it is not for being unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Steps of loops.
    Steps,
    /// Values of arguments.
    Values,
}

/// What is given to the conditions of one decision.
pub(crate) struct Given<'a> {
    facts: &'a Facts<'a>,
    /// None while only what does not depend on them is evaluated.
    arguments: Option<&'a Value>,
    /// In seconds since 1970.
    now: i64,
    patterns: &'a [Hidden],
    base: Hidden,
    scripts: Hidden,
    /// Negative until the first step.
    steps: AtomicI64,
    reached: OnceLock<Limit>,
    whole: OnceLock<Option<Box<dyn Val + 'a>>>,
    yes: CelBool,
}

impl<'a> Given<'a> {
    pub(crate) fn new(
        facts: &'a Facts<'a>,
        arguments: Option<&'a Value>,
        now: i64,
        patterns: &'a [Hidden],
        places: Option<&Arc<Places>>,
    ) -> Given<'a> {
        // Where a server's tools begin is not known.
        let places = places.filter(|_| facts.upstream.is_none());
        Given {
            facts,
            arguments,
            now,
            patterns,
            base: Hidden::Base(places.cloned()),
            scripts: Hidden::Scripts(Arc::new(Scripts::of_call(facts, arguments))),
            steps: AtomicI64::new(-1),
            reached: OnceLock::new(),
            whole: OnceLock::new(),
            yes: CelBool::from(true),
        }
    }

    /// The limit that was reached, if one was.
    pub(super) fn reached(&self) -> Option<Limit> {
        self.reached.get().copied()
    }

    fn step(&self) -> Option<CowVal<'_, '_>> {
        let mut left = self.steps.load(Ordering::Relaxed);
        if left < 0 {
            let bytes = self.arguments.map_or(0, bytes);
            left = STEPS_MAX.min(i64::try_from(STEP_BYTES_MAX / bytes.max(1)).unwrap_or(STEPS_MAX));
        }
        if left == 0 {
            _ = self.reached.set(Limit::Steps);
            self.steps.store(0, Ordering::Relaxed);
            return None;
        }
        self.steps.store(left - 1, Ordering::Relaxed);
        Some(CowVal::Borrowed(&self.yes))
    }

    fn argument(&self, path: &str) -> Option<CowVal<'_, '_>> {
        let mut value = self.arguments?;
        for key in path.split('.') {
            value = value.as_object()?.get(key)?;
        }
        self.bounded(value).map(CowVal::Owned)
    }

    fn all_arguments(&self) -> Option<CowVal<'_, '_>> {
        let whole = self.whole.get_or_init(|| self.bounded(self.arguments?));
        whole.as_deref().map(CowVal::Borrowed)
    }

    fn bounded<'b>(&self, value: &'b Value) -> Option<Box<dyn Val + 'b>> {
        if count(value, VALUES_MAX) > VALUES_MAX {
            _ = self.reached.set(Limit::Values);
            return None;
        }
        Some(turned(value))
    }

    fn field(&self, root: &str, field: &str) -> Option<Box<dyn Val + '_>> {
        let caller = self.facts.caller;
        let text = |text: &'a str| -> Option<Box<dyn Val + 'a>> { Some(Box::new(CelString::from(text))) };
        match (root, field) {
            ("caller", "id") => text(caller.id()),
            ("caller", "kind") => text(caller.kind().as_str()),
            ("caller", "via") => text(caller.via().as_str()),
            ("caller", "roles") => Some(list(caller.roles().iter().map(Role::as_str))),
            ("caller", "scopes") => Some(match caller.scopes().named() {
                Some(named) => list(named.iter().map(Scope::as_str)),
                None => list(["*"].into_iter()),
            }),
            ("tool", "name") => text(self.facts.tool),
            ("tool", "upstream") => text(self.facts.upstream.unwrap_or(BUILT_IN)),
            ("tool", "origin") => text(self.facts.origin.as_str()),
            ("tool", "action") => text(self.facts.action.unwrap_or(TOOLS_CALL)),
            ("tool", "effect") => text(self.facts.effect.as_str()),
            ("tool", "destructive") => Some(Box::new(CelBool::from(self.facts.marked_destructive))),
            ("tool", "leaves_machine") => Some(Box::new(CelBool::from(self.facts.leaves_machine))),
            ("tool", "sends") => Some(Box::new(CelBool::from(self.facts.sends))),
            ("now", "unix") => Some(Box::new(CelInt::from(self.now))),
            ("now", "hour") => Some(Box::new(CelInt::from(self.now.rem_euclid(86_400) / 3_600))),
            ("now", "minute") => Some(Box::new(CelInt::from(self.now.rem_euclid(3_600) / 60))),
            // 1970 began on a Thursday.
            ("now", "weekday") => {
                Some(Box::new(CelInt::from((self.now.div_euclid(86_400) + 3).rem_euclid(7) + 1)))
            }
            _ => None,
        }
    }
}

impl VariableResolver for Given<'_> {
    /// Is asked for whole names first, `args.path` before `args`, so that only what is looked at is turned over.
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        match variable {
            "args" => return self.all_arguments(),
            STEP => return self.step(),
            BASE => return Some(CowVal::Borrowed(&self.base)),
            SCRIPTS => return Some(CowVal::Borrowed(&self.scripts)),
            _ => {}
        }
        if let Some((root, field)) = variable.split_once('.') {
            return match root {
                "args" => self.argument(field),
                _ => self.field(root, field).map(CowVal::Owned),
            };
        }
        if let Some(nth) = variable.strip_prefix(PATTERN) {
            let pattern = self.patterns.get(nth.parse::<usize>().ok()?)?;
            return Some(CowVal::Borrowed(pattern));
        }
        let entries = fields_of(variable).filter_map(|field| {
            let key = CelMapKey::String(CelString::from(field.name));
            Some((key, self.field(field.root, field.name)?))
        });
        let entries: HashMap<_, _> = entries.collect();
        (!entries.is_empty()).then(|| CowVal::owned(CelMap::from(entries)))
    }
}

fn list<'v>(words: impl Iterator<Item = &'v str>) -> Box<dyn Val + 'v> {
    let words = words.map(|word| -> Box<dyn Val + 'v> { Box::new(CelString::from(word)) });
    Box::new(CelList::from(words.collect::<Vec<_>>()))
}

/// A JSON value as one of the expression language.
fn turned<'v>(value: &'v Value) -> Box<dyn Val + 'v> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(&**text)),
        Value::Array(items) => Box::new(CelList::from(items.iter().map(turned).collect::<Vec<_>>())),
        Value::Object(members) => {
            let key = |key: &'v str| CelMapKey::String(CelString::from(key));
            let members = members.iter().map(|(name, value)| (key(name), turned(value)));
            Box::new(CelMap::from(members.collect::<HashMap<_, _>>()))
        }
    }
}

/// How many values there are, as far as it matters.
fn count(value: &Value, enough: usize) -> usize {
    let mut sum = 1;
    let mut add = |value: &Value| {
        sum += count(value, enough);
        sum <= enough
    };
    match value {
        Value::Array(items) => _ = items.iter().all(&mut add),
        Value::Object(members) => _ = members.values().all(&mut add),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    sum
}

fn bytes(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes).sum(),
            Value::Object(members) => members.iter().map(|(name, value)| name.len() + bytes(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}
