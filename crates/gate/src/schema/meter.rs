//! How many steps a check has left: one sum for all values, texts, patterns and branches.
//!
//! It is kept by the thread and not handed down, since the validator makes values of its own (names of members, as
//! `propertyNames` sees them), to which nothing can be attached. A check neither waits nor nests, so one thread has one.

use std::cell::Cell;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static STEPS_PER_VALUE: Cell<u64> = const { Cell::new(0) };
}

/// Runs a check with so many steps; tells what came of it and how many it took, or nothing if they did not suffice.
///
/// Coming by a value within another costs `steps_per_value`.
pub(super) fn within<T>(steps: u64, steps_per_value: u64, check: impl FnOnce() -> T) -> Option<(T, u64)> {
    // One more, so that the last one that is allowed leaves something.
    LEFT.set(steps + 1);
    STEPS_PER_VALUE.set(steps_per_value);
    let found = check();
    let left = LEFT.replace(0);
    (left > 0).then(|| (found, steps + 1 - left))
}

/// Takes steps; false if there are not enough, from then on until the check ends.
pub(super) fn take(steps: u64) -> bool {
    let left = LEFT.get().saturating_sub(steps);
    LEFT.set(left);
    left > 0
}

/// Takes what coming by a value costs; a name counts by its length as well.
pub(super) fn value(name_pieces: u64) -> bool {
    take(STEPS_PER_VALUE.get().saturating_mul(1 + name_pieces))
}
