//! Patterns that read each character once. They run as an automaton that is made while it runs: a step that has been made
//! before costs next to nothing, a new one as much as there are places in the pattern where it may be at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::schema::meter;

/// Memory of all compiled patterns of one schema, at most. `^\p{L}{1,100}$`, a large one, takes 1.5 MiB.
pub(super) const PATTERNS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes that a running automaton has at most, or as many as it cannot do without; and those that all of one schema keep for
/// the next text.
pub(super) const KEPT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes of text that cost one step while nothing new is met.
const BYTES_A_STEP: usize = 4;

/// Steps to begin with a text, and to make a state that was not there.
const STEPS_TO_BEGIN: u64 = 8;

/// Bytes of one place in a pattern, and of one range of characters there.
const STATE_BYTES: usize = 32;
const RANGE_BYTES: usize = 8;
/// The same beyond ASCII, where a character has several bytes.
const WIDE_BYTES: usize = 256;
const WIDE_RANGE_BYTES: usize = 24;

/// A pattern, ready to be run.
pub(super) struct Linear {
    dfa: DFA,
    /// What the last run has left, for the next one.
    kept: Mutex<Option<Box<Kept>>>,
    /// How many bytes may still be kept, of this pattern or of others.
    room: Arc<AtomicUsize>,
}

/// What a run goes on making.
struct Kept {
    cache: Cache,
    /// The largest state in bytes, at most: what a new one costs is in proportion to it.
    largest: u64,
}

/// How many bytes a pattern takes, about: compiling it to find out that it is too large would take as long as what is
/// allowed.
fn size(pattern: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().map(size).fold(0, usize::saturating_add);
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE_BYTES,
        HirKind::Literal(literal) => STATE_BYTES * literal.0.len(),
        HirKind::Class(Class::Unicode(class)) if class.is_ascii() => {
            STATE_BYTES + RANGE_BYTES * class.ranges().len()
        }
        HirKind::Class(Class::Unicode(class)) => WIDE_BYTES + WIDE_RANGE_BYTES * class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => STATE_BYTES + RANGE_BYTES * class.ranges().len(),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            (size(&repetition.sub) + STATE_BYTES).saturating_mul(times as usize)
        }
        HirKind::Capture(group) => size(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

impl Linear {
    /// Compiles a pattern into at most so many bytes; tells how many those are.
    pub(super) fn compile(
        hir: &Hir,
        bytes_max: usize,
        room: &Arc<AtomicUsize>,
    ) -> Result<(Linear, usize), String> {
        if size(hir) > bytes_max {
            return Err(too_large());
        }
        // What is looked for is whether there is a match; it may begin and end between two bytes of one character
        // only where nothing is matched.
        let config = thompson::Config::new()
            .nfa_size_limit(Some(bytes_max))
            .utf8(false)
            .which_captures(WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir);
        let nfa = nfa.map_err(|error| error.to_string())?;
        let bytes = nfa.memory_usage();
        let config = DFA::config().cache_capacity(KEPT_BYTES_MAX).skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|error| error.to_string())?;
        Ok((Linear { dfa, kept: Mutex::new(None), room: Arc::clone(room) }, bytes))
    }

    /// True if it matches somewhere in a text; false, too, if the steps do not suffice.
    pub(super) fn is_match(&self, text: &str) -> bool {
        if !meter::take(STEPS_TO_BEGIN + (text.len() / BYTES_A_STEP) as u64) {
            return false;
        }
        let mut kept = self.kept();
        let found = self.run(&mut kept, text);
        self.keep(kept);
        found
    }

    /// What was kept, or something new.
    fn kept(&self) -> Box<Kept> {
        match self.kept.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(kept) => {
                self.room.fetch_add(kept.bytes(), Ordering::Relaxed);
                kept
            }
            None => Box::new(Kept { cache: self.dfa.create_cache(), largest: 0 }),
        }
    }

    fn keep(&self, kept: Box<Kept>) {
        let bytes = kept.bytes();
        let mut place = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        let has_room = || {
            self.room
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes))
                .is_ok()
        };
        if place.is_none() && has_room() {
            *place = Some(kept);
        }
    }

    fn run(&self, kept: &mut Kept, text: &str) -> bool {
        let (dfa, never) = (&self.dfa, "an automaton that may be cleared at any time does not give up");
        let before = kept.bytes();
        let mut state = dfa.start_state_forward(&mut kept.cache, &Input::new(text)).expect(never);
        // That from which all begins is mostly there.
        if state.is_dead() || (kept.bytes() > before && !kept.has_made(before)) {
            return false;
        }
        for &byte in text.as_bytes() {
            let mut next = dfa.next_state_untagged(&kept.cache, state, byte);
            if next.is_unknown() {
                let before = kept.bytes();
                next = dfa.next_state(&mut kept.cache, state, byte).expect(never);
                if !kept.has_made(before) {
                    return false;
                }
            }
            if next.is_tagged() {
                return next.is_match();
            }
            state = next;
        }
        dfa.next_eoi_state(&mut kept.cache, state).expect(never).is_match()
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        self.cache.memory_usage()
    }

    /// Takes the steps for finding out where a step leads: in proportion to how many places of the pattern are in a state.
    /// One that has just been made has told how many that are; otherwise it is taken to be the largest.
    fn has_made(&mut self, bytes_before: usize) -> bool {
        self.largest = self.largest.max(self.bytes().saturating_sub(bytes_before) as u64);
        // 5 ns for a byte of it, half as much again as a step.
        meter::take(STEPS_TO_BEGIN + self.largest + self.largest / 2)
    }
}

impl std::fmt::Debug for Linear {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Linear").finish_non_exhaustive()
    }
}
pub(super) fn too_large() -> String {
    format!("the patterns take more than {PATTERNS_BYTES_MAX} bytes")
}
