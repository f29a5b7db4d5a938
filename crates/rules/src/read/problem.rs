//! What is wrong with a rules file.

use crate::node::Place;

/// One thing that is wrong with a rules file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands; none if the file itself is at fault.
    pub place: Option<Place>,
    /// What is wrong and what to try, in a sentence without a full stop.
    pub what: String,
}
