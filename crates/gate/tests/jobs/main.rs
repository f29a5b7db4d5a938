//! Jobs through the gate: taken once, judged twice, run like any call, and ended once, whatever happens to the process.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod breaking;
#[path = "../samples/definition.rs"]
mod definition;
mod scene;

mod broken;
mod control;
mod ends;
mod notify;
mod once;
mod restart;
mod waits;
