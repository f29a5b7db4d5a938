//! What every phase is handed.

use crate::programs::Programs;
use crate::slices::Budget;

/// What every phase is handed.
pub(crate) struct Bench {
    /// How to start what is measured.
    pub(crate) programs: Programs,
    /// The same with another build of the product, where one was named.
    pub(crate) beside: Option<Programs>,
    /// How long to measure.
    pub(crate) budget: Budget,
    /// Whether to count instructions too, which takes minutes.
    pub(crate) instructions: bool,
}
