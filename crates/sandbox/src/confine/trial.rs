//! `Trial`: whoever sees to it that the sandbox is tried on this machine, and keeps programs from starting where it does not
//! hold.

use std::fmt;
use std::pin::Pin;

use super::layer::Unavailable;

/// Told of the starts of one [`Confiner`](super::Confiner).
pub trait Trial: fmt::Debug + Send + Sync {
    /// Before each start. What it answers keeps the program from starting.
    fn admit(&self) -> Pin<Box<dyn Future<Output = Result<(), Unavailable>> + Send + '_>>;

    /// A program runs confined.
    fn started(&self);
}
