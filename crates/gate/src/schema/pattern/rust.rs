//! Patterns in the words of Rust's engines, which are those of Perl and Python for what ECMAScript has none.

use regex_syntax::hir::{Capture, Hir, HirKind, Look, Repetition};

use super::ecma;

/// Reads a pattern; nothing if it is none.
pub(super) fn read(pattern: &str) -> Option<Hir> {
    Some(ascii_words(regex_syntax::parse(pattern).ok()?))
}

/// What ECMAScript means by a pattern; nothing if Rust's engines have no words for it.
pub(in crate::schema) fn in_rust(pattern: &str) -> Option<String> {
    Some(ecma::read(pattern).ok()?.to_string())
}

/// The same with ends of words as ECMAScript knows them; an automaton cannot know others.
fn ascii_words(pattern: Hir) -> Hir {
    let all = |parts: Vec<Hir>| parts.into_iter().map(ascii_words).collect();
    match pattern.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Look(Look::WordUnicode) => Hir::look(Look::WordAscii),
        HirKind::Look(Look::WordUnicodeNegate) => Hir::look(Look::WordAsciiNegate),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(Repetition { min, max, greedy, sub }) => {
            Hir::repetition(Repetition { min, max, greedy, sub: Box::new(ascii_words(*sub)) })
        }
        HirKind::Capture(Capture { sub, .. }) => ascii_words(*sub),
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
    }
}
