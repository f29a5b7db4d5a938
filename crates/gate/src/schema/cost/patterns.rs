//! In how many states the patterns of a schema may be at once.

use regex_syntax::hir::{Hir, HirKind};

/// What a pattern counts that is not checked in linear time: each byte may cost so many steps.
const STATES_OF_BACKTRACKING: u64 = 1_000;

/// In how many states this pattern may be at once, at most.
pub(super) fn states_of(pattern: &str) -> u64 {
    regex_syntax::parse(pattern).map_or(STATES_OF_BACKTRACKING, |hir| states(&hir))
}

fn states(pattern: &Hir) -> u64 {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            states(&repetition.sub).saturating_mul(u64::from(times))
        }
        HirKind::Capture(group) => states(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(0, |sum: u64, part| sum.saturating_add(states(part)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_in_as_many_states_as_they_have_places() {
        for (pattern, expected) in [
            ("^[a-z]+$", 3),
            ("^(a+)+$", 3),
            ("^\\p{L}{1,100}$", 102),
            ("(a{100}){100}", 10_000),
            ("^(?!a)b", STATES_OF_BACKTRACKING),
        ] {
            assert_eq!(states_of(pattern), expected, "{pattern}");
        }
    }
}
