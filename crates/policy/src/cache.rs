//! What was decided for a caller and a tool, remembered: a decision that does not depend on the arguments costs a look.
//!
//! Bounded: a fixed number of places, in which a newer entry replaces an older one. Read without a lock. It belongs to
//! one policy and goes with it, so no entry outlives the rules it came from.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

use crate::caller::Caller;
use crate::engine::Decision;
use crate::facts::{Effect, Facts, ToolOrigin};
use crate::plan::Plan;

/// Some callers times some hundred tools; 8 KiB, and some hundred bytes for each entry.
const PLACES: usize = 1_024;

/// The golden ratio in 64 bits: multiplied by it, numbers that differ a little become far apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Remembers plans.
#[derive(Default)]
pub(crate) struct Cache {
    /// Made with the first decision.
    places: OnceLock<Box<[ArcSwapOption<Entry>]>>,
}

struct Entry {
    caller: Caller,
    tool: Box<str>,
    upstream: Option<Box<str>>,
    action: Option<Box<str>>,
    origin: ToolOrigin,
    effect: Effect,
    marked_destructive: bool,
    leaves_machine: bool,
    sends: bool,
    plan: Arc<Plan>,
}

impl Cache {
    /// The decision that these facts settle; or what is left to ask.
    pub(crate) fn plan(&self, facts: &Facts<'_>, make: impl FnOnce() -> Plan) -> Result<Decision, Arc<Plan>> {
        self.with(facts, make, |plan| plan.settled.clone().ok_or_else(|| plan.clone()))
    }

    /// Whether any arguments could make the tool run.
    pub(crate) fn is_visible(&self, facts: &Facts<'_>, make: impl FnOnce() -> Plan) -> bool {
        self.with(facts, make, |plan| plan.is_visible())
    }

    fn with<T>(
        &self,
        facts: &Facts<'_>,
        make: impl FnOnce() -> Plan,
        look: impl FnOnce(&Arc<Plan>) -> T,
    ) -> T {
        let places = self.places.get_or_init(|| (0..PLACES).map(|_| ArcSwapOption::empty()).collect());
        let place = &places[place(facts)];
        let held = place.load();
        if let Some(entry) = held.as_ref().filter(|entry| entry.is_of(facts)) {
            return look(&entry.plan);
        }
        let plan = Arc::new(make());
        place.store(Some(Arc::new(Entry::of(facts, plan.clone()))));
        look(&plan)
    }
}

/// Where to look. Entries are compared whole, so whoever makes up names that share a place with others gains nothing but
/// that both are made anew in turn; a quick sum over words of eight bytes will do.
fn place(facts: &Facts<'_>) -> usize {
    let parts = [&**facts.caller.id(), facts.tool, facts.action.unwrap_or_default()];
    let mixed = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(SPREAD);
    let sum = parts.iter().fold(0, |sum, part| {
        let (words, rest) = part.as_bytes().as_chunks::<8>();
        let sum = words
            .iter()
            .fold(mixed(sum, part.len() as u64), |sum, word| mixed(sum, u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        mixed(sum, u64::from_le_bytes(last))
    });
    // The highest bits depend on all of the sum.
    (sum >> (u64::BITS - PLACES.ilog2())) as usize
}

impl Entry {
    fn of(facts: &Facts<'_>, plan: Arc<Plan>) -> Entry {
        Entry {
            caller: facts.caller.clone(),
            tool: facts.tool.into(),
            upstream: facts.upstream.map(Into::into),
            action: facts.action.map(Into::into),
            origin: facts.origin,
            effect: facts.effect,
            marked_destructive: facts.marked_destructive,
            leaves_machine: facts.leaves_machine,
            sends: facts.sends,
            plan,
        }
    }

    /// Everything that a plan is made from is compared: an entry of a caller who has since been given other scopes, or
    /// of a tool whose server says something else of it by now, is of no use.
    fn is_of(&self, facts: &Facts<'_>) -> bool {
        let (known, caller) = (&self.caller, facts.caller);
        *self.tool == *facts.tool
            && self.upstream.as_deref() == facts.upstream
            && self.action.as_deref() == facts.action
            && self.origin == facts.origin
            && self.effect == facts.effect
            && self.marked_destructive == facts.marked_destructive
            && self.leaves_machine == facts.leaves_machine
            && self.sends == facts.sends
            && (known.kind(), known.roles(), known.via()) == (caller.kind(), caller.roles(), caller.via())
            && (known.id(), known.scopes()) == (caller.id(), caller.scopes())
    }
}
