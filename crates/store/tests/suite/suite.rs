//! What every store must do, written once against the traits. A backend's tests hand over two handles on one fresh
//! store; whatever one keeps, the other finds.

mod cells;
mod others;

use std::any::Any;
use std::thread;

use store::Store;

/// Runs the suite; `fresh` makes an empty store with two handles and whatever must outlive them.
pub(crate) fn check<S: Store, G: Any>(fresh: impl Fn() -> (S, S, G)) {
    for case in cells::CASES.iter().chain(others::CASES) {
        let (first, second, _guard) = fresh();
        case(&first, &second);
    }
}

type Case = fn(&dyn Store, &dyn Store);

/// How many of four that begin at the same time succeed.
fn winners(
    first: &dyn Store,
    second: &dyn Store,
    attempt: impl Fn(&dyn Store, &'static str) -> bool + Sync,
) -> usize {
    thread::scope(|scope| {
        let attempts = [(first, "1"), (second, "2"), (first, "3"), (second, "4")].map(|(store, name)| {
            let attempt = &attempt;
            scope.spawn(move || attempt(store, name))
        });
        attempts.into_iter().filter_map(|attempt| attempt.join().unwrap().then_some(())).count()
    })
}
