//! A test of the sandbox as the audit log has it.

use audit::{Event, Layers, What};
use sandbox::confine::{Layer, MemoryKeeper, Tested};

use super::remembered::HoldsFor;

/// A layer that is missing and not waived is not among them: without it there is no test.
pub(super) fn event(made_at_ms: i64, at: &HoldsFor, tested: &Tested) -> Event {
    let is_root = at.circumstances.user == 0;
    let is_watched = tested.memory == MemoryKeeper::Watchdog;
    let mut layers = Layers::default();
    for layer in Layer::ALL {
        match layer {
            Layer::SelfTest => {}
            Layer::RunUser | Layer::Idmap if !is_root => {}
            Layer::Memory if is_watched => layers.degraded.push(layer.name()),
            _ if tested.without.contains(&layer) => layers.waived.push(layer.name()),
            _ => layers.ok.push(layer.name()),
        }
    }
    let test = audit::SelfTest {
        version: env!("CARGO_PKG_VERSION").into(),
        kernel: at.circumstances.kernel.as_str().into(),
        user: at.circumstances.user,
        layers,
        attempts: tested.attempts.len(),
        escaped: tested.escaped(),
    };
    Event { opened_at_ms: made_at_ms, what: What::SandboxSelfTest(test) }
}
