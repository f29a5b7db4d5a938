//! When a workspace wants its servers to be started.

/// When upstreams are connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once: whoever serves many wants them ready.
    AtOnce,
    /// When somebody needs what is not remembered: one client may never ask.
    WhenWanted,
    /// Not at all: whoever only looks starts nothing, and goes by what is remembered.
    Never,
}
