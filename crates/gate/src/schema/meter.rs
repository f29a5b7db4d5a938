//! How many steps a check has left: one sum for all values, texts, patterns and branches.
//!
//! It is kept by the thread and not handed down, since the validator makes values of its own (names of members, as
//! `propertyNames` sees them), to which nothing can be attached. A check neither waits nor nests, so one thread has one.

use std::cell::Cell;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static STEPS_PER_NAME: Cell<u64> = const { Cell::new(0) };
    static STEPS_PER_VALUE: Cell<u64> = const { Cell::new(0) };
}

/// Runs a check with so many steps; tells what came of it and how many it took, or nothing if they did not suffice.
///
/// Coming by a value within another costs `steps_per_value`.
pub(super) fn within<T>(steps: u64, steps_per_value: u64, check: impl FnOnce() -> T) -> Option<(T, u64)> {
    // One more, so that the last one that is allowed leaves something.
    LEFT.set(steps + 1);
    STEPS_PER_VALUE.set(steps_per_value);
    STEPS_PER_NAME.set(0);
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

/// Takes one step for a look at a value.
pub(super) fn look() -> bool {
    take(1)
}

/// How many are left.
pub(super) fn left() -> u64 {
    LEFT.get()
}

/// From here on, each name of a member that the validator comes by costs so much more.
pub(super) fn name_costs(steps: u64) {
    STEPS_PER_NAME.set(steps);
}

/// Takes what coming by a value within another costs.
pub(super) fn value() -> bool {
    take(STEPS_PER_VALUE.get())
}

/// Takes what coming by a member with its name costs.
pub(super) fn member() -> bool {
    take(STEPS_PER_NAME.get() + STEPS_PER_VALUE.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_are_one_sum_and_the_last_allowed_one_counts() {
        let looks = |count: u64| within(10, 1, || (0..count).filter(|_| look()).count());
        assert_eq!(looks(10), Some((10, 10)));
        assert_eq!(looks(11), None);
        assert_eq!(within(10, 1, || take(u64::MAX)), None);
        let names = within(10, 1, || {
            name_costs(2);
            member() && member() && value()
        });
        assert_eq!(names, Some((true, 7)));
        assert_eq!(within(10, 2, member), Some((true, 2)), "what one check set, the next one does not have");
        assert!(!look(), "outside of a check nothing is allowed");
    }
}
